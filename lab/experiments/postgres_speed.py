"""How long things take in a file and on a server: the same work in both."""

from __future__ import annotations

from typing import Any, Final

from lab import bench
from lab.chunking import WindowChunker
from lab.encoders.counts import TermCounts
from lab.experiments import Emit, Refuted, Uses
from lab.experiments._servers import served
from lab.experiments.speed import uses as speed_uses

KIND = "server"
PAGE = False
LIMITATIONS = (
    "Times are medians of one machine that other work shared, with client"
    " and server on it; read the ratios, and measure your own with"
    " `python -m lab bench --against DSN`.",
    "One client asks at a time. What a server is for, many at once, is not"
    " measured.",
    "The documents are made up, and the encoder counts terms: no dense"
    " vector is multiplied here.",
    "How long a search takes depends on documents the reader may not see."
    " Timing is outside the promise.",
)

COUNTED: Final = 60
# About ten thousand and a hundred thousand chunks.
TIMED: Final = (667, 6667)


def uses() -> Uses:
    """Return what is measured."""
    return Uses(
        None,
        TermCounts().fingerprint,
        WindowChunker().fingerprint,
        speed_uses().flags,
    )


def run(emit: Emit) -> dict[str, Any]:
    """Count the work on both stores; no time enters the claims.

    ``Refuted`` when they do not find the same, ``Unavailable`` without an
    embedded server.
    """
    found = {}
    with served() as dsn:
        for name, place in (
            ("sqlite", bench.in_a_file),
            ("postgres", bench.on_a_server(dsn)),
        ):
            with place() as index:
                filled = bench.fill(index, COUNTED)
                found[name] = {
                    "chunks": filled["chunks"],
                    "considered": bench.considered(index),
                }
    if found["sqlite"] != found["postgres"]:
        raise Refuted("both stores consider the same candidates")
    work = found["sqlite"]
    emit(f"{COUNTED} documents, {work['chunks']} chunks, on both stores alike;")
    emit("candidates of")
    for reader, numbers in work["considered"].items():
        told = "  ".join(f"{number:>4}" for number in numbers)
        emit(f"   {reader:<10} {told}")
    return {"documents": COUNTED, **work}


def observe() -> dict[str, Any]:
    """Return this machine's times."""
    with served() as dsn:
        return bench.compare(TIMED, dsn)
