"""Seven ways to check a citation, and what each of them lets through."""

from __future__ import annotations

import hashlib
import hmac
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from lab import canonical, citations
from lab.chunking import BlockChunker, WindowChunker
from lab.citations import Citation
from lab.encoders.counts import TermCounts
from lab.errors import NotFound
from lab.experiments import Emit, Refuted, Uses
from lab.index import DocumentStatus, Index
from lab.model import Context, Document, Policy

KIND = "core"
PAGE = False
LIMITATIONS = (
    "Eleven events, chosen so that each way of checking meets what it does"
    " not look at; how often they happen is not measured.",
    "The six ways other than the lab's that ask anything are a few lines"
    " each, and nobody's product.",
)

ALICE: Final = Context("larkspur", "alice")
QUOTE: Final = "The air pressure may vary by 10² pascal."
TEXT: Final = f"# Balance room\n\n{QUOTE}\n\nWithdrawn:\n\nNothing so far."
# The signing key of a service that signs what it cites.
KEY: Final = b"a key that never leaves the service"


@dataclass(frozen=True)
class Held:
    """What somebody keeps of a quotation they were shown."""

    citation: str
    place: Citation
    policy_revision: int
    signature: bytes


def uses() -> Uses:
    """Return the projection that is rebuilt on the way."""
    return Uses(
        encoder=TermCounts().fingerprint,
        chunker=WindowChunker().fingerprint,
    )


def run(emit: Emit) -> dict[str, Any]:
    """Return what each way says after each event, and how often wrongly.

    ``Refuted`` where the lab says something else than it should.
    """
    rows = [_row(event) for event in EVENTS]
    emit(
        f"{'what happened':<26}"
        + "".join(f"{name:<7}" for name in WAYS)
        + "lab"
    )
    for row in rows:
        emit(
            f"{row['event']:<26}"
            + "".join(f"{_told(row, name):<7}" for name in WAYS)
            + _told(row, "lab")
        )
    wrong = {
        name: sum(row["says"][name] != row["holds"] for row in rows)
        for name in WAYS
    }
    emit("")
    emit(
        f"{'wrong, marked *':<26}"
        + "".join(f"{wrong[name]:<7}" for name in WAYS)
        + "0"
    )
    return {"rows": rows, "wrong": wrong, "asked": len(rows)}


def _told(row: Mapping[str, Any], name: str) -> str:
    said = row["says"][name]
    return ("yes" if said else "no") + ("" if said == row["holds"] else "*")


def _row(event: str) -> dict[str, Any]:
    holds, happen = EVENTS[event]
    with Index.open(":memory:") as index:
        index.upsert(_document(1, TEXT))
        held = _hold(index)
        happen(index)
        says = {name: way(index, held) for name, way in WAYS.items()}
        says["lab"] = index.check(held.citation, ALICE).state == "valid"
    if says["lab"] != holds:
        raise Refuted(f"after {event!r} the citation is checked rightly")
    return {"event": event, "holds": holds, "says": says}


def _hold(index: Index) -> Held:
    start = TEXT.index(QUOTE)
    citation = citations.cite(
        "larkspur", "room", 1, start, start + len(QUOTE), QUOTE
    )
    place = citations.parse(citation)
    assert place is not None
    return Held(
        citation, place, _status(index).policy_revision, _sign(citation)
    )


def _sign(citation: str) -> bytes:
    return hmac.new(KEY, citation.encode(), hashlib.sha256).digest()


def _status(index: Index) -> DocumentStatus:
    status = index.status("larkspur", "room")
    assert isinstance(status, DocumentStatus)
    return status


def _body(index: Index) -> str | None:
    """Return what Alice may read of the document now."""
    try:
        return index.read("room", ALICE).body
    except NotFound:
        return None


def _slice(index: Index, held: Held) -> str:
    return (_body(index) or "")[held.place.start : held.place.end]


def _folded(text: str) -> str:
    """Return text as a search would compare it."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _by_id(index: Index, held: Held) -> bool:
    return _body(index) is not None


def _by_words(index: Index, held: Held) -> bool:
    return QUOTE in (_body(index) or "")


def _by_folded(index: Index, held: Held) -> bool:
    return _folded(_slice(index, held)) == _folded(QUOTE)


def _by_place(index: Index, held: Held) -> bool:
    digest = canonical.sha256(_slice(index, held))
    return digest.startswith(held.place.prefix)


def _by_policy(index: Index, held: Held) -> bool:
    same = _status(index).policy_revision == held.policy_revision
    return same and index.check(held.citation, ALICE).state == "valid"


def _by_signature(index: Index, held: Held) -> bool:
    return hmac.compare_digest(held.signature, _sign(held.citation))


def _once(index: Index, held: Held) -> bool:
    # It was checked when the session began, and held.
    return True


WAYS: Final[Mapping[str, Callable[[Index, Held], bool]]] = {
    "id": _by_id,
    "words": _by_words,
    "folded": _by_folded,
    "place": _by_place,
    "policy": _by_policy,
    "signed": _by_signature,
    "once": _once,
}


def _document(revision: int, text: str) -> Document:
    return Document(
        "larkspur", "room", revision, "markdown", text, Policy(("alice",))
    )


def _update(*texts: str) -> Callable[[Index], object]:
    def happen(index: Index) -> None:
        for revision, text in enumerate(texts, 2):
            index.upsert(_document(revision, text))

    return happen


def _readers(*names: str) -> Callable[[Index], object]:
    return lambda index: index.set_policy("larkspur", "room", Policy(names), 1)


def _deleted(*texts: str) -> Callable[[Index], object]:
    def happen(index: Index) -> None:
        index.delete("larkspur", "room", 2)
        for text in texts:
            index.upsert(_document(3, text), restore=True)

    return happen


_MOVED: Final = f"# Balance room\n\nWithdrawn:\n\n{QUOTE}"
_TYPED: Final = TEXT.replace("10²", "102")
_OTHER: Final = "# Parking\n\nVisitors park behind the gate, on the left side."

# Whether the citation should hold after each event, and the event.
EVENTS: Final[Mapping[str, tuple[bool, Callable[[Index], object]]]] = {
    "nothing": (True, lambda index: None),
    "Bob is given access": (True, _readers("alice", "bob")),
    "rebuilt in other chunks": (
        True,
        lambda index: index.rebuild(TermCounts(), BlockChunker(60, 0)),
    ),
    "10² becomes 102": (False, _update(_TYPED)),
    "moved under Withdrawn": (False, _update(_MOVED)),
    "a withdrawal is added": (False, _update(TEXT + "\n\nNo longer valid.")),
    "changed, changed back": (False, _update(_TYPED, TEXT)),
    "Alice loses access": (False, _readers("bob")),
    "deleted": (False, _deleted()),
    "deleted and restored": (False, _deleted(TEXT)),
    "the id is used again": (False, _deleted(_OTHER)),
}
