"""The values that cross the index's two interfaces."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lab import canonical
from lab.errors import InvalidInput

ID = re.compile(r"[A-Za-z0-9_-]{1,80}\Z")
CLASSES: Final = ("public", "internal", "confidential", "restricted")
FORMATS: Final = ("markdown", "json", "text")
MODES: Final = ("hybrid", "lexical", "vector")
MAX_REVISION: Final = 2**63 - 1
MAX_ORIGIN: Final = 1024


def check_id(value: Any, what: str) -> str:
    """Return ``value`` if it is a legal identifier, else ``InvalidInput``.

    Identifiers match ``[A-Za-z0-9_-]{1,80}``: no spaces, no NUL, no
    look-alike letters, nothing that a path or a query could read otherwise.
    """
    if not isinstance(value, str) or not ID.match(value):
        raise InvalidInput(
            f"{what}: must be 1 to 80 of A-Z a-z 0-9 _ -, got {_show(value)}"
        )
    return value


def check_revision(value: Any, what: str, least: int = 1) -> int:
    """Return ``value`` if it is an int from ``least`` to 2**63-1.

    ``True``, ``1.0`` and ``"1"`` are refused: they compare equal to 1 in
    some languages and not in others.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(f"{what}: must be an integer, got {_show(value)}")
    if not least <= value <= MAX_REVISION:
        raise InvalidInput(f"{what}: must lie from {least} to 2**63-1")
    return value


def check_class(value: Any, what: str) -> str:
    """Return ``value`` if it names a class, else ``InvalidInput``."""
    if not isinstance(value, str) or value not in CLASSES:
        raise InvalidInput(
            f"{what}: must be one of {', '.join(CLASSES)}, got {_show(value)}"
        )
    return value


def check_time(value: Any, what: str) -> int:
    """Return integer Unix seconds, else ``InvalidInput``."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(f"{what}: must be integer Unix seconds")
    if not -(2**53) <= value <= 2**53:
        raise InvalidInput(f"{what}: out of range")
    return value


def check_text(value: Any, what: str, most: int) -> str:
    """Return a string of 1 to ``most`` code points without NUL, else raise.

    Lone surrogates are refused here, before any digest or statement meets
    them.
    """
    if not isinstance(value, str):
        raise InvalidInput(f"{what}: must be a string, got {_show(value)}")
    if not 1 <= len(value) <= most:
        raise InvalidInput(f"{what}: must have 1 to {most} characters")
    if "\x00" in value:
        raise InvalidInput(f"{what}: holds a NUL character")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidInput(f"{what}: holds a lone surrogate") from None
    return value


def _show(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else text[:57] + "..."


@dataclass(frozen=True)
class Context:
    """Who is asking. Made by a trusted layer from a verified identity.

    Never built from what a browser sent. Raises ``InvalidInput`` for an
    illegal tenant or principal, so an empty tenant can never mean all.
    """

    tenant: str
    principal: str

    def __post_init__(self) -> None:
        check_id(self.tenant, "tenant")
        check_id(self.principal, "principal")


def require_context(value: Any) -> Context:
    """Return ``value`` if it is a ``Context``, else ``PermissionError``."""
    if type(value) is not Context:
        raise PermissionError(
            "a Context is required: build it from a verified identity"
            f" (got {type(value).__name__})"
        )
    return value


def member(value: Any, what: str) -> tuple[str, str]:
    """Split ``alice`` or ``group:finance`` into ``(kind, name)``."""
    if isinstance(value, str) and value.startswith("group:"):
        return "group", check_id(value[len("group:") :], what)
    return "principal", check_id(value, what)


@dataclass(frozen=True)
class Policy:
    """Who may read a document.

    ``readers`` holds principals, ``group:NAME`` or ``*`` (everyone in this
    tenant); duplicates collapse; empty denies everyone. ``classification``
    is one of ``CLASSES``; ``barrier`` names an information barrier.
    """

    readers: tuple[str, ...]
    classification: str = "internal"
    barrier: str | None = None

    def __post_init__(self) -> None:
        given: object = self.readers
        if not isinstance(given, list | tuple | set | frozenset):
            raise InvalidInput("policy.readers: must be a list of names")
        names = set()
        for reader in self.readers:
            if reader != "*":
                member(reader, "policy.readers")
            names.add(reader)
        object.__setattr__(self, "readers", tuple(sorted(names)))
        check_class(self.classification, "policy.classification")
        if self.barrier is not None:
            check_id(self.barrier, "policy.barrier")

    def to_data(self) -> dict[str, Any]:
        """Return the policy as JSON-ready data."""
        return {
            "readers": list(self.readers),
            "classification": self.classification,
            "barrier": self.barrier,
        }


@dataclass(frozen=True)
class Document:
    """One revision of one document, as a source system sends it.

    ``updated_at`` is integer Unix seconds, ``origin`` free text such as a
    path; both are shown to readers of the document.
    """

    tenant: str
    doc_id: str
    revision: int
    format: str
    source: str
    policy: Policy | None = None
    updated_at: int | None = None
    origin: str | None = None

    def __post_init__(self) -> None:
        check_id(self.tenant, "tenant")
        check_id(self.doc_id, "doc_id")
        check_revision(self.revision, "revision")
        if not isinstance(self.format, str) or self.format not in FORMATS:
            raise InvalidInput(
                f"format: must be one of {', '.join(FORMATS)}, got"
                f" {_show(self.format)}"
            )
        if not isinstance(self.source, str):
            raise InvalidInput("source: must be a string")
        if self.policy is not None and type(self.policy) is not Policy:
            raise InvalidInput("policy: must be a Policy")
        if self.updated_at is not None:
            check_time(self.updated_at, "updated_at")
        if self.origin is not None:
            check_text(self.origin, "origin", MAX_ORIGIN)


@dataclass(frozen=True)
class Upserted:
    """What an upsert did; ``state`` is ``indexed`` or ``unchanged``."""

    state: str
    revision: int
    chunks: int
    sha256: str
    policy_revision: int


@dataclass(frozen=True)
class Removed:
    """What a delete did; ``state`` is ``deleted`` or ``unchanged``."""

    state: str
    revision: int
    policy_revision: int


@dataclass(frozen=True)
class TermScore:
    """One query term's share of a lexical score (units of 2**-40)."""

    term: str
    tf: int
    df: int
    idf: int
    score: int

    def to_data(self) -> dict[str, Any]:
        """Return the share as JSON-ready data."""
        return {
            "term": self.term,
            "tf": self.tf,
            "df": self.df,
            "idf": self.idf,
            "score": self.score,
        }


@dataclass(frozen=True)
class ChannelScore:
    """A hit's rank (from 1) and score (units of 2**-40) in one channel."""

    rank: int
    score: int
    terms: tuple[TermScore, ...] = ()

    def to_data(self) -> dict[str, Any]:
        """Return the channel's share as JSON-ready data."""
        data: dict[str, Any] = {"rank": self.rank, "score": self.score}
        if self.terms:
            data["terms"] = [term.to_data() for term in self.terms]
        return data


@dataclass(frozen=True)
class Hit:
    """One readable chunk that matched, bound to the reader it was made for.

    ``start`` and ``end`` are code points of the stored body, half-open;
    ``sha256`` is the digest of ``text``, ``document_sha256`` of the whole
    projection. ``fused`` is in units of 2**-40. No database id and no
    policy revision occurs in a hit.
    """

    tenant: str
    principal: str
    doc_id: str
    revision: int
    document_sha256: str
    title: str
    updated_at: int | None
    origin: str | None
    number: int
    start: int
    end: int
    text: str
    sha256: str
    heading_path: tuple[str, ...]
    citation: str
    rank: int
    fused: int
    channels: Mapping[str, ChannelScore]
    features: Mapping[str, int] = field(default_factory=dict)

    @property
    def score(self) -> float:
        """Return the fused score as a float (an exact dyadic number)."""
        return self.fused / 2**40

    def to_data(self) -> dict[str, Any]:
        """Return the hit as JSON-ready data (schema ``hit``)."""
        return {
            "tenant": self.tenant,
            "principal": self.principal,
            "doc_id": self.doc_id,
            "revision": self.revision,
            "document_sha256": self.document_sha256,
            "title": self.title,
            "updated_at": self.updated_at,
            "origin": self.origin,
            "number": self.number,
            "start": self.start,
            "end": self.end,
            "text": self.text,
            "sha256": self.sha256,
            "heading_path": list(self.heading_path),
            "citation": self.citation,
            "rank": self.rank,
            "fused": self.fused,
            "channels": {
                name: channel.to_data()
                for name, channel in self.channels.items()
            },
            "features": dict(self.features),
        }


@dataclass(frozen=True)
class Results:
    """What one search found for one reader.

    ``considered`` counts the distinct readable candidates before
    freshness; ``stale`` how many ``max_age`` dropped; ``degraded`` names
    what did not take part (``rerank``, ``vector``); ``approximate`` says
    that the exact-search promises do not cover this result.
    """

    hits: tuple[Hit, ...]
    mode: str
    limit: int
    considered: int
    stale: int
    degraded: tuple[str, ...]
    approximate: bool = False

    def to_data(self) -> dict[str, Any]:
        """Return the results as JSON-ready data (schema ``results``)."""
        return {
            "schema": "ks.results/1",
            "score_unit": "2**-40",
            "hits": [hit.to_data() for hit in self.hits],
            "mode": self.mode,
            "limit": self.limit,
            "considered": self.considered,
            "stale": self.stale,
            "degraded": list(self.degraded),
            "approximate": self.approximate,
        }

    def to_json(self) -> str:
        """Return the results as canonical JSON."""
        return canonical.dumps(self.to_data())


@dataclass(frozen=True)
class Evidence:
    """A checked quotation: its text came from the store just now."""

    citation: str
    doc_id: str
    revision: int
    title: str
    start: int
    end: int
    text: str
    sha256: str

    def to_data(self) -> dict[str, Any]:
        """Return the evidence as JSON-ready data."""
        return {
            "citation": self.citation,
            "doc_id": self.doc_id,
            "revision": self.revision,
            "title": self.title,
            "start": self.start,
            "end": self.end,
            "text": self.text,
            "sha256": self.sha256,
        }


@dataclass(frozen=True)
class Answer:
    """Checked quotations, or an abstention.

    ``state`` is ``extractive`` or ``abstain``. ``generated`` is always
    ``False``: nothing here was written by a model. A checked quotation is
    not thereby a correct answer.
    """

    state: str
    text: str
    evidence: tuple[Evidence, ...]
    generated: bool = False

    def to_data(self) -> dict[str, Any]:
        """Return the answer as JSON-ready data (schema ``answer``)."""
        return {
            "schema": "ks.answer/1",
            "state": self.state,
            "generated": self.generated,
            "text": self.text,
            "evidence": [item.to_data() for item in self.evidence],
        }

    def to_json(self) -> str:
        """Return the answer as canonical JSON."""
        return canonical.dumps(self.to_data())


@dataclass(frozen=True)
class Checked:
    """A citation, checked now: ``valid`` with its quote or ``unavailable``.

    ``unavailable`` is one answer for every reason.
    """

    state: str
    citation: str
    quote: str | None = None
    title: str | None = None

    def to_data(self) -> dict[str, Any]:
        """Return the verdict as JSON-ready data (schema ``checked``)."""
        return {
            "schema": "ks.checked/1",
            "state": self.state,
            "citation": self.citation,
            "quote": self.quote,
            "title": self.title,
        }

    def to_json(self) -> str:
        """Return the verdict as canonical JSON."""
        return canonical.dumps(self.to_data())


@dataclass(frozen=True)
class Reading:
    """A whole document as its reader may see it."""

    doc_id: str
    revision: int
    title: str
    body: str
    sha256: str
    updated_at: int | None
    origin: str | None

    def to_data(self) -> dict[str, Any]:
        """Return the document as JSON-ready data (schema ``reading``)."""
        return {
            "schema": "ks.reading/1",
            "doc_id": self.doc_id,
            "revision": self.revision,
            "title": self.title,
            "body": self.body,
            "sha256": self.sha256,
            "updated_at": self.updated_at,
            "origin": self.origin,
        }

    def to_json(self) -> str:
        """Return the document as canonical JSON."""
        return canonical.dumps(self.to_data())
