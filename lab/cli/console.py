"""Where a command speaks: plain lines for people, JSON for machines."""

from __future__ import annotations

import os
import re
import textwrap
import time
from typing import Any, TextIO

from lab import canonical
from lab.evidence import columns

WIDTH = 78
MANY = 10_000

# C0 and C1 controls except tab and line feed, and the overrides of
# direction: a document must not move the cursor, ring, or turn text round.
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
)


class Console:
    """Standard output and standard error of one command."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self.out = out
        self.err = err
        self.json = False
        self._shown = 0.0

    def speak_utf8(self) -> None:
        """Write UTF-8 whatever the console's own encoding.

        A GBK or cp1252 console would else end a listing with an encoding
        error in the middle. A lone surrogate is written as an escape.
        """
        for stream in (self.out, self.err):
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure is not None:
                reconfigure(encoding="utf-8", errors="backslashreplace")

    def say(self, line: str = "") -> None:
        """Write a line for people; silent when output is JSON."""
        if not self.json:
            print(line, file=self.out)

    def data(self, value: Any) -> None:
        """Write a value as one line of canonical JSON, when asked for."""
        if self.json:
            print(canonical.dumps(value), file=self.out)

    def note(self, line: str) -> None:
        """Write a remark beside the output."""
        self.clear()
        print(safe(line), file=self.err)

    def error(self, code: str, message: str) -> None:
        """Write an error: one sentence, or JSON when that was asked for."""
        self.clear()
        if self.json:
            body = {"error": {"code": code, "message": message}}
            line = canonical.dumps(body)
        else:
            line = f"error: {safe(message)}"
        print(line, file=self.err)

    def progress(self, done: int, total: int, what: str) -> None:
        """Show progress, on a terminal only, ten times a second at most."""
        if not self.err.isatty():
            return
        now = time.monotonic()
        if done == total or now - self._shown >= 0.1:
            self._shown = now
            self.err.write(f"\r{what} {done} of {total}\x1b[K")
            self.err.flush()

    def clear(self) -> None:
        """Take a progress line away."""
        if self._shown:
            self._shown = 0.0
            self.err.write("\r\x1b[K")
            self.err.flush()

    def flush(self) -> None:
        """Write out what is buffered, so that a fault shows itself now."""
        self.clear()
        self.out.flush()

    def give_up(self) -> None:
        """Keep Python from complaining at exit about a closed pipe."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.out.fileno())


def safe(text: str) -> str:
    """Return text that cannot steer a terminal."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def squeeze(text: str) -> str:
    """Return text on one line, white space squeezed."""
    return " ".join(safe(text).split())


def counted(number: int, what: str) -> str:
    """Return ``1 document``, ``2 documents``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def quoted(text: str) -> list[str]:
    """Return a quotation for people: every line marked, long ones wrapped."""
    lines: list[str] = []
    for line in text.strip("\n").split("\n"):
        lines += wrap(line, "  | ", MANY) or ["  |"]
    return lines


def wrap(text: str, indent: str, lines: int, width: int = WIDTH) -> list[str]:
    """Return ``text`` in at most ``lines`` lines of ``width`` columns.

    Chinese text has no spaces to break at and takes two columns a
    character, so it is cut where the line is full.
    """
    room = width - len(indent)
    found: list[str] = []
    rest = squeeze(text)
    while rest and len(found) < lines:
        if rest.isascii():
            part = textwrap.wrap(rest, room)[0]
        else:
            part = _fill(rest, room)
        rest = rest[len(part) :].lstrip()
        found.append(indent + part)
    if rest and found:
        last = found[-1][len(indent) :]
        found[-1] = indent + _fill(last, room - 2).rstrip() + " …"
    return found


def _fill(text: str, room: int) -> str:
    """Return the longest start of ``text`` that fits, whole words first."""
    if columns(text) <= room:
        return text
    end = used = 0
    while used + columns(text[end]) <= room:
        used += columns(text[end])
        end += 1
    space = text.rfind(" ", 0, end + 1)
    if text[end].isascii() and text[end] != " " and space > end // 2:
        end = space
    return text[: max(end, 1)].rstrip()
