"""Equal bytes, unequal time: what a search still tells with a stopwatch.

Bob may read one note. It holds two words; one of them also stands in
documents that only Dana may read. He gets the same bytes however many
there are. How long he waits is another matter, and is written down here
as what one machine saw.
"""

from __future__ import annotations

import time
from typing import Any, Final

from lab.experiments import Emit, Refuted, Uses
from lab.index import Index
from lab.model import Context, Document, Policy

KIND = "core"
PAGE = False
LIMITATIONS = (
    "Times are of one machine, one process and a store in memory, without"
    " a network; they show that a difference exists, not how large it is"
    " elsewhere.",
    "Only the lexical channel is timed, and the fastest of several runs is"
    " kept; an attacker on a network would need more runs.",
)

BOB: Final = Context("larkspur", "bob")
HIDDEN: Final = (0, 500, 1000, 2000, 4000)
# One word stands in the hidden documents too, the other only in the note.
SHARED: Final = "layoffs"
ALONE: Final = "merger"
RUNS: Final = 41


def uses() -> Uses:
    """Return nothing: the documents are in this file."""
    return Uses(flags={"runs": RUNS})


def run(emit: Emit) -> dict[str, Any]:
    """Return whether Bob's bytes ever changed; ``Refuted`` if they did."""
    index = begin()
    first = {word: shown(index, word) for word in (SHARED, ALONE)}
    emit(f"Bob's note holds {SHARED!r} and {ALONE!r}. Documents that only")
    emit(f"Dana may read hold {SHARED!r} as well.")
    emit("")
    emit(f"hidden documents   bytes for {SHARED!r}   for {ALONE!r}")
    for before, count in zip((0, *HIDDEN), HIDDEN, strict=False):
        hide(index, before, count)
        for word, text in first.items():
            if shown(index, word) != text:
                raise Refuted("equal views give equal bytes")
        emit(f"{count:>16}   {'the same':<19}   the same")
    return {"hidden": list(HIDDEN), "changed": 0}


def observe() -> dict[str, Any]:
    """Return milliseconds of the fastest search, by hidden documents."""
    index = begin()
    rows = []
    for before, count in zip((0, *HIDDEN), HIDDEN, strict=False):
        hide(index, before, count)
        took: dict[str, list[float]] = {SHARED: [], ALONE: []}
        for _ in range(RUNS):
            # Taken in turn, so that a busy moment falls on both.
            for word, times in took.items():
                started = time.perf_counter()
                index.search(word, BOB, mode="lexical")
                times.append(1000 * (time.perf_counter() - started))
        rows.append(
            {
                "hidden": count,
                "shared_ms": round(min(took[SHARED]), 3),
                "alone_ms": round(min(took[ALONE]), 3),
            }
        )
    return {"times": rows}


def begin() -> Index:
    """Return an index with Bob's note."""
    index = Index.open(":memory:", encoder=None)
    index.upsert(
        Document(
            BOB.tenant,
            "note",
            1,
            "text",
            f"{SHARED} {ALONE}",
            Policy((BOB.principal,)),
        )
    )
    return index


def hide(index: Index, before: int, count: int) -> None:
    """Add documents for Dana until there are ``count``."""
    for number in range(before, count):
        index.upsert(
            Document(
                BOB.tenant,
                f"dana-{number}",
                1,
                "text",
                f"{SHARED} and what comes after",
                Policy(("dana",)),
            )
        )


def shown(index: Index, word: str) -> str:
    """Return every byte that Bob gets."""
    return index.search(word, BOB, mode="lexical", limit=100).to_json()
