"""How long things take: what is the same everywhere, and what was seen.

The work is the same on every machine and is claimed; the times are one
machine's, are recorded beside it and never compared.
"""

from __future__ import annotations

from typing import Any, Final

from lab import bench
from lab.chunking import WindowChunker
from lab.encoders.counts import TermCounts
from lab.experiments import Emit, Uses
from lab.index import Index

KIND = "core"
PAGE = False
LIMITATIONS = (
    "Times are medians of one machine, under whatever else it was doing;"
    " read the ratios, and measure your own with `python -m lab bench`.",
    "The documents are made up: real text has other lengths and other words.",
    "How long a search takes depends on documents the reader may not see."
    " Timing is outside the promise.",
)

COUNTED: Final = (100, 300)
TIMED: Final = (100, 1000, 4000)


def uses() -> Uses:
    """Return what is measured."""
    return Uses(
        None,
        TermCounts().fingerprint,
        WindowChunker().fingerprint,
        {"queries": list(bench.QUERIES), "readers": dict(bench.READERS)},
    )


def run(emit: Emit) -> dict[str, Any]:
    """Count the candidates of each reader; no time enters the claims."""
    sizes = []
    for count in COUNTED:
        with Index.open(":memory:") as index:
            filled = bench.fill(index, count)
            found = bench.considered(index)
        sizes.append(
            {
                "documents": count,
                "chunks": filled["chunks"],
                "considered": found,
            }
        )
        emit(f"{count} documents, {filled['chunks']} chunks; candidates of")
        for reader, numbers in found.items():
            told = "  ".join(f"{number:>4}" for number in numbers)
            emit(f"   {reader:<10} {told}")
    return {"sizes": sizes}


def observe() -> dict[str, Any]:
    """Return this machine's times."""
    return bench.measure(TIMED)
