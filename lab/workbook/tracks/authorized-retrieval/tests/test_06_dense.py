"""Stage 6: vectors, one namespace at a time."""

from __future__ import annotations

import math

import pytest
from authorized_retrieval import Chunk, DenseIndex

LARKSPUR = "tenant/larkspur"


def index(texts: dict[str, str], tenant: str = "larkspur") -> DenseIndex:
    """Return an index of chunks by id."""
    made = DenseIndex()
    for chunk_id, text in texts.items():
        made.add(Chunk(chunk_id, tenant, "memo", 1, "body", 0, len(text), text))
    return made


def test_scores_are_cosines() -> None:
    """Embed the query and compare it with every vector of the namespace."""
    made = index({"a": "hotel limit hotel", "b": "hotel"})
    # hotel is at 81, limit at 46: 2 / sqrt(5) and 1.
    assert [
        (one.chunk_id, one.score) for one in made.search(LARKSPUR, "hotel")
    ] == [
        ("b", pytest.approx(1.0)),
        ("a", pytest.approx(2 / math.sqrt(5))),
    ]


def test_what_is_not_positive_is_left_out() -> None:
    """Keep only scores above zero: zero means nothing in common."""
    # limit is -1 at 46; hotel is at 81 and shares nothing with it.
    made = index({"a": "hotel", "b": "limit"})
    assert [one.chunk_id for one in made.search(LARKSPUR, "limit")] == ["b"]
    assert made.search(LARKSPUR, "…") == []


def test_equal_scores_are_in_the_order_of_their_ids() -> None:
    """Sort by (-score, chunk_id), not by the order of adding."""
    made = index({"m::3": "hotel", "m::1": "hotel", "m::2": "hotel"})
    found = [one.chunk_id for one in made.search(LARKSPUR, "hotel")]
    assert found == ["m::1", "m::2", "m::3"]


def test_the_limit_cuts_after_sorting() -> None:
    """Sort first, then take `limit` entries."""
    made = index({"a": "hotel limit", "b": "hotel", "c": "hotel train"})
    assert [one.chunk_id for one in made.search(LARKSPUR, "hotel", 1)] == ["b"]


def test_namespaces_are_listed_in_order() -> None:
    """Return the partitions' names, sorted."""
    made = DenseIndex()
    assert made.namespaces() == []
    for tenant in ("quayside", "larkspur"):
        made.add(Chunk("a", tenant, "memo", 1, "body", 0, 5, "hotel"))
    assert made.namespaces() == ["tenant/larkspur", "tenant/quayside"]


def test_only_the_asked_namespace_is_searched() -> None:
    """Look up one partition; an unknown one is empty, not an error."""
    made = index({"a": "hotel"})
    made.add(Chunk("b", "quayside", "memo", 1, "body", 0, 5, "hotel"))
    assert [one.chunk_id for one in made.search(LARKSPUR, "hotel")] == ["a"]
    assert made.search("tenant/nobody", "hotel") == []
