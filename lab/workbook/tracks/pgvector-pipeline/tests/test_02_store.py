"""Stage 2: a hash that never changes, and a table that never mixes."""

from __future__ import annotations

import hashlib
import math
import os
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import store as learners
from pipeline_types import Chunk, Vector
from store import (
    ChunkStore,
    DimensionMismatch,
    HashingEmbedder,
    features,
    index_chunks,
    place_of,
)


def chunk(number: int, text: str = "A lamp.") -> Chunk:
    """Return a chunk ``memo#NNN``."""
    name = f"memo#{number:03d}"
    return Chunk(name, "memo", number, "Memo > Lamps", text, 0, len(text))


def unit(place: int, dims: int = 3) -> Vector:
    """Return a vector with a 1 in one place."""
    return tuple(float(index == place) for index in range(dims))


@pytest.fixture
def table(connection: Any, schema: str) -> ChunkStore:
    """Return an empty table for vectors of three numbers."""
    made = ChunkStore(connection, schema, 3)
    made.create()
    connection.execute(f'TRUNCATE "{schema}".chunks')
    return made


def rows(table: ChunkStore) -> list[tuple[Any, ...]]:
    """Return what the table holds, by id."""
    return table.connection.execute(
        "SELECT chunk_id, doc_id, index, heading_path, text, char_start,"
        f' char_end, embedding::text FROM "{table.schema}".{table.table}'
        " ORDER BY chunk_id"
    ).fetchall()


def test_features_are_words_pairs_and_slices() -> None:
    """Slices are of words, so none runs across a space."""
    assert sorted(features("The LAMP, is the")) == sorted(
        "the lamp is the the lam amp the".split()
        + "the lamp,lamp is,is the".split(",")
    )
    assert features(" ,") == []


@pytest.mark.parametrize("feature", ["lamp", "the lamp", "amp", "灯塔", "x"])
def test_the_hash_picks_index_and_sign(feature: str) -> None:
    """h % dims is the index; the top bit of the 64 means minus."""
    bits = "".join(
        f"{byte:08b}"
        for byte in hashlib.blake2b(feature.encode(), digest_size=8).digest()
    )
    sign = -1 if bits[0] == "1" else 1
    assert place_of(feature, 256) == (int(bits, 2) % 256, sign)
    assert place_of(feature, 7) == (int(bits, 2) % 7, sign)


def test_signs_of_both_kinds_occur() -> None:
    """A hash without minus makes every two texts look alike."""
    signs = [place_of(f"word{number}", 256)[1] for number in range(40)]
    assert {-1, 1} == set(signs)


def test_an_embedding_counts_and_has_length_one() -> None:
    """Repeated features count each time; divide by the root of squares."""
    expected = [0.0] * 256
    for feature in ("ox", "ox", "ox ox"):
        index, sign = place_of(feature, 256)
        expected[index] += sign
    length = math.sqrt(sum(one * one for one in expected))
    (vector,) = HashingEmbedder().embed(["Ox ox"])
    assert vector == pytest.approx([one / length for one in expected])
    assert math.fsum(one * one for one in vector) == pytest.approx(1)


def test_a_text_without_words_is_all_zeros() -> None:
    """Do not divide by zero."""
    assert HashingEmbedder(4).embed(["?!", ""]) == [(0.0,) * 4] * 2
    assert HashingEmbedder(4).embed([]) == []


def test_numbers_are_what_a_float32_holds() -> None:
    """Round by float32: the table would, and then they would differ."""
    (vector,) = HashingEmbedder(16).embed(["the lamp burned all night"])
    packed = struct.pack("16f", *vector)
    assert struct.unpack("16f", packed) == tuple(vector)


PROGRAM = """\
import sys
sys.path.insert(0, sys.argv[1])
from store import HashingEmbedder
print(HashingEmbedder().embed(["The keeper trimmed the lamp."])[0])
"""


def test_every_process_makes_the_same_vector() -> None:
    """Never use hash(): it differs from one process to the next."""
    (here,) = HashingEmbedder().embed(["The keeper trimmed the lamp."])
    folder = Path(learners.__file__).parent
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(folder)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=60,
        )
        assert done.stdout.strip() == str(tuple(here))


def test_the_table_has_its_columns_and_both_indexes(
    table: ChunkStore,
) -> None:
    """HNSW with vector_cosine_ops; GIN on a generated tsvector."""
    indexes = [
        text
        for (text,) in table.connection.execute(
            "SELECT indexdef FROM pg_indexes WHERE schemaname = %s",
            (table.schema,),
        )
    ]
    assert any("hnsw" in i and "vector_cosine_ops" in i for i in indexes)
    assert any("gin" in i and "tsv" in i for i in indexes)
    generated = table.connection.execute(
        "SELECT generation_expression FROM information_schema.columns"
        " WHERE table_schema = %s AND column_name = 'tsv'",
        (table.schema,),
    ).fetchone()
    assert generated is not None
    assert "english" in (generated[0] or "")


def test_creating_twice_keeps_what_is_there(table: ChunkStore) -> None:
    """IF NOT EXISTS, and no DROP."""
    table.upsert([chunk(0)], [unit(0)])
    table.create()
    assert table.count() == 1


def test_a_table_of_another_dimension_is_refused(table: ChunkStore) -> None:
    """Look at dims_there() first; raise DimensionMismatch."""
    table.upsert([chunk(0)], [unit(0)])
    with pytest.raises(DimensionMismatch):
        ChunkStore(table.connection, table.schema, 4).create()
    assert table.dims_there() == 3
    assert table.count() == 1


def test_what_is_written_is_what_is_read(table: ChunkStore) -> None:
    """Every column, and the vector; %% and quotes are only text."""
    one = chunk(7, 'It\'s 100% "oil"; -- 灯\n\\')
    table.upsert([one], [(0.5, -0.25, 0.0)])
    (row,) = rows(table)
    assert ChunkStore.chunk(row) == one
    assert row[7] == "[0.5,-0.25,0]"


def test_upserting_again_replaces(table: ChunkStore) -> None:
    """ON CONFLICT (chunk_id) DO UPDATE, every column and the vector."""
    table.upsert([chunk(0), chunk(1)], [unit(0), unit(1)])
    before = rows(table)
    table.upsert([chunk(0), chunk(1)], [unit(0), unit(1)])
    assert rows(table) == before
    table.upsert([chunk(0, "A mirror.")], [unit(2)])
    assert table.count() == 2
    first = rows(table)[0]
    assert first[4:] == ("A mirror.", 0, 9, "[0,0,1]")


def test_a_vector_of_another_dimension_is_refused_before_writing(
    table: ChunkStore,
) -> None:
    """Check all vectors first: the good ones must not be written either."""
    with pytest.raises(DimensionMismatch):
        table.upsert([chunk(0), chunk(1)], [unit(0), unit(0, 4)])
    assert table.count() == 0


def test_as_many_vectors_as_chunks(table: ChunkStore) -> None:
    """Raise ValueError: a missing vector must not shift the others."""
    with pytest.raises(ValueError, match="2"):
        table.upsert([chunk(0), chunk(1)], [unit(0)])
    assert table.count() == 0


class Recording:
    """An embedder that notes the sizes of its batches."""

    dims = 3

    def __init__(self, last: int = 3) -> None:
        self.sizes: list[int] = []
        self.last = last

    def embed(
        self, texts: Sequence[str], *, query: bool = False
    ) -> list[Vector]:
        """Return unit vectors; of another dimension in the second batch."""
        assert not query
        self.sizes.append(len(texts))
        dims = self.last if len(self.sizes) == 2 else 3
        return [unit(0, dims) for _ in texts]


def test_chunks_are_indexed_in_batches(table: ChunkStore) -> None:
    """64 at a time: 150 are 64, 64 and 22."""
    embedder = Recording()
    assert index_chunks(table, embedder, list(map(chunk, range(150)))) == 150
    assert embedder.sizes == [64, 64, 22]
    assert table.count() == 150
    assert index_chunks(table, Recording(), []) == 0


def test_a_failure_half_way_leaves_the_table_as_it_was(
    table: ChunkStore,
) -> None:
    """One transaction around all batches."""
    with pytest.raises(DimensionMismatch):
        index_chunks(table, Recording(4), list(map(chunk, range(100))))
    assert table.count() == 0


def test_an_embedder_of_another_dimension_is_refused(
    table: ChunkStore,
) -> None:
    """Compare embedder.dims with store.dims before embedding anything."""
    embedder = Recording()
    embedder.dims = 4
    with pytest.raises(DimensionMismatch):
        index_chunks(table, embedder, [chunk(0)])
    assert embedder.sizes == []
