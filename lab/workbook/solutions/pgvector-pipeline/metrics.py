"""Stage 5: how good is it, by kind of question, and what does it miss?

Run ``python metrics.py --dsn DSN`` for the report, with ``--failures`` for
the list of misses; a check of the workbook starts a server by itself, this
command wants one to be named.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import psycopg
from chunker import chunk_documents, load_documents
from pipeline_types import (
    DSN_VARIABLE,
    KINDS,
    POOL,
    TOP_K,
    Chunk,
    GoldenQuery,
    Hit,
    Miss,
    Scores,
    dsn_from_environment,
    load_golden,
)
from psycopg import sql
from reranking import Bm25Reranker, Pipeline
from store import (
    ChunkStore,
    DimensionMismatch,
    HashingEmbedder,
    index_chunks,
)


@dataclass(frozen=True)
class Run:
    """One golden query, and what the pipeline made of it.

    ``hits`` is the whole pool in its final order, ``fused`` the same pool
    before reranking, ``relevant`` how many chunks of the corpus hold the
    anchor (two where a repeated block holds it).
    """

    query: GoldenQuery
    hits: tuple[Hit, ...]
    fused: tuple[Hit, ...]
    relevant: int

    def marks(self) -> list[bool]:
        """Say of each hit, best first, whether it is relevant."""
        return [self.query.relevant(hit.chunk) for hit in self.hits]


def recall(marks: Sequence[bool], relevant: int, k: int) -> float:
    """Return the share of the relevant chunks that are in the first ``k``.

    ``relevant`` is how many there are; 0 of 0 is 0.
    """
    return sum(marks[:k]) / relevant if relevant else 0.0


def precision(marks: Sequence[bool], k: int) -> float:
    """Return the share of the first ``k`` places with a relevant chunk.

    Always divided by ``k``: a place left empty is no good answer.
    """
    return sum(marks[:k]) / k


def reciprocal_rank(marks: Sequence[bool], k: int) -> float:
    """Return 1 / the rank of the first relevant chunk, 0 beyond ``k``."""
    ranks = (rank for rank, mark in enumerate(marks[:k], 1) if mark)
    return next((1 / rank for rank in ranks), 0.0)


def ndcg(marks: Sequence[bool], relevant: int, k: int) -> float:
    """Return the normalised discounted cumulative gain of the first ``k``.

    A relevant chunk at rank ``r`` gains ``1 / log2(r + 1)``. The sum is
    divided by that of the best order, in which as many of the ``relevant``
    as fit stand first; 0 when there are none.
    """
    gains = [1 / math.log2(rank + 1) for rank in range(1, k + 1)]
    best = math.fsum(gains[:relevant])
    if not best:
        return 0.0
    won = (gain for gain, mark in zip(gains, marks, strict=False) if mark)
    return math.fsum(won) / best


def run_queries(
    pipeline: Pipeline,
    queries: Sequence[GoldenQuery],
    chunks: Sequence[Chunk],
) -> list[Run]:
    """Return what the pipeline makes of each query.

    ``chunks`` are those of the whole corpus: the relevant ones are counted
    among them, not among those found.
    """
    before = Pipeline(
        pipeline.store, pipeline.embedder, None, depth=pipeline.depth
    )
    return [
        Run(
            query,
            tuple(pipeline.pool(query.query)),
            tuple(before.pool(query.query)),
            sum(map(query.relevant, chunks)),
        )
        for query in queries
    ]


def evaluate(runs: Sequence[Run], k: int = TOP_K) -> dict[str, Scores]:
    """Return means under ``all``, and under each of ``KINDS`` that occurs.

    Every query weighs the same. Raises ``ValueError`` for no runs.
    """
    if not runs:
        raise ValueError("there is nothing to evaluate")
    groups = {"all": list(runs)}
    for kind in KINDS:
        if group := [run for run in runs if run.query.kind == kind]:
            groups[kind] = group
    return {
        name: Scores(
            queries=len(group),
            k=k,
            recall=fmean(recall(r.marks(), r.relevant, k) for r in group),
            precision=fmean(precision(r.marks(), k) for r in group),
            mrr=fmean(reciprocal_rank(r.marks(), k) for r in group),
            ndcg=fmean(ndcg(r.marks(), r.relevant, k) for r in group),
        )
        for name, group in groups.items()
    }


def bound(runs: Sequence[Run], depth: int = POOL) -> float:
    """Return the mean recall of the pool.

    It is the most that any reranker of this pool can reach.
    """
    return fmean(recall(run.marks(), run.relevant, depth) for run in runs)


def misses(runs: Sequence[Run], k: int = TOP_K) -> list[Miss]:
    """Return the queries without a relevant chunk in the first ``k``."""

    def first(query: GoldenQuery, hits: Sequence[Hit]) -> int | None:
        ranks = (hit.rank for hit in hits if query.relevant(hit.chunk))
        return next(ranks, None)

    found = []
    for run in runs:
        best = first(run.query, run.hits)
        if best is None or best > k:
            found.append(Miss(run.query, best, first(run.query, run.fused)))
    return found


def report(scores: Mapping[str, Scores], pool: float) -> list[str]:
    """Return the lines of the report."""
    k = scores["all"].k
    lines = [
        f"{'':<12}{'queries':>8}{f'recall@{k}':>11}{f'prec@{k}':>9}"
        f"{f'MRR@{k}':>8}{f'nDCG@{k}':>9}"
    ]
    for name, one in scores.items():
        lines.append(
            f"{name:<12}{one.queries:>8}{one.recall:>11.3f}"
            f"{one.precision:>9.3f}{one.mrr:>8.3f}{one.ndcg:>9.3f}"
        )
    lines.append(f"pool recall@{POOL}: {pool:.3f}, the bound of any reranker")
    return lines


def failures(missed: Sequence[Miss]) -> list[str]:
    """Return a line for each miss: id, ranks, kind and question."""
    lines = [f"{len(missed)} misses: id, best rank, rank before reranking"]
    for miss in missed:
        best, fused = (
            "none" if rank is None else str(rank)
            for rank in (miss.best_rank, miss.fused_rank)
        )
        lines.append(
            f"{miss.query.id:<6}{best:>5}{fused:>6}  {miss.query.kind:<11}"
            f"{miss.query.query}"
        )
    return lines


def measure(connection: psycopg.Connection[Any], schema: str) -> list[Run]:
    """Index the corpus in a schema, and run the golden queries over it.

    By hashing, and reranked by BM25: the figures of this are pinned.
    """
    embedder = HashingEmbedder()
    chunks = chunk_documents(load_documents())
    store = ChunkStore(connection, schema, embedder.dims)
    store.create()
    index_chunks(store, embedder, chunks)
    pipeline = Pipeline(store, embedder, Bm25Reranker())
    return run_queries(pipeline, load_golden(), chunks)


def main(argv: Sequence[str]) -> int:
    """Print the report.

    The schema is of this run alone, and is dropped again, unless
    ``--schema`` has named one.
    """
    parser = argparse.ArgumentParser(
        prog="metrics.py", description="Report how good the pipeline is."
    )
    parser.add_argument(
        "--dsn",
        default=dsn_from_environment(),
        help=f"a PostgreSQL with pgvector (default: ${DSN_VARIABLE})",
    )
    parser.add_argument("--schema", help="keep the tables in this schema")
    parser.add_argument(
        "--failures", action="store_true", help="list the misses too"
    )
    given = parser.parse_args(argv)
    if not given.dsn:
        print(f"error: give --dsn, or set {DSN_VARIABLE}", file=sys.stderr)
        return 2
    schema = given.schema or f"pipeline_report_{os.getpid()}"
    try:
        with psycopg.connect(given.dsn, autocommit=True) as connection:
            try:
                runs = measure(connection, schema)
            finally:
                if not given.schema:
                    drop = sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE")
                    connection.execute(drop.format(sql.Identifier(schema)))
    except (psycopg.Error, DimensionMismatch) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for line in report(evaluate(runs), bound(runs)):
        print(line)
    if given.failures:
        print()
        for line in failures(misses(runs)):
            print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
