"""Stage 5: screening, and what it misses."""

from __future__ import annotations

from types import SimpleNamespace


def test_signs_are_found_whatever_case_and_blanks(
    learner: SimpleNamespace,
) -> None:
    """Case-fold, and make every run of blanks one space."""
    bad = ["YOU are\n now", "please disregard   the ABOVE"]
    assert learner.screen_passages(["fine", *bad]) == (["fine"], bad)


def test_passages_keep_their_order(learner: SimpleNamespace) -> None:
    """Append to kept or to flagged, one passage after the other."""
    bad = "the System Prompt"
    assert learner.screen_passages(["b", bad, "a"]) == (["b", "a"], [bad])
    assert learner.screen_passages([]) == ([], [])


def test_self_check_5_passes(learner: SimpleNamespace) -> None:
    """Run the cell of self-check 5 and read what it says."""
    learner.check_screening()
