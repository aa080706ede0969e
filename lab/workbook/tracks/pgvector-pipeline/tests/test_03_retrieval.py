"""Stage 3: nearest vectors, matching words, and a fusion by rank."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import Unwritten, best_rank, found_within
from pipeline_types import POOL, TOP_K, Chunk, Hit, Vector, load_golden
from retrieval import (
    clean,
    either_term,
    hybrid_search,
    reciprocal_rank_fusion,
    text_search,
    vector_search,
)
from store import ChunkStore, HashingEmbedder

FIGURES = json.loads(
    Path(__file__).with_name("figures.json").read_text("utf-8")
)

# Each text, and the vector that the table holds for it.
TEXTS = {
    "a": ("The lamp burns oil.", (1.0, 0.0, 0.0)),
    "b": ("The lamp burns gas.", (0.6, 0.8, 0.0)),
    "c": ("A mirror turns.", (0.0, 1.0, 0.0)),
    "d": ("The lamp burns oil.", (0.6, 0.0, 0.8)),
    "e": ("Oil for the lamp.", (-1.0, 0.0, 0.0)),
}


class East:
    """An embedder that knows one direction: words are ``(1, 0, 0)``."""

    dims = 3

    def embed(
        self, texts: Sequence[str], *, query: bool = False
    ) -> list[Vector]:
        """Return zeros for a text without letters."""
        assert query, "say query=True: some models embed questions otherwise"
        return [
            (float(any(map(str.isalpha, text))), 0.0, 0.0) for text in texts
        ]


def chunk(name: str, text: str = "") -> Chunk:
    """Return a chunk of this id."""
    return Chunk(name, "memo", 0, "", text, 0, len(text))


@pytest.fixture(scope="module")
def table(connection: Any, schema: str) -> Any:
    """Return a table of ``TEXTS``."""
    made = ChunkStore(connection, schema, 3)
    chunks = [chunk(name, text) for name, (text, _) in TEXTS.items()]
    try:
        made.create()
        made.upsert(chunks, [vector for _, vector in TEXTS.values()])
    except NotImplementedError as error:
        return Unwritten(error)
    return made


def ids(hits: Sequence[Hit]) -> list[str]:
    """Return the ids, best first; the ranks must count from 1."""
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    return [hit.chunk.chunk_id for hit in hits]


def test_a_query_is_cleaned_before_it_is_sent() -> None:
    """NUL and surrogates become spaces; 2,000 characters are enough."""
    assert clean("a\0b\ud800c灯") == "a b c灯"
    assert clean("x" * 3000) == "x" * 2000


def test_the_nearest_vectors_come_first(table: Any) -> None:
    """Order by <=>; the score is 1 minus the distance."""
    hits = vector_search(table, East(), "lamp", 5)
    assert [hit.score for hit in hits] == pytest.approx([1, 0.6, 0.6, 0, -1])
    assert hits[0].chunk == chunk("a", "The lamp burns oil.")


def test_equal_distances_are_in_the_order_of_ids(table: Any) -> None:
    """Order by distance, then chunk_id."""
    assert ids(vector_search(table, East(), "lamp", 5)) == list("abdce")
    assert ids(vector_search(table, East(), "lamp", 2)) == ["a", "b"]
    # hnsw.ef_search may be 1,000 at most.
    assert len(vector_search(table, East(), "lamp", 5000)) == 5


def test_a_query_without_words_has_no_neighbours(table: Any) -> None:
    """All zeros has no direction: return [] and ask nothing."""
    assert vector_search(table, East(), "?!", 5) == []


def test_the_index_may_return_as_many_as_are_wanted(
    corpus_store: Any,
) -> None:
    """Raise hnsw.ef_search to n in a transaction; 40 is its default."""
    with_index = "SET enable_seqscan = off; SET enable_sort = off"
    try:
        if not isinstance(corpus_store, Unwritten):
            corpus_store.connection.execute(with_index)
        hits = vector_search(corpus_store, HashingEmbedder(), "the lamp", 90)
        assert len(hits) == 90
        # Where nothing was ever set, there may be nothing to show.
        row = corpus_store.connection.execute(
            "SELECT current_setting('hnsw.ef_search', true)"
        ).fetchone()
        assert row[0] in (None, "", "40")
    finally:
        if not isinstance(corpus_store, Unwritten):
            corpus_store.connection.execute("RESET ALL")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("'lamp' & 'oil'", "( 'lamp' | 'oil' )"),
        ("'lamp' & !'oil'", "( 'lamp' ) & !'oil'"),
        ("'lamp' <-> 'oil' | 'wick'", "( 'lamp' <-> 'oil' | 'wick' )"),
        (
            "!( 'lamp' <-> 'oil' ) & 'a' & !'b' & 'c'",
            "( 'a' | 'c' ) & !( 'lamp' <-> 'oil' ) & !'b'",
        ),
        ("!'oil'", ""),
        ("", ""),
    ],
    ids=["two", "without", "phrase", "all", "none", "nothing"],
)
def test_one_positive_term_is_enough(query: str, expected: str) -> None:
    """OR what is wanted; AND every exclusion; nothing wanted is ""."""
    assert either_term(query) == expected


def test_a_chunk_with_one_of_the_words_is_found(table: Any) -> None:
    """`a` and `d` have both words close together; `b` has one."""
    hits = text_search(table, "oil burning", 5)
    assert set(ids(hits)) == {"a", "b", "d", "e"}
    assert ids(hits)[:2] == ["a", "d"]


def test_what_is_excluded_stays_excluded(table: Any) -> None:
    """`-gas` keeps its meaning when the rest is made kinder."""
    assert ids(text_search(table, "lamp burns mirror -oil", 5)) == ["b", "c"]


def test_a_phrase_stays_a_phrase(table: Any) -> None:
    """Quotes ask for neighbours."""
    assert set(ids(text_search(table, '"burns oil"', 5))) == {"a", "d"}


@pytest.mark.parametrize("query", ["", "the of", "-lamp", '-"lamp" -oil', "?"])
def test_without_a_positive_term_nothing_is_found(
    table: Any, query: str
) -> None:
    """Return []: everything but X is no search."""
    assert text_search(table, query, 5) == []


def test_equal_text_ranks_are_in_the_order_of_ids(table: Any) -> None:
    """`a` and `d` have the same text: the id decides."""
    hits = text_search(table, "lamp oil", 5)
    found = [hit for hit in hits if hit.chunk.text == "The lamp burns oil."]
    assert [hit.chunk.chunk_id for hit in found] == ["a", "d"]
    assert found[0].score == found[1].score


def test_text_scores_are_below_one(table: Any) -> None:
    """ts_rank_cd with 32 gives r / (r + 1): one cover of one word is 0.1."""
    (hit,) = text_search(table, "mirror", 5)
    assert hit.score == pytest.approx(0.1 / 1.1)
    assert ids(text_search(table, "lamp", 2)) == ["a", "b"]


TYPED = (
    "'",
    '"',
    "lamp' OR 1=1; --",
    "a & | ! <-> b",
    "!!lamp",
    "--lamp",
    "lamp:*",
    "%s %d {} $1",
    "\\",
    "lamp\0oil",
    "\ud800",
    "or or or",
    "(((",
    "x" * 5000,
    "lamp " * 100_000,
    " ".join(f"w{number}" for number in range(50_000)),
)


def test_nothing_that_a_user_types_raises(table: Any) -> None:
    """Never build a tsquery from raw text; clean it and let SQL parse."""
    letters = random.Random(7)
    signs = "ab'\"-|&!():*<>\\\0 %{}\ud800灯"
    typed = [*TYPED]
    for _ in range(200):
        typed.append("".join(letters.choices(signs, k=12)))
    for query in typed:
        hybrid_search(table, East(), query, 5)
        text_search(table, query, 5)


def ranking(*names: str, score: float = 1.0) -> list[Hit]:
    """Return hits with these ids; all scores are equal."""
    return [Hit(chunk(name), score, rank) for rank, name in enumerate(names, 1)]


def test_shares_by_hand() -> None:
    """Add 1 / (60 + rank), ranks from 1; absent adds nothing."""
    found = reciprocal_rank_fusion([ranking("a", "b"), ranking("b", "c")])
    assert [(hit.chunk.chunk_id, hit.score) for hit in found] == [
        ("b", pytest.approx(1 / 62 + 1 / 61)),
        ("a", pytest.approx(1 / 61)),
        ("c", pytest.approx(1 / 62)),
    ]
    assert ids(found) == ["b", "a", "c"]
    assert reciprocal_rank_fusion([]) == []


def test_two_thirtieth_places_beat_one_first_place() -> None:
    """2 / 90 is more than 1 / 61."""
    left = [f"l{number}" for number in range(29)]
    right = [f"r{number}" for number in range(29)]
    found = reciprocal_rank_fusion(
        [ranking(*left, "both"), ranking(*right, "both")]
    )
    assert found[0].chunk.chunk_id == "both"
    assert found[0].score == pytest.approx(2 / 90)


def test_scores_that_come_in_are_never_read() -> None:
    """Use places alone: a cosine and a text rank have no common unit."""
    plain = reciprocal_rank_fusion([ranking("a", "b"), ranking("c", "b")])
    wild = reciprocal_rank_fusion(
        [ranking("a", "b", score=1e9), ranking("c", "b", score=-7.0)]
    )
    assert plain == wild


def test_the_order_of_the_rankings_makes_no_difference() -> None:
    """Add with math.fsum: a plain sum differs in its last bit."""
    lists = [
        ranking("a", "b", "c", "d"),
        ranking("d", "x", "a", "b"),
        ranking("y", "z", "c", "a", "b"),
    ]
    fused = [
        tuple(reciprocal_rank_fusion(order))
        for order in itertools.permutations(lists)
    ]
    different = len(set(fused))
    assert different == 1, f"six orders give {different} different results"


def test_equal_sums_are_in_the_order_of_ids() -> None:
    """Sort by (-score, chunk_id)."""
    found = reciprocal_rank_fusion([ranking("b", "d"), ranking("a", "c")])
    assert ids(found) == ["a", "b", "c", "d"]


def test_both_searches_are_fused_and_cut(table: Any) -> None:
    """Search each to n, fuse, keep n."""
    found = hybrid_search(table, East(), "lamp oil", 3)
    both = reciprocal_rank_fusion(
        [
            vector_search(table, East(), "lamp oil", 3),
            text_search(table, "lamp oil", 3),
        ]
    )
    assert found == both[:3]
    # No letters for East, and a number that no text has.
    assert hybrid_search(table, East(), "1234", 3) == []


@pytest.fixture(scope="module")
def ranks(corpus_store: Any) -> dict[str, dict[str, int | None]]:
    """Return, by side and golden query, the rank of what it looks for."""
    embedder = HashingEmbedder()
    found: dict[str, dict[str, int | None]] = {
        "vector": {},
        "text": {},
        "hybrid": {},
    }
    for query in load_golden():
        for side, hits in (
            ("vector", vector_search(corpus_store, embedder, query.query)),
            ("text", text_search(corpus_store, query.query)),
            ("hybrid", hybrid_search(corpus_store, embedder, query.query)),
        ):
            found[side][query.id] = best_rank(query, hits)
    return found


def test_some_lexical_query_is_found_by_text_alone(
    ranks: dict[str, dict[str, int | None]],
) -> None:
    """A code or a rare name: the words find it, the vectors do not."""
    alone = [
        query.id
        for query in load_golden()
        if query.kind == "lexical"
        and found_within(TOP_K, [ranks["text"][query.id]])
        and not found_within(TOP_K, [ranks["vector"][query.id]])
    ]
    assert alone


@pytest.mark.parametrize("k", [TOP_K, POOL])
def test_the_fusion_finds_as_much_as_either_side(
    ranks: dict[str, dict[str, int | None]], k: int
) -> None:
    """Recall at 10 and 50: at least both sides', and more than one's."""
    recall = {
        side: found_within(k, found.values()) for side, found in ranks.items()
    }
    assert recall["hybrid"] >= max(recall["vector"], recall["text"])
    assert recall["hybrid"] > min(recall["vector"], recall["text"])


def test_each_side_finds_what_the_reference_finds(
    ranks: dict[str, dict[str, int | None]],
) -> None:
    """Recall at 10 of each search by itself, within 0.02."""
    for side, found in ranks.items():
        recall = found_within(TOP_K, found.values())
        expected = FIGURES["sides"][side]
        assert recall == pytest.approx(expected, abs=0.02), side
