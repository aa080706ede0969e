"""One citation and one hit, through everything that can happen to them."""

from __future__ import annotations

from typing import Any, Final

from lab.chunking import BlockChunker, WindowChunker
from lab.encoders.counts import TermCounts
from lab.experiments import Emit, Refuted, Uses
from lab.index import Index
from lab.model import Context, Document, Hit, Policy

KIND = "core"
PAGE = True
LIMITATIONS = (
    "One document and two readers; the histories that nobody would write"
    " by hand are in the stateful test, not here.",
    "Shows what is decided at each moment, not how long a decision takes.",
)

ALICE: Final = Context("larkspur", "alice")
TEXT: Final = (
    "# Mileage\n\nA journey by private car is repaid at 45 pence a mile.\n\n"
    "Passengers add 5 pence each."
)

# What is expected after each event: the citation, and the hit in hand.
EXPECTED: Final = (
    ("found by Alice", "valid", "extractive"),
    ("Bob is given access", "valid", "extractive"),
    ("Alice loses access", "unavailable", "abstain"),
    ("Alice is given access again", "valid", "extractive"),
    ("the index is rebuilt in other chunks", "valid", "abstain"),
    ("rebuilt as it was", "valid", "extractive"),
    ("revision 2 changes one figure", "unavailable", "abstain"),
    ("revision 3 has the old text again", "unavailable", "abstain"),
    ("the document is deleted", "unavailable", "abstain"),
    ("restored with the old text", "unavailable", "abstain"),
)


def uses() -> Uses:
    """Return the projection the hit was made in."""
    return Uses(
        encoder=TermCounts().fingerprint,
        chunker=WindowChunker().fingerprint,
    )


def run(emit: Emit) -> dict[str, Any]:
    """Return what a citation and a hit are worth after each event.

    ``Refuted`` where it differs from what the contracts say.
    """
    with Index.open(":memory:") as index:
        index.upsert(_document(1, TEXT))
        hit = index.search("private car pence", ALICE).hits[0]
        emit(hit.citation)
        emit("")
        emit(f"{'event':<38}{'citation':<13}hit in hand")
        rows = []
        for event, citation, answer in EXPECTED:
            _happen(index, event)
            row = _row(index, event, hit)
            emit(f"{event:<38}{row['citation']:<13}{_told(row)}")
            if (row["citation"], row["answer"]) != (citation, answer):
                raise Refuted(f"after {event!r}: {citation}, {answer}")
            rows.append(row)
    return {"citation": hit.citation, "events": rows}


def _row(index: Index, event: str, hit: Hit) -> dict[str, Any]:
    sink: dict[str, int] = {}
    answer = index.answer([hit], ALICE, sink=sink)
    return {
        "event": event,
        "citation": index.check(hit.citation, ALICE).state,
        "answer": answer.state,
        "reason": next(iter(sink), None),
    }


def _told(row: dict[str, Any]) -> str:
    reason = row["reason"]
    told: str = row["answer"]
    return f"{told} ({reason})" if reason else told


def _document(revision: int, text: str) -> Document:
    return Document(
        "larkspur",
        "mileage",
        revision,
        "markdown",
        text,
        Policy(("alice",)),
    )


def _happen(index: Index, event: str) -> None:
    match event:
        case "Bob is given access":
            _grant(index, "alice", "bob")
        case "Alice loses access":
            _grant(index, "bob")
        case "Alice is given access again":
            _grant(index, "alice", "bob")
        case "the index is rebuilt in other chunks":
            index.rebuild(TermCounts(), BlockChunker(60, 0))
        case "rebuilt as it was":
            index.rebuild(TermCounts(), WindowChunker())
        case "revision 2 changes one figure":
            index.upsert(_document(2, TEXT.replace("45", "55")))
        case "revision 3 has the old text again":
            index.upsert(_document(3, TEXT))
        case "the document is deleted":
            index.delete("larkspur", "mileage", 4)
        case "restored with the old text":
            index.upsert(_document(5, TEXT), restore=True)


def _grant(index: Index, *readers: str) -> None:
    status = index.status("larkspur", "mileage")
    index.set_policy(
        "larkspur",
        "mileage",
        Policy(readers),
        status.policy_revision,  # type: ignore[union-attr]
    )
