"""Chapters resolved before, each kept for what it was made from.

A chapter depends on its own text; on whatever its macros weave in, which
is everything outside the pages; and on the outline of the other pages,
because it links to their titles and headings. Nothing else. So when one
page is saved, the others need not be resolved again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from book.press.manuscript import Page

Made = TypeVar("Made")


class Memo(Generic[Made]):
    """What was made of each page last time, and of what."""

    def __init__(self) -> None:
        self._around = ""
        self._kept: dict[tuple[str, str], tuple[str, Made]] = {}
        self.hits = 0

    def surround(self, stamp: str, pages: Iterable[Page]) -> None:
        """Say what the pages stand in before asking for any of them.

        ``stamp`` changes when anything outside the pages does.
        """
        outline = [
            (
                page.lang,
                page.slug,
                page.title,
                page.contracts,
                [n for n in page.body.split("\n") if n.startswith("#")],
            )
            for page in pages
        ]
        self._around = _digest(stamp, repr(outline))
        self.hits = 0

    def get(self, page: Page, make: Callable[[Page], Made]) -> Made:
        """Return what ``make`` makes of the page, or made of it before."""
        key = _digest(self._around, repr(page))
        kept = self._kept.get((page.lang, page.slug))
        if kept is not None and kept[0] == key:
            self.hits += 1
            return kept[1]
        made = make(page)
        self._kept[page.lang, page.slug] = (key, made)
        return made


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()
