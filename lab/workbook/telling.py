"""How the runner speaks: short, in the console's own characters."""

from __future__ import annotations

import locale
import os
from collections.abc import Mapping
from typing import Final, TextIO

from lab.cli.console import safe, wrap
from lab.workbook.checking import Result
from lab.workbook.manifest import LANGUAGES

# Outcome, mark, and what stands in for it on a console without it.
MARKS: Final[Mapping[str, tuple[str, str]]] = {
    "pass": ("✓", "ok"),
    "fail": ("✗", "--"),
    "cannot": ("○", "??"),
    "error": ("!", "!!"),
    "": (" ", "  "),
}
NAMES: Final[Mapping[str, str]] = {
    "pass": "passes",
    "fail": "fails",
    "cannot": "cannot be checked here",
    "error": "was not checked",
}
# A failure is told in fewer lines than this.
LONGEST: Final = 10
WIDTH: Final = 78


class Voice:
    """Writes to one stream; ``language`` is of titles and hints."""

    def __init__(self, out: TextIO, language: str = "") -> None:
        self.out = out
        # A character the console lacks becomes an escape, not an error.
        reconfigure = getattr(out, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
        self.language = language or _language(out)
        marks = "".join(mark for mark, _ in MARKS.values())
        self._plain = not _can(out, marks)

    def say(self, line: str = "") -> None:
        """Write one line."""
        print(safe(line), file=self.out)

    def paragraph(self, text: str) -> None:
        """Write a text in lines that fit, indented."""
        for line in wrap(text, "  ", 100, WIDTH):
            self.say(line)

    def mark(self, outcome: str) -> str:
        """Return the mark of an outcome."""
        return MARKS[outcome][1 if self._plain else 0]

    def title(self, words: Mapping[str, str]) -> str:
        """Return the text in this voice's language."""
        return words[self.language]

    def result(self, result: Result) -> None:
        """Tell a result: a line, and for a failure cause and next step."""
        for line in told(result, self.title(result.stage.title)):
            mark = "" if line.startswith(" ") else self.mark(result.outcome)
            self.say(f"{mark} {line}" if mark else line)


def told(result: Result, title: str) -> list[str]:
    """Return the lines for a result, fewer than ten, without its mark."""
    name = f"{result.stage.number} {title}"
    if result.outcome == "pass":
        return [f"{name}: passes, {result.total} tests"]
    counted = f", {result.passed} of {result.total} tests pass"
    if result.outcome != "fail":
        counted = ""
    lines = [f"{name}: {NAMES[result.outcome]}{counted}"]
    lines += _labelled("claim", result.claim, 1)
    lines += _labelled("cause", result.cause, 3)
    lines += _labelled("where", result.where, 1)
    lines += _labelled("next", result.next, 2)
    if result.outcome != "cannot":
        # Paths are whole or useless: never cut.
        lines.append(f"  log     {result.log}")
    return lines


def _labelled(label: str, text: str, most: int) -> list[str]:
    lines = wrap(text, " " * 10, most, WIDTH)
    if lines:
        lines[0] = f"  {label:<8}{lines[0].lstrip()}"
    return lines


def _language(out: TextIO) -> str:
    """Return zh for a Chinese locale that the stream can show, else en."""
    name = next(
        filter(
            None,
            [os.environ.get(one) for one in ("LC_ALL", "LC_MESSAGES", "LANG")],
        ),
        locale.getlocale()[0] or "",
    )
    chinese = name.lower().startswith(("zh", "chinese"))
    return LANGUAGES[1] if chinese and _can(out, "检索") else LANGUAGES[0]


def _can(out: TextIO, text: str) -> bool:
    try:
        text.encode(getattr(out, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
