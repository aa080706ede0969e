"""Check the manuscript: every fault of the whole book, in seconds."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from book.press import lengths
from book.press.console import count
from book.press.manuscript import LANGUAGES
from book.press.problems import Problems
from book.press.resolve import load

FAULTY = 2


def run(args: argparse.Namespace, root: Path) -> int:
    """The command: 0 when nothing is wrong, else 2; faults go to stderr.

    What was let through for a stated reason is listed on stdout.
    """
    del args
    started = time.monotonic()
    try:
        loaded = load(root)
    except Problems as error:
        return _faulty(error)
    for allowed in loaded.allowances:
        place = f"{allowed.file}:{allowed.line}"
        print(f"allowed  {place}: {allowed.what} ({allowed.reason})")
    if loaded.problems:
        return _faulty(Problems(loaded.problems))
    print(lengths.table(loaded.editions))
    sizes = ", ".join(
        f"{lang} {count(len(loaded.editions[lang].chapters), 'chapter')}"
        f" {sum(c.words for c in loaded.editions[lang].chapters)} words"
        for lang in LANGUAGES
    )
    seconds = time.monotonic() - started
    print(f"nothing is wrong: {sizes} ({seconds:.1f} s)")
    return 0


def main() -> int:
    """``python -m book.press.check``, from anywhere in the project."""
    root = Path(__file__).resolve().parents[2]
    return run(argparse.Namespace(), root)


def _faulty(error: Problems) -> int:
    for problem in error.problems:
        print(problem, file=sys.stderr)
    print(count(len(error.problems), "problem"), file=sys.stderr)
    return FAULTY


if __name__ == "__main__":
    sys.exit(main())
