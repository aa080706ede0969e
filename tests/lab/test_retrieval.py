"""Scores, order and explanations, worked out by hand or by a slow oracle."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from lab import exact, fusion, schema, vectors
from lab.encoders.hashing import SignedHashing
from lab.errors import InvalidInput
from lab.index import Index
from lab.model import Document, Policy
from lab.terms import terms
from tests.lab.conftest import Opener
from tests.lab.support import ALICE, BOB, contract, document, found, see

UNIT = 2**40


def put(index: Index, texts: dict[str, str], *readers: str) -> None:
    """Index plain texts that ``readers`` (else alice) may read."""
    for doc_id, text in texts.items():
        index.upsert(
            Document(
                "larkspur",
                doc_id,
                1,
                "text",
                text,
                Policy(readers or ("alice",)),
            )
        )


@contract("C-20")
def test_idf_is_the_rounded_logarithm() -> None:
    # ln(1 + (4 - 2 + 0.5) / (2 + 0.5)) = ln 2
    assert exact.idf(4, 2) == round(math.log(2) * UNIT)
    for n, df in ((1, 1), (3, 3), (240, 7), (10**6, 1)):
        with localcontext() as context:
            context.prec = 60
            true = (Decimal(2 * n + 2) / Decimal(2 * df + 1)).ln() * UNIT
            assert abs(Decimal(exact.idf(n, df)) - true) <= Decimal("0.5")
        assert exact.idf(n, df) > 0


@contract("C-20")
def test_a_bm25_term_is_the_textbook_fraction_rounded_once() -> None:
    chosen = random.Random(7)
    for _ in range(500):
        idf = chosen.randrange(1, 2**44)
        tf = chosen.randrange(1, 50)
        n = chosen.randrange(1, 10**5)
        length = chosen.randrange(tf, 500)
        total = chosen.randrange(length, length + 10**7)
        k1, b = Fraction(3, 2), Fraction(3, 4)
        average = Fraction(total, n)
        true = (
            Fraction(idf)
            * tf
            * (k1 + 1)
            / (tf + k1 * (1 - b + b * length / average))
        )
        assert abs(exact.bm25_term(idf, tf, length, n, total) - true) <= (
            Fraction(1, 2)
        )


@contract("C-20")
def test_a_score_over_readable_chunks_follows_the_textbook(
    index: Index,
) -> None:
    texts = {
        "a": "zebra quota quota plan",
        "b": "quota plan",
        "c": "plan plan plan",
        "d": "other words only here now",
    }
    put(index, texts)
    put(index, {"hidden": "zebra " * 40}, "dana")
    results = index.search("zebra quota", ALICE, mode="lexical", rerank=False)
    n = 4
    average = sum(len(t.split()) for t in texts.values()) / n
    for hit in results.hits:
        words = Counter(texts[hit.doc_id].split())
        score = 0.0
        for term in ("zebra", "quota"):
            df = sum(term in t.split() for t in texts.values())
            tf = words[term]
            if tf:
                idf = math.log(1 + (n - df + 0.5) / (df + 0.5))
                norm = 1.5 * (0.25 + 0.75 * words.total() / average)
                score += idf * tf * 2.5 / (tf + norm)
        assert hit.channels["lexical"].score / UNIT == pytest.approx(score)
    assert found(results) == ["a", "b"]


@contract("C-20")
@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_term_in_every_document_still_counts(
    index: Index, count: int
) -> None:
    put(index, {f"d{n}": "DuckDB notes" for n in range(count)})
    results = index.search("DuckDB", ALICE, mode="lexical")
    assert len(results.hits) == count
    assert all(hit.channels["lexical"].score > 0 for hit in results.hits)


@contract("C-20")
def test_document_frequency_counts_documents_not_occurrences(
    index: Index,
) -> None:
    put(index, {"a": "pink " * 10, "b": "blue", "c": "green"})
    (hit,) = index.search("pink", ALICE, mode="lexical").hits
    (term,) = hit.channels["lexical"].terms
    assert (term.df, term.tf) == (1, 10)


@contract("C-20")
def test_int8_dots_agree_in_pure_python_and_numpy() -> None:
    np = pytest.importorskip("numpy")
    chosen = random.Random(3)
    for dims in (1, 7, 96, 384, 1040, 1041, 2048):
        rows = []
        for _ in range(20):
            data = bytes(chosen.randrange(256) for _ in range(dims))
            data = data.replace(b"\x80", b"\x81")
            rows.append((data, vectors.norm(data)))
        rows.append((bytes([127]) * dims, 127 * 127 * dims))
        rows.append((bytes(dims), 0))
        query = bytes([127]) * dims
        slow = [
            exact.cosine(
                sum(127 * (v - 256 if v > 127 else v) for v in data),
                127 * 127 * dims,
                norm,
            )
            for data, norm in rows
        ]
        assert vectors._cosines_numpy(np, query, rows) == slow


@contract("C-20")
def test_search_gives_the_same_bytes_with_and_without_numpy(
    open_index: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numpy")
    index = open_index(encoder=SignedHashing(64))
    put(index, {f"d{n}": f"hotel night {n} cost {n % 7}" for n in range(60)})
    with_numpy = index.search("hotel cost 3", ALICE, limit=50).to_json()
    monkeypatch.setattr(vectors, "numpy", lambda: None)
    assert index.search("hotel cost 3", ALICE, limit=50).to_json() == (
        with_numpy
    )


@contract("C-21")
def test_fusion_adds_reciprocal_ranks_and_reads_no_score() -> None:
    first = {("x", 0): 1, ("a", 0): 2, ("y", 0): 3}
    second = {("b", 0): 1, ("c", 0): 2, ("y", 0): 3}
    fused = fusion.fuse([first, second])
    one = [round(Fraction(UNIT, 60 + rank)) for rank in (1, 2, 3)]
    assert fused["y", 0] == 2 * one[2]
    assert fused["x", 0] == fused["b", 0] == one[0]
    order = fusion.ranks(fused, 10)
    # Twice third (2/63) beats once first (1/61); ties go by id.
    assert list(order) == [("y", 0), ("b", 0), ("x", 0), ("a", 0), ("c", 0)]


@contract("C-21")
def test_the_order_of_the_channels_does_not_matter() -> None:
    lists = [{("a", 0): 1, ("b", 1): 2}, {("b", 1): 1}, {("c", 2): 1}]
    results = [
        fusion.fuse(list(order)) for order in itertools.permutations(lists)
    ]
    assert all(result == results[0] for result in results)


@contract("C-21")
def test_a_chunk_found_by_both_channels_is_one_hit(index: Index) -> None:
    put(index, {"a": "zebra quota", "b": "zebra"})
    results = index.search("zebra quota", ALICE)
    keys = [(hit.doc_id, hit.number) for hit in results.hits]
    assert len(keys) == len(set(keys)) == results.considered == 2
    first = results.hits[0]
    assert first.fused == 2 * exact.reciprocal_rank(1)


@contract("C-22")
def test_equal_scores_are_ordered_by_document_and_chunk(
    open_index: Opener,
) -> None:
    names = [f"doc-{n}" for n in (10, 2, 33, 1)]
    orders = []
    for permuted in itertools.permutations(names):
        index = open_index()
        put(index, dict.fromkeys(permuted, "same words here"))
        results = index.search("same words", ALICE, limit=10)
        orders.append([hit.doc_id for hit in results.hits])
    assert all(order == sorted(names) for order in orders)


@contract("C-22")
def test_a_result_carries_no_row_number(open_index: Opener) -> None:
    first, second = open_index(), open_index()
    put(second, {f"x{n}": "filler" for n in range(30)}, "dana")
    for index in (first, second):
        put(index, {"a": "hotel one", "b": "hotel two"})
    assert (
        first.search("hotel", ALICE).to_json()
        == second.search("hotel", ALICE).to_json()
    )


@contract("C-23")
def test_an_explanation_adds_up(index: Index) -> None:
    chosen = random.Random(5)
    words = "hotel night cost limit travel rail claim form".split()
    put(
        index,
        {
            f"d{n}": " ".join(chosen.choices(words, k=12)) + f" {n}"
            for n in range(30)
        },
    )
    results = index.search("hotel cost claim", ALICE, limit=30)
    assert len(results.hits) == 30 or results.considered < 30
    for hit in results.hits:
        assert hit.fused == sum(
            exact.reciprocal_rank(channel.rank)
            for channel in hit.channels.values()
        )
        if "lexical" in hit.channels:
            channel = hit.channels["lexical"]
            assert channel.score == sum(t.score for t in channel.terms)
            for term in channel.terms:
                assert terms(hit.text).count(term.term) == term.tf


@contract("C-24")
@pytest.mark.parametrize("mode", ["lexical", "vector", "hybrid"])
def test_every_readable_matching_chunk_is_considered(
    index: Index, mode: str
) -> None:
    put(index, {f"d{n}": f"hotel note {n}" for n in range(60)})
    put(index, {f"n{n}": f"nothing {n}" for n in range(20)})
    put(index, {f"h{n}": f"hotel note {n}" for n in range(60)}, "dana")
    results = index.search("hotel", ALICE, mode=mode, limit=100)
    assert results.considered == 60
    assert {hit.doc_id for hit in results.hits} == {f"d{n}" for n in range(60)}


@contract("C-24")
def test_a_chunk_without_terms_is_legal_and_disturbs_no_score(
    index: Index,
) -> None:
    put(index, {"a": "zebra quota", "b": "zebra"})
    put(index, {"c": "!!! --- ???"})
    assert found(index.search("zebra", ALICE)) == ["b", "a"]
    assert index.verify() == []


def test_a_query_without_terms_finds_nothing_and_asks_no_encoder(
    open_index: Opener,
) -> None:
    class Refusing(SignedHashing):
        def encode(self, texts, *, query=False):  # type: ignore[no-untyped-def]
            assert not query, "no terms, no encoder call"
            return super().encode(texts, query=query)

    index = open_index(encoder=Refusing(32))
    put(index, {"a": "zebra"})
    for mode in ("lexical", "vector", "hybrid"):
        results = index.search("?! …", ALICE, mode=mode)
        assert results.hits == ()
        assert results.considered == 0


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": ""},
        {"query": "x" * 1025},
        {"query": None},
        {"query": "a\x00b"},
        {"query": "\ud800"},
        {"limit": 0},
        {"limit": 101},
        {"limit": True},
        {"limit": "5"},
        {"mode": "semantic"},
        {"mode": None},
        {"max_age": 5},
        {"max_age": -1, "now": 0},
        {"max_age": 1.5, "now": 0},
        {"max_age": 5, "now": "today"},
    ],
)
def test_a_malformed_search_is_refused(
    index: Index, arguments: dict[str, object]
) -> None:
    given = {"query": "hotel", **arguments}
    query = given.pop("query")
    with pytest.raises(InvalidInput):
        index.search(query, ALICE, **given)  # type: ignore[arg-type]


def test_a_query_of_1024_characters_and_many_terms_is_legal(
    index: Index,
) -> None:
    put(index, {"a": "w63 here", "b": "w64 here"})
    query = " ".join(f"w{n}" for n in range(250))[:1024]
    # Only the first 64 distinct terms, w0 to w63, are asked for.
    assert found(index.search(query, ALICE, mode="lexical")) == ["a"]


def test_a_zero_vector_is_stored_and_never_a_candidate(
    open_index: Opener,
) -> None:
    index = open_index(encoder=SignedHashing(32))
    put(index, {"a": "---", "b": "zebra"})
    assert index.verify() == []
    assert see(index, "zebra", ALICE) == ["b"]


def test_an_index_without_encoder_is_lexical_and_says_so(
    open_index: Opener,
) -> None:
    index = open_index(encoder=None)
    put(index, {"a": "zebra"})
    results = index.search("zebra", ALICE)
    assert found(results) == ["a"]
    assert results.degraded == ("vector",)
    with pytest.raises(InvalidInput):
        index.search("zebra", ALICE, mode="vector")


def test_without_rerank_the_order_is_the_fused_one_and_says_so(
    index: Index,
) -> None:
    index.upsert(document("a", "# Other\n\nhotel hotel hotel rate"))
    index.upsert(document("b", "# Hotel\n\nlong text about the rate of it"))
    on = index.search("hotel", ALICE)
    off = index.search("hotel", ALICE, rerank=False)
    assert found(on) == ["b", "a"]
    assert off.degraded == ("rerank",)
    fused = [hit.fused for hit in off.hits]
    assert fused == sorted(fused, reverse=True)


def test_freshness_drops_old_and_undated_documents_and_counts_them(
    index: Index,
) -> None:
    index.upsert(document("new", "# hotel new", updated_at=1000))
    index.upsert(document("old", "# hotel old", updated_at=100))
    index.upsert(document("edge", "# hotel edge", updated_at=900))
    index.upsert(document("undated", "# hotel undated"))
    results = index.search("hotel", ALICE, max_age=100, now=1000)
    assert sorted(found(results)) == ["edge", "new"]
    assert (results.considered, results.stale) == (4, 2)
    plain = index.search("hotel", ALICE)
    by_id = {hit.doc_id: hit for hit in plain.hits}
    for hit in results.hits:
        # The collection that BM25 knows is counted before freshness.
        lexical = hit.channels["lexical"]
        assert lexical.score == by_id[hit.doc_id].channels["lexical"].score


def test_an_unknown_tenant_finds_nothing(index: Index) -> None:
    from lab.model import Context

    put(index, {"a": "zebra"}, "*")
    results = index.search("zebra", Context("nobody", "alice"))
    assert (results.hits, results.considered) == ((), 0)


def test_results_and_hits_match_their_schemas(index: Index) -> None:
    put(index, {"a": "zebra quota", "b": "zebra"})
    results = index.search("zebra quota", ALICE)
    schema.validate(json.loads(results.to_json()), "results", "results")
    for hit in results.hits:
        schema.validate(hit.to_data(), "hit", "hit")
    answer = index.answer(results.hits, ALICE)
    schema.validate(json.loads(answer.to_json()), "answer", "answer")
    checked = index.check(results.hits[0].citation, ALICE)
    schema.validate(json.loads(checked.to_json()), "checked", "checked")
    reading = index.read("a", ALICE)
    schema.validate(json.loads(reading.to_json()), "reading", "reading")


def test_a_two_character_chinese_word_is_found_in_the_middle(
    index: Index,
) -> None:
    put(
        index,
        {
            "a": "北京大学是好学校",
            "b": "步2 重跑gen-itgc后50条悬空引用清零",
            "c": "開始ﾕｰｻﾞｰ認証",
            "d": "한국어 테스트 배포",
        },
    )
    for query, doc_id in (
        *(("北京", "a"), ("悬空", "b"), ("itgc", "b"), ("gen", "b")),
        *(("50", "b"), ("ユーザー", "c"), ("테스트", "d")),
    ):
        assert found(index.search(query, ALICE, mode="lexical")) == [doc_id]


def test_one_index_serves_several_threads(index: Index) -> None:
    from concurrent.futures import ThreadPoolExecutor

    put(index, {f"d{n}": f"hotel {n}" for n in range(20)})
    expected = index.search("hotel 3", ALICE).to_json()

    def work(n: int) -> str:
        if n % 5 == 0:
            put(index, {f"h{n}": "hotel hidden 3"}, "dana")
        return index.search("hotel 3", ALICE).to_json()

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(work, range(60))) == {expected}
    assert see(index, "hotel", BOB) == []
