"""Stage 4: a second look at the first fifty, in a better order.

A reranker sees one query and its candidates, and nothing else of the
corpus; it can afford what a search over everything cannot.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

from pipeline_types import POOL, TOP_K, Embedder, Hit, Reranker, Vector
from retrieval import hybrid_search, ranked
from store import ChunkStore, words

# What a cross-encoder does: a score for every pair of query and text.
Score = Callable[[Sequence[tuple[str, str]]], Sequence[float]]


def by_score(hits: Sequence[Hit], scores: Sequence[float]) -> list[Hit]:
    """Return the hits in the order of new scores, highest first.

    Equal scores keep the order in which they came; ranks count from 1.
    """
    order = sorted(range(len(hits)), key=lambda place: -scores[place])
    return ranked([(hits[place].chunk, scores[place]) for place in order])


class Bm25Reranker:
    """BM25 over the candidates of one query, as if they were the corpus."""

    def __init__(self, k1: float = 1.2, b: float = 0.75) -> None:
        self.k1 = k1
        self.b = b

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits by their BM25, a chunk without a match last.

        Words are those of ``store.words``. Each distinct word of the query
        adds ``idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length /
        average))`` with ``idf = ln(1 + (N - df + 0.5) / (df + 0.5))``,
        where ``N``, ``df`` and the average length are of the candidates.
        """
        counts = [Counter(words(hit.chunk.text)) for hit in hits]
        total = sum(one.total() for one in counts)
        if not total:
            return by_score(hits, [0.0] * len(hits))
        average = total / len(hits)
        scores = [0.0] * len(hits)
        for word in dict.fromkeys(words(query)):
            df = sum(word in one for one in counts)
            idf = math.log(1 + (len(hits) - df + 0.5) / (df + 0.5))
            for place, one in enumerate(counts):
                tf = one[word]
                stretch = 1 - self.b + self.b * one.total() / average
                scores[place] += (
                    idf * tf * (self.k1 + 1) / (tf + self.k1 * stretch)
                )
        return by_score(hits, scores)


def cosine(left: Vector, right: Vector) -> float:
    """Return the cosine of two vectors of length 1, or 0 with zeros."""
    return sum(a * b for a, b in zip(left, right, strict=True))


class MmrReranker:
    """Maximal marginal relevance: relevant, and unlike what is chosen.

    ``weight`` is lambda: 1 is relevance alone, 0 is difference alone.
    """

    def __init__(self, embedder: Embedder, weight: float = 0.7) -> None:
        self.embedder = embedder
        self.weight = weight

    def relevance(
        self, scores: Sequence[float], nearness: Sequence[float]
    ) -> list[float]:
        """Return how relevant each hit is, on a scale that MMR can use.

        ``scores`` are those the hits came with. All equal, they say
        nothing, and ``nearness``, the cosine with the query, is returned.
        With a negative one among them they are stretched to 0 … 1 (least
        is 0, most is 1). Otherwise they are divided by the highest.
        """
        least, most = min(scores), max(scores)
        if least == most:
            return list(nearness)
        if least < 0:
            return [(one - least) / (most - least) for one in scores]
        return [one / most for one in scores]

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return all hits, picked one after another; scores are kept.

        The next pick has the highest ``weight * relevance - (1 - weight) *
        closest``, ``closest`` being its highest cosine with a chunk picked
        before; equal ones are picked in the order in which they came. The
        first pick has the highest relevance, with no weight and no penalty.
        """
        if not hits:
            return []
        (asked,) = self.embedder.embed([query], query=True)
        vectors = self.embedder.embed([hit.chunk.text for hit in hits])
        relevance = self.relevance(
            [hit.score for hit in hits],
            [cosine(asked, vector) for vector in vectors],
        )
        left = list(range(len(hits)))
        pick = max(left, key=lambda place: relevance[place])
        closest = [-math.inf] * len(hits)
        picked = []
        while True:
            picked.append((hits[pick].chunk, hits[pick].score))
            left.remove(pick)
            if not left:
                return ranked(picked)
            for place in left:
                near = cosine(vectors[place], vectors[pick])
                closest[place] = max(closest[place], near)
            pick = max(
                left,
                key=lambda place: (
                    self.weight * relevance[place]
                    - (1 - self.weight) * closest[place]
                ),
            )


class CrossEncoderReranker:
    """A model that reads query and chunk together, loaded when needed.

    ``load`` returns the model; it is called once, at the first hits there
    are to rerank, and never for none.
    """

    def __init__(self, load: Callable[[], Score]) -> None:
        self.load = load
        self.score: Score | None = None

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits by the model's scores.

        All pairs go to the model in one call. Raises ``ValueError`` unless
        it gives one finite score for each.
        """
        if not hits:
            return []
        if self.score is None:
            self.score = self.load()
        pairs = [(query, hit.chunk.text) for hit in hits]
        scores = [float(one) for one in self.score(pairs)]
        if len(scores) != len(hits) or not all(map(math.isfinite, scores)):
            raise ValueError(
                f"the model gave {len(scores)} scores for {len(hits)} chunks,"
                " or one that is no number"
            )
        return by_score(hits, scores)


class Pipeline:
    """Hybrid search, then a reranker; without one, the fused order."""

    def __init__(
        self,
        store: ChunkStore,
        embedder: Embedder,
        reranker: Reranker | None = None,
        depth: int = POOL,
    ) -> None:
        self.store = store
        self.embedder = embedder
        self.reranker = reranker
        self.depth = depth

    def pool(self, query: str) -> list[Hit]:
        """Return all candidates, at most ``depth``, in their final order.

        How many are wanted must not change what the reranker sees.
        """
        hits = hybrid_search(self.store, self.embedder, query, self.depth)
        return self.reranker.rerank(query, hits) if self.reranker else hits

    def search(self, query: str, top_k: int = TOP_K) -> list[Hit]:
        """Return the first ``top_k`` of the pool."""
        return self.pool(query)[:top_k]
