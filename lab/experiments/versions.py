"""One document, many events: which of its version numbers each one moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from lab.chunking import WindowChunker
from lab.encoders.counts import TermCounts
from lab.errors import NotFound
from lab.experiments import Emit, Refuted, Uses
from lab.index import DocumentStatus, Index, Status
from lab.model import Context

KIND = "core"
PAGE = True
LIMITATIONS = (
    "One document and a dozen events chosen to tell the numbers apart; the"
    " histories that nobody would write by hand are in the stateful test.",
    "The source's numbering is taken as given: nothing here detects a source"
    " that numbers its changes wrongly but in order.",
)

OLD: Final = "# Travel policy\n\nThe hotel limit is 180 GBP a night.\n"
NEW: Final = OLD.replace("180", "210")
# How an editor on another desktop saves the same text.
RESAVED: Final = "\ufeff" + OLD.replace("\n", "\r\n")
PEOPLE: Final = ("alice", "bob", "omar", "wei")


@dataclass(frozen=True)
class Step:
    """An event, what must become of it, and the numbers that then stand."""

    name: str
    words: str
    event: dict[str, Any]
    outcome: str
    revision: int
    policy_revision: int


def _event(op: str, **more: Any) -> dict[str, Any]:
    named = {"op": op, "tenant": "larkspur", "doc_id": "travel-policy"}
    return named | more


def _content(revision: int, source: str, **more: Any) -> dict[str, Any]:
    return _event(
        "upsert",
        revision=revision,
        format="markdown",
        source=source,
        origin="handbook/travel-policy.md",
        **more,
    )


def _policy(decided_on: int, *readers: str) -> dict[str, Any]:
    return _event(
        "set_policy",
        policy={"readers": list(readers)},
        expected_policy_revision=decided_on,
    )


def _to(*readers: str) -> dict[str, Any]:
    return {"policy": {"readers": list(readers)}}


JOINS: Final = {
    "op": "set_group",
    "tenant": "larkspur",
    "name": "support",
    "members": ["bob"],
    "expected_revision": 1,
}

STEPS: Final = (
    Step(
        "created",
        "content 1: alice, group support",
        _content(1, OLD, **_to("alice", "group:support")),
        "indexed",
        1,
        1,
    ),
    Step(
        "resaved",
        "content 1, resaved: CRLF, BOM",
        _content(1, RESAVED),
        "unchanged",
        1,
        1,
    ),
    Step(
        "contested",
        "content 1, another figure",
        _content(1, NEW),
        "stale_revision",
        1,
        1,
    ),
    Step(
        "granted",
        "policy decided on 1: and wei",
        _policy(1, "alice", "wei", "group:support"),
        "set",
        1,
        2,
    ),
    Step(
        "late-policy",
        "policy decided on 1: only alice",
        _policy(1, "alice"),
        "stale_policy",
        1,
        2,
    ),
    Step("joined", "directory: bob joins support", JOINS, "set", 1, 2),
    Step(
        "updated",
        "content 2: everyone",
        _content(2, NEW, **_to("*")),
        "indexed",
        2,
        2,
    ),
    Step(
        "late-content",
        "content 1, late",
        _content(1, OLD),
        "stale_revision",
        2,
        2,
    ),
    Step(
        "reverted",
        "content 3, the text of 1",
        _content(3, OLD),
        "indexed",
        3,
        2,
    ),
    Step(
        "elsewhere",
        "quayside: delete 9",
        _event("delete", revision=9) | {"tenant": "quayside"},
        "deleted",
        3,
        2,
    ),
    Step("deleted", "delete 4", _event("delete", revision=4), "deleted", 4, 3),
    Step(
        "late-again",
        "content 4: everyone",
        _content(4, NEW, **_to("*")),
        "stale_revision",
        4,
        3,
    ),
    Step(
        "restored",
        "content 5, restored: alice",
        _content(5, NEW, restore=True, **_to("alice")),
        "indexed",
        5,
        4,
    ),
)


def uses() -> Uses:
    """Return the projection that the provenance at the end names."""
    return Uses(
        encoder=TermCounts().fingerprint,
        chunker=WindowChunker().fingerprint,
    )


def run(emit: Emit) -> dict[str, Any]:
    """Return the numbers and who may read, after each event.

    ``Refuted`` where an outcome or a number is not what must come of it.
    """
    with Index.open(":memory:") as index:
        # A policy binds the groups that exist when it is set.
        index.directory.set_group("larkspur", "support", ())
        emit(f"{'event':<32}{'outcome':<15}rev policy digest   read by")
        rows = []
        for step in STEPS:
            row = _take(index, step)
            emit(_line(step, row))
            rows.append(row)
        emit("")
        emit("where the last quotation comes from")
        provenance = _provenance(index)
        for name, value in provenance.items():
            emit(f"  {name:<9} {value}")
    return {
        "events": rows,
        "refused": sum(row["refused"] for row in rows),
        "digests": len({row["digest"] for row in rows if row["digest"]}),
        "provenance": provenance,
    }


def _take(index: Index, step: Step) -> dict[str, Any]:
    (outcome,) = index.apply([step.event])
    status = index.status("larkspur", "travel-policy")
    assert isinstance(status, DocumentStatus)
    row = {
        "event": step.name,
        "outcome": outcome.code or outcome.state,
        "refused": outcome.state == "refused",
        "revision": status.revision,
        "policy_revision": status.policy_revision,
        "digest": status.sha256[:8] if status.live else None,
        "readers": [name for name in PEOPLE if _reads(index, name)],
    }
    expected = (step.outcome, step.revision, step.policy_revision)
    if (row["outcome"], row["revision"], row["policy_revision"]) != expected:
        raise Refuted(f"{step.words!r} ends in {expected}")
    return row


def _reads(index: Index, name: str) -> bool:
    try:
        index.read("travel-policy", Context("larkspur", name))
    except NotFound:
        return False
    return True


def _line(step: Step, row: dict[str, Any]) -> str:
    return (
        f"{step.words:<32}{row['outcome']:<15}"
        f"{row['revision']:>3} {row['policy_revision']:>6}"
        f" {row['digest'] or '-':<8} {' '.join(row['readers']) or '-'}"
    )


def _provenance(index: Index) -> dict[str, str]:
    hit = index.search("hotel limit", Context("larkspur", "alice")).hits[0]
    status = index.status()
    assert isinstance(status, Status)
    return {
        "citation": hit.citation,
        "document": f"sha256 {hit.document_sha256[:32]}",
        "origin": hit.origin or "-",
        "chunker": status.chunker,
        "terms": status.terms,
        "encoder": status.encoder,
    }
