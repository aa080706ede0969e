"""Rerankers: scores by hand, features that add up, only the candidates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from lab import exact, rerank
from lab.errors import EncoderError, InvalidInput
from lab.index import Index
from lab.rerank import Fused, Ranked, Reranker
from lab.rerankers import MMR, CandidateBM25, CrossEncoder
from lab.store import Candidate
from lab.terms import terms
from tests.lab.support import ALICE, BOB, contract, document, everything

UNIT = 2**40


def fused(doc_id: str, text: str, score: int) -> Fused:
    candidate = Candidate(
        doc_id, 0, 1, "0" * 64, "T", None, None, 0, len(text), text, "", ()
    )
    return Fused(candidate, score)


def order(reranker: Reranker, query: str, items: Sequence[Fused]) -> list[str]:
    ranked = reranker.rank(query, list(dict.fromkeys(terms(query))), items)
    assert sorted(r.item.candidate.doc_id for r in ranked) == sorted(
        i.candidate.doc_id for i in items
    )
    return [r.item.candidate.doc_id for r in rerank.order(ranked)]


def by_id(ranked: Sequence[Ranked]) -> dict[str, Ranked]:
    return {r.item.candidate.doc_id: r for r in ranked}


def test_candidate_bm25_counts_documents_among_the_candidates_only() -> None:
    items = [
        fused("a", "hotel limit", 3),
        fused("b", "hotel night", 2),
        fused("c", "train", 1),
    ]
    ranked = by_id(CandidateBM25().rank("", ["hotel", "limit"], items))
    # N = 3, 5 terms in all: average 5/3. hotel in 2, limit in 1.
    norm = 1 + 1.5 * (0.25 + 0.75 * 2 / (5 / 3))
    hotel = math.log(1 + 1.5 / 2.5) * 2.5 / norm
    limit = math.log(1 + 2.5 / 1.5) * 2.5 / norm
    assert ranked["a"].features["matched_terms"] == 2
    assert ranked["a"].sort[0] / UNIT == pytest.approx(hotel + limit)
    assert ranked["b"].sort[0] / UNIT == pytest.approx(hotel)
    assert ranked["c"].features == {"bm25": 0, "matched_terms": 0}
    assert order(CandidateBM25(), "hotel limit", items) == ["a", "b", "c"]


def test_candidate_bm25_of_nothing_is_nothing() -> None:
    assert CandidateBM25().rank("hotel", ["hotel"], []) == []


def test_mmr_puts_a_copy_below_what_is_new() -> None:
    items = [
        fused("a", "hotel night limit", 100),
        fused("copy", "hotel night limit", 99),
        fused("new", "train ticket class", 75),
    ]
    # The copy: 7/10 * .99 - 3/10 * 1 = .393; the new one: .525.
    assert order(MMR(), "hotel", items) == ["a", "new", "copy"]
    ranked = by_id(MMR().rank("hotel", ["hotel"], items))
    assert ranked["copy"].features == {
        "mmr_place": 3,
        "relevance": exact.ratio(99 * UNIT, 100),
        "similarity": UNIT,
    }
    assert ranked["new"].features["similarity"] == 0
    # All weight on relevance is the fused order.
    assert order(MMR(tenths=10), "hotel", items) == ["a", "copy", "new"]


def test_mmr_similarity_is_the_largest_with_anything_taken() -> None:
    items = [
        fused("a", "one two", 100),
        fused("b", "three four", 90),
        fused("c", "one four", 80),
    ]
    ranked = by_id(MMR().rank("", [], items))
    assert ranked["c"].features["similarity"] == UNIT // 2


def test_mmr_below_its_depth_keeps_the_fused_order() -> None:
    items = [fused(f"d{n}", "same words", 100 - n) for n in range(9)]
    ranked = rerank.order(MMR(depth=2).rank("", [], items))
    assert [r.item.candidate.doc_id for r in ranked] == [
        f"d{n}" for n in range(9)
    ]


@pytest.mark.parametrize("reranker", [CandidateBM25(), MMR()])
def test_the_order_of_the_items_says_nothing(reranker: Reranker) -> None:
    items = [
        fused(f"d{n}", text, n % 3 + 1)
        for n, text in enumerate(
            ["hotel", "night", "hotel night", "", "train", "night night"]
        )
    ]
    wanted = order(reranker, "hotel night", items)
    assert order(reranker, "hotel night", items[::-1]) == wanted


@contract("C-13")
@pytest.mark.parametrize("reranker", [CandidateBM25(), MMR()])
def test_what_others_may_read_changes_no_byte(reranker: Reranker) -> None:
    answers = []
    for hidden in (0, 30):
        with Index.open(":memory:") as index:
            for n in range(8):
                text = f"# Stay\n\nhotel night {n} limit {n * 7}"
                index.upsert(document(f"d{n}", text))
            for n in range(hidden):
                text = "# Stay\n\nhotel hotel limit"
                index.upsert(document(f"h{n}", text, readers=("bob",)))
            found = index.search("hotel limit", ALICE, rerank=reranker)
            answers.append(found.to_json())
            assert everything(index, "hotel", BOB)
    assert answers[0] == answers[1]


@pytest.mark.parametrize("bad", [{"tenths": 11}, {"tenths": -1}, {"depth": 0}])
def test_mmr_refuses_settings_without_meaning(bad: dict[str, int]) -> None:
    with pytest.raises(InvalidInput):
        MMR(**bad)


def cross(folder: Path, weight: float = 1.0) -> CrossEncoder:
    """A cross-encoder that adds up the word numbers of both texts.

    Words: 2 [CLS], 3 [SEP], 4 hotel, 5 night, 6 cost.
    """
    graphs = pytest.importorskip("tests.lab.graphs")
    rows = graphs.table()[:, :1] * weight
    spec = graphs.model(
        folder,
        graphs.graph(rows, pooled=True),
        role="cross-encoder",
        pooling="none",
        dims=0,
    )
    return CrossEncoder(spec, folder, depth=3)


def test_a_cross_encoder_reads_query_and_passage_together(
    tmp_path: Path,
) -> None:
    items = [
        fused("a", "hotel", 40),
        fused("b", "cost cost", 30),
        fused("c", "night", 20),
        fused("d", "cost cost cost", 10),
    ]
    ranked = by_id(cross(tmp_path).rank("hotel", ["hotel"], items))
    # [CLS] hotel [SEP] cost cost [SEP] = 2 + 4 + 3 + 6 + 6 + 3 = 24.
    assert ranked["b"].features == {"read": 1, "cross_encoder": 24 * 1024}
    # d would be best of all, but only the first three are read.
    assert ranked["d"].features == {"read": 0}
    assert order(cross(tmp_path), "hotel", items) == ["b", "c", "a", "d"]


def test_a_cross_encoder_cuts_the_passage_and_never_the_query(
    tmp_path: Path,
) -> None:
    reranker = cross(tmp_path)
    tokens = reranker._graph.tokens("hotel night", "cost " * 50)
    # Eight tokens: [CLS] hotel night [SEP] cost cost cost [SEP].
    assert tokens.ids == (2, 4, 5, 3, 6, 6, 6, 3)
    assert tokens.types == (0, 0, 0, 0, 1, 1, 1, 1)
    with pytest.raises(EncoderError):
        reranker.rank("hotel " * 9, ["hotel"], [fused("a", "cost", 1)])


def test_a_cross_encoder_that_gives_no_number_is_an_error(
    tmp_path: Path,
) -> None:
    item = fused("a", "hotel", 1)
    with pytest.raises(EncoderError, match="not finite"):
        cross(tmp_path, math.nan).rank("hotel", ["hotel"], [item])
    graphs = pytest.importorskip("tests.lab.graphs")
    spec = graphs.model(
        tmp_path,
        graphs.graph(graphs.table(), pooled=True),
        role="cross-encoder",
        pooling="none",
        dims=0,
    )
    with pytest.raises(EncoderError, match="4 numbers"):
        CrossEncoder(spec, tmp_path).rank("hotel", ["hotel"], [item])


def titled(doc_id: str, title: str, score: int) -> Fused:
    return replace(
        fused(doc_id, "text", score),
        candidate=replace(fused(doc_id, "text", 1).candidate, title=title),
    )


def test_a_title_with_half_of_the_query_comes_first() -> None:
    items = [
        titled("a", "Of the hotel", 90),
        titled("b", "Travel policy", 50),
        titled("c", "Policy", 40),
    ]
    # Four terms: two of them in b's title, one in a's and in c's.
    rule = rerank.TitleRule()
    assert order(rule, "travel policy hotel night", items) == ["b", "a", "c"]
    # Three terms: two are half, one is not.
    assert order(rule, "travel policy night", items) == ["b", "a", "c"]
    # Two terms: one is half; more before fewer, then the fused score.
    assert order(rule, "hotel policy", items) == ["a", "b", "c"]
    assert order(rule, "travel policy", items) == ["b", "c", "a"]


def test_one_common_word_in_a_title_outranks_nothing() -> None:
    items = [titled("answer", "Rates", 90), titled("b", "Of the policy", 10)]
    rule = rerank.TitleRule()
    query = "what is the limit of a night"
    assert order(rule, query, items) == ["answer", "b"]
    ranked = by_id(rule.rank(query, query.split(), items))
    assert ranked["b"].features == {"title_terms": 2, "query_terms": 7}


def test_an_encoder_is_no_cross_encoder(tmp_path: Path) -> None:
    graphs = pytest.importorskip("tests.lab.graphs")
    spec = graphs.model(tmp_path, graphs.graph(graphs.table()))
    with pytest.raises(InvalidInput):
        CrossEncoder(spec, tmp_path)
