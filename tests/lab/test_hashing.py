"""Signed hashing: the place, the sign, and what the sign is for."""

from __future__ import annotations

import hashlib
import math

import pytest

from lab import evidence, experiments
from lab.encoders.hashing import SignedHashing


def place(term: str, dims: int) -> tuple[int, int]:
    """A term's place and sign, read off its digest by hand."""
    digest = hashlib.blake2b(term.encode(), digest_size=9).digest()
    index = int.from_bytes(digest[:8], "big") % dims
    return index, -1 if digest[8] % 2 else 1


def test_a_text_is_the_sum_of_its_terms_signs() -> None:
    (row,) = SignedHashing(256).encode(["Sick leave, sick pay"])
    sums = [0] * 256
    for term in ("sick", "leave", "sick", "pay"):
        index, sign = place(term, 256)
        sums[index] += sign
    length = math.sqrt(sum(n * n for n in sums))
    assert list(row) == pytest.approx([n / length for n in sums])


def test_two_words_in_one_place_with_unlike_signs_point_apart() -> None:
    assert place("leave", 256) == (113, -1)
    assert place("firmware", 256) == (113, 1)
    leave, firmware = SignedHashing(256).encode(["leave", "firmware"])
    assert sum(a * b for a, b in zip(leave, firmware, strict=True)) == -1


def test_over_many_words_collisions_cancel() -> None:
    # Two halves of 2,000 made-up words in 16 places: without signs the dot
    # product is near 1000 * 1000 / 16; with them it is within a few times
    # its standard deviation, which is the root of that.
    left = [f"left{n}" for n in range(1000)]
    right = [f"right{n}" for n in range(1000)]
    sums = []
    for words in (left, right):
        row = [0] * 16
        for word in words:
            (one,) = SignedHashing(16).encode([word])
            row = [a + round(b) for a, b in zip(row, one, strict=True)]
        sums.append(row)
    dot = sum(a * b for a, b in zip(*sums, strict=True))
    assert abs(dot) < 4 * math.sqrt(1000 * 1000 / 16)


@pytest.mark.slow
def test_the_evidence_on_hashing_reproduces() -> None:
    assert evidence.check(experiments.load("vector-probes")) == []
