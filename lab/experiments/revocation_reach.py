"""How far a revocation reaches, by where group membership is read.

Three designs hold the same two documents for the group ``finance``.
``Session`` reads a person's groups when they sign in, ``Stamped`` writes a
group's members onto each document when it is indexed, and the lab reads
both at the call. Then people come and go, and a name is used again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from lab.errors import StalePolicy
from lab.experiments import Emit, Refuted, Uses
from lab.index import Index
from lab.model import Context, Document, Policy

KIND = "core"
PAGE = True
LIMITATIONS = (
    "Session and Stamped are the two designs at their plainest; products"
    " mend them with short sessions, cache invalidation or sweeps, which"
    " shorten the time in which they are wrong.",
    "One process plays all parts here. That another process sees a"
    " revocation on its next call is a test of its own.",
)

TENANT: Final = "larkspur"
GROUP: Final = "finance"
WORD: Final = "margin"


class Design(Protocol):
    """What happens to a design, and what a person finds in it."""

    def sign_in(self, person: str) -> None:
        """A person starts a session."""

    def set_group(self, members: Sequence[str]) -> None:
        """The group's members are now these."""

    def replace_group(self, members: Sequence[str]) -> None:
        """The group is deleted; another is made under its name."""

    def write(self, doc_id: str, revision: int) -> None:
        """A document for the group is indexed."""

    def find(self, person: str) -> list[str]:
        """What a person finds now, sorted."""


class Session:
    """Groups are looked up at sign-in and kept in the session."""

    def __init__(self) -> None:
        self._members: set[str] = set()
        self._sessions: dict[str, bool] = {}
        self._documents: set[str] = set()

    def sign_in(self, person: str) -> None:
        """Keep whether this person is a member."""
        self._sessions[person] = person in self._members

    def set_group(self, members: Sequence[str]) -> None:
        """Change the directory, not the sessions."""
        self._members = set(members)

    def replace_group(self, members: Sequence[str]) -> None:
        """Do the same: a group is its name."""
        self.set_group(members)

    def write(self, doc_id: str, revision: int) -> None:
        """Keep the document."""
        self._documents.add(doc_id)

    def find(self, person: str) -> list[str]:
        """Decide by the session."""
        return sorted(self._documents) if self._sessions.get(person) else []


class Stamped:
    """Members are written onto a document when it is indexed."""

    def __init__(self) -> None:
        self._members: set[str] = set()
        self._documents: dict[str, set[str]] = {}

    def sign_in(self, person: str) -> None:
        """Do nothing: nothing is kept in the session."""

    def set_group(self, members: Sequence[str]) -> None:
        """Change the directory, not the documents."""
        self._members = set(members)

    def replace_group(self, members: Sequence[str]) -> None:
        """Do the same: a group is its name."""
        self.set_group(members)

    def write(self, doc_id: str, revision: int) -> None:
        """Stamp the document with today's members."""
        self._documents[doc_id] = set(self._members)

    def find(self, person: str) -> list[str]:
        """Decide by the stamp."""
        return sorted(
            doc_id
            for doc_id, members in self._documents.items()
            if person in members
        )


class Lab:
    """Members and policy are read in the snapshot that answers."""

    def __init__(self) -> None:
        self._index = Index.open(":memory:", encoder=None)

    def sign_in(self, person: str) -> None:
        """Do nothing: a context holds a name and no rights."""

    def set_group(self, members: Sequence[str]) -> None:
        """Change the directory."""
        directory = self._index.directory
        group = directory.get_group(TENANT, GROUP)
        revision = 0 if group is None else group.revision
        directory.set_group(TENANT, GROUP, members, revision)

    def replace_group(self, members: Sequence[str]) -> None:
        """Delete the group and make another under its name."""
        directory = self._index.directory
        group = directory.get_group(TENANT, GROUP)
        assert group is not None
        gone = directory.delete_group(TENANT, GROUP, group.revision)
        directory.set_group(TENANT, GROUP, members, gone)

    def write(self, doc_id: str, revision: int) -> None:
        """Index the document; its policy counts only the first time."""
        self._index.upsert(document(doc_id, revision, f"group:{GROUP}"))

    def find(self, person: str) -> list[str]:
        """Search as this person."""
        found = self._index.search(WORD, Context(TENANT, person))
        return sorted({hit.doc_id for hit in found.hits})


@dataclass(frozen=True)
class Step:
    """An event, who asks after it, and what the lab must show them."""

    event: str
    asks: str
    shows: tuple[str, ...]


STEPS: Final = (
    Step("q2 is filed, Alice signs in", "alice", ("q2",)),
    Step("Alice leaves finance", "alice", ()),
    Step("q3 is filed for finance", "alice", ()),
    Step("q2 gets a second revision", "alice", ()),
    Step("Alice signs in again", "alice", ()),
    Step("finance is made anew with Erin", "erin", ()),
    Step("Erin signs in", "erin", ()),
    Step("q3 gets a second revision", "erin", ()),
)


def uses() -> Uses:
    """Return nothing: the documents are in this file."""
    return Uses()


def run(emit: Emit) -> dict[str, Any]:
    """Return what each design shows after each event."""
    designs: Mapping[str, Design] = {
        "session": Session(),
        "stamped": Stamped(),
        "lab": Lab(),
    }
    emit("What the person finds, by where group membership is read")
    emit("")
    emit(f"{'event':<32}{'asks':<8}{'session':<11}{'stamped':<11}the lab")
    rows = []
    for step in STEPS:
        shown = {}
        for name, design in designs.items():
            happen(design, step.event)
            shown[name] = design.find(step.asks)
        cells = [" ".join(shown[name]) or "-" for name in designs]
        emit(
            f"{step.event:<32}{step.asks:<8}{cells[0]:<11}{cells[1]:<11}"
            f"{cells[2]}"
        )
        if tuple(shown["lab"]) != step.shows:
            raise Refuted(f"after {step.event!r} the lab shows {step.shows}")
        rows.append({"event": step.event, "asks": step.asks, **shown})
    emit("")
    emit("Two administrators change one list of readers, both having read it")
    lost = last_writer()
    emit(f"  the last writer wins:  {', '.join(lost)} may read")
    kept, refused = compare_and_swap()
    emit(f"  compare and swap:      {', '.join(kept)} may read; {refused}")
    if "alice" not in lost or "alice" in kept:
        raise Refuted("of two changes on one revision the second is refused")
    wrong = {
        name: sum(row[name] != row["lab"] for row in rows)
        for name in ("session", "stamped")
    }
    return {
        "rows": rows,
        "asked": len(rows),
        "wrong": wrong,
        "last_writer": lost,
        "compare_and_swap": kept,
    }


def happen(design: Design, event: str) -> None:
    """Let one event happen to one design."""
    match event:
        case "q2 is filed, Alice signs in":
            design.set_group(["alice", "dana"])
            design.write("q2", 1)
            design.sign_in("alice")
        case "Alice leaves finance":
            design.set_group(["dana"])
        case "q3 is filed for finance":
            design.write("q3", 1)
        case "q2 gets a second revision":
            design.write("q2", 2)
        case "Alice signs in again":
            design.sign_in("alice")
        case "finance is made anew with Erin":
            design.replace_group(["erin"])
        case "Erin signs in":
            design.sign_in("erin")
        case "q3 gets a second revision":
            design.write("q3", 2)
        case _:
            raise ValueError(event)


def document(doc_id: str, revision: int, *readers: str) -> Document:
    """Return a small document."""
    return Document(
        TENANT,
        doc_id,
        revision,
        "text",
        f"{doc_id} {WORD}, revision {revision}",
        Policy(readers),
    )


def last_writer() -> list[str]:
    """Return who may read when each writes the list they had in mind."""
    stored = ["alice", "bob"]
    revoking, granting = list(stored), list(stored)
    revoking.remove("alice")
    granting.append("omar")
    for wanted in (revoking, granting):
        stored = wanted
    return stored


def compare_and_swap() -> tuple[list[str], str]:
    """Return who may read in the lab, and what the second was told."""
    with Index.open(":memory:", encoder=None) as index:
        read = index.upsert(document("q2", 1, "alice", "bob")).policy_revision
        index.set_policy(TENANT, "q2", Policy(("bob",)), read)
        told = "nobody was told"
        try:
            index.set_policy(
                TENANT, "q2", Policy(("alice", "bob", "omar")), read
            )
        except StalePolicy as error:
            told = type(error).__name__
        people = ("alice", "bob", "omar")
        return [
            person
            for person in people
            if index.search(WORD, Context(TENANT, person)).hits
        ], told
