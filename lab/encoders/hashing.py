"""Signed feature hashing: a fixed number of dimensions, no vocabulary."""

from __future__ import annotations

import array
import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

from lab.errors import InvalidInput
from lab.terms import FINGERPRINT as TERMS
from lab.terms import terms


class SignedHashing:
    """Dense encoder: each term adds +1 or -1 to one hashed dimension.

    Weinberger, Dasgupta, Langford, Smola and Attenberg 2009. The sign is
    what keeps collisions from always adding up: two unrelated texts then
    have an expected dot product of zero. Raises ``InvalidInput`` unless
    1 <= dims <= 4096.
    """

    minimum_score = 0.05

    def __init__(self, dims: int = 256) -> None:
        if isinstance(dims, bool) or not isinstance(dims, int):
            raise InvalidInput("dims: must be an integer")
        if not 1 <= dims <= 4096:
            raise InvalidInput("dims: must lie from 1 to 4096")
        self.dims: int | None = dims
        self._dims = dims

    @property
    def fingerprint(self) -> str:
        """Name of this encoder, its size and the terms it hashes."""
        return f"signed-hashing/1({self._dims})+{TERMS}"

    def spec(self) -> Mapping[str, Any]:
        """Return what ``from_spec`` needs to make it again."""
        return {"kind": "signed-hashing", "dims": self._dims}

    def encode(
        self, texts: Sequence[str], *, query: bool = False
    ) -> list[array.array[float]]:
        """Return one float32 row per text, L2-normalised or all zero."""
        return [self._row(text) for text in texts]

    def _row(self, text: str) -> array.array[float]:
        sums = [0] * self._dims
        for term in terms(text):
            # One digest, disjoint parts: index and sign are independent.
            digest = hashlib.blake2b(term.encode(), digest_size=9).digest()
            index = int.from_bytes(digest[:8], "big") % self._dims
            sums[index] += 1 if digest[8] & 1 == 0 else -1
        length = math.sqrt(sum(n * n for n in sums))
        if length == 0:
            return array.array("f", bytes(4 * self._dims))
        return array.array("f", [n / length for n in sums])
