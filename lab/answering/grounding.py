"""Grounding: does any piece of evidence hold the words of a claim?

A check of words, not of meaning. It catches a claim that nothing quoted
speaks of; it does not catch a negation lost, two numbers exchanged, or a
sentence assembled from the evidence's own words. ``missing`` names the
words that the best piece lacks, so that a wrong number can be seen even
where the share is high enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lab.answering.passage import Passage, check_string
from lab.answering.stopwords import (
    CHINESE_NEGATIONS,
    CHINESE_PARTICLES,
    CHINESE_WORDS,
    ENGLISH,
)
from lab.errors import InvalidInput
from lab.terms import terms


@dataclass(frozen=True)
class Verdict:
    """One claim, judged.

    ``overlap`` is the share of the claim's distinct content words in the
    best piece of evidence. ``trivial`` marks a claim without content words,
    which is supported by nothing in particular; ``citation`` is then
    ``None``, as it is for an unsupported claim. ``missing`` holds the
    content words the best piece lacks, in the claim's order.
    """

    claim: str
    supported: bool
    citation: str | None
    overlap: float
    missing: tuple[str, ...]
    trivial: bool = False


@dataclass(frozen=True)
class Grounding:
    """All verdicts, in the order of the claims."""

    verdicts: tuple[Verdict, ...]

    @property
    def coverage(self) -> float:
        """Return the share of supported claims, 1.0 for no claims."""
        if not self.verdicts:
            return 1.0
        good = sum(1 for verdict in self.verdicts if verdict.supported)
        return good / len(self.verdicts)

    @property
    def unsupported(self) -> tuple[str, ...]:
        """Return the claims that no evidence supports."""
        return tuple(v.claim for v in self.verdicts if not v.supported)


def ground(
    claims: Sequence[str],
    evidence: Sequence[Passage],
    min_overlap: float = 0.6,
) -> Grounding:
    """Judge each claim against each piece of evidence.

    A claim is supported when one piece holds at least ``min_overlap`` of
    its distinct content words; several pieces are never added together.
    The best piece is cited, the earlier one of equals. Without evidence
    nothing with content is supported. Raises ``InvalidInput`` for a
    ``min_overlap`` outside (0, 1] and for claims that are not strings.
    """
    if isinstance(min_overlap, bool) or not isinstance(
        min_overlap, int | float
    ):
        raise InvalidInput("min_overlap: must be a number in (0, 1]")
    if not 0 < min_overlap <= 1:
        raise InvalidInput("min_overlap: must lie in (0, 1]")
    if isinstance(claims, str):
        raise InvalidInput("claims: must be a list of strings, not one string")
    held = [
        (item.citation, frozenset(content_words(item.text)))
        for item in evidence
    ]
    return Grounding(
        tuple(
            _judge(check_string(claim, f"claims[{n}]"), held, min_overlap)
            for n, claim in enumerate(claims)
        )
    )


def _judge(
    claim: str, held: list[tuple[str, frozenset[str]]], min_overlap: float
) -> Verdict:
    words = content_words(claim)
    if not words:
        return Verdict(claim, True, None, 1.0, (), trivial=True)
    best: tuple[str, frozenset[str]] | None = None
    shared = 0
    for citation, present in held:
        count = sum(1 for word in words if word in present)
        if count > shared:
            best, shared = (citation, present), count
    # One correctly rounded division: 3/5 equals the literal 0.6 exactly.
    overlap = shared / len(words)
    supported = best is not None and overlap >= min_overlap
    present = best[1] if best else frozenset()
    missing = tuple(word for word in words if word not in present)
    cited = best[0] if best is not None and supported else None
    return Verdict(claim, supported, cited, overlap, missing)


def content_words(text: str) -> tuple[str, ...]:
    """Return the distinct terms of ``text`` that carry content, in order."""
    return tuple(dict.fromkeys(t for t in terms(text) if not _empty(t)))


def _empty(term: str) -> bool:
    if term in ENGLISH:
        return True
    characters = set(term)
    if characters & CHINESE_NEGATIONS:
        return False
    return term in CHINESE_WORDS or bool(characters & CHINESE_PARTICLES)
