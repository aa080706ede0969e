"""How long the press takes and how heavy its pages are, on this machine."""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from book.press import driver, serve
from book.press.console import Console
from book.press.digest import read_source
from book.press.gates.browser import browser, missing_tools
from book.press.labzip import NAME as ZIP

ROUNDS = 5
PAGE = "book/en/14-deletion.md"
WORDS = {"en": "tombstone", "zh": "墓碑"}


def run(args: argparse.Namespace, root: Path) -> int:
    """Print medians of builds, a saved page, a search, and page weights.

    Gates are left out. One machine's figures; compare ratios.
    """
    rounds: int = args.rounds
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "dist"
        full = _median(lambda: _build(root, home), rounds)
        print(f"full build, gates aside        {full:8.2f} s")
        copy = Path(folder) / "tree"
        shutil.copytree(root, copy, ignore=_unwanted)
        page = copy / PAGE
        kept = Path(folder) / driver.CHAPTERS.name
        again = Path(folder) / "again"
        _build(copy, again, kept)

        def rebuild() -> None:
            _lengthen(page)
            _build(copy, again, kept)

        partial = _median(rebuild, rounds)
        print(f"build after one changed page   {partial:8.2f} s")
        print(f"  of a full build              {partial / full:8.1%}")
        preview = serve.Preview(copy)
        preview.view()
        saved = _median(lambda: _save(preview, page), rounds)
        print(f"saved page shown by serve      {saved:8.2f} s")
        print(f"  of a full build              {saved / full:8.1%}")
        for lang, word in WORDS.items():
            if absent := missing_tools():
                print(f"offline search: NOT RUN: {absent.reason}")
                break
            seconds = _search(home / f"keeps-secrets-{lang}.html", word, rounds)
            print(f"offline search, {lang}             {seconds * 1e3:8.1f} ms")
        _weights(home)
    return 0


def _median(work: Callable[[], None], rounds: int) -> float:
    taken = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def _build(root: Path, home: Path, kept: Path | None = None) -> None:
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    driver.make(read_source(root), home, Console(write=_silent), kept)


def _silent(_line: str) -> None:
    """Print nothing: only the medians are wanted."""


def _lengthen(page: Path) -> None:
    """Add a word to the last paragraph, so that both languages agree."""
    text = page.read_text("utf-8").rstrip("\n")
    page.write_text(f"{text} More.\n", "utf-8")


def _save(preview: serve.Preview, page: Path) -> None:
    _lengthen(page)
    preview.view()


def _unwanted(_folder: str, names: list[str]) -> set[str]:
    return {".venv", "dist", "node_modules", "__pycache__"} & set(names)


def _search(path: Path, word: str, rounds: int) -> float:
    """Return the median seconds from a typed word to its results.

    The page waits a moment for the next key; that wait is in the figure.
    """
    with browser() as opened:
        page = opened.new_page()
        page.goto(path.as_uri())
        page.locator("#open-search").click()
        field = page.locator("#query")
        first = page.locator("#results a").first

        def ask() -> None:
            field.fill("")
            first.wait_for(state="detached")
            field.fill(word)
            first.wait_for()

        ask()
        return _median(ask, rounds)


def _weights(home: Path) -> None:
    pages = sorted((home / "site").rglob("*.html"))
    sizes = sorted(path.stat().st_size for path in pages)
    shared = sum(
        path.stat().st_size
        for path in (home / "site" / "assets").rglob("*")
        if path.suffix in (".css", ".js")
    )
    middle = statistics.median(sizes)
    print(f"site pages                     {len(pages):8d}")
    print(f"  median page                  {middle / 1024:8.0f} kB")
    print(f"  heaviest page                {sizes[-1] / 1024:8.0f} kB")
    print(f"  styles and scripts           {shared / 1024:8.0f} kB")
    for name in ("keeps-secrets-en.html", "keeps-secrets-zh.html", ZIP):
        size = (home / name).stat().st_size
        print(f"{name:<30} {size / 1024:8.0f} kB")
