"""The figures that the third track's tests hold a learner against."""

from __future__ import annotations

import pytest

from lab.workbook import figures, requirements


@pytest.mark.server
def test_the_figures_are_what_the_reference_measures(
    capsys: pytest.CaptureFixture[str],
) -> None:
    if requirements.missing(("postgres", "onnx")):
        pytest.skip("needs what runs the shipped model")
    assert figures.main(["--check"]) == 0, capsys.readouterr().out


def test_a_floor_is_rounded_down_to_a_twentieth() -> None:
    assert figures._floor(0.6999) == 0.65
    # In floats 0.7 * 20 is 14, and 0.35 * 20 a last bit less than 7.
    assert figures._floor(0.7) == 0.7
    assert figures._floor(0.35) == 0.35
