"""Reranking by a rule that can be said in one sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from lab.store import Candidate
from lab.terms import terms


@dataclass(frozen=True)
class Fused:
    """A candidate with its fused score (units of 2**-40)."""

    candidate: Candidate
    fused: int


@dataclass(frozen=True)
class Ranked:
    """A reranked candidate: larger ``sort`` first, then fused score.

    ``features`` explain the place in named integers.
    """

    item: Fused
    sort: tuple[int, ...]
    features: Mapping[str, int]


class Reranker(Protocol):
    """Gives each candidate a sort key and says why."""

    name: str

    def rank(
        self, query: str, query_terms: Sequence[str], items: Sequence[Fused]
    ) -> list[Ranked]:
        """Return every item with its sort key and features."""
        ...


class TitleRule:
    """A title that holds half of the query's terms comes first.

    At least half of the distinct terms, more of them before fewer; a title
    with less says nothing. Without that bound one common word in a title
    ("of", "policy") would outrank every passage that answers: measured in
    the experiment ``rerank-probes``.
    """

    name = "title"

    def rank(
        self, query: str, query_terms: Sequence[str], items: Sequence[Fused]
    ) -> list[Ranked]:
        """Return each item with its count of query terms in the title.

        The share is that count over the number of distinct query terms;
        the divisor is the same for all, so counts order as shares do.
        """
        wanted = set(query_terms)
        ranked = []
        for item in items:
            found = len(wanted & set(terms(item.candidate.title)))
            named = found if 2 * found >= len(wanted) else 0
            ranked.append(
                Ranked(
                    item,
                    (named,),
                    {"title_terms": found, "query_terms": len(wanted)},
                )
            )
        return ranked


def order(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Return the total order: features, fused score, document id, chunk."""
    return sorted(
        ranked,
        key=lambda r: (
            tuple(-part for part in r.sort),
            -r.item.fused,
            r.item.candidate.doc_id,
            r.item.candidate.number,
        ),
    )
