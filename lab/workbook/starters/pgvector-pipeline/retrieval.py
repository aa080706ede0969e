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
    raise NotImplementedError("Stage 03: cut, and put spaces where PostgreSQL would refuse")


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
    raise NotImplementedError("Stage 03: raise ef_search in a transaction, order by distance and id")


def either_term(query: str) -> str:
    """Return a tsquery in which one positive term is enough.

    ``query`` is what PostgreSQL prints for ``websearch_to_tsquery``: terms
    joined by `` & `` and `` | ``, where a term is a lexeme or a phrase
    (``'lamp' <-> 'oil'``), and one with ``!`` before it is excluded. The
    positive terms are joined by ``|``; every exclusion stays in force.
    Without a positive term the result is ``""``.
    """
    raise NotImplementedError("Stage 03: split into terms, OR the positive ones, AND NOT the rest")


def text_search(store: ChunkStore, query: str, n: int = POOL) -> list[Hit]:
    """Return the ``n`` chunks that rank best for the words of the query.

    The query is read by ``websearch_to_tsquery('english', ...)`` and made
    kinder by ``either_term``; without a positive term the result is ``[]``.
    The score is ``ts_rank_cd(tsv, ..., 32)``, from 0 to 1; equal scores are
    in the order of their ids.
    """
    raise NotImplementedError("Stage 03: parse, relax, rank; ties by id")


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[Hit]], k: int = 60
) -> list[Hit]:
    """Return one ranking: each chunk's sum of ``1 / (k + rank)``.

    The rank is a hit's place in its own list, from 1. Scores that come in
    are never read, and the order of the rankings makes no difference.
    Equal sums are in the order of the chunks' ids.
    """
    raise NotImplementedError("Stage 03: add up shares by place, sort by sum and id")


def hybrid_search(
    store: ChunkStore, embedder: Embedder, query: str, n: int = POOL
) -> list[Hit]:
    """Return the first ``n`` of both searches' first ``n``, fused."""
    raise NotImplementedError("Stage 03: search both ways, fuse, cut")
