"""The count oracle: a sentence out of totals, and a lab that keeps still."""

from __future__ import annotations

import re

import pytest

from lab.experiments import Refuted, count_oracle
from lab.experiments.leak import BOB, SECRET, readable
from lab.fixture import Fixture, load_fixture
from lab.index import Index


@pytest.fixture(scope="module")
def fixture() -> Fixture:
    return load_fixture()


@pytest.fixture(scope="module")
def late(fixture: Fixture) -> count_oracle.Postfilter:
    engine = count_oracle.Postfilter(fixture)
    for document in fixture.documents:
        engine.write(document)
    return engine


def test_a_phrase_is_grown_in_both_directions_from_yes_and_no_alone() -> None:
    text = "the proposal means layoffs of 34 people"

    def hidden(phrases: object) -> bool:
        return any(f" {' '.join(p)} " in f" {text} " for p in phrases)  # type: ignore[attr-defined]

    words = sorted({*text.split(), "merger", "zebra"} - {"proposal"})
    assert count_oracle.grow(hidden, words, ("layoffs",)) == (
        *("means", "layoffs", "of", "34", "people"),
    )


def test_the_late_filter_shows_nothing_that_bob_may_not_read(
    fixture: Fixture, late: count_oracle.Postfilter
) -> None:
    mine = {d.doc_id for d in fixture.documents if readable(fixture, d)}
    for word in (*count_oracle.WORDS, "the", "policy"):
        page = late.search(count_oracle.any_of([word]), 1000)
        assert {doc_id for doc_id, _ in page.rows} <= mine


def test_the_total_of_a_late_filter_reads_the_board_paper_aloud(
    fixture: Fixture, late: count_oracle.Postfilter
) -> None:
    oracle = count_oracle.Oracle(late)
    said = count_oracle.grow(
        oracle, count_oracle.vocabulary(fixture), ("layoffs",)
    )
    paper = fixture.document(BOB.tenant, SECRET).source.lower()
    assert " ".join(said) in " ".join(re.findall(r"\w+", paper))
    assert "34" in said
    assert oracle.shown == 0


def test_the_experiment_notices_a_total_that_counts_hidden_chunks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    true = Index.search

    def counting(
        self: Index, query: str, *args: object, **kw: object
    ) -> object:
        results = true(self, query, *args, **kw)  # type: ignore[arg-type]
        object.__setattr__(results, "considered", results.considered + 1)
        return results

    monkeypatch.setattr(Index, "search", counting)
    with pytest.raises(Refuted):
        count_oracle.run(lambda line: None)
