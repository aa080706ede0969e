"""Stage 2: TF-IDF by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest


def test_tokens_are_lower_case_letters_and_digits(
    learner: SimpleNamespace,
) -> None:
    """Lower the case; cut at everything that is no letter and no digit."""
    found = learner.tokenize("RMA-number, snake_case É2 …")
    assert found == ["rma", "number", "snake", "case", "é2"]


def test_idf_is_smoothed(learner: SimpleNamespace) -> None:
    """ln((1 + N) / (1 + df)) + 1, where df counts texts."""
    idf, _ = learner.build_index(["a a a", "a b", "c"])
    # N = 3; a is in 2 texts: ln(4 / 3) + 1, b in 1: ln(4 / 2) + 1.
    assert idf["a"] == pytest.approx(math.log(4 / 3) + 1)
    assert idf["b"] == pytest.approx(math.log(2) + 1)


def test_a_vector_holds_counts_times_idf(learner: SimpleNamespace) -> None:
    """Multiply how often a word occurs by its idf."""
    idf, vectors = learner.build_index(["a a a", "a b"])
    assert vectors[0] == {"a": pytest.approx(3 * idf["a"])}
    assert set(vectors[1]) == {"a", "b"}


def test_long_texts_do_not_win_by_length(learner: SimpleNamespace) -> None:
    """Divide the product by both lengths: that is the cosine."""
    index = learner.build_index(["red " * 9 + "blue " * 9, "red"])
    assert learner.retrieve(index, "red", 2) == [1, 0]


def test_equal_scores_come_lower_number_first(
    learner: SimpleNamespace,
) -> None:
    """Sort by (-score, number)."""
    index = learner.build_index(["x", "red", "red", "red"])
    assert learner.retrieve(index, "red", 2) == [1, 2]


def test_self_check_2_passes(learner: SimpleNamespace) -> None:
    """Run the cell of self-check 2 and read what it says."""
    learner.check_index()
