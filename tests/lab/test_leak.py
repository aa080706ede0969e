"""The leak: the attack works where it should, and fails on the lab."""

from __future__ import annotations

import re
from typing import Any

import pytest

from lab.experiments import Refuted, leak
from lab.fixture import Fixture, load_fixture
from lab.store import Stats
from lab.store.sqlite import SQLiteSnapshot
from tests.lab.support import contract


@pytest.fixture(scope="module")
def fixture() -> Fixture:
    return load_fixture()


@pytest.fixture(scope="module")
def guessed(fixture: Fixture) -> dict[str, dict[str, leak.Guess]]:
    found = {}
    for key, engine in leak.both(fixture):
        for document in fixture.documents:
            engine.write(document)
        found[key] = leak.words(engine)
    return found


def test_bm25_under_a_filter_gives_every_hidden_word_away(
    fixture: Fixture, guessed: dict[str, dict[str, leak.Guess]]
) -> None:
    for word, guess in guessed["naive"].items():
        holding = [
            document
            for document in fixture.documents
            if not leak.readable(fixture, document)
            and re.search(rf"\b{word}\b", document.source, re.I | re.A)
        ]
        assert (guess.hidden > 0) == bool(holding), word
    assert guessed["naive"]["layoffs"].hidden > 0
    assert guessed["naive"]["tachograph"].hidden > 0, "of the other tenant"


@contract("C-13")
def test_the_same_attack_learns_nothing_from_the_lab(
    guessed: dict[str, dict[str, leak.Guess]],
) -> None:
    assert {guess.hidden for guess in guessed["lab"].values()} == {0}


def test_the_filter_of_the_naive_engine_is_right(fixture: Fixture) -> None:
    engine = leak.Naive(fixture)
    for document in fixture.documents:
        engine.write(document)
    mine = {
        document.doc_id
        for document in fixture.documents
        if leak.readable(fixture, document)
    }
    for word in (*leak.WORDS, "the", "policy", "travel"):
        assert {row.doc_id for row in engine.search(word)} <= mine
    assert engine.search("severance") == []


@contract("C-13")
def test_a_hidden_paper_swaps_two_visible_notes_of_bm25_only(
    fixture: Fixture,
) -> None:
    naive, lab = (engine for _, engine in leak.both(fixture))
    assert leak.order(naive, fixture) == (
        ["note-a", "note-b"],
        ["note-b", "note-a"],
    )
    before, after = leak.order(lab, fixture)
    assert before == after


@contract("C-13")
def test_hidden_documents_lower_a_visible_score_of_bm25_only(
    fixture: Fixture,
) -> None:
    rows = leak.series(fixture)
    naive = [row["naive"] for row in rows]
    assert [row["hidden"] for row in rows] == list(range(leak.SERIES + 1))
    assert naive == sorted(set(naive), reverse=True)
    assert len({row["lab"] for row in rows}) == 1


def test_the_experiment_notices_statistics_of_the_whole_store(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stats(self: SQLiteSnapshot, view: Any) -> Stats:
        row = self._db.execute(
            "SELECT SUM(chunk_count), SUM(term_count) FROM documents"
        ).fetchone()
        return Stats(*row)

    monkeypatch.setattr(SQLiteSnapshot, "stats", stats)
    with pytest.raises(Refuted):
        leak.run(lambda line: None)
