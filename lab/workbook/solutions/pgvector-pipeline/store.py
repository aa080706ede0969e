"""Stage 2: embed chunks, and keep them in PostgreSQL with pgvector.

The embedder is a hash of words and pieces of words: no model, the same
numbers in every process, and no idea of what a word means. Stage 8 puts a
model in its place.
"""

from __future__ import annotations

import hashlib
import math
import re
import struct
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from pipeline_types import Chunk, Embedder, Vector
from psycopg import Connection, sql

BATCH = 64
WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """Return the words, ``\\w+``, of the lower-cased text, in order."""
    return WORD.findall(text.lower())


def features(text: str) -> list[str]:
    """Return what the embedder counts in a text, repetitions included.

    Its words; every two neighbouring words, joined by one space; and every
    slice of three characters of every word, so that a word of two has none.
    """
    found = words(text)
    pairs = [f"{a} {b}" for a, b in pairwise(found)]
    slices = [
        word[at : at + 3] for word in found for at in range(len(word) - 2)
    ]
    return [*found, *pairs, *slices]


def place_of(feature: str, dims: int) -> tuple[int, int]:
    """Return the index of a feature, and its sign, +1 or -1.

    ``h`` is the ``blake2b`` of its UTF-8, 8 bytes, big-endian; the index is
    ``h % dims``, the sign -1 when the top bit of ``h`` is set.
    """
    digest = hashlib.blake2b(feature.encode("utf-8"), digest_size=8).digest()
    number = int.from_bytes(digest, "big")
    return number % dims, -1 if number >> 63 else 1


def float32(values: Sequence[float]) -> Vector:
    """Return the numbers rounded to what a float32 holds."""
    shape = f"{len(values)}f"
    return struct.unpack(shape, struct.pack(shape, *values))


class HashingEmbedder:
    """Signed feature hashing, L2-normalised; needs no model."""

    def __init__(self, dims: int = 256) -> None:
        self.dims = dims

    def embed(
        self, texts: Sequence[str], *, query: bool = False
    ) -> list[Vector]:
        """Return a vector of length 1 for each text; zeros without words.

        Add up the signs of all features by index, divide by the square
        root of the sum of squares, and round by ``float32``. A question is
        embedded like any other text.
        """
        vectors = []
        for text in texts:
            counts = [0] * self.dims
            for feature in features(text):
                index, sign = place_of(feature, self.dims)
                counts[index] += sign
            length = math.sqrt(sum(count * count for count in counts)) or 1.0
            vectors.append(float32([count / length for count in counts]))
        return vectors


class DimensionMismatch(ValueError):
    """Vectors of one length cannot lie beside vectors of another."""


def literal(vector: Vector) -> str:
    """Return a vector as pgvector reads it, as in ``[0.5,-1]``."""
    return f"[{','.join(map(repr, vector))}]"


class ChunkStore:
    """One table of chunks with their vectors, and what is asked of it.

    ``connection`` is in autocommit mode; ``dims`` is how many numbers a
    vector has. Nothing is created before ``create`` is called.
    """

    COLUMNS = sql.SQL(
        "chunk_id, doc_id, index, heading_path, text, char_start, char_end"
    )

    def __init__(
        self,
        connection: Connection[Any],
        schema: str,
        dims: int,
        table: str = "chunks",
    ) -> None:
        self.connection = connection
        self.schema = schema
        self.table = table
        self.dims = dims

    @property
    def name(self) -> sql.Identifier:
        """The table with its schema, quoted, to be put into a statement."""
        return sql.Identifier(self.schema, self.table)

    @staticmethod
    def chunk(row: Sequence[Any]) -> Chunk:
        """Return the chunk of a row that begins with ``COLUMNS``."""
        chunk_id, doc_id, index, path, text, start, end = row[:7]
        return Chunk(chunk_id, doc_id, index, path, text, start, end)

    def dims_there(self) -> int | None:
        """Return the dimension of the table's vectors; ``None`` for none."""
        row = self.connection.execute(
            "SELECT a.atttypmod FROM pg_attribute a"
            " JOIN pg_class c ON c.oid = a.attrelid"
            " JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = %s AND c.relname = %s"
            " AND a.attname = 'embedding'",
            (self.schema, self.table),
        ).fetchone()
        return None if row is None else int(row[0])

    def create(self) -> None:
        """Make the extension, the schema, the table and its indexes.

        What is there stays. The table has the columns of ``COLUMNS``
        (``chunk_id`` is the key), ``embedding``, a ``vector`` of ``dims``,
        and ``tsv``, which PostgreSQL itself keeps at
        ``to_tsvector('english', text)``. ``embedding`` has an HNSW index
        for cosine distance, ``tsv`` a GIN index. Raises
        ``DimensionMismatch``, and changes nothing, when the table is there
        with vectors of another dimension.
        """
        there = self.dims_there()
        if there is not None and there != self.dims:
            raise DimensionMismatch(
                f"{self.schema}.{self.table}: holds vectors of {there}"
                f" numbers, not {self.dims}; use a fresh table"
            )
        names = {
            "schema": sql.Identifier(self.schema),
            "table": self.name,
            "dims": sql.Literal(self.dims),
            "near": sql.Identifier(f"{self.table}_embedding"),
            "words": sql.Identifier(f"{self.table}_tsv"),
        }
        with self.connection.transaction():
            for statement in (
                "CREATE EXTENSION IF NOT EXISTS vector",
                "CREATE SCHEMA IF NOT EXISTS {schema}",
                "CREATE TABLE IF NOT EXISTS {table} ("
                ' chunk_id text COLLATE "C" PRIMARY KEY,'
                " doc_id text NOT NULL,"
                " index integer NOT NULL,"
                " heading_path text NOT NULL,"
                " text text NOT NULL,"
                " char_start integer NOT NULL,"
                " char_end integer NOT NULL,"
                " embedding vector({dims}) NOT NULL,"
                " tsv tsvector NOT NULL GENERATED ALWAYS AS"
                " (to_tsvector('english', text)) STORED)",
                "CREATE INDEX IF NOT EXISTS {near} ON {table}"
                " USING hnsw (embedding vector_cosine_ops)",
                "CREATE INDEX IF NOT EXISTS {words} ON {table} USING gin (tsv)",
            ):
                self.connection.execute(sql.SQL(statement).format(**names))

    def upsert(
        self, chunks: Sequence[Chunk], vectors: Sequence[Vector]
    ) -> None:
        """Write chunks with their vectors; one that is there is replaced.

        All or nothing. Raises ``DimensionMismatch`` when a vector has not
        ``dims`` numbers, and ``ValueError`` when there are not as many
        vectors as chunks, both before anything is written.
        """
        if len(chunks) != len(vectors):
            raise ValueError(
                f"{len(chunks)} chunks, but {len(vectors)} vectors"
            )
        for chunk, vector in zip(chunks, vectors, strict=True):
            if len(vector) != self.dims:
                raise DimensionMismatch(
                    f"{chunk.chunk_id}: a vector of {len(vector)} numbers,"
                    f" not {self.dims}"
                )
        statement = sql.SQL(
            "INSERT INTO {} ({}, embedding)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s::vector)"
            " ON CONFLICT (chunk_id) DO UPDATE SET"
            " doc_id = excluded.doc_id, index = excluded.index,"
            " heading_path = excluded.heading_path, text = excluded.text,"
            " char_start = excluded.char_start,"
            " char_end = excluded.char_end, embedding = excluded.embedding"
        ).format(self.name, self.COLUMNS)
        rows = [
            (
                *(one.chunk_id, one.doc_id, one.index, one.heading_path),
                *(one.text, one.start, one.end, literal(vector)),
            )
            for one, vector in zip(chunks, vectors, strict=True)
        ]
        with self.connection.transaction(), self.connection.cursor() as cursor:
            cursor.executemany(statement, rows)

    def count(self) -> int:
        """Return how many chunks the table holds."""
        row = self.connection.execute(
            sql.SQL("SELECT count(*) FROM {}").format(self.name)
        ).fetchone()
        return int(row[0]) if row else 0


def index_chunks(
    store: ChunkStore, embedder: Embedder, chunks: Sequence[Chunk]
) -> int:
    """Embed the texts of chunks and write them; return how many.

    ``BATCH`` at a time, so that no model is handed a whole corpus, and in
    one transaction: an embedder that fails half-way leaves the table as it
    was. Raises ``DimensionMismatch`` before anything is embedded when the
    embedder's dimension is not the store's.
    """
    if embedder.dims != store.dims:
        raise DimensionMismatch(
            f"the embedder makes {embedder.dims} numbers, the table holds"
            f" {store.dims}"
        )
    with store.connection.transaction():
        for start in range(0, len(chunks), BATCH):
            batch = chunks[start : start + BATCH]
            store.upsert(batch, embedder.embed([one.text for one in batch]))
    return len(chunks)
