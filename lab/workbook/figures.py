"""``python -m lab.workbook.figures``: measure the third track's reference.

What its tests compare a learner's pipeline with is written by this command
and never by hand. ``--check`` writes nothing and ends with exit code 1 when
the file says something else; it takes a PostgreSQL, the one that
``KEEPS_SECRETS_TEST_DSN`` names or one that is started for it, and what
runs the shipped model.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from lab import evidence
from lab.encoders import specs
from lab.errors import LabError
from lab.workbook import reference, requirements
from lab.workbook.manifest import track
from lab.workbook.serverroom import ServerRoom

TRACK: Final = "pgvector-pipeline"
DIGITS: Final = 6
# A floor is a figure rounded down to a multiple of 1 / STEPS.
STEPS: Final = 20
MEASURES: Final = ("recall", "mrr", "ndcg")


def file() -> Path:
    """Return where the figures are kept."""
    return track(TRACK).tests / "figures.json"


def measured(connection: Any, schema: str) -> dict[str, Any]:
    """Return the figures of the reference, from a run in a fresh schema.

    ``connection`` is one of psycopg, in autocommit mode; the schema is
    dropped again. Raises ``ValueError`` where no support floor exists.
    """
    modules = reference.load(track(TRACK))
    metrics = modules["metrics"]
    try:
        runs = metrics.measure(connection, schema)
        floor = _support_floor(modules, connection, schema, runs)
        sides = _sides(modules, connection, schema, runs)
        local = _local(modules, connection, schema)
    finally:
        connection.execute(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE')
    scores = {
        name: {
            key: value if isinstance(value, int) else round(value, DIGITS)
            for key, value in asdict(one).items()
        }
        for name, one in metrics.evaluate(runs).items()
    }
    pool = round(metrics.bound(runs), DIGITS)
    return {
        "scores": scores,
        "sides": sides,
        "pool": pool,
        "misses": len(metrics.misses(runs)),
        "floors": {
            **{name: _floor(scores["all"][name]) for name in MEASURES},
            "pool": _floor(pool),
        },
        "support_floor": round(floor, DIGITS),
        "local": local,
    }


def _local(
    modules: Mapping[str, ModuleType], connection: Any, schema: str
) -> dict[str, Any]:
    """Return the figures of stage 8's live run of the shipped model."""
    local_models = modules["local_models"]
    made = local_models.measure_local(
        connection,
        schema,
        local_models.local_embedder(),
        modules["reranking"].Bm25Reranker(),
    )
    orders = {
        order: {
            name: round(getattr(getattr(made, order), name), DIGITS)
            for name in MEASURES
        }
        for order in ("hybrid", "full")
    }
    return {
        "encoder": specs.known(local_models.ENCODER).fingerprint,
        **orders,
        "pool": round(made.pool, DIGITS),
        "floors": {
            **{
                order: {name: _floor(value) for name, value in one.items()}
                for order, one in orders.items()
            },
            "pool": _floor(made.pool),
        },
    }


def _support_floor(
    modules: Mapping[str, ModuleType],
    connection: Any,
    schema: str,
    runs: Sequence[Any],
) -> float:
    answering, reranking = modules["answering"], modules["reranking"]
    embedder = modules["store"].HashingEmbedder()
    pipeline = reranking.Pipeline(
        modules["store"].ChunkStore(connection, schema, embedder.dims),
        embedder,
        reranking.Bm25Reranker(),
    )
    inside = [answering.support(one.query.query, one.hits) for one in runs]
    outside = [
        answering.support(question, pipeline.search(question))
        for question in modules["pipeline_types"].OFF_CORPUS
    ]
    floor: float = answering.find_floor(inside, outside)
    return floor


def _sides(
    modules: Mapping[str, ModuleType],
    connection: Any,
    schema: str,
    runs: Sequence[Any],
) -> dict[str, float]:
    """Return the share of queries that each search alone finds in time."""
    retrieval, types = modules["retrieval"], modules["pipeline_types"]
    embedder = modules["store"].HashingEmbedder()
    store = modules["store"].ChunkStore(connection, schema, embedder.dims)
    found = {"vector": 0, "text": 0, "hybrid": 0}
    for run in runs:
        asked = run.query.query
        for side, hits in (
            ("vector", retrieval.vector_search(store, embedder, asked)),
            ("text", retrieval.text_search(store, asked)),
            ("hybrid", run.fused),
        ):
            first = hits[: types.TOP_K]
            found[side] += any(run.query.relevant(hit.chunk) for hit in first)
    return {
        side: round(count / len(runs), DIGITS) for side, count in found.items()
    }


def _floor(value: float) -> float:
    """Round down to a multiple of 0.05, and never past it by a last bit."""
    return math.floor(value * STEPS + 1e-9) / STEPS


def main(argv: Sequence[str]) -> int:
    """Write or, with ``--check``, compare; return an exit code."""
    if list(argv) not in ([], ["--check"]):
        print(f"error: {argv[0]!a}: only --check is known", file=sys.stderr)
        return 2
    lacking = requirements.missing(("postgres", "onnx"))
    if lacking:
        print(f"error: it needs {lacking[0].command}", file=sys.stderr)
        return 2
    import psycopg

    try:
        with (
            ServerRoom() as room,
            psycopg.connect(room.dsn(), autocommit=True) as connection,
        ):
            made = measured(connection, f"workbook_figures_{os.getpid()}")
    except (LabError, ValueError, psycopg.Error) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    text = json.dumps(made, indent=1) + "\n"
    if argv:
        same = file().is_file() and file().read_text("utf-8") == text
        if not same:
            print(f"{file().name}: not what the reference measures")
        return 0 if same else 1
    evidence.write(file(), text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
