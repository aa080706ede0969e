"""selftest and bench: what they say must follow from what they find."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lab import bench, selftest
from lab.cli import main
from lab.index import Index
from lab.model import Context
from lab.store.sqlite import SQLiteStore
from tests.lab.servers import Server

Output = pytest.CaptureFixture[str]


def test_selftest_passes_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["selftest"]) == 0
    out = capsys.readouterr().out
    assert out.endswith("All 9 checks passed.\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "damage", "promise"),
    [
        ("purge", lambda self: [], "a purge takes deleted text"),
        ("verify", lambda self: [], "verify is content"),
    ],
)
def test_selftest_names_the_promise_that_is_broken(
    name: str,
    damage: Any,
    promise: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Output,
) -> None:
    monkeypatch.setattr(SQLiteStore, name, damage)
    assert main(["selftest"]) == 1
    out = capsys.readouterr().out
    assert f"FAULT  {promise}" in out
    assert "checks passed" not in out


def test_selftest_goes_on_after_a_fault_and_without_a_fixture_stops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def absent() -> None:
        raise OSError("no such file")

    monkeypatch.setattr(selftest, "load_fixture", absent)
    checks = selftest.run()
    assert [bool(check.fault) for check in checks] == [False, False, True]


def test_the_made_up_collection_is_the_same_every_time() -> None:
    one, other = list(bench.documents(12)), list(bench.documents(12))
    assert one == other
    readers = [document.policy.readers for document in one if document.policy]
    assert readers[0] == ("all", "hundredth", "tenth")
    assert readers[10] == ("all", "tenth")
    assert readers[11] == ("all",)


def test_a_reader_of_less_has_fewer_candidates() -> None:
    with Index.open(":memory:") as index:
        bench.fill(index, 30)
        found = bench.considered(index)
        hits = index.search("word3", Context(bench.TENANT, "hundredth")).hits
    assert found["all"][0] > found["tenth"][0] > found["hundredth"][0] > 0
    assert {hit.doc_id for hit in hits} == {"doc-0"}


def test_ratios_are_those_of_the_medians() -> None:
    def run(every: float, tenth: float) -> dict[str, Any]:
        times = {"all": every, "tenth": tenth, "hundredth": every}
        return {
            "cpu_milliseconds": {
                name: {"hybrid": value} for name, value in times.items()
            }
        }

    ratios = bench._ratios([run(4.0, 1.0), run(10.0, 5.0)])
    assert ratios["hybrid_to_all"][0]["tenth"] == 0.25
    assert ratios["hybrid_to_all"][1]["tenth"] == 0.5
    assert ratios["hybrid_to_first_size"] == [1.0, 2.5]


def test_bench_measures_and_writes_where_it_is_told(
    tmp_path: Path, capsys: Output
) -> None:
    output = tmp_path / "bench.json"
    words = ["bench", "--sizes", "3,5", "--repeat", "1"]
    assert main([*words, "--output", str(output)]) == 0
    assert "3 documents" in capsys.readouterr().out
    data = json.loads(output.read_text())
    assert [run["ingest"]["documents"] for run in data["runs"]] == [3, 5]
    assert all(
        value > 0
        for run in data["runs"]
        for times in run["milliseconds"].values()
        for value in times.values()
    )


@pytest.mark.parametrize(
    "words", [["--sizes", "x"], ["--sizes", "0"], ["--repeat", "0"]]
)
def test_bench_refuses_what_it_cannot_measure(
    words: list[str], capsys: Output
) -> None:
    assert main(["bench", *words]) == 2
    assert capsys.readouterr().err


@pytest.mark.server
def test_bench_compares_two_stores_and_leaves_nothing_on_the_server(
    postgres: Server, capsys: Output
) -> None:
    words = ["bench", "--sizes", "5", "--repeat", "1", "--json"]
    assert main([*words, "--against", postgres.dsn]) == 0
    data = json.loads(capsys.readouterr().out)
    runs = [data["stores"][name]["runs"][0] for name in ("sqlite", "postgres")]
    assert len({run["ingest"]["chunks"] for run in runs}) == 1
    (times,) = data["times"]
    slow, fast = runs[1]["milliseconds"], runs[0]["milliseconds"]
    assert times["readers"]["all"]["hybrid"] == round(
        slow["all"]["hybrid"] / fast["all"]["hybrid"], 2
    )
    assert main([*words[:-1], "--against", postgres.dsn]) == 0
    assert "postgres takes as many times as long" in capsys.readouterr().out
    with postgres.connect() as owner:
        assert owner.execute(
            "SELECT count(*) FROM pg_namespace WHERE nspname ~ 'ks_bench'"
        ).fetchone() == (0,)


@pytest.mark.parametrize("dsn", ["file.db", "postgres:#x", ""])
def test_bench_compares_with_a_server_only(dsn: str, capsys: Output) -> None:
    assert main(["bench", "--sizes", "1", "--against", dsn]) == 2
    assert "--against" in capsys.readouterr().err
