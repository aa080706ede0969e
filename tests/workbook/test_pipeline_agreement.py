"""Where the track and the lab mean the same, they do the same.

The track's reference is written to be read by a learner; the lab's own
modules are another implementation of chunking, fusion and exact search on
PostgreSQL, and serve as its oracle.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from contextlib import closing
from types import ModuleType
from typing import Any

import pytest

from lab import fusion
from lab.chunking import BlockChunker
from lab.encoders.hashing import SignedHashing
from lab.index import Index
from lab.model import Context, Document, Policy
from lab.store import Key
from lab.text import project
from lab.workbook import reference
from lab.workbook.manifest import track
from lab.workbook.serverroom import ServerRoom

pytestmark = pytest.mark.server

TENANT = "larkspur"
ALICE = Context(TENANT, "alice")
DIMS = 256
# The lab keeps a number of a vector in eight bits, the track in 32.
ROUNDING = 0.015
# Below this cosine the lab calls nothing a candidate.
ENTERS = SignedHashing.minimum_score


class LabEmbedder:
    """The lab's signed hashing, as the track's code calls an embedder."""

    dims = DIMS

    def embed(
        self, texts: Sequence[str], *, query: bool = False
    ) -> list[tuple[float, ...]]:
        return [tuple(row) for row in SignedHashing(DIMS).encode(texts)]


@pytest.fixture(scope="module")
def modules() -> dict[str, ModuleType]:
    pytest.importorskip("psycopg")
    return reference.load(track("pgvector-pipeline"))


@pytest.fixture(scope="module")
def documents(modules: dict[str, ModuleType]) -> list[Any]:
    found: list[Any] = modules["chunker"].load_documents()
    return found


def test_both_cut_the_corpus_at_the_same_places(
    modules: dict[str, ModuleType], documents: list[Any]
) -> None:
    chunker = BlockChunker(1200, 1)
    for document in documents:
        theirs = [
            (one.start, one.end, one.heading_path)
            for one in modules["chunker"].chunk_document(document)
        ]
        projection = project(document.format, document.text)
        assert (projection.title, projection.body) == (
            document.title,
            document.text,
        )
        ours = [
            (one.start, one.end, " > ".join(one.heading_path))
            for one in chunker.chunk(projection)
        ]
        assert theirs == ours, document.doc_id


def test_both_fuse_to_the_same_order(modules: dict[str, ModuleType]) -> None:
    types = modules["pipeline_types"]
    made = random.Random(20)
    for _ in range(200):
        lists = [
            made.sample(range(40), made.randrange(1, 40)) for _ in range(2)
        ]
        hits = [
            [
                types.Hit(
                    types.Chunk(f"memo#{n:03d}", "memo", n, "", "", 0, 0),
                    0.0,
                    rank,
                )
                for rank, n in enumerate(one, 1)
            ]
            for one in lists
        ]
        theirs = [
            hit.chunk.index
            for hit in modules["retrieval"].reciprocal_rank_fusion(hits)
        ]
        ranks: list[dict[Key, int]] = [
            {("memo", n): rank for rank, n in enumerate(one, 1)}
            for one in lists
        ]
        fused = fusion.fuse(ranks)
        ours = [key[1] for key in sorted(fused, key=lambda k: (-fused[k], k))]
        assert theirs == ours


@pytest.fixture(scope="module")
def index(
    server_room: ServerRoom, documents: list[Any]
) -> Iterator[tuple[Index, str]]:
    """The corpus in the lab's own store on PostgreSQL, for one reader."""
    from lab.store.postgres import PostgresStore

    dsn, schema = server_room.dsn(), f"agreement_{os.getpid()}"
    try:
        with closing(
            Index.open(
                f"{dsn}#{schema}",
                encoder=SignedHashing(DIMS),
                chunker=BlockChunker(1200, 1),
            )
        ) as made:
            for one in documents:
                made.upsert(
                    Document(
                        tenant=TENANT,
                        doc_id=one.doc_id,
                        revision=1,
                        source=one.text,
                        format=one.format,
                        policy=Policy(("alice",)),
                    )
                )
            yield made, dsn
    finally:
        PostgresStore(dsn, schema).drop()


def test_both_stores_find_the_same_neighbours(
    modules: dict[str, ModuleType],
    documents: list[Any],
    index: tuple[Index, str],
) -> None:
    import psycopg

    compared = 0
    theirs, dsn = index
    embedder, store = LabEmbedder(), modules["store"]
    chunks = modules["chunker"].chunk_documents(documents)
    queries = modules["pipeline_types"].load_golden()
    schema = f"agreement_track_{os.getpid()}"
    with psycopg.connect(dsn, autocommit=True) as connection:
        try:
            table = store.ChunkStore(connection, schema, DIMS)
            table.create()
            store.index_chunks(table, embedder, chunks)
            for query in queries:
                scores = {
                    (hit.chunk.doc_id, hit.chunk.start): hit.score
                    for hit in modules["retrieval"].vector_search(
                        table, embedder, query.query, len(chunks)
                    )
                }
                best = sorted(scores.values(), reverse=True)
                found = theirs.search(
                    query.query, ALICE, limit=10, mode="vector", rerank=False
                )
                assert found.hits or best[0] < ENTERS + ROUNDING, query.id
                for place, hit in enumerate(found.hits):
                    score = scores[hit.doc_id, hit.start]
                    assert abs(score - best[place]) < ROUNDING, query.id
                    compared += 1
        finally:
            connection.execute(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE')
    assert compared > 500
