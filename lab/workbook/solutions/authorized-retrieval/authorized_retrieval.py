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
        place = f"[{self.start}:{self.end}]"
        return f"{self.doc_id}@v{self.version}#{self.section}{place}"


def classification_rank(classification: str) -> int:
    """Return 0 for public … 3 for restricted.

    Raises ``ValueError`` for a word that is none of the four.
    """
    if classification not in CLASSIFICATIONS:
        raise ValueError(
            f"classification {classification!r}: must be one of"
            f" {', '.join(CLASSIFICATIONS)}"
        )
    return CLASSIFICATIONS.index(classification)


def ingest(document: Document) -> Document:
    """Return the document, or raise ``ValueError`` naming what is wrong.

    Tenant and doc_id must not be blank, the version is at least 1, and the
    classification is one of the four: a typo must fail here, not years
    later as a document that everybody may read.
    """
    for name in ("tenant", "doc_id"):
        if not getattr(document, name).strip():
            raise ValueError(f"{name}: must not be blank")
    if document.version < 1:
        raise ValueError("version: must be at least 1")
    classification_rank(document.classification)
    return document


# Section 2: chunks that respect structure

HEADING = re.compile(r"^## (.*)$", re.MULTILINE)
WORD = re.compile(r"\S+")


def estimate_tokens(text: str) -> int:
    """Return the characters divided by four, rounded up; 0 for ``""``."""
    return math.ceil(len(text) / 4)


def sections(text: str) -> list[tuple[str, int, int]]:
    """Return each section as ``(name, start, end)``, headings left out.

    A section begins after its ``## `` line and ends before the next one.
    What stands before the first heading is the section ``body``, and so is
    a text without headings.
    """
    found = [("body", 0, len(text))]
    for heading in HEADING.finditer(text):
        name, start, _ = found[-1]
        found[-1] = (name, start, heading.start())
        found.append((heading[1].strip(), heading.end(), len(text)))
    return found


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
    if max_tokens <= 0:
        raise ValueError("max_tokens: must be positive")
    if not 0 <= overlap < max_tokens:
        raise ValueError("overlap: must be from 0 to max_tokens - 1")
    text = document.text

    def tokens(first: tuple[int, int], last: tuple[int, int]) -> int:
        return estimate_tokens(text[first[0] : last[1]])

    chunks: list[Chunk] = []
    for name, begin, end in sections(text):
        words = [word.span() for word in WORD.finditer(text, begin, end)]
        first = 0
        while first < len(words):
            after = first + 1
            while (
                after < len(words)
                and tokens(words[first], words[after]) <= max_tokens
            ):
                after += 1
            start, stop = words[first][0], words[after - 1][1]
            chunks.append(
                Chunk(
                    chunk_id=f"{document.doc_id}::{len(chunks) + 1}",
                    tenant=document.tenant,
                    doc_id=document.doc_id,
                    version=document.version,
                    section=name,
                    start=start,
                    end=stop,
                    text=text[start:stop],
                    classification=document.classification,
                    barrier=document.barrier,
                    updated_at=document.updated_at,
                )
            )
            if after == len(words):
                break
            # Repeat last words, but never without taking a new one along.
            while first < after and (
                tokens(words[first], words[after - 1]) > overlap
                or tokens(words[first], words[after]) > max_tokens
            ):
                first += 1
    return chunks


# Section 3: signed feature hashing

DIMENSIONS = 96
TOKEN = re.compile(r"[a-z0-9][a-z0-9-]*")


def tokenize(text: str) -> list[str]:
    """Return the tokens of the lower-cased text, in order."""
    return TOKEN.findall(text.lower())


def feature(token: str) -> tuple[int, int]:
    """Return the dimension of a token, and its sign, +1 or -1.

    ``blake2b`` of its UTF-8, 8 bytes: the first four, big-endian, modulo
    ``DIMENSIONS`` pick the dimension; an even fifth byte means +1.
    """
    digest = hashlib.blake2b(token.encode("utf-8"), digest_size=8).digest()
    sign = 1 if digest[4] % 2 == 0 else -1
    return int.from_bytes(digest[:4], "big") % DIMENSIONS, sign


def embed(text: str) -> tuple[float, ...]:
    """Return the signed counts of a text's tokens, L2-normalised.

    A text whose counts are all zero stays all zero.
    """
    counts = [0] * DIMENSIONS
    for token in tokenize(text):
        place, sign = feature(token)
        counts[place] += sign
    length = math.sqrt(sum(count * count for count in counts))
    if length == 0:
        return (0.0,) * DIMENSIONS
    return tuple(count / length for count in counts)


def similarity(left: Sequence[float], right: Sequence[float]) -> float:
    """Return the cosine of two embeddings: of unit length, their product."""
    return sum(a * b for a, b in zip(left, right, strict=True))


# Section 4: namespaces, and what may be seen inside one


def namespace(tenant: str) -> str:
    """Return the partition of a tenant: ``tenant/NAME``.

    The tenant alone decides it. Raises ``ValueError`` for a blank tenant,
    which must never come to mean "all of them".
    """
    if not tenant.strip():
        raise ValueError("tenant: must not be blank")
    return f"tenant/{tenant}"


def visible(chunk: Chunk, caller: Caller) -> bool:
    """Say whether the caller may see the chunk.

    All of: the same tenant, a clearance at least as high as the chunk's
    classification, and, if the chunk stands behind a barrier, being
    inside it.
    """
    return (
        chunk.tenant == caller.tenant
        and classification_rank(caller.clearance)
        >= classification_rank(chunk.classification)
        and (chunk.barrier is None or chunk.barrier in caller.barriers)
    )


# Section 5: BM25, one namespace at a time


class Bm25Index:
    """Token counts of chunks, in partitions that share no statistics."""

    def __init__(self, k1: float = 1.5, b: float = 0.75) -> None:
        """Raise ``ValueError`` unless ``k1 >= 0`` and ``0 <= b <= 1``."""
        if not k1 >= 0:
            raise ValueError("k1: must not be negative")
        if not 0 <= b <= 1:
            raise ValueError("b: must be from 0 to 1")
        self.k1 = k1
        self.b = b
        self.partitions: dict[str, dict[str, Counter[str]]] = {}

    def add(self, chunk: Chunk) -> None:
        """Count the chunk's tokens in the namespace of its tenant."""
        partition = self.partitions.setdefault(namespace(chunk.tenant), {})
        partition[chunk.chunk_id] = Counter(tokenize(chunk.text))

    def idf(self, space: str, token: str) -> float:
        """Return ``max(0, ln((N - df + 0.5) / (df + 0.5) + 1))``.

        ``N`` counts the chunks of the namespace, ``df`` those that contain
        the token, however often.
        """
        partition = self.partitions.get(space, {})
        df = sum(token in counts for counts in partition.values())
        ratio = (len(partition) - df + 0.5) / (df + 0.5)
        return max(0.0, math.log(ratio + 1))

    def search(self, space: str, query: str, limit: int = 12) -> list[Scored]:
        """Return the best chunks of one namespace for a query.

        Each distinct token of the query adds
        ``idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / average))``.
        Zero scores are left out, equal ones are in the order of their ids;
        an unknown or empty namespace gives ``[]``.
        """
        partition = self.partitions.get(space, {})
        total = sum(counts.total() for counts in partition.values())
        if total == 0:
            return []
        average = total / len(partition)
        weights = {token: self.idf(space, token) for token in tokenize(query)}
        ranking = []
        for chunk_id, counts in partition.items():
            stretch = 1 - self.b + self.b * counts.total() / average
            score = sum(
                weight
                * counts[token]
                * (self.k1 + 1)
                / (counts[token] + self.k1 * stretch)
                for token, weight in weights.items()
                if counts[token]
            )
            if score > 0:
                ranking.append(Scored(chunk_id, score))
        ranking.sort(key=lambda scored: (-scored.score, scored.chunk_id))
        return ranking[:limit]


# Section 6: vectors, one namespace at a time


class DenseIndex:
    """Embeddings of chunks, in one partition for each tenant."""

    def __init__(self) -> None:
        """Start with no partition."""
        self.partitions: dict[str, dict[str, tuple[float, ...]]] = {}

    def add(self, chunk: Chunk) -> None:
        """Embed the chunk in the namespace of its tenant."""
        partition = self.partitions.setdefault(namespace(chunk.tenant), {})
        partition[chunk.chunk_id] = embed(chunk.text)

    def namespaces(self) -> list[str]:
        """Return the namespaces that hold anything, sorted."""
        return sorted(self.partitions)

    def search(self, space: str, query: str, limit: int = 12) -> list[Scored]:
        """Return the chunks of one namespace that point the query's way.

        Scores at or below zero are left out, equal ones are in the order
        of their ids; an unknown namespace gives ``[]``.
        """
        wanted = embed(query)
        ranking = []
        for chunk_id, vector in self.partitions.get(space, {}).items():
            score = similarity(wanted, vector)
            if score > 0:
                ranking.append(Scored(chunk_id, score))
        ranking.sort(key=lambda scored: (-scored.score, scored.chunk_id))
        return ranking[:limit]


# Section 7: fusing by rank, and reranking you can explain


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[Scored]], k: int = 60
) -> list[Scored]:
    """Return one ranking: the sum of ``1 / (k + rank)``, ranks from 1.

    Scores that come in are never read. The order of the rankings makes no
    difference, not in the last bit either (``math.fsum``); equal sums are
    in the order of their ids. Raises ``ValueError`` unless ``k > 0``.
    """
    if k <= 0:
        raise ValueError("k: must be positive")
    shares: dict[str, list[float]] = {}
    for ranking in rankings:
        for rank, scored in enumerate(ranking, 1):
            shares.setdefault(scored.chunk_id, []).append(1 / (k + rank))
    fused = [Scored(name, math.fsum(parts)) for name, parts in shares.items()]
    return sorted(fused, key=lambda scored: (-scored.score, scored.chunk_id))


def rerank_score(query: str, text: str) -> float:
    """Return the coverage of the query, plus a quarter of its density.

    Coverage is the share of the query's distinct tokens that the text
    has; density the share of the text's tokens that are tokens of the
    query. An empty query, or an empty text, gives 0.
    """
    wanted = set(tokenize(query))
    found = tokenize(text)
    if not wanted or not found:
        return 0.0
    coverage = len(wanted & set(found)) / len(wanted)
    density = sum(token in wanted for token in found) / len(found)
    return coverage + 0.25 * density


def rerank(
    query: str, chunks: Sequence[Chunk], min_score: float = 0.0
) -> list[Scored]:
    """Return the chunks above ``min_score``, best first, ties by id."""
    ranking = []
    for chunk in chunks:
        score = rerank_score(query, chunk.text)
        if score > min_score:
            ranking.append(Scored(chunk.chunk_id, score))
    return sorted(ranking, key=lambda scored: (-scored.score, scored.chunk_id))


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
        self.candidate_limit = candidate_limit
        self.result_limit = result_limit
        self.max_age = max_age
        self.reranking = reranking
        self.min_score = min_score
        self.lexical = Bm25Index()
        self.dense = DenseIndex()
        self.chunks: dict[tuple[str, str], Chunk] = {}

    def add(self, document: Document) -> int:
        """Ingest, chunk and index a document; return how many chunks.

        Chunk ids repeat between tenants, so chunks are kept by namespace
        and id.
        """
        chunks = chunk_document(ingest(document))
        for chunk in chunks:
            self.chunks[namespace(chunk.tenant), chunk.chunk_id] = chunk
            self.lexical.add(chunk)
            self.dense.add(chunk)
        return len(chunks)

    def fresh(self, chunk: Chunk, now: int) -> bool:
        """Say whether the chunk is at most ``max_age`` ticks old."""
        return self.max_age is None or now - chunk.updated_at <= self.max_age

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
        space = namespace(caller.tenant)
        rankings = [
            index.search(space, query, self.candidate_limit)
            for index in (self.lexical, self.dense)
        ]
        candidates = {one.chunk_id for ranking in rankings for one in ranking}
        invisible = stale = 0
        allowed = []
        for ranking in rankings:
            kept = []
            for scored in ranking:
                chunk = self.chunks[space, scored.chunk_id]
                if not visible(chunk, caller):
                    invisible += 1
                elif not self.fresh(chunk, now):
                    stale += 1
                else:
                    kept.append(scored)
            if kept:
                allowed.append(kept)
        results = reciprocal_rank_fusion(allowed)
        if self.reranking:
            fused = [self.chunks[space, one.chunk_id] for one in results]
            results = rerank(query, fused, self.min_score)
        results = results[: self.result_limit]
        return Retrieval(
            results=tuple(results),
            chunks=tuple(self.chunks[space, one.chunk_id] for one in results),
            considered=len(candidates),
            invisible=invisible,
            stale=stale,
            degraded=() if self.reranking else ("rerank",),
        )


# Section 9: grounding


def content_words(text: str) -> frozenset[str]:
    """Return the distinct tokens of a text that are no stop words."""
    return frozenset(tokenize(text)) - STOP_WORDS


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
    if not 0 < min_overlap <= 1:
        raise ValueError("min_overlap: must be above 0 and at most 1")
    found = []
    for claim in claims:
        words = content_words(claim)
        if not words:
            found.append(Support(claim, True, None, 1.0))
            continue
        best, citation = 0.0, None
        for chunk in chunks:
            overlap = len(words & content_words(chunk.text)) / len(words)
            if overlap > best:
                best, citation = overlap, chunk.citation()
        supported = best >= min_overlap
        found.append(
            Support(claim, supported, citation if supported else None, best)
        )
    supported_claims = sum(one.supported for one in found)
    coverage = supported_claims / len(found) if found else 1.0
    return Grounding(tuple(found), coverage)


# Section 10: a context within its budget


def render(blocks: Sequence[tuple[str, str]]) -> str:
    """Return ``[name]``, a line break and the value of each block.

    Blocks with an empty value are left out; an empty line separates two.
    """
    return "\n\n".join(f"[{name}]\n{value}" for name, value in blocks if value)


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
    if budget <= 0:
        raise ValueError("budget: must be positive")
    stable = [
        ("instructions", parts.instructions),
        ("tool_schemas", parts.tool_schemas),
        ("policy", parts.policy),
    ]
    for count in range(len(chunks), -1, -1):
        retrieved = "\n\n".join(
            f"<<{chunk.citation()}>>\n{chunk.text}" for chunk in chunks[:count]
        )
        text = render(
            [
                *stable,
                ("memory", parts.memory),
                ("retrieved", retrieved),
                ("question", parts.question),
            ]
        )
        tokens = estimate_tokens(text)
        if tokens <= budget:
            break
    else:
        raise ValueError(
            f"budget: the fixed parts take {tokens} tokens, over {budget}"
        )
    prefix = estimate_tokens(render(stable))
    return Assembled(
        text=text,
        tokens=tokens,
        included=tuple(chunk.chunk_id for chunk in chunks[:count]),
        dropped=tuple(chunk.chunk_id for chunk in chunks[count:]),
        stable_prefix_tokens=prefix,
        cacheable_fraction=prefix / tokens if tokens else 0.0,
    )
