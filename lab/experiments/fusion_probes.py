"""Two channels' orders made one: by rank, and in ways that add scores.

Every labelled question of the fixture is asked of each channel alone,
without reranking; what they return is then put together in several ways.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from lab import exact, fusion
from lab.encoders.counts import TermCounts
from lab.evaluation import metrics
from lab.evaluation.runner import evaluate
from lab.experiments import Emit, Refuted, Uses, _models
from lab.fixture import Query, load_fixture, populate
from lab.index import Index
from lab.store import Key

KIND = "core"
PAGE = True
LIMITATIONS = (
    "Both channels count the same terms, so they agree more than a lexical"
    " channel and a model would.",
    "The fixture was written for this book by the people who built the"
    " search; the numbers compare ways of fusing on it and predict nothing"
    " about other collections.",
)

DEPTH: Final = 100
TOP: Final = 10
CONSTANTS: Final = (1, 10, 60, 1000)
# Two channels that disagree at the top, and a chunk that both rank.
EXAMPLE: Final = "q031"

Scores = Mapping[Key, int]
Fuse = Callable[[Scores, Scores], Mapping[Key, Fraction]]


@dataclass(frozen=True)
class Answered:
    """A question, its relevant chunks and what each channel scored."""

    query: Query
    gold: frozenset[Key]
    lexical: Scores
    vector: Scores


def by_rank(constant: int) -> Fuse:
    """Return reciprocal rank fusion with another constant."""

    def fuse(lexical: Scores, vector: Scores) -> dict[Key, Fraction]:
        fused: dict[Key, Fraction] = {}
        for scores in (lexical, vector):
            for key, rank in fusion.ranks(scores, DEPTH).items():
                share = Fraction(1, constant + rank)
                fused[key] = fused.get(key, Fraction(0)) + share
        return fused

    return fuse


def by_sum(weight: int) -> Fuse:
    """Return the tempting way: BM25 plus ``weight`` times the cosine."""

    def fuse(lexical: Scores, vector: Scores) -> dict[Key, Fraction]:
        return {
            key: Fraction(
                lexical.get(key, 0) + weight * vector.get(key, 0), exact.UNIT
            )
            for key in {*lexical, *vector}
        }

    return fuse


def by_range(lexical: Scores, vector: Scores) -> dict[Key, Fraction]:
    """Return the mended way: each channel first stretched to 0 and 1."""
    fused: dict[Key, Fraction] = {}
    for scores in (lexical, vector):
        if not scores:
            continue
        low, high = min(scores.values()), max(scores.values())
        for key, score in scores.items():
            share = Fraction(score - low, high - low or 1)
            fused[key] = fused.get(key, Fraction(0)) + share
    return fused


WAYS: Final[Mapping[str, Fuse]] = {
    "lexical": lambda lexical, _: {k: Fraction(v) for k, v in lexical.items()},
    "vector": lambda _, vector: {k: Fraction(v) for k, v in vector.items()},
    "rrf": by_rank(exact.RANK_CONSTANT),
    "sum": by_sum(1),
    "sum_percent": by_sum(100),
    "ranges": by_range,
}
NAMES: Final[Mapping[str, str]] = {
    "lexical": "lexical alone",
    "vector": "vector alone",
    "rrf": "by rank, 1/(60 + rank)",
    "sum": "BM25 + cosine",
    "sum_percent": "BM25 + cosine in percent",
    "ranges": "both stretched to 0..1",
}


def uses() -> Uses:
    """Return what the questions were asked of."""
    return _models.uses(TermCounts())


def run(emit: Emit) -> dict[str, Any]:
    """Return how each way of fusing does, and what agreement is worth.

    ``Refuted`` when the lab's own fused order is not the sum of reciprocal
    ranks, worked out again here.
    """
    asked = _asked()
    emit(f"{len(asked)} questions, first {TOP} of each way, no reranking")
    ways = {}
    for name, fuse in WAYS.items():
        orders = [_order(fuse, one) for one in asked]
        ways[name] = {
            "mrr": _mean(asked, orders, metrics.reciprocal_rank),
            "recall": _mean(asked, orders, metrics.recall),
            "as_lexical": _same(asked, orders, "lexical"),
            "as_vector": _same(asked, orders, "vector"),
        }
        emit(
            f"  {NAMES[name]:<25}mrr {ways[name]['mrr']:.3f}  recall"
            f" {ways[name]['recall']:.3f}  first as lex."
            f" {ways[name]['as_lexical']:>3}, vec."
            f" {ways[name]['as_vector']:>3}"
        )
    emit("")
    constants = {
        str(constant): _mean(
            asked,
            [_order(by_rank(constant), one) for one in asked],
            metrics.reciprocal_rank,
        )
        for constant in CONSTANTS
    }
    for name, value in constants.items():
        emit(f"  by rank, 1/({name} + rank): mrr {value:.3f}")
    emit("")
    agreement = _agreement(asked, emit)
    emit("")
    example = _example(asked, emit)
    return {
        "questions": len(asked),
        "ways": ways,
        "constants": constants,
        "agreement": agreement,
        "example": example,
    }


def _asked() -> list[Answered]:
    fixture = load_fixture()
    with Index.open(":memory:") as index:
        populate(index, fixture)
        report = evaluate(index, fixture, mode="hybrid", rerank=False)
        answered = []
        for one in report.asked:
            if one.query.negative:
                continue
            scores = [
                {
                    (hit.doc_id, hit.number): hit.channels[mode].score
                    for hit in index.search(
                        one.query.query,
                        one.query.context,
                        limit=DEPTH,
                        mode=mode,
                        rerank=False,
                    ).hits
                }
                for mode in ("lexical", "vector")
            ]
            answer = Answered(
                one.query, frozenset(map(_key, one.gold)), *scores
            )
            again = [
                f"{doc_id}#{number}"
                for doc_id, number in _order(WAYS["rrf"], answer)
            ]
            if again != list(one.ranking):
                raise Refuted("the fused order is the sum of 1/(60 + rank)")
            answered.append(answer)
    return answered


def _order(fuse: Fuse, one: Answered) -> list[Key]:
    fused = fuse(one.lexical, one.vector)
    return sorted(fused, key=lambda key: (-fused[key], key))[:TOP]


def _mean(
    asked: Sequence[Answered],
    orders: Sequence[Sequence[Key]],
    measure: Callable[[Sequence[Key], frozenset[Key], int], Fraction | None],
) -> float | None:
    values = [
        measure(order, one.gold, TOP) or Fraction(0)
        for one, order in zip(asked, orders, strict=True)
    ]
    return metrics.rounded(sum(values, Fraction(0)) / len(values))


def _same(
    asked: Sequence[Answered], orders: Sequence[Sequence[Key]], channel: str
) -> int:
    """Count the questions whose first place is this channel's first."""
    return sum(
        bool(order) and order[:1] == _order(WAYS[channel], one)[:1]
        for one, order in zip(asked, orders, strict=True)
    )


def _agreement(asked: Sequence[Answered], emit: Emit) -> dict[str, Any]:
    """How often a chunk is relevant that both, or only one, put in ten."""
    counts = {name: [0, 0] for name in ("both", "lexical_only", "vector_only")}
    for one in asked:
        lexical = set(_order(WAYS["lexical"], one))
        vector = set(_order(WAYS["vector"], one))
        for name, found in (
            ("both", lexical & vector),
            ("lexical_only", lexical - vector),
            ("vector_only", vector - lexical),
        ):
            counts[name][0] += len(found)
            counts[name][1] += len(found & one.gold)
    emit("chunks in the first ten of")
    out = {}
    for name, (chunks, right) in counts.items():
        share = metrics.rounded(Fraction(right, chunks or 1))
        out[name] = {"chunks": chunks, "relevant": right, "share": share}
        emit(
            f"  {name.replace('_', ' '):<14}{chunks:>5}, relevant {right:>4}"
            f" ({share:.3f})"
        )
    return out


def _example(asked: Sequence[Answered], emit: Emit) -> dict[str, Any]:
    (one,) = (a for a in asked if a.query.id == EXAMPLE)
    ranks = [fusion.ranks(s, DEPTH) for s in (one.lexical, one.vector)]
    emit(f'"{one.query.query}" ({one.query.principal})')
    rows = []
    for place, key in enumerate(_order(WAYS["rrf"], one)[:5], start=1):
        lexical, vector = (found.get(key) for found in ranks)
        fused = fusion.fuse([{key: r} for r in (lexical, vector) if r])[key]
        rows.append(
            {
                "place": place,
                "chunk": f"{key[0]}#{key[1]}",
                "lexical": lexical,
                "vector": vector,
                "fused": round(fused / exact.UNIT, 5),
                "relevant": key in one.gold,
            }
        )
        emit(
            f"  {place}  {rows[-1]['chunk']:<26}lexical {lexical or '-':>3}"
            f"  vector {vector or '-':>3}  {rows[-1]['fused']:.5f}"
            f"{'  relevant' if key in one.gold else ''}"
        )
    return {"query": one.query.query, "id": one.query.id, "rows": rows}


def _key(name: str) -> Key:
    doc_id, _, number = name.rpartition("#")
    return doc_id, int(number)
