"""What the lab's tests share: marks, short makers, an open index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from lab.index import Index
from lab.model import Context, Document, Policy, Results

contract = pytest.mark.contract

ALICE = Context("larkspur", "alice")
BOB = Context("larkspur", "bob")
OUTSIDER = Context("quayside", "bob")


def document(
    doc_id: str = "travel-policy",
    source: str = "# Travel policy\n\nA hotel night may cost 180 pounds.",
    *,
    tenant: str = "larkspur",
    revision: int = 1,
    readers: tuple[str, ...] | None = ("alice",),
    classification: str = "internal",
    barrier: str | None = None,
    format: str = "markdown",
    updated_at: int | None = None,
    origin: str | None = None,
) -> Document:
    """Return a document; ``readers=None`` leaves the policy out."""
    policy = None
    if readers is not None:
        policy = Policy(readers, classification, barrier)
    return Document(
        tenant, doc_id, revision, format, source, policy, updated_at, origin
    )


def found(results: Results) -> list[str]:
    """Return the document ids of a result, in order, each once."""
    return list(dict.fromkeys(hit.doc_id for hit in results.hits))


def see(index: Index, query: str, context: Context) -> list[str]:
    """Return what a reader finds in any channel."""
    everything: list[str] = []
    for mode in ("lexical", "vector", "hybrid"):
        results = index.search(query, context, mode=mode, limit=100)
        everything += found(results)
    return sorted(set(everything))


def everything(index: Index, query: str, context: Context) -> str:
    """Return every byte that ``context`` gets for one query."""
    parts = []
    for mode in ("lexical", "vector", "hybrid"):
        for rerank in (True, False):
            results = index.search(
                query, context, mode=mode, rerank=rerank, limit=100
            )
            answer = index.answer(results.hits, context, limit=10)
            parts += [results.to_json(), answer.to_json()]
            for item in answer.evidence:
                parts.append(index.check(item.citation, context).to_json())
                parts.append(index.read(item.doc_id, context).to_json())
    return "\n".join(parts)


def changed(hit: Mapping[str, Any], **values: Any) -> dict[str, Any]:
    """Return a hit's data with some fields forged."""
    return {**hit, **values}
