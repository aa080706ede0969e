"""What the ten sections pass to each other. Given: read, do not change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

# From the least to the most protected.
CLASSIFICATIONS = ("public", "internal", "confidential", "restricted")

# Words that carry no claim: section 9 leaves them out.
STOP_WORDS = frozenset(
    "a an and are as at be by for from has have in is it its may must not of"
    " on or that the this to was were will with".split()
)


@dataclass(frozen=True)
class Caller:
    """Who asks, as a trusted layer has established it.

    ``clearance`` is one of ``CLASSIFICATIONS``; ``barriers`` are the walls
    this caller stands inside of.
    """

    tenant: str
    clearance: str = "public"
    barriers: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Scored:
    """One entry of a ranking, best first: a chunk's id and its score."""

    chunk_id: str
    score: float


@dataclass(frozen=True)
class Retrieval:
    """What came of one question.

    ``chunks`` are the chunks of ``results``, in the same order.
    ``considered`` counts distinct candidates before anything was removed;
    ``invisible`` and ``stale`` count removals, once per ranking: a chunk
    removed from both rankings counts two. ``degraded`` names what was
    switched off.
    """

    results: tuple[Scored, ...]
    chunks: tuple[Any, ...]
    considered: int
    invisible: int
    stale: int
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True)
class Support:
    """One claim, and the chunk that supports it best, if any does.

    ``overlap`` is the share of the claim's content words found there.
    """

    claim: str
    supported: bool
    citation: str | None
    overlap: float


@dataclass(frozen=True)
class Grounding:
    """Every claim of an answer; ``coverage`` is the share supported."""

    claims: tuple[Support, ...]
    coverage: float


@dataclass(frozen=True)
class Parts:
    """What a prompt is put together from, the retrieved chunks aside."""

    question: str
    instructions: str = ""
    tool_schemas: str = ""
    policy: str = ""
    memory: str = ""


@dataclass(frozen=True)
class Assembled:
    """A prompt within its budget.

    ``included`` and ``dropped`` are chunk ids, best first. ``tokens`` is
    the estimate for ``text``, ``stable_prefix_tokens`` for the part of it
    that is the same in every call, ``cacheable_fraction`` their ratio.
    """

    text: str
    tokens: int
    included: tuple[str, ...] = field(default=())
    dropped: tuple[str, ...] = field(default=())
    stable_prefix_tokens: int = 0
    cacheable_fraction: float = 0.0
