"""Term counts: the baseline vector, which knows no synonyms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from lab.terms import FINGERPRINT as TERMS
from lab.terms import terms


class TermCounts:
    """Sparse encoder: how often each term occurs. It is not semantic.

    Two texts are near when they share words; "sick leave" and "absence
    through illness" are not.
    """

    dims: int | None = None
    minimum_score = 0.05

    @property
    def fingerprint(self) -> str:
        """Name of this encoder, with the version of the terms it counts."""
        return f"term-counts/1+{TERMS}"

    def spec(self) -> Mapping[str, Any]:
        """Return what ``from_spec`` needs to make it again."""
        return {"kind": "term-counts"}

    def encode(
        self, texts: Sequence[str], *, query: bool = False
    ) -> list[dict[str, int]]:
        """Return one ``{term: count}`` per text; queries are no different."""
        return [dict(Counter(terms(text))) for text in texts]
