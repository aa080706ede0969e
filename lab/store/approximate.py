"""An approximate index over the vectors, by pgvector: opt-in, and leaky.

HNSW is a graph over every row, readable or not. Which readable rows a walk
through it meets depends on the others, so what it returns is marked and is
outside the promise of equal bytes. Scores are not its business: they come
from the stored integers, as everywhere.
"""

from __future__ import annotations

import array
from collections.abc import Callable
from typing import Final

from psycopg import sql

from lab.errors import InvalidInput, StoreUnavailable
from lab.store.pool import Connection, ask

# Iterative scans, without which a filter leaves almost nothing.
_NEEDED: Final = (0, 8)
# pgvector's limit for an indexed half-precision vector.
MAX_DIMS: Final = 4000

# The walk goes on until enough readable rows are found or pgvector's own
# limit of rows is visited; sorting every row instead would be exact search.
SCANNING: Final = (
    b"SELECT set_config('hnsw.iterative_scan', 'strict_order', true),"
    b" set_config('hnsw.ef_search', %s, true),"
    b" set_config('enable_sort', 'off', true),"
    b" set_config('enable_seqscan', 'off', true)"
)


def literal(vector: bytes) -> str:
    """Return a stored row as pgvector reads it; int8 values are exact."""
    return str(array.array("b", vector).tolist())


def nearest(where: str) -> str:
    """Return the query for the keys nearest to a vector.

    Its values are tenant, documents, vector and count; ``where`` is the
    schema of pgvector's types.
    """
    types = sql.Identifier(where).as_string()
    return (
        "SELECT doc_id, number FROM {s}.near"
        " WHERE tenant = %s AND doc_id = ANY(%s)"
        f" ORDER BY embedding OPERATOR({types}.<=>) %s::{types}.halfvec"
        " LIMIT %s"
    )


def insert(where: str) -> str:
    """Return the statement that adds a document's vectors."""
    types = sql.Identifier(where).as_string()
    return (
        "INSERT INTO {s}.near SELECT %s, %s, u.number,"
        f" u.row::{types}.halfvec"
        " FROM unnest(%s::integer[], %s::text[]) u(number, row)"
    )


def build(
    owner: Connection,
    say: Callable[[str], bytes],
    role: str,
    partitions: int,
) -> int:
    """Build the index anew inside the owner's transaction; its rows."""
    ((dims,),) = ask(
        owner, say("SELECT max(octet_length(data)) FROM {s}.vectors")
    )
    if not dims or dims > MAX_DIMS:
        raise InvalidInput(
            "approximate: needs dense vectors of at most"
            f" {MAX_DIMS} dimensions, and the index has"
            f" {dims or 'no dense vectors'}"
        )
    types = _extension(owner)
    quoted = sql.Identifier(types).as_string()
    reader = sql.Identifier(role).as_string()
    owner.execute(
        say(
            "DROP TABLE IF EXISTS {s}.near;"
            ' CREATE TABLE {s}.near(tenant text COLLATE "C",'
            ' doc_id text COLLATE "C", number integer,'
            f" embedding {quoted}.halfvec({int(dims)}) NOT NULL,"
            " PRIMARY KEY (tenant, doc_id, number)"
            ") PARTITION BY HASH (tenant)"
        )
    )
    for part in range(partitions):
        owner.execute(
            say(
                f"CREATE TABLE {{s}}.near_{part} PARTITION OF {{s}}.near"
                f" FOR VALUES WITH (MODULUS {partitions}, REMAINDER {part})"
            )
        )
    rows = _fill(owner, say)
    owner.execute(
        say(
            f"CREATE INDEX ON {{s}}.near USING hnsw"
            f" (embedding {quoted}.halfvec_cosine_ops);"
            " ALTER TABLE {s}.near ALTER embedding SET STATISTICS 0;"
            " ALTER TABLE {s}.near ENABLE ROW LEVEL SECURITY;"
            f" CREATE POLICY readable ON {{s}}.near FOR SELECT TO {reader}"
            " USING ((tenant, doc_id) IN"
            " (SELECT r.tenant, r.doc_id FROM {s}.readable() r));"
            " GRANT SELECT (tenant, doc_id, number, embedding)"
            f" ON {{s}}.near TO {reader}"
        )
    )
    owner.execute(say("UPDATE {s}.settings SET approximate = %s"), (types,))
    return rows


def _extension(owner: Connection) -> str:
    """Return the schema of pgvector's types, which are made if need be."""
    if not ask(
        owner, b"SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"
    ):
        raise StoreUnavailable(
            "postgres: the server has no pgvector; install it there"
        )
    owner.execute("CREATE EXTENSION IF NOT EXISTS vector")
    ((schema, version),) = ask(
        owner,
        b"SELECT n.nspname, e.extversion FROM pg_extension e"
        b" JOIN pg_namespace n ON n.oid = e.extnamespace"
        b" WHERE e.extname = 'vector'",
    )
    if tuple(int(part) for part in version.split(".")[:2]) < _NEEDED:
        raise StoreUnavailable(
            f"postgres: pgvector is {version}, 0.8 or later is needed; run"
            " ALTER EXTENSION vector UPDATE"
        )
    return str(schema)


def _fill(owner: Connection, say: Callable[[str], bytes]) -> int:
    """Copy every dense row; return how many there are."""
    count = 0
    with owner.cursor(name="dense") as stored, owner.cursor() as target:
        stored.itersize = 1000
        stored.execute(
            say(
                "SELECT tenant, doc_id, number, data FROM {s}.vectors"
                " WHERE data IS NOT NULL"
            )
        )
        while batch := stored.fetchmany(1000):
            with target.copy(say("COPY {s}.near FROM STDIN")) as copy:
                for *key, data in batch:
                    copy.write_row((*key, literal(data)))
            count += len(batch)
    return count
