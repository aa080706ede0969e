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
    # A mean that should be 0.8 may be a last bit less.
    assert figures._floor(0.1 + 0.7) == 0.8
