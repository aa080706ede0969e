"""An approximate index under access control: what it loses, what it leaks.

One collection of vectors is stored twice: with everybody's rows, and with
only those that one reader may read. For that reader the two are the same
view. Exact search cannot tell them apart; the walk through an HNSW graph
meets other rows, and so returns others.
"""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from lab import vectors
from lab.canonical import sha256
from lab.chunking import WindowChunker
from lab.experiments import Emit, Refuted, Uses
from lab.experiments._servers import served
from lab.index import Index
from lab.model import Context
from lab.store import ChunkRow, Reader, Record

if TYPE_CHECKING:
    from lab.store.postgres import PostgresStore

KIND = "server"
PAGE = False
LIMITATIONS = (
    "The vectors are made up: clusters with noise around them. How much is"
    " lost, and how often a hidden row shows, depends on the data.",
    "An HNSW graph is built with random levels, so the counts differ a"
    " little from build to build; they are observed, and only what does not"
    " depend on chance is claimed.",
    "pgvector's defaults (m 16, ef_construction 64), iterative scan in"
    " strict order, a hundred candidates, one server.",
    "Times are of one machine that other work shared.",
)

DIMS: Final = 64
ROWS: Final = 20_000
ROWS_EACH: Final = 50
CENTRES: Final = 100
QUERIES: Final = 100
TOP: Final = 10
# Who may read one document in how many.
READERS: Final = {"all": 1, "tenth": 10, "hundredth": 100}
TENANT: Final = "bench"

Top = tuple[tuple[str, int], ...]


class Given:
    """An encoder for texts that are names of vectors already made."""

    fingerprint = "given/1"
    dims = DIMS
    minimum_score = 0.0

    def __init__(self, named: dict[str, list[float]]) -> None:
        self._named = named

    def spec(self) -> dict[str, Any]:
        """Return what it is called; it cannot be made again from that."""
        return {"kind": "given"}

    def encode(
        self, texts: Sequence[str], *, query: bool = False
    ) -> list[list[float]]:
        """Return the vectors of these names."""
        return [self._named[text] for text in texts]


def points(count: int) -> list[list[float]]:
    """Return unit vectors, the same everywhere: clusters with noise."""
    draw = random.Random(1).uniform
    centres = [[draw(-1, 1) for _ in range(DIMS)] for _ in range(CENTRES)]
    made = []
    for number in range(count):
        centre = centres[number * 7919 % CENTRES]
        row = [x + draw(-1, 1) + draw(-1, 1) for x in centre]
        length = math.sqrt(math.fsum(x * x for x in row))
        made.append([x / length for x in row])
    return made


def uses() -> Uses:
    """Return what was searched."""
    return Uses(
        None,
        Given.fingerprint,
        WindowChunker().fingerprint,
        {
            "dims": DIMS,
            "rows": ROWS,
            "queries": QUERIES,
            "top": TOP,
            "readers": dict(READERS),
        },
    )


class Collection:
    """The vectors, and stores that hold some or all of them."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        made = points(ROWS + QUERIES)
        self.queries = {f"query {n}": row for n, row in enumerate(made[ROWS:])}
        self._rows = [vectors.quantise(row) for row in made[:ROWS]]

    @contextmanager
    def stored(self, name: str, every: int) -> Iterator[tuple[Any, Index]]:
        """Store one document in ``every``; yield store and index."""
        from lab.store.postgres import PostgresStore

        store = PostgresStore(self._dsn, name, partitions=1)
        with Index.over(store, encoder=Given(self.queries)) as index:
            with store.write() as txn:
                for number in range(0, ROWS // ROWS_EACH, every):
                    self._put(txn, number)
            store.build_approximate()
            yield store, index
            store.drop()

    def _put(self, txn: Any, number: int) -> None:
        # Straight into the store: words play no part here.
        first = number * ROWS_EACH
        digest = sha256("x")
        rows = [
            ChunkRow(n, 0, 1, "x", digest, (), (), row, None, vectors.norm(row))
            for n, row in enumerate(self._rows[first : first + ROWS_EACH])
        ]
        doc_id = f"doc-{number:04}"
        record = Record(
            TENANT, doc_id, 1, 1, True, "text", "", "x", digest, None, None,
            "internal", None,
        )  # fmt: skip
        readers = [
            Reader("principal", name)
            for name, every in READERS.items()
            if number % every == 0
        ]
        txn.replace(record, rows)
        txn.set_policy(TENANT, doc_id, readers, "internal", None, 1)

    def ask(
        self, index: Index, reader: str, approximate: bool
    ) -> tuple[list[Top], float]:
        """Return every query's top ten, and the median milliseconds."""
        tops, times = [], []
        for query in self.queries:
            started = time.perf_counter()
            hits = index.search(
                query,
                Context(TENANT, reader),
                limit=TOP,
                mode="vector",
                rerank=False,
                approximate=approximate,
            ).hits
            times.append(time.perf_counter() - started)
            tops.append(tuple((hit.doc_id, hit.number) for hit in hits))
        return tops, round(statistics.median(times) * 1000, 2)


def run(emit: Emit) -> dict[str, Any]:
    """Compare what one reader finds with and without other people's rows.

    ``Refuted`` when exact search is moved by a hidden row, or approximate
    search is not; ``Unavailable`` without an embedded server.
    """
    reader, every = "tenth", READERS["tenth"]
    with served() as dsn:
        collection = Collection(dsn)
        with (
            collection.stored("ks_whole", 1) as (_, whole),
            collection.stored("ks_view", every) as (_, view),
        ):
            found = {
                kind: [
                    collection.ask(index, reader, kind == "approximate")[0]
                    for index in (whole, view)
                ]
                for kind in ("exact", "approximate")
            }
    changed = {kind: differing(*pair) for kind, pair in found.items()}
    if changed["exact"]:
        raise Refuted("exact search is not moved by what is hidden")
    if not changed["approximate"]:
        raise Refuted("a walk through everybody's rows is moved by them")
    readable = ROWS // every
    emit(f"{ROWS} vectors, of which the reader may read {readable};")
    emit(f"the same {readable} alone in a second store; {QUERIES} queries,")
    emit("the best ten of each, from both stores.")
    emit("")
    emit(f"exact search: {changed['exact']} of them differ")
    emit("approximate search: some of them differ; how many is observed,")
    emit("and changes with every build of the graph")
    return {
        "rows": ROWS,
        "readable": readable,
        "queries": QUERIES,
        "exact_changed": changed["exact"],
        "approximate_changed": True,
    }


def observe() -> dict[str, Any]:
    """Return loss, leak and time by readable share, on this machine."""
    with served() as dsn:
        collection = Collection(dsn)
        with collection.stored("ks_whole", 1) as (store, whole):
            return {
                "readers": {
                    name: _observed(collection, store, whole, name)
                    for name in READERS
                }
            }


def _observed(
    collection: Collection, store: PostgresStore, whole: Index, reader: str
) -> dict[str, Any]:
    every = READERS[reader]
    exact, exact_ms = collection.ask(whole, reader, False)
    near, near_ms = collection.ask(whole, reader, True)
    seen: dict[str, Any] = {
        "share": 1 / every,
        "readable": ROWS // every,
        "recall_at_10": recall(exact, near),
        "lost": differing(exact, near),
        "exact_ms": exact_ms,
        "approximate_ms": near_ms,
        "changed_by_hidden": 0,
    }
    if every > 1:
        with collection.stored("ks_view", every) as (_, view):
            alone, _ = collection.ask(view, reader, True)
        seen["changed_by_hidden"] = differing(near, alone)
    # What chance does by itself: the same rows, another graph.
    store.build_approximate()
    again, _ = collection.ask(whole, reader, True)
    seen["changed_by_rebuilding"] = differing(near, again)
    return seen


def differing(one: Sequence[Top], other: Sequence[Top]) -> int:
    """Return how many queries have other answers, or another order."""
    return sum(a != b for a, b in zip(one, other, strict=True))


def recall(exact: Sequence[Top], found: Sequence[Top]) -> float:
    """Return the share of the exact answers that were found."""
    wanted = sum(len(top) for top in exact)
    kept = sum(len(set(a) & set(b)) for a, b in zip(exact, found, strict=True))
    return round(kept / wanted, 3)
