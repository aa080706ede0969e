"""Starter and solution out of one source.

In a source, the lines a learner is to write stand between two comments::

    # solution 05: count chunks that hold the token
    ...
    # end solution

The solution is the source without the comments. In the starter, one
statement stands in their place, indented as they were::

    raise NotImplementedError("Stage 05: count chunks that hold the token")

In Markdown the comments are ``<!-- solution 07: ... -->`` and
``<!-- end solution -->``, and a comment ``<!-- Stage 07: ... -->`` stands
in their place.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Notation:
    """How markers are written in one kind of file.

    ``stand_in`` takes the place of a solution, ``advice`` says how markers
    should look.
    """

    begin: re.Pattern[str]
    end: re.Pattern[str]
    like: re.Pattern[str]
    stand_in: str
    advice: str


PYTHON: Final = Notation(
    begin=re.compile(r'( *)# solution (\d\d): ([^"\\]+)'),
    end=re.compile(r"( *)# end solution"),
    like=re.compile(r"#+\s*(?:end\s+|begin\s+)?solution\b", re.IGNORECASE),
    stand_in='raise NotImplementedError("{}")',
    advice="`# solution NN: task` or `# end solution`",
)
MARKDOWN: Final = Notation(
    begin=re.compile(r"( *)<!-- solution (\d\d): ([^<>\"\\]+) -->"),
    end=re.compile(r"( *)<!-- end solution -->"),
    like=re.compile(r"<!-*\s*(?:end\s+|begin\s+)?solution\b", re.IGNORECASE),
    stand_in="<!-- {} -->",
    advice="`<!-- solution NN: task -->` or `<!-- end solution -->`",
)


class MarkerError(ValueError):
    """A marker that is not understood; the message names file and line."""


@dataclass(frozen=True)
class Region:
    """The lines of one solution: ``lines`` without the markers.

    ``stage`` is its two digits, ``task`` what the starter asks for,
    ``line`` where the opening marker stands, from 1.
    """

    stage: str
    task: str
    indent: str
    lines: tuple[str, ...]
    line: int
    notation: Notation = PYTHON

    def starter(self) -> str:
        """Return the line that stands in for it."""
        text = f"Stage {self.stage}: {self.task}"
        return self.indent + self.notation.stand_in.format(text)


def parse(
    source: str, name: str, stages: Collection[str]
) -> list[str | Region]:
    """Return the source's lines, with a region for each solution.

    ``stages`` are the two digits of every stage there is; a ``name`` that
    ends in ``.md`` is read as Markdown. Raises
    ``MarkerError`` for a stray, nested, unbalanced, empty or misspelt
    marker, and for a stage that does not exist.
    """
    notation = MARKDOWN if name.endswith(".md") else PYTHON
    found: list[str | Region] = []
    opened: re.Match[str] | None = None
    opened_at = 0
    inside: list[str] = []
    for number, line in enumerate(source.split("\n"), 1):
        begin = notation.begin.fullmatch(line)
        end = notation.end.fullmatch(line)
        if begin:
            if opened:
                raise MarkerError(
                    f"{name}:{number}: a solution inside the one of line"
                    f" {opened_at}"
                )
            if begin[2] not in stages:
                raise MarkerError(
                    f"{name}:{number}: there is no stage {begin[2]}"
                )
            opened, opened_at, inside = begin, number, []
        elif end:
            if not opened:
                raise MarkerError(f"{name}:{number}: ends no solution")
            if end[1] != opened[1]:
                raise MarkerError(
                    f"{name}:{number}: is not indented like line {opened_at}"
                )
            if not "".join(inside).strip():
                raise MarkerError(f"{name}:{opened_at}: an empty solution")
            found.append(
                Region(
                    opened[2],
                    opened[3],
                    opened[1],
                    tuple(inside),
                    opened_at,
                    notation,
                )
            )
            opened = None
        elif notation.like.match(line.strip()):
            raise MarkerError(
                f"{name}:{number}: a marker that is not understood; write"
                f" {notation.advice}"
            )
        elif opened:
            inside.append(line)
        else:
            found.append(line)
    if opened:
        raise MarkerError(f"{name}:{opened_at}: a solution without its end")
    return found


def starter(pieces: list[str | Region], solved: Collection[str] = ()) -> str:
    """Return what a learner starts from; ``solved`` stages are filled in."""
    lines: list[str] = []
    for piece in pieces:
        if isinstance(piece, str):
            lines.append(piece)
        elif piece.stage in solved:
            lines.extend(piece.lines)
        else:
            lines.append(piece.starter())
    return "\n".join(lines)


def solution(pieces: list[str | Region]) -> str:
    """Return the reference: the source without its markers."""
    stages = {piece.stage for piece in pieces if isinstance(piece, Region)}
    return starter(pieces, stages)
