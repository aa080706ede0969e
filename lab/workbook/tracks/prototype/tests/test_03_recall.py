"""Stage 3: recall at k."""

from __future__ import annotations

from types import SimpleNamespace


def test_a_hit_is_a_gold_string_in_one_of_the_first_k(
    learner: SimpleNamespace,
) -> None:
    """Look at texts[:k] only; case-fold both sides."""
    results = [["nothing", "GROSS"], ["Groß"], [], ["blue"]]
    golds = ["gross", "GROSS", "red", "red"]
    # At 1 only the second; at 2 the first as well; the others never.
    assert learner.recall_at_k(results, golds, 1) == 0.25
    assert learner.recall_at_k(results, golds, 2) == 0.5


def test_self_check_3_passes(learner: SimpleNamespace) -> None:
    """Run the cell of self-check 3 and read what it says."""
    learner.recall_at_k([["a"]], ["a"], 1)
    learner.check_recall()
