"""Stage 8: models on this machine in place of the hash.

A model is slow to load and may not be needed, so it is loaded when there is
first something to read. The lab's own plug-in does the loading: it knows
the model that ships with the lab as ``shipped``, and others by the names
that ``fetch-model`` puts into the folder of ``MODELS_VARIABLE``; every file
is held against its digest. Nothing leaves this machine.

Run ``python local_models.py --dsn DSN`` to measure a model of yours.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import psycopg
from chunker import chunk_documents, load_documents
from metrics import bound, evaluate, report, run_queries
from pipeline_types import (
    DSN_VARIABLE,
    POOL,
    Reranker,
    Scores,
    Vector,
    dsn_from_environment,
    load_golden,
)
from psycopg import sql
from reranking import Bm25Reranker, CrossEncoderReranker, Pipeline, Score
from store import ChunkStore, DimensionMismatch, float32, index_chunks

# Where models are kept, unless in the lab's folder of the user's cache;
# `python -m lab.workbook doctor` prints which folder that is.
MODELS_VARIABLE = "KEEPS_SECRETS_MODELS"

# Vectors of a hash and of a model must not lie in one table, and where both
# have 256 numbers no dimension tells them apart.
TABLE = "local_chunks"

# The model that ships with the lab, and the cross-encoder that does not.
ENCODER = "shipped"
CROSS_ENCODER = "cross-encoder"


class Encoder(Protocol):
    """What the lab's plug-in loads; ``dims`` numbers for each text."""

    @property
    def dims(self) -> int | None:
        """How many numbers a row has."""
        ...

    def encode(
        self, texts: Sequence[str], *, query: bool = False
    ) -> Sequence[Sequence[float]]:
        """Return a row for each text; ``query`` puts a prefix before it."""
        ...


@dataclass(frozen=True)
class LocalFigures:
    """Means over all golden queries, of one run in one fresh table.

    ``hybrid`` is of the fused order, ``full`` of the same pool after the
    reranker, ``pool`` the bound that the pool sets to any reranker.
    """

    hybrid: Scores
    full: Scores
    pool: float


def lab(module: str) -> ModuleType:
    """Return a module of the lab; raises ``ValueError`` without the lab."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ValueError(
            f"{module} cannot be imported ({error}); run this from the lab's"
            " folder, or install it there with `python -m pip install .`"
        ) from None


class LocalEmbedder:
    """An encoder as the pipeline calls it, loaded when needed.

    ``dims`` is known without loading. ``load`` returns the encoder; it is
    called once, at the first texts there are to embed, never for none, and
    again only when it failed.
    """

    def __init__(self, load: Callable[[], Encoder], dims: int) -> None:
        self.load = load
        self.dims = dims
        self.encoder: Encoder | None = None

    def embed(
        self, texts: Sequence[str], *, query: bool = False
    ) -> list[Vector]:
        """Return a vector of length 1 for each text; zeros stay zeros.

        All texts go to the encoder in one call, with ``query`` as it is.
        Rows are divided by their length and rounded by ``float32``. Raises
        ``DimensionMismatch`` when the encoder has not ``dims`` numbers, and
        ``ValueError`` unless it gives one row of that many finite numbers
        for each text.
        """
        raise NotImplementedError("Stage 08: load once and late, hold rows to the promise, normalise")


def local_embedder(name: str = ENCODER) -> LocalEmbedder:
    """Return an embedder for one of the lab's models, not loaded yet.

    ``lab.encoders.specs.known(name)`` says what the model is, and how many
    numbers it makes; ``lab.encoders.onnx.OnnxEncoder(spec)`` loads it.
    Raises ``ValueError`` for a model whose ``spec.role`` is not
    ``encoder``: it has no dimensions.
    """
    raise NotImplementedError("Stage 08: check the role, read dims from the spec, load in a function")


def load_cross_encoder(name: str = CROSS_ENCODER) -> Score:
    """Return what scores pairs of query and text by a cross-encoder.

    With ``graph = lab.encoders.onnx.Graph(spec)``, ``graph.tokens(query,
    text)`` are the tokens of a pair, and ``graph.run(tokens)`` is what the
    model says of it, an array. Raises ``ValueError`` for a model whose
    ``spec.role`` is not ``cross-encoder``, before it is loaded, and for a
    pair of which it says more or less than one number, saying how many.
    """
    raise NotImplementedError("Stage 08: check the role, load the graph, score pair by pair")


def local_reranker(name: str = CROSS_ENCODER) -> CrossEncoderReranker:
    """Return stage 4's reranker with a model of this machine behind it."""
    return CrossEncoderReranker(lambda: load_cross_encoder(name))


def measure_local(
    connection: psycopg.Connection[Any],
    schema: str,
    embedder: LocalEmbedder,
    reranker: Reranker,
) -> LocalFigures:
    """Index the corpus in a fresh table, and run the golden queries over it.

    The table is ``TABLE``, and as wide as the embedder's ``dims``. Raises
    ``ValueError``, before anything is embedded, when it holds chunks: they
    may be of another embedder with as many numbers. ``Run.fused`` is the
    pool before the reranker.
    """
    raise NotImplementedError("Stage 08: refuse a used table, index, run, count both orders")


def record_run(
    folder: Path, day: date, part: str, figures: Mapping[str, Any]
) -> Path:
    """Write figures to ``runs/live-DAY.json`` below a folder; return it.

    They stand under the key ``part``, in place of what stood there; other
    parts of that day stay as they are. The file is replaced whole, so that
    no reader meets half of one. Raises ``ValueError``, naming the file and
    leaving it alone, when what is there is no JSON object.
    """
    raise NotImplementedError("Stage 08: read the day's file, add the part, replace it")


def aggregate(
    encoder: str, reranker: str, figures: LocalFigures
) -> dict[str, Any]:
    """Return what is recorded of a live run, and what it did not run."""
    read = reranker == CROSS_ENCODER
    return {
        "encoder": encoder,
        "reranker": reranker,
        **asdict(figures),
        "not_run": [] if read else [f"{CROSS_ENCODER}: none was named"],
    }


def main(argv: Sequence[str]) -> int:
    """Measure models of this machine, print and record what came of it."""
    parser = argparse.ArgumentParser(
        prog="local_models.py", description="Measure the pipeline on a model."
    )
    parser.add_argument(
        "--dsn",
        default=dsn_from_environment(),
        help=f"a PostgreSQL with pgvector (default: ${DSN_VARIABLE})",
    )
    parser.add_argument(
        "--encoder", default=ENCODER, help=f"a model (default: {ENCODER})"
    )
    parser.add_argument(
        "--reranker",
        choices=("bm25", CROSS_ENCODER),
        default="bm25",
        help="what reads the pool (default: bm25)",
    )
    given = parser.parse_args(argv)
    if not given.dsn:
        print(f"error: give --dsn, or set {DSN_VARIABLE}", file=sys.stderr)
        return 2
    schema = f"pipeline_local_{os.getpid()}"
    cross = given.reranker == CROSS_ENCODER
    try:
        fails = lab("lab.errors").LabError
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    try:
        with psycopg.connect(given.dsn, autocommit=True) as connection:
            try:
                figures = measure_local(
                    connection,
                    schema,
                    local_embedder(given.encoder),
                    local_reranker() if cross else Bm25Reranker(),
                )
            finally:
                drop = sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE")
                connection.execute(drop.format(sql.Identifier(schema)))
        path = record_run(
            Path(__file__).resolve().parent,
            datetime.now(UTC).date(),
            "local-models",
            aggregate(given.encoder, given.reranker, figures),
        )
    except (psycopg.Error, ValueError, fails) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    shown = {"all": figures.full, "before": figures.hybrid}
    for line in report(shown, figures.pool):
        print(line)
    print(f"recorded in {path}; `before` is the fused order, depth {POOL}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
