"""What a person sees while the press works."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from book.press.problems import Problems

# More than fits on a screen helps nobody; the count is always given.
SHOWN = 100


@dataclass
class Console:
    """Prints steps with their times, and one clear line at the end."""

    write: Callable[[str], None] = field(
        default=lambda line: print(line, flush=True)
    )
    clock: Callable[[], float] = time.monotonic

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Announce a step; when it ends well, say how long it took."""
        self.write(f"{name} …")
        started = self.clock()
        yield
        seconds = self.clock() - started
        if seconds >= 1:
            self.write(f"  {seconds:.1f} s")

    def detail(self, line: str) -> None:
        """One line below the step it belongs to."""
        self.write(f"  {line.strip()}")

    def problems(self, error: Problems) -> None:
        """Print every problem, one a line, on the error stream."""
        for problem in error.problems[:SHOWN]:
            print(f"  {problem}", file=sys.stderr, flush=True)
        more = len(error.problems) - SHOWN
        if more > 0:
            print(f"  … and {more} more", file=sys.stderr, flush=True)


def count(number: int, thing: str) -> str:
    """``1 problem``, ``2 problems``."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
