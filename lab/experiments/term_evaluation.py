"""The labelled questions, asked of an index that knows only terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lab.encoders.counts import TermCounts
from lab.evaluation.runner import Report, difference, evaluate
from lab.experiments import Emit, Refuted, Uses, _models
from lab.experiments._reports import claims, signed
from lab.fixture import load_fixture, populate
from lab.index import Index
from lab.model import MODES

KIND = "core"
PAGE = True
LIMITATIONS = (
    "The fixture was written for this book by the people who built the"
    " search: the numbers compare settings on it and predict nothing about"
    " other collections.",
    "Term counts share words and know no meanings; cross-language questions"
    " are there to show that.",
    "A few dozen questions of a kind: look at the intervals, not at the"
    " third digit.",
)

# A setting's name, its search mode, and whether titles rerank.
SETTINGS: Final = (
    *((mode, mode, True) for mode in ("lexical", "vector", "hybrid")),
    ("hybrid_without_rerank", "hybrid", False),
)
PAIRS: Final = (
    ("hybrid", "lexical"),
    ("hybrid", "vector"),
    ("hybrid", "hybrid_without_rerank"),
)


def uses() -> Uses:
    """Return what the questions were asked of."""
    return _models.uses(TermCounts())


def run(emit: Emit) -> dict[str, Any]:
    """Ask every question in every setting; return the measures.

    ``Refuted`` when a negative question found something in a mode that is
    designated to find nothing; ``UnreadableHit`` stops it earlier.
    """
    fixture = load_fixture()
    reports: dict[str, Report] = {}
    with Index.open(":memory:") as index:
        populate(index, fixture)
        for name, mode, rerank in SETTINGS:
            report = evaluate(index, fixture, mode=mode, rerank=rerank)
            reports[name] = report
            if reports.keys() != {name}:
                emit("")
            for line in report.to_lines():
                emit(line)
            if report.broken:
                raise Refuted(
                    f"in mode {mode}, {report.broken[0]} finds nothing"
                )
    pairs = {}
    emit("")
    emit("mrr@10, paired difference with its 95 % interval")
    for one, other in PAIRS:
        mean = difference(reports[one], reports[other], "mrr@10")
        pairs[f"{one}_minus_{other}"] = {"mrr_at_10": mean.to_data()}
        emit(f"{one} - {other}: {signed(mean)}")
    return {
        "questions": len(fixture.queries),
        "kinds": _kinds([query.kind for query in fixture.queries]),
        "modes": list(MODES),
        "reports": {name: claims(report) for name, report in reports.items()},
        "differences": pairs,
    }


def _kinds(kinds: list[str]) -> Mapping[str, int]:
    return {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
