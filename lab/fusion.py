"""Reciprocal rank fusion: what ranks may add that scores may not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lab import exact
from lab.store import Key


def ranks(scores: Mapping[Key, int], most: int) -> dict[Key, int]:
    """Return the ranks (from 1) of the best ``most`` keys.

    Higher scores first; ties by document id, then chunk number.
    """
    best = sorted(scores, key=lambda key: (-scores[key], key))
    return {key: place for place, key in enumerate(best[:most], start=1)}


def fuse(channels: Sequence[Mapping[Key, int]]) -> dict[Key, int]:
    """Return each key's fused score in units of 2**-40.

    The sum of ``1 / (60 + rank)`` over the channels that ranked it; a
    channel that did not contributes nothing. Scores are never read: a BM25
    value and a cosine have no common unit.
    """
    fused: dict[Key, int] = {}
    for channel in channels:
        for key, rank in channel.items():
            fused[key] = fused.get(key, 0) + exact.reciprocal_rank(rank)
    return fused
