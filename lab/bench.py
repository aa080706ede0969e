"""How long things take here: medians and ratios, never a promise.

The collection is made up by a seeded generator, so that two machines
measure the same work: words with Zipf's frequencies, ten paragraphs to a
document. One document in ten names the reader ``tenth``, one in a hundred
``hundredth``, and ``all`` may read every one.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

from lab.errors import InvalidInput
from lab.index import Index, Status
from lab.model import MODES, Context, Document, Policy

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
) -> dict[str, Any]:
    """Measure collections of ``sizes`` documents, in a folder of their own.

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
        with (
            tempfile.TemporaryDirectory(prefix="keeps-secrets-") as folder,
            Index.open(Path(folder) / "bench.db") as index,
        ):
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
