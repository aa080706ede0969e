"""The runner: what it counts, and what makes it stop."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from fractions import Fraction

import pytest

from lab import canonical
from lab.errors import InvalidInput
from lab.evaluation import runner
from lab.evaluation.runner import (
    MEASURES,
    OVERALL,
    Report,
    UnreadableHit,
    ask,
    difference,
    evaluate,
)
from lab.fixture import Query, load_fixture, populate
from lab.index import Index
from lab.model import Document, Policy
from tests.lab.support import contract, document

FIXTURE = load_fixture()


@pytest.fixture(scope="module")
def filled() -> Iterator[Index]:
    with Index.open(":memory:") as index:
        populate(index, FIXTURE)
        yield index


@pytest.fixture(scope="module")
def report(filled: Index) -> Report:
    return evaluate(filled, FIXTURE, mode="lexical")


def question(id_: str, text: str, *anchors: str, **changes: object) -> Query:
    query = Query(
        id=id_,
        tenant="larkspur",
        principal="alice",
        kind="factual",
        lang="en",
        query=text,
        documents=(),
        anchors=anchors,
        designated=(),
        note="",
    )
    return dataclasses.replace(query, **changes)


def everybody(*_: object) -> bool:
    return True


def test_two_small_documents_give_the_values_worked_out_by_hand(
    index: Index,
) -> None:
    # One chunk each; all terms as frequent as each other, so the order is
    # by document id: a before b before c.
    for doc_id, colour in (("a", "red"), ("b", "green"), ("c", "blue")):
        index.upsert(document(doc_id, f"# {doc_id}\n\nzebra {colour} zebra"))
    result = ask(
        index,
        [
            question("q1", "zebra", "RED   zebra"),  # first of three
            question("q2", "zebra", "blue"),  # third of three
            question("q3", "zebra", "violet"),  # nowhere
            question("q4", "giraffe", "green"),  # nothing comes back
        ],
        everybody,
        mode="lexical",
    )
    means = result.measures[OVERALL]
    assert [one.ranking for one in result.asked[:3]] == [
        ("a#0", "b#0", "c#0")
    ] * 3
    assert result.asked[3].ranking == ()
    assert [one.first for one in result.asked] == [1, 3, None, None]
    # MRR: (1 + 1/3 + 0 + 0) / 4; recall@1: 1/4; recall@10: 2/4.
    assert means["mrr@10"].value == Fraction(1, 3)
    assert means["recall@1"].value == Fraction(1, 4)
    assert means["recall@10"].value == Fraction(1, 2)
    # Precision@3: (1/3 + 1/3) / 4. nDCG: (1 + 1/log2(4)) / 4 = 3/8.
    assert means["precision@3"].value == Fraction(1, 6)
    assert means["ndcg@10"].value == Fraction(3, 8)
    assert means["document-recall@3"].value == Fraction(1, 2)
    assert means["document-mrr@3"].value == Fraction(1, 3)
    assert means["mrr@10"].count == 4
    assert result.unanswerable == ("q3",)
    assert [one.query.id for one in result.misses] == ["q3", "q4"]


def test_an_anchor_in_another_document_does_not_make_it_relevant() -> None:
    chunks = {"a#1": "the limit is 180", "b#1": "the limit is 180"}
    query = question("q", "limit", "180", documents=("larkspur/b",))
    assert runner.relevant(query, chunks) == ("b#1",)
    assert runner.relevant(question("q", "limit", "180"), chunks) == (
        "a#1",
        "b#1",
    )


def test_an_anchor_only_in_an_unreadable_chunk_is_reported_as_missing(
    index: Index,
) -> None:
    index.upsert(document("a", "# a\n\nzebra secret", readers=("dana",)))
    index.upsert(document("b", "# b\n\nzebra plain"))
    result = ask(index, [question("q1", "zebra", "secret")], everybody)
    assert result.unanswerable == ("q1",)
    assert result.measures[OVERALL]["recall@10"].value == 0


def test_a_deleted_document_leaves_its_questions_unanswerable_and_worth_0() -> (
    None
):
    with Index.open(":memory:") as index:
        populate(index, FIXTURE)
        index.delete("larkspur", "salary-bands", 2)
        result = evaluate(index, FIXTURE)
    wanted = [
        query.id
        for query in FIXTURE.queries
        if query.documents == ("larkspur/salary-bands",) and query.anchors
    ]
    assert wanted
    assert list(result.unanswerable) == wanted
    for one in result.asked:
        if one.query.id in wanted:
            assert set(one.values.values()) == {Fraction(0)}


@pytest.mark.parametrize("mode", ["lexical", "vector", "hybrid"])
def test_designated_negatives_hold_and_every_anchor_is_found(
    filled: Index, mode: str
) -> None:
    result = evaluate(filled, FIXTURE, mode=mode)
    assert result.broken == ()
    assert result.unanswerable == ()
    assert len(result.asked) == len(FIXTURE.queries)


def test_negatives_are_scored_as_abstention_and_nowhere_else(
    report: Report,
) -> None:
    assert set(report.abstention) == {"unknown", "forbidden", "other-tenant"}
    assert not set(report.abstention) & set(report.measures)
    for kind, mean in report.abstention.items():
        ours = [one for one in report.asked if one.query.kind == kind]
        silent = [one for one in ours if not one.ranking]
        assert mean.value == Fraction(len(silent), len(ours))
        assert 0 < mean.value < 1
    positive = [q for q in FIXTURE.queries if not q.negative]
    assert report.measures[OVERALL]["mrr@10"].count == len(positive)


def test_a_negative_that_finds_something_where_designated_is_reported(
    index: Index,
) -> None:
    index.upsert(document("a", "# a\n\nzebra"))
    negative = {"kind": "unknown", "anchors": ()}
    result = ask(
        index,
        [
            question("q1", "zebra", designated=("lexical",), **negative),
            question("q2", "zebra", designated=("vector",), **negative),
        ],
        everybody,
        mode="lexical",
    )
    assert result.broken == ("q1",)
    assert result.abstention["unknown"].value == 0


@contract("C-45")
def test_one_unreadable_hit_ends_the_evaluation() -> None:
    """The index is told a wrong policy; the fixture's rules know better."""
    with Index.open(":memory:") as index:
        populate(index, FIXTURE)
        index.set_policy(
            "larkspur", "board-paper-q3", Policy(("*",), "public"), 1
        )
        with pytest.raises(
            UnreadableHit, match=r"larkspur/\w+ was shown ks1:larkspur/board"
        ):
            evaluate(index, FIXTURE)


@contract("C-45")
def test_a_document_the_fixture_does_not_know_ends_it_too() -> None:
    with Index.open(":memory:") as index:
        populate(index, FIXTURE)
        index.upsert(
            Document(
                "larkspur",
                "stray",
                1,
                "markdown",
                "# Hotel limit\n\nhotel limit",
                Policy(("*",), "public"),
            )
        )
        with pytest.raises(UnreadableHit, match=r"stray@1"):
            evaluate(index, FIXTURE)


@contract("C-45")
def test_a_hit_whose_text_is_not_the_stored_one_ends_it(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.upsert(document("a", "# a\n\nzebra"))
    honest = index.search

    def forged(*args: object, **options: object) -> object:
        results = honest(*args, **options)  # type: ignore[arg-type]
        hits = tuple(
            dataclasses.replace(hit, text="zebra!") for hit in results.hits
        )
        return dataclasses.replace(results, hits=hits)

    monkeypatch.setattr(index, "search", forged)
    with pytest.raises(UnreadableHit):
        ask(index, [question("q1", "zebra", "zebra")], everybody)


def test_claims_do_not_depend_on_the_order_of_ingestion(
    report: Report,
) -> None:
    turned = dataclasses.replace(
        FIXTURE, documents=tuple(reversed(FIXTURE.documents))
    )
    with Index.open(":memory:") as index:
        populate(index, turned)
        again = evaluate(index, turned, mode="lexical")
    assert canonical.dumps(again.to_claims()) == canonical.dumps(
        report.to_claims()
    )


def test_claims_are_plain_json_and_hold_every_ranking(report: Report) -> None:
    claims = report.to_claims()
    assert json.loads(canonical.dumps(claims)) == claims
    assert set(claims["rankings"]) == {query.id for query in FIXTURE.queries}
    assert set(claims["measures"][OVERALL]) == set(MEASURES)


def test_the_report_for_people_fits_eighty_columns(report: Report) -> None:
    lines = report.to_lines()
    assert all(len(line) <= 80 for line in lines)
    assert any(line.startswith("paraphrase") for line in lines)


def test_the_questions_are_hard_enough_for_term_matching(
    report: Report,
) -> None:
    def share(kind: str) -> Fraction:
        value = report.measures[kind]["recall@10"].value
        assert value is not None
        return value

    assert share("lexical") > Fraction(9, 10)
    assert share("factual") > Fraction(6, 10)
    assert share("paraphrase") < Fraction(5, 10)
    assert share("cross-language") < Fraction(2, 10)


def test_a_report_minus_itself_is_zero_with_no_spread(report: Report) -> None:
    mean = difference(report, report, "mrr@10")
    assert (mean.value, mean.low, mean.high) == (0, 0, 0)
    only = difference(report, report, "mrr@10", "factual")
    assert only.count == report.measures["factual"]["mrr@10"].count


def test_a_difference_is_paired_query_by_query(filled: Index) -> None:
    one = evaluate(filled, FIXTURE, mode="lexical", rerank=False)
    other = evaluate(filled, FIXTURE, mode="lexical", rerank=True)
    mean = difference(one, other, "mrr@10")
    left, right = (
        report.measures[OVERALL]["mrr@10"].value for report in (one, other)
    )
    assert left is not None
    assert right is not None
    assert mean.value == left - right
    assert other.degraded == ()
    assert one.degraded == ("rerank",)


def test_reports_on_other_questions_are_not_compared(
    report: Report,
) -> None:
    fewer = dataclasses.replace(report, asked=report.asked[1:])
    with pytest.raises(InvalidInput, match=r"asked other questions"):
        difference(report, fewer, "mrr@10")


def test_fewer_hits_than_the_measures_look_at_are_refused(
    index: Index,
) -> None:
    with pytest.raises(InvalidInput, match=r"limit: the measures look at 10"):
        ask(index, [], everybody, limit=9)
