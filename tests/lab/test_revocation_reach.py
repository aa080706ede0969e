"""Where membership is read decides how far a revocation reaches."""

from __future__ import annotations

import pytest

from lab.experiments import Refuted, revocation_reach, timing_channel
from lab.store import Stats
from lab.store.sqlite import SQLiteSnapshot
from tests.lab.support import contract


def test_a_session_serves_what_was_written_after_its_reader_left() -> None:
    shown = {}
    for design in (
        revocation_reach.Session(),
        revocation_reach.Stamped(),
        revocation_reach.Lab(),
    ):
        design.set_group(["alice"])
        design.write("q2", 1)
        design.sign_in("alice")
        design.set_group([])
        design.write("q3", 1)
        shown[type(design).__name__] = design.find("alice")
    assert shown == {"Session": ["q2", "q3"], "Stamped": ["q2"], "Lab": []}


@contract("C-19")
def test_only_the_lab_tells_two_groups_of_one_name_apart() -> None:
    shown = {}
    for design in (revocation_reach.Session(), revocation_reach.Lab()):
        design.set_group(["alice"])
        design.write("q2", 1)
        design.replace_group(["erin"])
        design.sign_in("erin")
        shown[type(design).__name__] = design.find("erin")
    assert shown == {"Session": ["q2"], "Lab": []}


def test_the_experiment_notices_a_group_that_is_only_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        revocation_reach.Lab,
        "replace_group",
        revocation_reach.Lab.set_group,
    )
    with pytest.raises(Refuted):
        revocation_reach.run(lambda line: None)


def test_the_stopwatch_experiment_compares_bytes_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stats(self: SQLiteSnapshot, view: object) -> Stats:
        row = self._db.execute(
            "SELECT SUM(chunk_count), SUM(term_count) FROM documents"
        ).fetchone()
        return Stats(*row)

    monkeypatch.setattr(timing_channel, "HIDDEN", (0, 3))
    assert timing_channel.run(lambda line: None)["changed"] == 0
    monkeypatch.setattr(SQLiteSnapshot, "stats", stats)
    with pytest.raises(Refuted):
        timing_channel.run(lambda line: None)


@contract("C-15")
def test_compare_and_swap_keeps_the_revocation_and_says_so() -> None:
    assert revocation_reach.last_writer() == ["alice", "bob", "omar"]
    assert revocation_reach.compare_and_swap() == (["bob"], "StalePolicy")
