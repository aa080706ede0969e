"""One fused order, reranked in several ways, and why one rule errs.

Every labelled question of the fixture is asked in hybrid mode; only the
reranker differs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, Final

from lab.answering.stopwords import ENGLISH
from lab.encoders.counts import TermCounts
from lab.evaluation import metrics
from lab.evaluation.access import may_read
from lab.evaluation.runner import evaluate
from lab.experiments import Emit, Uses, _models
from lab.fixture import Query, load_fixture, populate
from lab.index import Index
from lab.model import Context, Hit
from lab.rerank import Fused, Ranked, Reranker, TitleRule
from lab.rerankers import MMR, CandidateBM25
from lab.terms import terms

KIND = "core"
PAGE = True
LIMITATIONS = (
    "The fixture was written for this book by the people who built the"
    " search: its titles are short and its windows overlap, and other"
    " collections differ in both.",
    "No cross-encoder is asked here: it needs a model's files.",
)

TOP: Final = 10
DANA: Final = Context("larkspur", "dana")
SHOWN: Final = 5


class AnyWord(TitleRule):
    """The rule as it was first: more shared words in a title come first."""

    name = "any-word"

    def rank(
        self, query: str, query_terms: Sequence[str], items: Sequence[Fused]
    ) -> list[Ranked]:
        """Return each item placed by how many words its title shares."""
        return [
            Ranked(one.item, (one.features["title_terms"],), one.features)
            for one in super().rank(query, query_terms, items)
        ]


class AnyContentWord(AnyWord):
    """The same, deaf to English function words."""

    name = "any-content-word"

    def rank(
        self, query: str, query_terms: Sequence[str], items: Sequence[Fused]
    ) -> list[Ranked]:
        """Return what the rule says of the words that are left."""
        kept = [term for term in query_terms if term not in ENGLISH]
        return super().rank(query, kept, items)


WAYS: Final[Mapping[str, bool | Reranker]] = {
    "off": False,
    "any_word": AnyWord(),
    "any_content_word": AnyContentWord(),
    "title": TitleRule(),
    "candidate_bm25": CandidateBM25(),
    "mmr": MMR(),
}


@dataclass(frozen=True)
class Answered:
    """A question, its relevant chunks, and the hits of each way."""

    query: Query
    gold: frozenset[str]
    hits: Mapping[str, Sequence[Hit]]


def uses() -> Uses:
    """Return what the questions were asked of."""
    return _models.uses(TermCounts())


def run(emit: Emit) -> dict[str, Any]:
    """Return what each reranker does to the measures and to the page."""
    asked = _asked()
    emit(f"{len(asked)} questions, hybrid, first {TOP}")
    ways = {name: _way(asked, name) for name in WAYS}
    for name, row in ways.items():
        emit(
            f"  {name.replace('_', ' '):<17}mrr {row['mrr']:.3f}  recall"
            f" {row['recall']:.3f}  better {row['better']:>3}  worse"
            f" {row['worse']:>3}  twice {row['twice']:>3}"
        )
    emit("")
    titles = _titles(asked, emit)
    emit("")
    named = _named(emit)
    emit("")
    example = _example(asked, emit)
    return {
        "questions": len(asked),
        "ways": ways,
        "titles": titles,
        "named": named,
        "example": example,
    }


def _asked() -> list[Answered]:
    fixture = load_fixture()
    with Index.open(":memory:") as index:
        populate(index, fixture)
        report = evaluate(index, fixture, mode="hybrid", rerank=False)
        return [
            Answered(
                one.query,
                frozenset(one.gold),
                {
                    name: index.search(
                        one.query.query,
                        one.query.context,
                        limit=TOP,
                        rerank=reranker,
                    ).hits
                    for name, reranker in WAYS.items()
                },
            )
            for one in report.asked
            if not one.query.negative
        ]


def _way(asked: Sequence[Answered], name: str) -> dict[str, Any]:
    ranks = [(_rank(one, name), _rank(one, "off")) for one in asked]
    recalls = [
        metrics.recall(_order(one, name), one.gold, TOP) or Fraction(0)
        for one in asked
    ]
    return {
        "mrr": metrics.rounded(
            sum((r for r, _ in ranks), Fraction(0)) / len(ranks)
        ),
        "recall": metrics.rounded(sum(recalls, Fraction(0)) / len(recalls)),
        "better": sum(mine > plain for mine, plain in ranks),
        "worse": sum(mine < plain for mine, plain in ranks),
        "twice": sum(_twice(one.hits[name][:SHOWN]) for one in asked),
    }


def _rank(one: Answered, name: str) -> Fraction:
    order = _order(one, name)
    return metrics.reciprocal_rank(order, one.gold, TOP) or Fraction(0)


def _order(one: Answered, name: str) -> list[str]:
    return [_name(hit) for hit in one.hits[name]]


def _name(hit: Hit) -> str:
    return f"{hit.doc_id}#{hit.number}"


def _twice(hits: Sequence[Hit]) -> int:
    """Count the pairs of hits that share text of one document."""
    return sum(
        a.doc_id == b.doc_id and a.start < b.end and b.start < a.end
        for a, b in combinations(hits, 2)
    )


def _titles(asked: Sequence[Answered], emit: Emit) -> dict[str, Any]:
    """What first hits' titles share with their questions, any word.

    Counted on questions where that rule put another chunk first.
    """
    moved = [
        one
        for one in asked
        if _order(one, "any_word")[:1] != _order(one, "off")[:1]
    ]
    shared = [
        set(terms(one.query.query)) & set(terms(one.hits["any_word"][0].title))
        for one in moved
    ]
    emptied = sum(bool(words) and words <= ENGLISH for words in shared)
    right = sum(_order(one, "any_word")[0] in one.gold for one in moved)
    lost = sum(_order(one, "off")[0] in one.gold for one in moved)
    emit(f"any word: another chunk first on {len(moved)} questions")
    emit(f"  right before it {lost}, right after it {right}")
    emit(f"  the title shares nothing but function words: {emptied}")
    return {
        "moved": len(moved),
        "right_before": lost,
        "right_after": right,
        "function_words_only": emptied,
    }


def _named(emit: Emit) -> dict[str, Any]:
    """Type each title Dana may read, and see whose chunk comes first."""
    fixture = load_fixture()
    first = dict.fromkeys(WAYS, 0)
    mine = [
        document.doc_id
        for document in fixture.documents
        if document.tenant == DANA.tenant
        and may_read(fixture, DANA, document.doc_id)
    ]
    with Index.open(":memory:") as index:
        populate(index, fixture)
        for doc_id in mine:
            title = index.read(doc_id, DANA).title
            for name, reranker in WAYS.items():
                hits = index.search(title, DANA, limit=1, rerank=reranker).hits
                first[name] += bool(hits) and hits[0].doc_id == doc_id
    emit(f"{len(mine)} titles typed by Dana; the document itself first")
    for name, count in first.items():
        emit(f"  {name.replace('_', ' '):<17}{count}")
    return {"titles": len(mine), "first": first}


def _example(asked: Sequence[Answered], emit: Emit) -> dict[str, Any]:
    """The first question the rule spoiled by a function word alone."""
    for one in asked:
        first = one.hits["any_word"][0] if one.hits["any_word"] else None
        if first is None or _name(first) in one.gold:
            continue
        words = set(terms(one.query.query)) & set(terms(first.title))
        if words and words <= ENGLISH and _order(one, "off")[0] in one.gold:
            plain = one.hits["off"][0]
            emit(f'"{one.query.query}" ({one.query.principal})')
            emit(f'  off    "{plain.title}" {_name(plain)}  relevant')
            emit(f'  any    "{first.title}" {_name(first)}')
            emit(f"  they share: {' '.join(sorted(words))}")
            return {
                "id": one.query.id,
                "query": one.query.query,
                "off": plain.title,
                "title": first.title,
                "shared": sorted(words),
            }
    return {}
