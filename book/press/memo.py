"""Chapters resolved before, each kept for what it was made from.

A chapter depends on its own text; on whatever its macros weave in, which
is everything outside the pages; and on the outline of the other pages,
because it links to their titles and headings. Nothing else. So when one
page is saved, the others need not be resolved again.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import platform
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar

from book.press.manuscript import Page

Made = TypeVar("Made")

# What a page of the book may come from.
WATCHED = ("book", "lab", "site_templates", "tests", "sources.json")
_IGNORED = frozenset({"__pycache__", "node_modules"})


def files(root: Path, names: Iterable[str]) -> Iterator[Path]:
    """Yield the files below each of ``names``, sorted, without caches."""
    for name in names:
        top = root / name
        for path in [top, *sorted(top.rglob("*"))]:
            if _IGNORED.isdisjoint(path.parts[len(root.parts) :]):
                yield path


def is_page(path: Path) -> bool:
    """Whether a file is a page of the manuscript."""
    return path.suffix == ".md" and path.parent.parent.name == "book"


def digest(root: Path, names: Iterable[str]) -> str:
    """SHA-256 over Python, and over all files below that are no pages."""
    found = hashlib.sha256(platform.python_version().encode())
    for path in files(root, names):
        if path.is_file() and not is_page(path):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            found.update(f"{content}  {path.relative_to(root)}\n".encode())
    return found.hexdigest()


class Memo(Generic[Made]):
    """What was made of each page last time, and of what."""

    def __init__(self) -> None:
        self._around = ""
        self._kept: dict[tuple[str, str], tuple[str, Made]] = {}
        self.hits = 0

    @classmethod
    def read(cls, file: Path) -> Memo[Made]:
        """Return what ``write`` kept there, or an empty one."""
        memo = cls()
        # A cache: one of another version, or torn, is as good as none.
        with suppress(Exception):
            memo._kept = dict(pickle.loads(file.read_bytes()))
        return memo

    def write(self, file: Path) -> None:
        """Keep it for the next run; a full disk costs only time."""
        new = file.with_name(f"{file.name}.{os.getpid()}")
        with suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            new.write_bytes(pickle.dumps(self._kept))
            new.replace(file)
        with suppress(OSError):
            new.unlink(missing_ok=True)

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
