"""Ask every labelled question as its principal, and measure the answers.

Two kinds of wrong are kept apart. A missed passage lowers a number. A hit
that its reader may not read is not a low number but a fault: the first one
ends the evaluation with an exception.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from lab.errors import InvalidInput
from lab.evaluation import access, metrics
from lab.evaluation.metrics import Mean
from lab.fixture import KINDS, Fixture, Query
from lab.index import Index, Status
from lab.model import Context, Hit

LEAST_LIMIT: Final = 10
OVERALL: Final = "overall"

Allowed = Callable[[Context, str], bool]
_Measure = Callable[[Sequence[str], Sequence[str]], Fraction | None]


def _at(measure: Callable[..., Fraction | None], k: int) -> _Measure:
    return lambda ranking, gold: measure(ranking, gold, k)


def _by_document(measure: Callable[..., Fraction | None]) -> _Measure:
    """Measure documents: top ten chunks, each document once, first three."""
    return lambda ranking, gold: measure(
        metrics.by_document([_split(chunk) for chunk in ranking]),
        {_split(chunk)[0] for chunk in gold},
        3,
    )


MEASURES: Final[Mapping[str, _Measure]] = {
    "recall@1": _at(metrics.recall, 1),
    "recall@3": _at(metrics.recall, 3),
    "recall@10": _at(metrics.recall, 10),
    "precision@3": _at(metrics.precision, 3),
    "mrr@10": _at(metrics.reciprocal_rank, 10),
    "ndcg@10": _at(metrics.ndcg, 10),
    "document-recall@3": _by_document(metrics.recall),
    "document-mrr@3": _by_document(metrics.reciprocal_rank),
}


class UnreadableHit(Exception):
    """A reader was shown a chunk that the rules keep from them."""


@dataclass(frozen=True)
class Asked:
    """One question and what came back.

    ``ranking`` and ``gold`` hold chunks as ``DOC#NUMBER``. ``values`` has
    one entry per measure for a positive query and none for a negative.
    """

    query: Query
    ranking: tuple[str, ...]
    gold: tuple[str, ...]
    values: Mapping[str, Fraction]

    @property
    def first(self) -> int | None:
        """Return the rank of the first relevant chunk, from 1."""
        for rank, chunk in enumerate(self.ranking, start=1):
            if chunk in self.gold:
                return rank
        return None


@dataclass(frozen=True)
class Report:
    """What one run of the labelled questions measured.

    ``measures`` maps a kind, or ``overall``, to each measure's mean over
    its positive queries; ``abstention`` maps a negative kind to the share
    of its queries that found nothing. ``unanswerable`` names positive
    queries whose anchors no readable chunk holds: they score 0.
    ``broken`` names negative queries that found something in a mode
    designated to find nothing. ``degraded`` is what did not take part.
    """

    fixture: str | None
    encoder: str
    chunker: str
    mode: str
    limit: int
    rerank: bool
    asked: tuple[Asked, ...]
    measures: Mapping[str, Mapping[str, Mean]]
    abstention: Mapping[str, Mean]
    unanswerable: tuple[str, ...]
    broken: tuple[str, ...]
    degraded: tuple[str, ...]

    @property
    def misses(self) -> tuple[Asked, ...]:
        """Return the positive queries without a relevant chunk found."""
        return tuple(
            one
            for one in self.asked
            if not one.query.negative and one.first is None
        )

    def to_claims(self) -> dict[str, Any]:
        """Return everything that must reproduce, as JSON-ready data."""
        return {
            "mode": self.mode,
            "limit": self.limit,
            "rerank": self.rerank,
            "degraded": list(self.degraded),
            "measures": {
                kind: {name: mean.to_data() for name, mean in means.items()}
                for kind, means in self.measures.items()
            },
            "abstention": {
                kind: mean.to_data() for kind, mean in self.abstention.items()
            },
            "unanswerable": list(self.unanswerable),
            "broken": list(self.broken),
            "misses": [one.query.id for one in self.misses],
            "rankings": {one.query.id: list(one.ranking) for one in self.asked},
        }

    def to_lines(self) -> list[str]:
        """Return the report as lines of at most 80 columns for people."""
        shown = ("recall@1", "recall@10", "mrr@10", "ndcg@10")
        lines = [
            f"{self.mode}, rerank {'on' if self.rerank else 'off'},"
            f" first {self.limit}",
            f"{'kind':<15}{'n':>5}"
            + "".join(f"{name:>10}" for name in shown)
            + f"{'95 % of mrr':>19}",
        ]
        for kind, means in self.measures.items():
            mrr = means["mrr@10"]
            lines.append(
                f"{kind:<15}{mrr.count:>5}"
                + "".join(f"{_show(means[name].value):>10}" for name in shown)
                + f"{_show(mrr.low) + ' to ' + _show(mrr.high):>19}"
            )
        for kind, mean in self.abstention.items():
            lines.append(
                f"{kind:<15}{mean.count:>5}   found nothing {_show(mean.value)}"
            )
        for names, what in (
            (self.unanswerable, "have no readable chunk with an anchor"),
            (self.broken, "had to find nothing here and did not"),
        ):
            if names:
                lines.append(f"{len(names)} {what}, {names[0]} first")
        return lines


def evaluate(
    index: Index,
    fixture: Fixture,
    *,
    mode: str = "hybrid",
    limit: int = LEAST_LIMIT,
    rerank: bool = True,
) -> Report:
    """Ask the fixture's questions of an index that holds its documents.

    Every hit is held against ``access.may_read``, which knows nothing of
    the index. Raises ``UnreadableHit`` at the first that should not be
    there.
    """
    return ask(
        index,
        fixture.queries,
        lambda context, doc_id: access.may_read(fixture, context, doc_id),
        fixture=fixture.digest,
        mode=mode,
        limit=limit,
        rerank=rerank,
    )


def ask(
    index: Index,
    queries: Iterable[Query],
    allowed: Allowed,
    *,
    fixture: str | None = None,
    mode: str = "hybrid",
    limit: int = LEAST_LIMIT,
    rerank: bool = True,
) -> Report:
    """Ask labelled queries of any index; ``allowed`` is the second opinion.

    Whatever ``allowed`` says, each hit's citation must also check as valid
    for its reader. Raises ``UnreadableHit``.
    """
    if limit < LEAST_LIMIT:
        raise InvalidInput(
            f"limit: the measures look at {LEAST_LIMIT} hits, so at least"
            f" {LEAST_LIMIT}, got {limit}"
        )
    views: dict[Context, dict[str, str]] = {}
    asked: list[Asked] = []
    degraded: set[str] = set()
    for query in queries:
        context = query.context
        if context not in views:
            views[context] = _readable(index, context)
        results = index.search(
            query.query, context, limit=limit, mode=mode, rerank=rerank
        )
        degraded.update(results.degraded)
        for hit in results.hits:
            _assert_readable(index, query, hit, allowed)
        ranking = tuple(f"{hit.doc_id}#{hit.number}" for hit in results.hits)
        gold = relevant(query, views[context])
        values = {} if query.negative else _values(ranking, gold)
        asked.append(Asked(query, ranking, gold, values))
    status = index.status()
    assert isinstance(status, Status)
    return Report(
        fixture,
        status.encoder,
        status.chunker,
        mode,
        limit,
        rerank,
        tuple(asked),
        _means(asked),
        {
            kind: metrics.mean(
                metrics.abstention(one.ranking)
                for one in asked
                if one.query.kind == kind
            )
            for kind in KINDS
            if any(a.query.kind == kind and a.query.negative for a in asked)
        },
        tuple(
            one.query.id
            for one in asked
            if not one.query.negative and not one.gold
        ),
        tuple(
            one.query.id
            for one in asked
            if mode in one.query.designated
            and one.ranking
            and by_terms(mode, status.encoder)
        ),
        tuple(sorted(degraded)),
    )


def by_terms(mode: str, encoder: str) -> bool:
    """Return whether a mode finds only what shares a term with the query.

    That is why a designated query must find nothing. An encoder that knows
    meanings, or folds features together, may find what shares none.
    """
    return mode == "lexical" or encoder.partition("/")[0] in ("", "term-counts")


def relevant(query: Query, chunks: Mapping[str, str]) -> tuple[str, ...]:
    """Return the chunks (``DOC#NUMBER`` to text) that answer a query.

    A chunk does when it holds one of the anchors, letter case and the
    amount of white space aside, and its document is one of the query's.
    """
    anchors = [squeezed(anchor) for anchor in query.anchors]
    wanted = set(query.documents)
    return tuple(
        sorted(
            chunk
            for chunk, text in chunks.items()
            if not wanted or f"{query.tenant}/{_split(chunk)[0]}" in wanted
            if any(anchor in squeezed(text) for anchor in anchors)
        )
    )


def squeezed(text: str) -> str:
    """Return text as anchors are compared: case folded, blanks single."""
    return " ".join(text.casefold().split())


def difference(
    one: Report, other: Report, measure: str, kind: str | None = None
) -> Mean:
    """Return the mean of ``one - other``, query by query, with interval.

    Both reports must have asked the same questions; pairing them removes
    what makes some questions hard for everybody.
    """
    if [a.query.id for a in one.asked] != [b.query.id for b in other.asked]:
        raise InvalidInput("difference: the reports asked other questions")
    return metrics.mean(
        a.values[measure] - b.values[measure]
        for a, b in zip(one.asked, other.asked, strict=True)
        if a.values and kind in (None, a.query.kind)
    )


def _readable(index: Index, context: Context) -> dict[str, str]:
    """Return the text of every chunk in the reader's view."""
    with index.snapshot() as snapshot:
        view = snapshot.readable(context)
        return {
            f"{chunk.doc_id}#{chunk.number}": chunk.text
            for record in snapshot.records(context.tenant)
            for chunk in snapshot.chunks(view, record.doc_id)
        }


def _assert_readable(
    index: Index, query: Query, hit: Hit, allowed: Allowed
) -> None:
    context = query.context
    checked = index.check(hit.citation, context)
    if (
        hit.tenant == context.tenant
        and hit.principal == context.principal
        and allowed(context, hit.doc_id)
        and checked.state == "valid"
        and checked.quote == hit.text
    ):
        return
    raise UnreadableHit(
        f"query {query.id}: {context.tenant}/{context.principal} was shown"
        f" {hit.citation}, which they may not read; the evaluation stops"
    )


def _values(ranking: Sequence[str], gold: Sequence[str]) -> dict[str, Fraction]:
    # An answerable label whose passage is nowhere is the index's failure
    # and not a gap in the labels, so it counts as 0.
    return {
        name: measure(ranking, gold) or Fraction(0)
        for name, measure in MEASURES.items()
    }


def _means(asked: Sequence[Asked]) -> dict[str, dict[str, Mean]]:
    positive = [one for one in asked if not one.query.negative]
    rows = {OVERALL: positive}
    for kind in KINDS:
        if some := [one for one in positive if one.query.kind == kind]:
            rows[kind] = some
    return {
        kind: {
            name: metrics.mean(one.values[name] for one in some)
            for name in MEASURES
        }
        for kind, some in rows.items()
    }


def _split(chunk: str) -> tuple[str, int]:
    doc_id, _, number = chunk.rpartition("#")
    return doc_id, int(number)


def _show(value: Fraction | None) -> str:
    return "-" if value is None else f"{float(value):.3f}"
