"""How long things take here: medians and ratios, never a promise.

The collection is made up by a seeded generator, so that two machines
measure the same work: words with Zipf's frequencies, ten paragraphs to a
document. One document in ten names the reader ``tenth``, one in a hundred
``hundredth``, and ``all`` may read every one.
"""

from __future__ import annotations

import os
import random
import statistics
import tempfile
import time
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from lab.errors import InvalidInput
from lab.index import Index, Status
from lab.model import MODES, Context, Document, Policy
from lab.store.opening import drop, is_dsn, open_store

TENANT: Final = "bench"
READERS: Final[Mapping[str, int]] = {"all": 1, "tenth": 10, "hundredth": 100}
PARAGRAPHS: Final = 10
WORDS: Final = 30
VOCABULARY: Final = 20_000
MOST: Final = 1_000_000

# Two frequent words, a middling one, a rare one: what people type.
QUERIES: Final = (
    "word3 word7",
    "word40 word500",
    "word3 word90 word2500",
    "word9000",
)

Progress = Callable[[int, int], None]
# Opens an empty index and takes it away again.
Place = Callable[[], AbstractContextManager[Index]]


def documents(count: int) -> Iterator[Document]:
    """Yield the first ``count`` documents of the made-up collection."""
    draw = random.Random(7).random
    # Zipf: the r-th word is 1/r as frequent as the first (integer weights,
    # so that every machine draws the same words).
    weights = list(accumulate(10**9 // r for r in range(1, VOCABULARY + 1)))

    def word() -> str:
        return f"word{bisect(weights, draw() * weights[-1]) + 1}"

    for number in range(count):
        paragraphs = (
            " ".join(word() for _ in range(WORDS)) for _ in range(PARAGRAPHS)
        )
        readers = [name for name, n in READERS.items() if number % n == 0]
        yield Document(
            TENANT,
            f"doc-{number}",
            1,
            "markdown",
            f"# Document {number}\n\n" + "\n\n".join(paragraphs) + "\n",
            Policy(tuple(readers)),
        )


def fill(
    index: Index, count: int, progress: Progress | None = None
) -> dict[str, Any]:
    """Put ``count`` documents into an index; return what that took."""
    # Made beforehand: what is timed is the index.
    made = list(documents(count))
    started, cpu = time.perf_counter(), time.process_time()
    for number, document in enumerate(made, 1):
        index.upsert(document)
        if progress is not None:
            progress(number, count)
    seconds = time.perf_counter() - started
    cpu = time.process_time() - cpu
    status = index.status()
    assert isinstance(status, Status)
    return {
        "documents": count,
        "chunks": status.chunks,
        "seconds": round(seconds, 3),
        "cpu_seconds": round(cpu, 3),
        "chunks_per_second": round(status.chunks / seconds),
    }


def considered(index: Index) -> dict[str, list[int]]:
    """Return how many candidates each reader's queries have; no time."""
    return {
        name: [
            index.search(query, Context(TENANT, name)).considered
            for query in QUERIES
        ]
        for name in READERS
    }


def measure(
    sizes: Sequence[int],
    repeat: int = 5,
    progress: Progress | None = None,
    place: Place | None = None,
) -> dict[str, Any]:
    """Measure collections of ``sizes`` documents, each in an empty index.

    ``place`` opens one and takes it away again; without it, it is a file
    in a folder of its own.

    Times are medians over all queries and ``repeat`` rounds, after one that
    is not counted: ``milliseconds`` as a person waits, and
    ``cpu_milliseconds`` of this process, which a busy machine disturbs
    less. ``ratios`` are of the latter: each reader's hybrid search to that
    of the reader who may read everything, and each size to the first.
    Raises ``InvalidInput`` for a size outside 1 to
    1,000,000 or a repeat outside 1 to 1,000.
    """
    if not sizes:
        raise InvalidInput("sizes: name at least one")
    for size in sizes:
        if not 1 <= size <= MOST:
            raise InvalidInput(f"sizes: must lie from 1 to {MOST}")
    if not 1 <= repeat <= 1000:
        raise InvalidInput("repeat: must lie from 1 to 1000")
    runs = []
    for size in sizes:
        with (place or in_a_file)() as index:
            ingest = fill(index, size, progress)
            times = {
                name: _times(index, Context(TENANT, name), repeat)
                for name in READERS
            }
        runs.append(
            {
                "ingest": ingest,
                "milliseconds": {
                    reader: {what: pair[0] for what, pair in found.items()}
                    for reader, found in times.items()
                },
                "cpu_milliseconds": {
                    reader: {what: pair[1] for what, pair in found.items()}
                    for reader, found in times.items()
                },
            }
        )
    return {
        "repeat": repeat,
        "queries": len(QUERIES),
        "runs": runs,
        "ratios": _ratios(runs),
    }


@contextmanager
def in_a_file() -> Iterator[Index]:
    """Open an index in a folder that goes away with it."""
    with (
        tempfile.TemporaryDirectory(prefix="keeps-secrets-") as folder,
        Index.open(Path(folder) / "bench.db") as index,
    ):
        yield index


def on_a_server(dsn: str) -> Place:
    """Return how to open an index in a schema of its own at ``dsn``."""

    @contextmanager
    def place() -> Iterator[Index]:
        schema = f"ks_bench_{os.getpid()}"
        store = open_store(f"{dsn}#{schema}")
        try:
            with Index.over(store) as index:
                yield index
        finally:
            drop(store)

    return place


def compare(
    sizes: Sequence[int],
    dsn: str,
    repeat: int = 5,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Measure the same work in a file and at a PostgreSQL DSN.

    ``times`` says for each size by how much the server took longer as a
    person waits: ingest, and each reader's calls. The work of a server is
    not in this process's computing time.
    """
    if not is_dsn(dsn) or "#" in dsn:
        raise InvalidInput(
            "--against: must be postgres: or a DSN postgresql://…, without"
            " a schema"
        )
    stores = {
        "sqlite": measure(sizes, repeat, progress),
        "postgres": measure(sizes, repeat, progress, on_a_server(dsn)),
    }
    small, large = (stores[name]["runs"] for name in ("sqlite", "postgres"))
    return {
        "repeat": repeat,
        "queries": len(QUERIES),
        "stores": stores,
        "times": [
            {
                "chunks": one["ingest"]["chunks"],
                "ingest": _ratio(
                    two["ingest"]["seconds"], one["ingest"]["seconds"]
                ),
                "readers": {
                    name: {
                        what: _ratio(
                            two["milliseconds"][name][what],
                            one["milliseconds"][name][what],
                        )
                        for what in one["milliseconds"][name]
                    }
                    for name in READERS
                },
            }
            for one, two in zip(small, large, strict=True)
        ],
    }


def _ratio(one: float, other: float) -> float:
    return round(one / other, 2)


def _times(
    index: Index, reader: Context, repeat: int
) -> dict[str, tuple[float, float]]:
    """Return the median milliseconds, waited and computed, by what."""
    found = {
        mode: _median(
            [
                partial(index.search, query, reader, mode=mode)
                for query in QUERIES
            ],
            repeat,
        )
        for mode in MODES
    }
    hits = [index.search(query, reader).hits for query in QUERIES]
    found["answer"] = _median(
        [partial(index.answer, some, reader) for some in hits], repeat
    )
    return found


def _median(
    calls: Sequence[Callable[[], object]], repeat: int
) -> tuple[float, float]:
    waited, computed = [], []
    for round_ in range(repeat + 1):
        for call in calls:
            clock, cpu = time.perf_counter(), time.process_time()
            call()
            if round_:
                waited.append(time.perf_counter() - clock)
                computed.append(time.process_time() - cpu)
    return (
        round(statistics.median(waited) * 1000, 3),
        round(statistics.median(computed) * 1000, 3),
    )


def _ratios(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    def hybrid(run: Mapping[str, Any], reader: str) -> float:
        return float(run["cpu_milliseconds"][reader]["hybrid"])

    return {
        "hybrid_to_all": [
            {
                name: round(hybrid(run, name) / hybrid(run, "all"), 3)
                for name in READERS
            }
            for run in runs
        ],
        "hybrid_to_first_size": [
            round(hybrid(run, "all") / hybrid(runs[0], "all"), 3)
            for run in runs
        ],
    }


def told(data: Mapping[str, Any]) -> list[str]:
    """Return the measurements as lines for people."""
    if "stores" in data:
        return _told_of_two(data)
    lines: list[str] = []
    for run in data["runs"]:
        ingest = run["ingest"]
        if lines:
            lines.append("")
        lines.append(
            f"{ingest['documents']} documents, {ingest['chunks']} chunks:"
            f" ingested in {ingest['seconds']} s,"
            f" {ingest['chunks_per_second']} chunks a second"
        )
        modes = (*sorted(MODES), "answer")
        lines.append(
            f"{'median ms':<12}" + "".join(f"{mode:>10}" for mode in modes)
        )
        for name, share in READERS.items():
            times = run["milliseconds"][name]
            lines.append(
                f"{f'reads 1/{share}' if share > 1 else 'reads all':<12}"
                + "".join(f"{times[mode]:>10.2f}" for mode in modes)
            )
    return lines


def _told_of_two(data: Mapping[str, Any]) -> list[str]:
    lines: list[str] = []
    for name, measured in data["stores"].items():
        lines += [name, *(f"  {line}" for line in told(measured)), ""]
    modes = (*sorted(MODES), "answer")
    for size in data["times"]:
        lines.append(
            f"{size['chunks']} chunks, postgres takes as many times as long:"
            f" ingest {size['ingest']:.1f}"
        )
        for reader, share in READERS.items():
            lines.append(
                f"  {f'reads 1/{share}' if share > 1 else 'reads all':<12}"
                + "".join(
                    f"{size['readers'][reader][mode]:>10.2f}" for mode in modes
                )
            )
    return lines
