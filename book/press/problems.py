"""What is wrong, where, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Problem:
    """One fault a person can act on.

    ``file`` is relative to the project's root, with forward slashes, or a
    name such as ``site/en`` when the fault is in an output. ``line`` counts
    from 1; 0 means the whole file. ``hint`` is the next step, when the
    message alone does not name it.
    """

    file: str
    line: int
    message: str
    hint: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        text = f"{place}: {self.message}"
        return f"{text}; {self.hint}" if self.hint else text


class Problems(Exception):
    """Every fault found in one run, in the order of file and line."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(sorted(problems))
        super().__init__("\n".join(str(problem) for problem in self.problems))
