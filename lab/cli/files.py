"""Files that a command is told to read or to write."""

from __future__ import annotations

import sys
from pathlib import Path

from lab import evidence
from lab.errors import InvalidInput


def read_text(name: str) -> str:
    """Return a file's text; ``-`` is standard input.

    UTF-8, a byte order mark dropped, line ends as they are. Raises
    ``InvalidInput`` naming the file, and the line that is not UTF-8.
    """
    try:
        data = (
            sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        )
    except OSError as error:
        raise InvalidInput(
            f"{name}: cannot be read ({error.strerror})"
        ) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InvalidInput(f"{name}: line {line} is not UTF-8") from None


def written(target: Path, text: str) -> None:
    """Write a file whole or not at all; ``InvalidInput`` when it cannot."""
    try:
        evidence.write(target, text)
    except OSError as error:
        raise InvalidInput(
            f"{target}: cannot be written ({error.strerror})"
        ) from None
