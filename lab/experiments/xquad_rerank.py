"""Rerankers on XQuAD, English, with article titles above the passages.

The rule for titles as it is, beside the rule it replaced (more of the
query's terms in the title first, however few).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from lab.evaluation import xquad
from lab.evaluation.metrics import rounded
from lab.experiments import Emit, Uses, _xquad
from lab.experiments._reports import signed
from lab.rerank import Fused, Ranked, Reranker, TitleRule
from lab.rerankers import MMR, CandidateBM25
from lab.terms import terms

KIND = "data"
PAGE = False
LIMITATIONS = (
    *_xquad.LIMITATIONS,
    "Five passages share each title, so a title cannot tell them apart; and"
    " nobody who asks these questions types a title.",
)


class AnyTitleTerm:
    """The rule as it was: more query terms in the title come first."""

    name = "any-title-term"

    def rank(
        self, query: str, query_terms: Sequence[str], items: Sequence[Fused]
    ) -> list[Ranked]:
        """Return each item with its count of query terms in the title."""
        wanted = set(query_terms)
        return [
            Ranked(item, (len(wanted & set(terms(item.candidate.title))),), {})
            for item in items
        ]


RERANKERS: Final[dict[str, bool | Reranker]] = {
    "none": False,
    "any_title_term": AnyTitleTerm(),
    "title": TitleRule(),
    "candidate_bm25": CandidateBM25(),
    "mmr": MMR(),
}


def uses() -> Uses:
    """Return what the questions were asked of."""
    return _xquad.uses()


def run(emit: Emit) -> dict[str, Any]:
    """Ask every English question of the lexical channel, reranked."""
    with xquad.opened(None, "en", titled=True) as index:
        runs = {
            name: xquad.run(index, "en", mode="lexical", rerank=reranker)
            for name, reranker in RERANKERS.items()
        }
    emit(xquad.HEADER)
    found: dict[str, Any] = {}
    for name, made in runs.items():
        emit(xquad.to_line(name, made))
        found[name] = xquad.to_claims(made)
    emit("")
    emit("mrr, with a reranker - without")
    for name in list(RERANKERS)[1:]:
        mean = xquad.difference(runs[name], runs["none"], "mrr_at_10")
        emit(f"{name}: {signed(mean)}")
        found[name]["minus_none"] = {
            "value": rounded(mean.value),
            "low": rounded(mean.low),
            "high": rounded(mean.high),
        }
    return found
