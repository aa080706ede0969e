"""Stage 3: search by vector, search by words, and fuse the two by rank.

Whatever somebody types is a query: it may find nothing, it never raises.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from pipeline_types import POOL, Chunk, Embedder, Hit
from psycopg import sql
from store import ChunkStore, literal

# A longer query is cut: PostgreSQL gives up on very many words.
LONGEST_QUERY = 2000

# pgvector's own bounds of hnsw.ef_search, and its default.
LEAST_EF, MOST_EF = 40, 1000


def clean(query: str) -> str:
    """Return the query as PostgreSQL can take it.

    Its first ``LONGEST_QUERY`` characters, with a space for every NUL and
    every lone surrogate, which no UTF-8 can hold.
    """
    return re.sub("[\0\ud800-\udfff]", " ", query[:LONGEST_QUERY])


def ranked(scored: Sequence[tuple[Chunk, float]]) -> list[Hit]:
    """Return hits for chunks that are in order already, ranks from 1."""
    return [
        Hit(chunk, score, rank) for rank, (chunk, score) in enumerate(scored, 1)
    ]


def vector_search(
    store: ChunkStore, embedder: Embedder, query: str, n: int = POOL
) -> list[Hit]:
    """Return the ``n`` chunks whose vectors are nearest to the query's.

    The score is 1 minus the cosine distance (``<=>``); equal distances are
    in the order of their ids. ``hnsw.ef_search`` is raised to ``n``, within
    ``LEAST_EF`` and ``MOST_EF``, for this query alone: the index returns no
    more rows than that. A query whose vector is all zeros gives ``[]``.
    """
    (vector,) = embedder.embed([clean(query)], query=True)
    if not any(vector):
        return []
    statement = sql.SQL(
        "SELECT {columns}, 1 - (embedding <=> {vector}::vector) FROM {table}"
        " ORDER BY embedding <=> {vector}::vector, chunk_id LIMIT {n}"
    ).format(
        columns=store.COLUMNS,
        vector=sql.Literal(literal(vector)),
        table=store.name,
        n=sql.Literal(n),
    )
    with store.connection.transaction():
        store.connection.execute(
            "SELECT set_config('hnsw.ef_search', %s, true)",
            (str(min(max(n, LEAST_EF), MOST_EF)),),
        )
        rows = store.connection.execute(statement).fetchall()
    return ranked([(store.chunk(row), float(row[7])) for row in rows])


def either_term(query: str) -> str:
    """Return a tsquery in which one positive term is enough.

    ``query`` is what PostgreSQL prints for ``websearch_to_tsquery``: terms
    joined by `` & `` and `` | ``, where a term is a lexeme or a phrase
    (``'lamp' <-> 'oil'``), and one with ``!`` before it is excluded. The
    positive terms are joined by ``|``; every exclusion stays in force.
    Without a positive term the result is ``""``.
    """
    terms = [term for term in re.split(r" [&|] ", query) if term]
    wanted = [term for term in terms if not term.startswith("!")]
    unwanted = [term for term in terms if term.startswith("!")]
    if not wanted:
        return ""
    return " & ".join([f"( {' | '.join(wanted)} )", *unwanted])


def text_search(store: ChunkStore, query: str, n: int = POOL) -> list[Hit]:
    """Return the ``n`` chunks that rank best for the words of the query.

    The query is read by ``websearch_to_tsquery('english', ...)`` and made
    kinder by ``either_term``; without a positive term the result is ``[]``.
    The score is ``ts_rank_cd(tsv, ..., 32)``, from 0 to 1; equal scores are
    in the order of their ids.
    """
    row = store.connection.execute(
        "SELECT websearch_to_tsquery('english', %s)::text", (clean(query),)
    ).fetchone()
    relaxed = either_term(row[0] if row else "")
    if not relaxed:
        return []
    statement = sql.SQL(
        "SELECT {columns}, ts_rank_cd(tsv, query, 32) AS score"
        " FROM {table}, CAST({query} AS tsquery) AS query"
        " WHERE tsv @@ query ORDER BY score DESC, chunk_id LIMIT {n}"
    ).format(
        columns=store.COLUMNS,
        table=store.name,
        query=sql.Literal(relaxed),
        n=sql.Literal(n),
    )
    rows = store.connection.execute(statement).fetchall()
    return ranked([(store.chunk(row), float(row[7])) for row in rows])


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[Hit]], k: int = 60
) -> list[Hit]:
    """Return one ranking: each chunk's sum of ``1 / (k + rank)``.

    The rank is a hit's place in its own list, from 1. Scores that come in
    are never read, and the order of the rankings makes no difference.
    Equal sums are in the order of the chunks' ids.
    """
    chunks: dict[str, Chunk] = {}
    shares: dict[str, list[float]] = {}
    for ranking in rankings:
        for place, hit in enumerate(ranking, 1):
            chunks[hit.chunk.chunk_id] = hit.chunk
            shares.setdefault(hit.chunk.chunk_id, []).append(1 / (k + place))
    scores = {name: math.fsum(parts) for name, parts in shares.items()}
    order = sorted(scores, key=lambda name: (-scores[name], name))
    return ranked([(chunks[name], scores[name]) for name in order])


def hybrid_search(
    store: ChunkStore, embedder: Embedder, query: str, n: int = POOL
) -> list[Hit]:
    """Return the first ``n`` of both searches' first ``n``, fused."""
    rankings = [
        vector_search(store, embedder, query, n),
        text_search(store, query, n),
    ]
    return reciprocal_rank_fusion(rankings)[:n]
