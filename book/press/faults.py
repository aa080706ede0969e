"""A wrong call of a macro, and the names that were perhaps meant."""

from __future__ import annotations

import difflib
from collections.abc import Sequence


class MacroError(Exception):
    """A macro names what does not exist, or is called wrongly.

    ``hint`` is the next step, when the message does not name it.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def nearest(name: str, names: Sequence[str]) -> str:
    """A hint naming what is close to ``name``, or what there is."""
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    last = name.rpartition(".")[2]
    close += [
        other
        for other in names
        if other.rpartition(".")[2] == last and other not in close
    ]
    if close:
        return f"did you mean {' or '.join(f'`{one}`' for one in close[:3])}?"
    if names:
        return f"there is {', '.join(list(names)[:8])}"
    return "there is none"
