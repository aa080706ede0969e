"""Stage 4: rerankers that can be worked out by hand, and the pipeline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from conftest import best_rank
from pipeline_types import Chunk, Hit, Vector, load_golden
from reranking import (
    Bm25Reranker,
    CrossEncoderReranker,
    MmrReranker,
    Pipeline,
    by_score,
)
from retrieval import hybrid_search
from store import HashingEmbedder


def hits(*texts: str, scores: Sequence[float] = ()) -> list[Hit]:
    """Return hits with ids ``0``, ``1`` … and these texts and scores."""
    given = scores or [1.0] * len(texts)
    return [
        Hit(Chunk(str(n), "memo", n, "", text, 0, len(text)), score, n + 1)
        for n, (text, score) in enumerate(zip(texts, given, strict=True))
    ]


def ids(found: Sequence[Hit]) -> list[str]:
    """Return the ids, best first; the ranks must count from 1."""
    assert [hit.rank for hit in found] == list(range(1, len(found) + 1))
    return [hit.chunk.chunk_id for hit in found]


class Fixed:
    """An embedder with a vector for each text; ``q`` is the question."""

    dims = 2

    def __init__(self, **vectors: Vector) -> None:
        self.vectors = vectors
        self.asked: list[bool] = []

    def embed(
        self, texts: Sequence[str], *, query: bool = False
    ) -> list[Vector]:
        """Look the texts up."""
        self.asked.append(query)
        return [self.vectors[text] for text in texts]


EAST, NORTH = (1.0, 0.0), (0.0, 1.0)
BETWEEN = (0.6, 0.8)


def test_equal_scores_keep_the_order_in_which_they_came() -> None:
    """Sort stably by the negated score; reversed() would turn ties."""
    found = by_score(hits("a", "b", "c", "d"), [1.0, 2.0, 1.0, 2.0])
    assert ids(found) == ["1", "3", "0", "2"]
    assert [hit.score for hit in found] == [2.0, 2.0, 1.0, 1.0]
    assert by_score([], []) == []


def test_bm25_by_hand() -> None:
    """df, N and the average length are those of the candidates."""
    # Lengths 2, 4 and 3: average 3. `oil` is in two of three texts.
    found = Bm25Reranker().rerank(
        "Oil", hits("oil lamp", "oil oil lamp wick", "a b c")
    )
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    one = idf * 1 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / 3))
    two = idf * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 4 / 3))
    assert ids(found) == ["1", "0", "2"]
    assert [hit.score for hit in found] == pytest.approx([two, one, 0])


def test_bm25_counts_each_word_of_the_query_once() -> None:
    """A question that says a word twice does not mean it twice as much."""
    texts = ("oil lamp", "wick lamp x")
    once = Bm25Reranker().rerank("oil wick", hits(*texts))
    twice = Bm25Reranker().rerank("oil wick oil", hits(*texts))
    assert once == twice


def test_bm25_of_a_common_word_is_positive() -> None:
    """The 1 inside the logarithm keeps idf above zero."""
    found = Bm25Reranker().rerank("lamp", hits("x lamp", "lamp lamp"))
    assert ids(found) == ["1", "0"]
    assert found[1].score > 0


def test_bm25_without_a_match_keeps_the_order() -> None:
    """All scores 0; no words at all must not divide by zero."""
    assert ids(Bm25Reranker().rerank("x", hits("b", "a"))) == ["0", "1"]
    assert ids(Bm25Reranker().rerank("x", hits("?", "!"))) == ["0", "1"]
    assert Bm25Reranker().rerank("x", []) == []


def test_bm25_takes_its_settings() -> None:
    """With k1 = 0 only presence counts; b = 0 ignores length."""
    found = Bm25Reranker(k1=0.0).rerank("oil", hits("oil", "oil oil x"))
    assert found[0].score == pytest.approx(found[1].score)
    found = Bm25Reranker(b=0.0).rerank("oil", hits("oil", "oil x y z"))
    assert found[0].score == pytest.approx(found[1].score)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([4.0, 1.0, 2.0], [1.0, 0.25, 0.5]),
        ([3.0, -1.0, 1.0], [1.0, 0.0, 0.5]),
        ([2.0, 2.0, 2.0], [0.9, 0.1, 0.5]),
        ([0.0, 0.0, 0.0], [0.9, 0.1, 0.5]),
        ([-1.0, -3.0, -2.0], [1.0, 0.0, 0.5]),
    ],
)
def test_relevance_is_brought_to_one_scale(
    scores: list[float], expected: list[float]
) -> None:
    """Share of the highest; min-max with a negative; else the cosine."""
    made = MmrReranker(Fixed()).relevance(scores, [0.9, 0.1, 0.5])
    assert made == pytest.approx(expected)


def test_mmr_prefers_what_is_unlike_the_first_pick() -> None:
    """0.7 * relevance - 0.3 * the highest cosine with a pick."""
    embedder = Fixed(q=EAST, a=EAST, b=EAST, c=NORTH)
    found = MmrReranker(embedder).rerank(
        "q", hits("a", "b", "c", scores=[10.0, 8.0, 6.0])
    )
    # b: 0.7 * 0.8 - 0.3 * 1 = 0.26; c: 0.7 * 0.6 - 0 = 0.42.
    assert ids(found) == ["0", "2", "1"]
    assert [hit.score for hit in found] == [10.0, 6.0, 8.0]
    assert embedder.asked.count(True) == 1


def test_mmr_penalises_by_the_closest_pick() -> None:
    """Compare with every pick so far and take the highest cosine."""
    embedder = Fixed(q=EAST, a=EAST, b=NORTH, c=EAST, d=BETWEEN)
    found = MmrReranker(embedder).rerank(
        "q", hits("a", "b", "c", "d", scores=[10.0, 9.0, 8.0, 7.5])
    )
    # b second: 0.63 against 0.26 and 0.345. Then d, by b: 0.525 - 0.24,
    # against c, by a: 0.56 - 0.3. By the last pick alone c has 0.56.
    assert ids(found) == ["0", "1", "3", "2"]


def test_mmr_rewards_what_points_away() -> None:
    """A negative cosine is no 0: it counts for the chunk."""
    embedder = Fixed(q=EAST, a=EAST, b=NORTH, c=NORTH, d=(-1.0, 0.0))
    found = MmrReranker(embedder, 0.5).rerank(
        "q", hits("a", "b", "c", "d", scores=[10.0, 9.0, 5.0, 1.0])
    )
    # b: 0.45, d: 0.05 + 0.5. Then b, then its copy c.
    assert ids(found) == ["0", "3", "1", "2"]


def test_the_first_pick_is_the_most_relevant() -> None:
    """No penalty yet, and no weight: even lambda 0 begins there."""
    embedder = Fixed(q=EAST, a=NORTH, b=EAST, c=NORTH)
    found = MmrReranker(embedder, 0.0).rerank(
        "q", hits("a", "b", "c", scores=[1.0, 5.0, 2.0])
    )
    assert ids(found) == ["1", "0", "2"]


def test_equal_scores_make_mmr_look_at_the_question() -> None:
    """Scores that are all equal say nothing; take the cosine."""
    embedder = Fixed(q=EAST, a=NORTH, b=EAST)
    assert ids(MmrReranker(embedder).rerank("q", hits("a", "b"))) == ["1", "0"]


def test_mmr_with_lambda_one_keeps_duplicates() -> None:
    """Relevance alone: the copy stays right behind its original."""
    embedder = Fixed(q=EAST, a=EAST, b=NORTH)
    found = MmrReranker(embedder, 1.0).rerank(
        "q", hits("a", "a", "b", scores=[3.0, 2.0, 1.0])
    )
    assert ids(found) == ["0", "1", "2"]
    found = MmrReranker(embedder).rerank(
        "q", hits("a", "a", "b", scores=[3.0, 2.0, 1.9])
    )
    assert ids(found) == ["0", "2", "1"]


def test_mmr_of_nothing_is_nothing() -> None:
    """No hits: embed nothing."""
    embedder = Fixed()
    assert MmrReranker(embedder).rerank("q", []) == []
    assert embedder.asked == []


class Model:
    """Counts how often it is loaded and called."""

    def __init__(self, *scores: float) -> None:
        self.scores = scores
        self.loaded = 0
        self.pairs: list[tuple[str, str]] = []
        self.calls = 0

    def load(self) -> Any:
        """Return the function that scores."""
        self.loaded += 1
        return self.score

    def score(self, pairs: Sequence[tuple[str, str]]) -> Sequence[float]:
        """Return the next scores for as many pairs."""
        self.calls += 1
        self.pairs = list(pairs)
        return self.scores


def test_a_cross_encoder_is_loaded_once_and_late() -> None:
    """Not when made, not for no hits, and never twice."""
    model = Model(0.1, 0.9)
    made = CrossEncoderReranker(model.load)
    assert made.rerank("q", []) == []
    assert model.loaded == 0
    assert ids(made.rerank("q", hits("a", "b"))) == ["1", "0"]
    made.rerank("q", hits("a", "b"))
    assert (model.loaded, model.calls) == (1, 2)
    assert model.pairs == [("q", "a"), ("q", "b")]


@pytest.mark.parametrize("scores", [(0.5,), (0.5, math.nan), (1, 2, 3)])
def test_a_model_that_answers_nonsense_is_refused(
    scores: tuple[float, ...],
) -> None:
    """One finite score for each pair, or ValueError."""
    made = CrossEncoderReranker(Model(*scores).load)
    with pytest.raises(ValueError, match="scores"):
        made.rerank("q", hits("a", "b"))


class Backwards:
    """A reranker that turns its candidates round, and counts them."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits in reverse."""
        self.seen.append(len(hits))
        return [
            Hit(hit.chunk, -hit.rank, rank)
            for rank, hit in enumerate(reversed(hits), 1)
        ]


def test_a_smaller_top_k_is_a_prefix(corpus_store: Any) -> None:
    """Rerank the whole pool, then cut: top_k must not change the order."""
    reranker = Backwards()
    made = Pipeline(corpus_store, HashingEmbedder(), reranker)
    ten = made.search("when is the lamp lit")
    assert len(ten) == 10
    three = made.search("when is the lamp lit", 3)
    fifty = made.search("when is the lamp lit", 50)
    assert three == ten[:3], "with top_k 3 others come first"
    assert fifty[:10] == ten, "with top_k 50 others come first"
    assert reranker.seen == [50, 50, 50]


def test_without_a_reranker_the_fused_order_comes_back(
    corpus_store: Any,
) -> None:
    """The pool is hybrid_search to the full depth."""
    made = Pipeline(corpus_store, HashingEmbedder(), depth=20)
    found = made.pool("lamp oil")
    embedder = HashingEmbedder()
    assert found == hybrid_search(corpus_store, embedder, "lamp oil", 20)
    assert len(found) == 20


class Remembering:
    """The hashing embedder, which forgets no text."""

    dims = 256

    def __init__(self) -> None:
        self.known: dict[str, Vector] = {}

    def embed(
        self, texts: Sequence[str], *, query: bool = False
    ) -> list[Vector]:
        """Embed what is new, and look the rest up."""
        new = [text for text in texts if text not in self.known]
        made = HashingEmbedder().embed(new)
        self.known |= zip(new, made, strict=True)
        return [self.known[text] for text in texts]


class InTurn:
    """Two rerankers: the second starts from the scores of the first."""

    def __init__(self, first: Any, second: Any) -> None:
        self.first = first
        self.second = second

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return the second's order of the first's."""
        return self.second.rerank(query, self.first.rerank(query, hits))


@pytest.fixture(scope="module")
def mrr(corpus_store: Any) -> dict[str, float]:
    """Return the mean reciprocal rank, to depth 10, by reranker."""
    embedder = Remembering()
    bm25 = Bm25Reranker()
    found = {}
    for name, reranker in (
        ("none", None),
        ("bm25", bm25),
        ("mmr", InTurn(bm25, MmrReranker(embedder))),
    ):
        made = Pipeline(corpus_store, embedder, reranker)
        shares = []
        for query in load_golden():
            rank = best_rank(query, made.search(query.query))
            shares.append(1 / rank if rank else 0.0)
        found[name] = sum(shares) / len(shares)
    return found


def test_reranking_raises_the_first_good_hit(mrr: dict[str, float]) -> None:
    """BM25 over the pool: MRR at 10 must go up."""
    assert mrr["bm25"] > mrr["none"]


def test_variety_leaves_most_of_what_reranking_won(
    mrr: dict[str, float],
) -> None:
    """MMR after BM25, lambda 0.7: MRR at 10 is at least the fusion's."""
    assert mrr["mmr"] >= mrr["none"]
