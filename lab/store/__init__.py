"""What a store must offer; everything that decides lives above it.

A store keeps rows and answers questions about them. Revision rules,
compare-and-swap, scores and order are written once, in the modules above,
so that a second store cannot disagree with the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from lab.model import Context

# A chunk's name above the store: (doc_id, chunk number), never a row id.
Key = tuple[str, int]


@dataclass(frozen=True)
class Settings:
    """The projection an index was built with.

    Each part has a fingerprint; encoder and chunker also the plain data
    they can be rebuilt from. ``encoder`` is empty for a lexical index.
    """

    encoder: str
    encoder_spec: Mapping[str, Any]
    chunker: str
    chunker_spec: Mapping[str, Any]
    terms: str


@dataclass(frozen=True)
class Reader:
    """One entry of a policy: ``kind`` is principal, group or any.

    ``incarnation`` is a group's internal identity, 0 for a group that was
    unknown when the policy was set and so grants nobody.
    """

    kind: str
    name: str
    incarnation: int = 0


@dataclass(frozen=True)
class Record:
    """A document's row, live or tombstone; trusted code only."""

    tenant: str
    doc_id: str
    revision: int
    policy_revision: int
    live: bool
    format: str
    title: str
    body: str
    sha256: str
    updated_at: int | None
    origin: str | None
    classification: str
    barrier: str | None


@dataclass(frozen=True)
class ChunkRow:
    """One chunk as stored, with what its channels need.

    ``terms`` are space-free; ``vector`` holds int8 values and ``norm``
    their squared length; ``features`` are a sparse encoder's counts, whose
    squared length is ``norm`` instead.
    """

    number: int
    start: int
    end: int
    text: str
    sha256: str
    heading_path: tuple[str, ...]
    terms: tuple[str, ...]
    vector: bytes | None = None
    features: Mapping[str, int] | None = None
    norm: int = 0


@dataclass(frozen=True)
class Candidate:
    """A readable chunk with its document's fields, without the body."""

    doc_id: str
    number: int
    revision: int
    document_sha256: str
    title: str
    updated_at: int | None
    origin: str | None
    start: int
    end: int
    text: str
    sha256: str
    heading_path: tuple[str, ...]


@dataclass(frozen=True)
class Principal:
    """A principal's entry in the directory."""

    clearance: str
    barriers: tuple[str, ...]
    revision: int


@dataclass(frozen=True)
class Group:
    """A group's entry; ``members`` are names and ``group:NAME``."""

    members: tuple[str, ...]
    incarnation: int
    revision: int
    live: bool


@dataclass(frozen=True)
class Stats:
    """The readable collection: chunks, and terms in all of them."""

    chunks: int
    terms: int


@dataclass(frozen=True)
class Posting:
    """A term's occurrences in one readable chunk of ``length`` terms."""

    doc_id: str
    number: int
    tf: int
    length: int


@dataclass(frozen=True)
class View:
    """A reader's view, valid inside the snapshot that decided it."""

    context: Context
    serial: int


@dataclass(frozen=True)
class Fault:
    """One disagreement that ``verify`` found."""

    where: str
    what: str


class Snapshot(Protocol):
    """One consistent read of the store.

    Methods that take a ``View`` see readable live documents only; the
    others are for trusted code.
    """

    def settings(self) -> Settings | None:
        """Return how the store was built, ``None`` when new."""
        ...

    def principal(self, tenant: str, name: str) -> Principal | None:
        """Return a principal's entry."""
        ...

    def group(self, tenant: str, name: str) -> Group | None:
        """Return a group's entry, live or deleted."""
        ...

    def record(self, tenant: str, doc_id: str) -> Record | None:
        """Return a document's row, whoever may read it."""
        ...

    def records(self, tenant: str | None = None) -> Iterable[Record]:
        """Yield rows in the order of (tenant, doc_id)."""
        ...

    def readers(self, tenant: str, doc_id: str) -> tuple[Reader, ...]:
        """Return the entries of a document's policy."""
        ...

    def counts(self, tenant: str | None = None) -> Mapping[str, int]:
        """Return how many documents, tombstones, chunks there are."""
        ...

    def readable(self, context: Context) -> View:
        """Decide the reader's view; the only such decision."""
        ...

    def stats(self, view: View) -> Stats:
        """Return the size of the readable collection."""
        ...

    def postings(
        self, view: View, terms: Sequence[str]
    ) -> Mapping[str, list[Posting]]:
        """Return each term's occurrences in readable chunks."""
        ...

    def features(
        self, view: View, names: Sequence[str]
    ) -> Mapping[Key, tuple[int, Mapping[str, int]]]:
        """Return readable sparse rows sharing one of ``names``.

        Each as its squared length and the counts of the shared names.
        """
        ...

    def vectors(self, view: View) -> list[tuple[Key, bytes, int]]:
        """Return readable dense rows: key, int8 values, squared length."""
        ...

    def candidates(
        self, view: View, keys: Sequence[Key]
    ) -> Mapping[Key, Candidate]:
        """Return the named chunks, those that are readable."""
        ...

    def document(self, view: View, doc_id: str) -> Record | None:
        """Return a document if, and only if, it is readable."""
        ...

    def chunks(self, view: View, doc_id: str) -> list[Candidate]:
        """Return a readable document's chunks in order."""
        ...


@runtime_checkable
class Approximating(Protocol):
    """What a snapshot also has where an approximate index can be kept."""

    def nearest(
        self, view: View, vector: bytes, count: int
    ) -> list[tuple[Key, bytes, int]]:
        """Return up to ``count`` readable dense rows, probably nearest."""
        ...


class Transaction(Snapshot, Protocol):
    """One write transaction: all of it happens, or none."""

    def configure(self, settings: Settings) -> None:
        """Store how the projection is made."""
        ...

    def replace(self, record: Record, rows: Sequence[ChunkRow]) -> None:
        """Replace a document's content; policy rows stay."""
        ...

    def set_policy(
        self,
        tenant: str,
        doc_id: str,
        readers: Sequence[Reader],
        classification: str,
        barrier: str | None,
        policy_revision: int,
    ) -> None:
        """Replace a document's policy rows."""
        ...

    def tombstone(
        self, tenant: str, doc_id: str, revision: int, policy_revision: int
    ) -> None:
        """Leave only identity and revisions of a document."""
        ...

    def set_principal(
        self, tenant: str, name: str, principal: Principal
    ) -> None:
        """Replace a principal's entry."""
        ...

    def set_group(
        self, tenant: str, name: str, group: Group, members: Sequence[Reader]
    ) -> None:
        """Replace a group's entry; ``members`` carry identities."""
        ...

    def intact(self, tenant: str, doc_id: str) -> bool:
        """Say whether every row a document counts is there."""
        ...


class Store(Protocol):
    """A place that keeps secrets."""

    def read(self) -> AbstractContextManager[Snapshot]:
        """Open one consistent snapshot."""
        ...

    def write(self) -> AbstractContextManager[Transaction]:
        """Open a write transaction; commit at the end or roll back."""
        ...

    def verify(self) -> list[Fault]:
        """Name every disagreement in the store."""
        ...

    def purge(self) -> list[str]:
        """Erase deleted text; return what is out of reach."""
        ...

    def close(self) -> None:
        """Give up every connection."""
        ...
