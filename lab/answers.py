"""Answers made of quotations that are checked at the moment of use."""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from typing import Any

from lab import canonical, citations
from lab.errors import InvalidInput
from lab.model import Answer, Checked, Context, Evidence, Hit
from lab.store import Candidate, Snapshot, View

MAX_EVIDENCE = 10
ABSTENTION = "No evidence that you may read supports an answer."

REASONS = (
    "revision",
    "deleted",
    "unreadable",
    "digest",
    "foreign",
    "overlap",
    "malformed",
)

# What a hit must carry to be checked, and of which type.
_CLAIMED = {
    "tenant": str,
    "principal": str,
    "doc_id": str,
    "revision": int,
    "document_sha256": str,
    "number": int,
    "start": int,
    "end": int,
    "sha256": str,
}


def answer(
    snapshot: Snapshot,
    context: Context,
    hits: Iterable[Any],
    limit: int,
    sink: MutableMapping[str, int] | None,
) -> Answer:
    """Return up to ``limit`` pieces of evidence that hold now.

    Hits are untrusted claims: objects or JSON data that may be old, forged
    or somebody else's. Why each was turned away is counted into ``sink``
    for the operator; the reader's answer carries none of it. Raises
    ``InvalidInput`` for a limit outside 1 to 10.
    """
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise InvalidInput("limit: must be an integer")
    if not 1 <= limit <= MAX_EVIDENCE:
        raise InvalidInput(f"limit: must lie from 1 to {MAX_EVIDENCE}")
    if isinstance(hits, str | bytes) or not isinstance(hits, Iterable):
        raise InvalidInput("hits: must be a list of hits")
    view = snapshot.readable(context)
    taken: list[Evidence] = []
    for claim in hits:
        if len(taken) == limit:
            break
        found = _check(snapshot, view, claim, taken)
        if isinstance(found, Evidence):
            taken.append(found)
        elif sink is not None:
            sink[found] = sink.get(found, 0) + 1
    if not taken:
        return Answer("abstain", ABSTENTION, ())
    text = "\n\n".join(f"{item.text}\n[{item.citation}]" for item in taken)
    return Answer("extractive", text, tuple(taken))


def _check(
    snapshot: Snapshot, view: View, claim: Any, taken: list[Evidence]
) -> Evidence | str:
    """Return checked evidence, or the reason there is none."""
    fields = _fields(claim)
    if fields is None:
        return "malformed"
    context = view.context
    if (fields["tenant"], fields["principal"]) != (
        context.tenant,
        context.principal,
    ):
        return "foreign"
    document = snapshot.document(view, fields["doc_id"])
    if document is None:
        row = snapshot.record(context.tenant, fields["doc_id"])
        gone = row is not None and not row.live
        return "deleted" if gone else "unreadable"
    if document.revision != fields["revision"]:
        return "revision"
    if document.sha256 != fields["document_sha256"]:
        return "digest"
    chunk = _chunk(snapshot, view, fields)
    if chunk is None:
        return "digest"
    # The stored chunk must be the slice it claims to be, so that a store
    # that disagrees with itself serves nothing.
    text = document.body[chunk.start : chunk.end]
    if text != chunk.text or canonical.sha256(text) != chunk.sha256:
        return "digest"
    if any(
        item.doc_id == document.doc_id
        and item.start < chunk.end
        and chunk.start < item.end
        for item in taken
    ):
        return "overlap"
    return Evidence(
        citations.cite(
            context.tenant,
            document.doc_id,
            document.revision,
            chunk.start,
            chunk.end,
            text,
        ),
        document.doc_id,
        document.revision,
        document.title,
        chunk.start,
        chunk.end,
        text,
        chunk.sha256,
    )


def _fields(claim: Any) -> dict[str, Any] | None:
    """Return a claim's checked fields, ``None`` when one is not usable."""
    if isinstance(claim, Hit):
        # Only what is checked is looked at: the rest may be anything.
        claim = vars(claim)
    if not isinstance(claim, dict):
        return None
    found = {}
    for name, kind in _CLAIMED.items():
        value = claim.get(name)
        if type(value) is not kind:
            return None
        if isinstance(value, int) and not 0 <= value < 2**63:
            return None
        if isinstance(value, str) and not _encodable(value):
            return None
        found[name] = value
    return found


def _encodable(value: str) -> bool:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return "\x00" not in value


def _chunk(
    snapshot: Snapshot, view: View, fields: dict[str, Any]
) -> Candidate | None:
    key = (fields["doc_id"], fields["number"])
    chunk = snapshot.candidates(view, [key]).get(key)
    if chunk is None:
        return None
    claimed = (fields["start"], fields["end"], fields["sha256"])
    if (chunk.start, chunk.end, chunk.sha256) != claimed:
        return None
    return chunk


def check(
    snapshot: Snapshot, context: Context, citation: str
) -> tuple[Checked, list[tuple[str, int, int, int, str]]]:
    """Return whether a citation holds for this reader now, and its quote.

    Malformed, unknown, deleted, unreadable, outdated and forged all give
    the same ``unavailable``. The second part is what was shown, for an
    audit record.
    """
    parsed = citations.parse(citation)
    # The echo must be encodable, whatever was sent.
    echo = citation.encode("utf-8", "replace").decode("utf-8")
    unavailable: tuple[Checked, list[Any]]
    unavailable = Checked("unavailable", echo), []
    if parsed is None or parsed.tenant != context.tenant:
        return unavailable
    view = snapshot.readable(context)
    document = snapshot.document(view, parsed.doc_id)
    if document is None or document.revision != parsed.revision:
        return unavailable
    if parsed.end > len(document.body):
        return unavailable
    quote = document.body[parsed.start : parsed.end]
    digest = canonical.sha256(quote)
    if digest[:16] != parsed.prefix:
        return unavailable
    checked = Checked("valid", citation, quote, document.title)
    shown = (
        document.doc_id,
        document.revision,
        parsed.start,
        parsed.end,
        digest,
    )
    return checked, [shown]
