"""Access control switched off, and what the relevance measures notice."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from typing import Any, Final

from lab.encoders.counts import TermCounts
from lab.evaluation import access, metrics
from lab.evaluation.runner import (
    MEASURES,
    OVERALL,
    Report,
    UnreadableHit,
    ask,
    difference,
    evaluate,
)
from lab.experiments import Emit, Refuted, Uses, _models
from lab.experiments._reports import signed
from lab.fixture import Fixture, load_fixture, populate
from lab.index import Index
from lab.model import Policy

KIND = "core"
PAGE = True
LIMITATIONS = (
    "The labels are what each reader may read, so an unreadable hit can"
    " only take a place; with labels made by somebody who sees everything"
    " it could even count as right.",
    "One collection in which half of the documents are open to most staff;"
    " where less is shared, more would be shown.",
)

MODE: Final = "lexical"
OPEN: Final = Policy(("*",), "public", None)
SHOWN: Final = ("recall@10", "mrr@10", "ndcg@10")


def uses() -> Uses:
    """Return what the questions were asked of."""
    return _models.uses(TermCounts())


def run(emit: Emit) -> dict[str, Any]:
    """Return the measures with the access rules and without them.

    ``Refuted`` if the second reading of the rules lets the open index pass.
    """
    fixture = load_fixture()
    kept, opened = _kept(fixture), _opened(fixture)
    emit(f"{'':<24}{'rules kept':>12}{'switched off':>14}")
    for name in SHOWN:
        emit(
            f"{name:<24}{_mean(kept, name):>12.3f}{_mean(opened, name):>14.3f}"
        )
    pages = _pages(fixture, opened)
    hits = sum(pages.values())
    emit(f"{'pages with a leak':<24}{0:>12}{len(pages):>14}")
    emit(f"{'hits not for the reader':<24}{0:>12}{hits:>14}")
    emit("")
    pairs = [
        (one, other)
        for one, other in zip(kept.asked, opened.asked, strict=True)
        if not one.query.negative
    ]
    change = difference(opened, kept, "mrr@10")
    emit(f"mrr@10, off minus kept: {signed(change)}")
    stopped = _stopped(fixture)
    emit("")
    emit("the same index, by an evaluation that holds each hit to the rules:")
    for line in textwrap.wrap(stopped, 76):
        emit(f"  {line}")
    return {
        "questions": len(kept.asked),
        "positive": kept.measures[OVERALL]["mrr@10"].count,
        "kept": _claims(kept),
        "off": _claims(opened),
        "difference": change.to_data(),
        "moved": sum(a.first != b.first for a, b in pairs),
        "recall_changed": sum(
            a.values["recall@10"] != b.values["recall@10"] for a, b in pairs
        ),
        "pages": len(pages),
        "hits": hits,
        "shown": sum(len(one.ranking) for one in opened.asked),
        "stopped": stopped,
    }


def _kept(fixture: Fixture) -> Report:
    with Index.open(":memory:") as index:
        populate(index, fixture)
        return evaluate(index, fixture, mode=MODE)


def _opened(fixture: Fixture) -> Report:
    """Ask an index in which every policy lets everyone of the tenant in.

    The labels stay what they were. Nothing is a label that its asker may
    not read: a question names the documents that answer it.
    """
    with Index.open(":memory:") as index:
        populate(index, _without_rules(fixture))
        return ask(index, fixture.queries, lambda *_: True, mode=MODE)


def _without_rules(fixture: Fixture) -> Fixture:
    documents = tuple(
        replace(document, policy=OPEN) for document in fixture.documents
    )
    return replace(fixture, documents=documents)


def _pages(fixture: Fixture, report: Report) -> dict[str, int]:
    """Return how many hits of each page its reader may not read."""
    counts = {
        one.query.id: sum(
            not access.may_read(
                fixture, one.query.context, name.rpartition("#")[0]
            )
            for name in one.ranking
        )
        for one in report.asked
    }
    return {id_: count for id_, count in counts.items() if count}


def _stopped(fixture: Fixture) -> str:
    """Return what the evaluation says when it does hold hits to the rules."""
    with Index.open(":memory:") as index:
        populate(index, _without_rules(fixture))
        try:
            evaluate(index, fixture, mode=MODE)
        except UnreadableHit as fault:
            return str(fault)
    raise Refuted("an unreadable hit ends the evaluation")


def _mean(report: Report, name: str) -> float:
    value = report.measures[OVERALL][name].value
    assert value is not None
    return float(value)


def _claims(report: Report) -> dict[str, Any]:
    return {
        name.replace("@", "_at_").replace("-", "_"): metrics.rounded(
            report.measures[OVERALL][name].value
        )
        for name in MEASURES
    }
