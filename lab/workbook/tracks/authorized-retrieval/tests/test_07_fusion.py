"""Stage 7: fusing by rank, and reranking you can explain."""

from __future__ import annotations

import itertools

import pytest
from authorized_retrieval import (
    Chunk,
    reciprocal_rank_fusion,
    rerank,
    rerank_score,
)
from retrieval_types import Scored


def ranking(names: str, score: float = 1.0) -> list[Scored]:
    """Return a ranking of one-letter ids, all with the same score."""
    return [Scored(name, score) for name in names]


def chunk(chunk_id: str, text: str) -> Chunk:
    """Return a chunk with an id and a text."""
    return Chunk(chunk_id, "larkspur", "memo", 1, "body", 0, len(text), text)


def test_shares_by_hand() -> None:
    """Add 1 / (60 + rank) with ranks from 1; absent adds nothing."""
    found = reciprocal_rank_fusion([ranking("ab"), ranking("bc")])
    assert [(one.chunk_id, one.score) for one in found] == [
        ("b", pytest.approx(1 / 62 + 1 / 61)),
        ("a", pytest.approx(1 / 61)),
        ("c", pytest.approx(1 / 62)),
    ]


def test_invariant_agreement_beats_one_first_place() -> None:
    """Sum the shares: 2 / 63 is more than 1 / 61 + 1 / 70."""
    first = ranking("abxcdefghi")  # x is third, a is first
    second = ranking("jkxlmnopqa")  # x is third again, a is tenth
    found = reciprocal_rank_fusion([first, second])
    assert [one.chunk_id for one in found[:2]] == ["x", "a"]
    assert found[0].score == pytest.approx(2 / 63)


def test_invariant_the_order_of_the_rankings_makes_no_difference() -> None:
    """Add with math.fsum: a plain sum differs in its last bit."""
    # Ranks 1, 2 and 7: adding 1/61, 1/62, 1/67 depends on the order.
    rankings = [ranking("x"), ranking("ax"), ranking("bcdefgx")]
    found = {
        tuple(reciprocal_rank_fusion(order))
        for order in itertools.permutations(rankings)
    }
    assert len(found) == 1, f"six orders give {len(found)} different results"


def test_scores_that_come_in_are_never_read() -> None:
    """Only the place in the ranking counts."""
    plain = reciprocal_rank_fusion([ranking("ab"), ranking("bc")])
    loud = reciprocal_rank_fusion([ranking("ab", 9e9), ranking("bc", -7)])
    assert plain == loud


def test_equal_sums_are_in_the_order_of_their_ids() -> None:
    """Sort by (-score, chunk_id)."""
    found = reciprocal_rank_fusion([ranking("zy"), ranking("yz")])
    assert [one.chunk_id for one in found] == ["y", "z"]


@pytest.mark.parametrize("k", [0, -60])
def test_k_must_be_positive(k: int) -> None:
    """Raise ValueError unless k > 0."""
    with pytest.raises(ValueError, match="k"):
        reciprocal_rank_fusion([ranking("a")], k)


def test_nothing_fused_is_nothing() -> None:
    """No rankings, or empty ones, give []."""
    assert reciprocal_rank_fusion([]) == []
    assert reciprocal_rank_fusion([[], []]) == []


def test_the_rerank_score_by_hand() -> None:
    """Coverage of distinct query tokens + 0.25 * occurrences / length."""
    # Both of two words; 3 of 5 tokens: 1 + 0.25 * 3 / 5.
    found = rerank_score("hotel limit", "Hotel limit: hotel per night")
    assert found == pytest.approx(1.15)
    # One of two words, although it is asked twice; 1 of 4 tokens.
    found = rerank_score("hotel hotel visa", "the hotel is full")
    assert found == pytest.approx(0.5 + 0.25 / 4)


def test_an_empty_query_scores_0() -> None:
    """Return 0 before dividing by a count of zero."""
    assert rerank_score("", "hotel") == 0
    assert rerank_score("hotel", "") == 0


def test_reranking_keeps_what_is_above_the_floor() -> None:
    """Keep scores > min_score, not >=; sort by (-score, chunk_id)."""
    chunks = [
        chunk("c", "train"),
        chunk("b", "hotel"),
        chunk("a", "hotel"),
        chunk("d", "hotel visa"),
    ]
    # hotel alone: 1 + 0.25. One of two tokens: 1 + 0.125. train: 0.
    found = rerank("hotel", chunks)
    assert [one.chunk_id for one in found] == ["a", "b", "d"]
    found = rerank("hotel", chunks, 1.125)
    assert [one.chunk_id for one in found] == ["a", "b"]
