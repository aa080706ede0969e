"""Authorized retrieval in one module: ten sections, each a stage.

Write them in order; a later section uses the earlier ones. Everything you
need is the standard library and ``retrieval_types.py``, which is given.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from retrieval_types import (
    CLASSIFICATIONS,
    STOP_WORDS,
    Assembled,
    Caller,
    Grounding,
    Parts,
    Retrieval,
    Scored,
    Support,
)

# Section 1: documents and chunks


@dataclass(frozen=True)
class Document:
    """A document as a source delivers it.

    ``updated_at`` is a tick of whatever clock the caller injects;
    ``barrier`` names a wall around it, or is ``None``.
    """

    tenant: str
    doc_id: str
    text: str
    version: int = 1
    classification: str = "internal"
    barrier: str | None = None
    updated_at: int = 0


@dataclass(frozen=True)
class Chunk:
    """A stretch of a document: ``document.text[start:end] == text``."""

    chunk_id: str
    tenant: str
    doc_id: str
    version: int
    section: str
    start: int
    end: int
    text: str
    classification: str = "internal"
    barrier: str | None = None
    updated_at: int = 0

    def citation(self) -> str:
        """Return ``doc_id@vVERSION#section[start:end]``."""
        raise NotImplementedError("Stage 01: name the document, its version and the span")


def classification_rank(classification: str) -> int:
    """Return 0 for public … 3 for restricted.

    Raises ``ValueError`` for a word that is none of the four.
    """
    raise NotImplementedError("Stage 01: look the word up, and refuse any other")


def ingest(document: Document) -> Document:
    """Return the document, or raise ``ValueError`` naming what is wrong.

    Tenant and doc_id must not be blank, the version is at least 1, and the
    classification is one of the four: a typo must fail here, not years
    later as a document that everybody may read.
    """
    raise NotImplementedError("Stage 01: check ids, version and classification")


# Section 2: chunks that respect structure

HEADING = re.compile(r"^## (.*)$", re.MULTILINE)
WORD = re.compile(r"\S+")


def estimate_tokens(text: str) -> int:
    """Return the characters divided by four, rounded up; 0 for ``""``."""
    raise NotImplementedError("Stage 02: divide by four and round up")


def sections(text: str) -> list[tuple[str, int, int]]:
    """Return each section as ``(name, start, end)``, headings left out.

    A section begins after its ``## `` line and ends before the next one.
    What stands before the first heading is the section ``body``, and so is
    a text without headings.
    """
    raise NotImplementedError("Stage 02: cut the text at its headings")


def chunk_document(
    document: Document, max_tokens: int = 96, overlap: int = 16
) -> list[Chunk]:
    """Return the document's chunks, ids ``{doc_id}::{n}`` from 1.

    Sections first, then size: a chunk takes whole words while its estimate
    stays within ``max_tokens``; a word too long for that stands whole and
    alone. The next chunk repeats as many last words as fit into ``overlap``
    tokens, none when the next word would not fit beside them. Offsets
    count from the start of the document. A section without words gives no
    chunk. Raises ``ValueError`` unless ``max_tokens > 0`` and
    ``0 <= overlap < max_tokens``.
    """
    raise NotImplementedError("Stage 02: pack words section by section, moving a cursor forward")


# Section 3: signed feature hashing

DIMENSIONS = 96
TOKEN = re.compile(r"[a-z0-9][a-z0-9-]*")


def tokenize(text: str) -> list[str]:
    """Return the tokens of the lower-cased text, in order."""
    raise NotImplementedError("Stage 03: find every token of the lower-cased text")


def feature(token: str) -> tuple[int, int]:
    """Return the dimension of a token, and its sign, +1 or -1.

    ``blake2b`` of its UTF-8, 8 bytes: the first four, big-endian, modulo
    ``DIMENSIONS`` pick the dimension; an even fifth byte means +1.
    """
    raise NotImplementedError("Stage 03: hash the token, take index and sign from its bytes")


def embed(text: str) -> tuple[float, ...]:
    """Return the signed counts of a text's tokens, L2-normalised.

    A text whose counts are all zero stays all zero.
    """
    raise NotImplementedError("Stage 03: add up signs by dimension, then divide by the length")


def similarity(left: Sequence[float], right: Sequence[float]) -> float:
    """Return the cosine of two embeddings: of unit length, their product."""
    raise NotImplementedError("Stage 03: multiply place by place and add up")


# Section 4: namespaces, and what may be seen inside one


def namespace(tenant: str) -> str:
    """Return the partition of a tenant: ``tenant/NAME``.

    The tenant alone decides it. Raises ``ValueError`` for a blank tenant,
    which must never come to mean "all of them".
    """
    raise NotImplementedError("Stage 04: name the partition, and refuse a blank tenant")


def visible(chunk: Chunk, caller: Caller) -> bool:
    """Say whether the caller may see the chunk.

    All of: the same tenant, a clearance at least as high as the chunk's
    classification, and, if the chunk stands behind a barrier, being
    inside it.
    """
    raise NotImplementedError("Stage 04: demand tenant and clearance and barrier")


# Section 5: BM25, one namespace at a time


class Bm25Index:
    """Token counts of chunks, in partitions that share no statistics."""

    def __init__(self, k1: float = 1.5, b: float = 0.75) -> None:
        """Raise ``ValueError`` unless ``k1 >= 0`` and ``0 <= b <= 1``."""
        raise NotImplementedError("Stage 05: check k1 and b, and start with no partition")

    def add(self, chunk: Chunk) -> None:
        """Count the chunk's tokens in the namespace of its tenant."""
        raise NotImplementedError("Stage 05: put the chunk's counts into its partition")

    def idf(self, space: str, token: str) -> float:
        """Return ``max(0, ln((N - df + 0.5) / (df + 0.5) + 1))``.

        ``N`` counts the chunks of the namespace, ``df`` those that contain
        the token, however often.
        """
        raise NotImplementedError("Stage 05: count chunks that hold the token, not occurrences")

    def search(self, space: str, query: str, limit: int = 12) -> list[Scored]:
        """Return the best chunks of one namespace for a query.

        Each distinct token of the query adds
        ``idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / average))``.
        Zero scores are left out, equal ones are in the order of their ids;
        an unknown or empty namespace gives ``[]``.
        """
        raise NotImplementedError("Stage 05: score the partition's chunks, drop zeros, sort, cut")


# Section 6: vectors, one namespace at a time


class DenseIndex:
    """Embeddings of chunks, in one partition for each tenant."""

    def __init__(self) -> None:
        """Start with no partition."""
        self.partitions: dict[str, dict[str, tuple[float, ...]]] = {}

    def add(self, chunk: Chunk) -> None:
        """Embed the chunk in the namespace of its tenant."""
        raise NotImplementedError("Stage 06: put the chunk's embedding into its partition")

    def namespaces(self) -> list[str]:
        """Return the namespaces that hold anything, sorted."""
        raise NotImplementedError("Stage 06: sort the names of the partitions")

    def search(self, space: str, query: str, limit: int = 12) -> list[Scored]:
        """Return the chunks of one namespace that point the query's way.

        Scores at or below zero are left out, equal ones are in the order
        of their ids; an unknown namespace gives ``[]``.
        """
        raise NotImplementedError("Stage 06: compare, drop what is not positive, sort, cut")


# Section 7: fusing by rank, and reranking you can explain


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[Scored]], k: int = 60
) -> list[Scored]:
    """Return one ranking: the sum of ``1 / (k + rank)``, ranks from 1.

    Scores that come in are never read. The order of the rankings makes no
    difference, not in the last bit either (``math.fsum``); equal sums are
    in the order of their ids. Raises ``ValueError`` unless ``k > 0``.
    """
    raise NotImplementedError("Stage 07: collect a share for every rank, add exactly, sort")


def rerank_score(query: str, text: str) -> float:
    """Return the coverage of the query, plus a quarter of its density.

    Coverage is the share of the query's distinct tokens that the text
    has; density the share of the text's tokens that are tokens of the
    query. An empty query, or an empty text, gives 0.
    """
    raise NotImplementedError("Stage 07: coverage plus 0.25 times occurrences by length")


def rerank(
    query: str, chunks: Sequence[Chunk], min_score: float = 0.0
) -> list[Scored]:
    """Return the chunks above ``min_score``, best first, ties by id."""
    raise NotImplementedError("Stage 07: score every chunk, keep what is above the floor, sort")


# Section 8: the authorized retriever


class AuthorizedRetriever:
    """Two indexes, one caller: searched in a namespace, filtered, fused.

    ``max_age`` is in ticks, ``None`` for no limit; with ``reranking`` off
    the fused order is returned and says so.
    """

    def __init__(
        self,
        *,
        candidate_limit: int = 12,
        result_limit: int = 5,
        max_age: int | None = None,
        reranking: bool = True,
        min_score: float = 0.0,
    ) -> None:
        """Start with empty indexes."""
        raise NotImplementedError("Stage 08: keep the settings, make both indexes")

    def add(self, document: Document) -> int:
        """Ingest, chunk and index a document; return how many chunks.

        Chunk ids repeat between tenants, so chunks are kept by namespace
        and id.
        """
        raise NotImplementedError("Stage 08: ingest, chunk, and add each chunk to both indexes")

    def fresh(self, chunk: Chunk, now: int) -> bool:
        """Say whether the chunk is at most ``max_age`` ticks old."""
        raise NotImplementedError("Stage 08: compare the chunk's age with the limit")

    def retrieve(self, query: str, caller: Caller, now: int = 0) -> Retrieval:
        """Return what this caller may see of what answers the query.

        Both indexes are searched in the caller's namespace only, up to
        ``candidate_limit`` each. Distinct candidates are counted, then
        each ranking loses what is invisible, else what is stale, and both
        are counted; rankings left empty are dropped; only then are they
        fused, reranked and cut to ``result_limit``. Without reranking the
        fused order is returned, with no floor, and ``degraded`` says
        ``("rerank",)``. Nothing left is an empty result.
        """
        raise NotImplementedError("Stage 08: search, count, filter each ranking, fuse, rerank")


# Section 9: grounding


def content_words(text: str) -> frozenset[str]:
    """Return the distinct tokens of a text that are no stop words."""
    raise NotImplementedError("Stage 09: tokens minus stop words")


def ground(
    claims: Sequence[str],
    chunks: Sequence[Chunk],
    min_overlap: float = 0.6,
) -> Grounding:
    """Hold each claim against the retrieved chunks.

    The overlap with a chunk is the share of the claim's content words it
    contains. The best chunk supports the claim from ``min_overlap`` on,
    and its citation is carried; the first of equals wins. A claim without
    content words is trivially supported, with overlap 1 and no citation.
    No claims have coverage 1. Raises ``ValueError`` unless
    ``0 < min_overlap <= 1``.
    """
    raise NotImplementedError("Stage 09: find each claim's best chunk, and count what is supported")


# Section 10: a context within its budget


def render(blocks: Sequence[tuple[str, str]]) -> str:
    """Return ``[name]``, a line break and the value of each block.

    Blocks with an empty value are left out; an empty line separates two.
    """
    raise NotImplementedError("Stage 10: join what is not empty")


def assemble(parts: Parts, chunks: Sequence[Chunk], budget: int) -> Assembled:
    """Return the prompt with as many chunks, best first, as the budget has.

    The blocks are instructions, tool_schemas, policy, memory, retrieved
    and question. In ``retrieved`` each chunk is ``<<citation>>``, a line
    break and its text, with an empty line between two. The text as it is
    sent is measured; the lowest-ranked chunk goes first, the question
    never. The stable prefix is the rendered instructions, tool_schemas and
    policy. Raises ``ValueError`` unless ``budget > 0``, and when the fixed
    parts alone are over it.
    """
    raise NotImplementedError("Stage 10: drop chunks from the end until the whole text fits")
