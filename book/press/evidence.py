"""Evidence: what a recorded experiment found, looked up by path."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from book.press.blocks import digest
from book.press.manuscript import read_text
from book.press.problems import Problem, Problems

FOLDER = "lab/evidence"
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_KEYS = (
    "schema",
    "name",
    "kind",
    "fixture",
    "encoder",
    "chunker",
    "flags",
    "limitations",
    "claims",
    "observed",
)


class PathError(LookupError):
    """A path that leads to nothing in an evidence file."""


@dataclass(frozen=True)
class Evidence:
    """One evidence file.

    ``claims`` are the same on every machine and are compared when the
    experiment is run again; ``observed`` is what one machine saw.
    ``sha256`` is of the file's text.
    """

    name: str
    kind: str
    data: Mapping[str, Any]
    sha256: str

    def at(self, path: str, *, observed: bool = False) -> Any:
        """What stands at a dotted path, a number picking from a list.

        Paths start in ``claims``, or in ``observed``. ``PathError`` says
        how far the path led and what there is.
        """
        section = "observed" if observed else "claims"
        try:
            return follow(self.data[section], path)
        except PathError as error:
            other = "claims" if observed else "observed"
            try:
                follow(self.data[other], path)
            except PathError:
                raise PathError(f"{self.name}: {section}: {error}") from None
            hint = "without" if observed else "with"
            raise PathError(
                f"{self.name}: {path} is in {other}, not in {section};"
                f" ask for it {hint} observed=True"
            ) from None


def follow(data: Any, path: str) -> Any:
    """Follow a dotted path; keys may hold dots themselves."""
    if not path:
        return data
    if isinstance(data, dict):
        parts = path.split(".")
        # The longest key wins, so that "p0.5" can be named.
        for size in range(len(parts), 0, -1):
            key = ".".join(parts[:size])
            if key in data:
                return follow(data[key], ".".join(parts[size:]))
        there = ", ".join(sorted(data)) or "nothing"
        raise PathError(f"no {parts[0]!r} at {path!r}; there is {there}")
    if isinstance(data, list):
        first, _, rest = path.partition(".")
        if re.fullmatch(r"\d+", first) and int(first) < len(data):
            return follow(data[int(first)], rest)
        raise PathError(f"{first!r} picks none of {len(data)} items")
    raise PathError(f"nothing below a single value: {path!r}")


def evidence_names(root: Path) -> list[str]:
    """The names of all evidence files, sorted."""
    return sorted(path.stem for path in (root / FOLDER).glob("*.json"))


def read_evidence(root: Path, name: str) -> Evidence:
    """One evidence file; ``Problems`` with one sentence when it is faulty."""
    file = f"{FOLDER}/{name}.json"
    if not _NAME.fullmatch(name):
        raise Problems([Problem(file, 0, f"{name!r} is no name of evidence")])
    text = read_text(root, file)
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise Problems(
            [Problem(file, error.lineno, f"not valid JSON: {error.msg}")]
        ) from None
    missing = (
        [key for key in _KEYS if key not in data]
        if isinstance(data, dict)
        else list(_KEYS)
    )
    if missing:
        raise Problems([Problem(file, 0, f"lacks {', '.join(missing)}")])
    return Evidence(name, str(data["kind"]), data, digest(text))


def read_transcript(root: Path, name: str) -> str:
    """A recorded session, without its last line end."""
    if not _NAME.fullmatch(name):
        file = f"{FOLDER}/{name}.txt"
        raise Problems([Problem(file, 0, f"{name!r} is no name of evidence")])
    return read_text(root, f"{FOLDER}/{name}.txt").rstrip("\n")
