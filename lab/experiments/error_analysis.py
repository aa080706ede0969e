"""Every question that was missed, and where on the way it was lost."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from lab.encoders.counts import TermCounts
from lab.evaluation.runner import Asked, Report, evaluate
from lab.experiments import Emit, Uses, _models
from lab.fixture import Fixture, load_fixture, populate
from lab.index import Index
from lab.model import Context
from lab.search import CANDIDATES
from lab.terms import terms

KIND = "core"
PAGE = True
LIMITATIONS = (
    "One small collection with one person's labels: the shares say where"
    " this search loses questions here, not where yours does.",
    "A miss is given the first reason that applies; some have two.",
)

FIRST: Final = 10
# In the order in which a question can be lost.
STAGES: Final = ("found", "no shared term", "ranked too low", "demoted")
SHOWN: Final = 3


def uses() -> Uses:
    """Return what the questions were asked of."""
    return _models.uses(TermCounts())


def run(emit: Emit) -> dict[str, Any]:
    """Return where each labelled question with an answer ended."""
    fixture = load_fixture()
    with Index.open(":memory:") as index:
        populate(index, fixture)
        deep = _ask(index, fixture, CANDIDATES, False)
        final = _ask(index, fixture, FIRST, True)
        ends = {
            one.query.id: _end(index, one, last)
            for one, last in zip(deep.asked, final.asked, strict=True)
            if not one.query.negative
        }
    kinds = sorted(
        {one.query.kind for one in deep.asked if not one.query.negative}
    )
    counts = {
        kind: Counter(
            ends[one.query.id]
            for one in deep.asked
            if one.query.id in ends and one.query.kind == kind
        )
        for kind in kinds
    }
    emit(f"{'kind':<16}" + "".join(f"{stage:>16}" for stage in STAGES))
    for kind in kinds:
        row = "".join(f"{counts[kind][stage]:>16}" for stage in STAGES)
        emit(f"{kind:<16}{row}")
    _examples(emit, deep, ends)
    total = Counter(ends.values())
    return {
        "asked": len(ends),
        "missed": len(ends) - total["found"],
        "total": {_key(stage): total[stage] for stage in STAGES},
        "kinds": {
            kind: {_key(stage): counts[kind][stage] for stage in STAGES}
            for kind in kinds
        },
        "ends": ends,
    }


def _key(stage: str) -> str:
    return stage.replace(" ", "_")


def _ask(index: Index, fixture: Fixture, limit: int, rerank: bool) -> Report:
    return evaluate(index, fixture, mode="lexical", limit=limit, rerank=rerank)


def _end(index: Index, deep: Asked, final: Asked) -> str:
    """Return at which stage a relevant chunk was lost, if it was."""
    if final.first is not None:
        return "found"
    if not _shares(index, deep):
        return "no shared term"
    if deep.first is None or deep.first > FIRST:
        return "ranked too low"
    return "demoted"


def _shares(index: Index, asked: Asked) -> bool:
    """Say whether a relevant chunk holds a term of the question."""
    query = asked.query
    wanted = set(terms(query.query))
    keys = []
    for name in asked.gold:
        doc_id, _, number = name.rpartition("#")
        keys.append((doc_id, int(number)))
    with index.snapshot() as snapshot:
        view = snapshot.readable(Context(query.tenant, query.principal))
        chunks = snapshot.candidates(view, keys)
    return any(wanted & set(terms(chunk.text)) for chunk in chunks.values())


def _examples(emit: Emit, deep: Report, ends: dict[str, str]) -> None:
    for stage in STAGES[1:]:
        emit("")
        emit(f"{stage}:")
        of_stage = [
            one for one in deep.asked if ends.get(one.query.id) == stage
        ]
        for one in of_stage[:SHOWN]:
            place = f"rank {one.first}" if one.first else "-"
            emit(f"  {one.query.id}  {place:<9}{one.query.query}")
