"""Cutting text into the pieces of the shipped model's vocabulary.

The vocabulary is a text file, one piece a line; the line number is the
piece's id. Words of spaced scripts are looked up whole, and where there is
no such word cut into the longest pieces that fit from the left; Chinese has
no spaces and is always cut that way. Characters in no piece are skipped.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from lab.errors import EncoderError

# Shorter pieces of an unknown word are sounds, not meanings.
LEAST = 3

_RUN = re.compile(r"[a-z]+|[0-9]+|[\u3400-\u9fff\uf900-\ufaff]+")


class PieceTokenizer:
    """Longest match forward over a fixed vocabulary."""

    def __init__(self, text: str, what: str) -> None:
        """Read a vocabulary; ``EncoderError`` names a line that repeats."""
        pieces = text.removesuffix("\n").split("\n")
        self._ids = {piece: number for number, piece in enumerate(pieces)}
        if len(self._ids) != len(pieces) or "" in self._ids:
            seen: set[str] = set()
            for number, piece in enumerate(pieces, start=1):
                if piece in seen or not piece:
                    raise EncoderError(
                        f"{what}: line {number}: empty or seen before"
                    )
                seen.add(piece)
        self._longest = max(map(len, pieces))

    def __len__(self) -> int:
        return len(self._ids)

    def ids(self, text: str) -> list[int]:
        """Return the ids of a text's pieces in order; may be empty."""
        found: list[int] = []
        ids = self._ids
        for run in _RUN.findall(folded(text)):
            whole = ids.get(run)
            if whole is None:
                found.extend(self._cut(run))
            else:
                found.append(whole)
        return found

    def _cut(self, run: str) -> Iterator[int]:
        least = LEAST if run[0].isascii() and run[0].isalpha() else 1
        ids, longest = self._ids, self._longest
        start, end = 0, len(run)
        while start < end:
            for stop in range(min(end, start + longest), start, -1):
                number = ids.get(run[start:stop])
                if number is not None and stop - start >= least:
                    yield number
                    start = stop
                    break
            else:
                start += 1


def folded(text: str) -> str:
    """Return text as the vocabulary spells it.

    Compatibility forms folded, lower case, accents dropped: a vocabulary
    this small has one entry for café and cafe.
    """
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text).lower()
    return "".join(c for c in parts if not unicodedata.combining(c))
