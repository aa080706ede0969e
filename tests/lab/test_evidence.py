"""Evidence: recorded whole, run again, compared part by part."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from lab import evidence, experiments
from lab.cli import main
from lab.errors import InvalidInput, NotFound
from lab.evidence import compare, perform, read, record
from lab.experiments import Emit, Experiment, Refuted, Unavailable, Uses
from tests.lab.support import contract


def experiment(
    claims: Mapping[str, Any] | None = None,
    lines: tuple[str, ...] = ("one", "two"),
    kind: str = "core",
    run: Callable[[Emit], Mapping[str, Any]] | None = None,
) -> Experiment:
    def tell(emit: Emit) -> Mapping[str, Any]:
        for line in lines:
            emit(line)
        return {"count": 3} if claims is None else claims

    return Experiment(
        "small",
        kind,
        ("It shows nothing else.",),
        False,
        run or tell,
        lambda: Uses(fixture="f" * 64),
        lambda: {"p50_ms": 1.5},
    )


def test_a_record_reads_back_and_holds_what_was_observed(
    tmp_path: Path,
) -> None:
    target = record(experiment(), tmp_path)
    found = read("small", tmp_path)
    assert target == tmp_path / "small.json"
    assert found.data["claims"] == {"count": 3}
    assert found.data["fixture"] == "f" * 64
    assert found.data["observed"]["p50_ms"] == 1.5
    assert found.transcript == "one\ntwo\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "small.json",
        "small.txt",
    ]


@contract("C-46")
def test_the_same_run_again_has_no_difference(tmp_path: Path) -> None:
    record(experiment(), tmp_path)
    assert evidence.check(experiment(), tmp_path) == []


@contract("C-46")
@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ({"a": {"b": 1}}, {"a": {"b": 2}}, "claims.a.b"),
        ({"a": [1, {"b": "x"}]}, {"a": [1, {"b": "y"}]}, "claims.a[1].b"),
        ({"a": 1}, {"a": 1, "b": 2}, "claims.b"),
        ({"a": 1, "b": 2}, {"a": 1}, "claims.b"),
        ({"a": [1]}, {"a": [1, 2]}, "claims.a"),
        ({"a": 1}, {"a": True}, "claims.a"),
        ({"a": 1}, {"a": 1.0}, "claims.a"),
        ({"a": 0.1234}, {"a": 0.1235}, "claims.a"),
    ],
)
def test_every_difference_is_named_by_its_path(
    old: Mapping[str, Any], new: Mapping[str, Any], path: str
) -> None:
    differences = compare(perform(experiment(old)), perform(experiment(new)))
    assert [difference.path for difference in differences] == [path]


def test_a_changed_missing_or_added_line_is_a_difference() -> None:
    before = perform(experiment(lines=("one", "two")))
    changed = compare(before, perform(experiment(lines=("one", "2"))))
    shorter = compare(before, perform(experiment(lines=("one",))))
    assert [d.path for d in changed] == ["transcript line 2"]
    assert [d.path for d in shorter] == [
        "transcript line 2",
        "transcript line 3",
    ]


def test_a_models_numbers_are_compared_to_three_digits() -> None:
    def of(value: float) -> evidence.Record:
        return perform(experiment({"mrr": value}, kind="model"))

    assert compare(of(0.81244), of(0.81236)) == []
    assert [str(d) for d in compare(of(0.8124), of(0.8136))] == [
        "claims.mrr: recorded 0.8124, found 0.8136"
    ]


def test_another_fixture_is_a_difference_even_with_equal_claims() -> None:
    one = perform(experiment())
    other = evidence.Record({**one.data, "fixture": "0" * 64}, one.transcript)
    assert [d.path for d in compare(one, other)] == ["fixture"]


def test_a_run_that_fails_leaves_the_old_record(tmp_path: Path) -> None:
    record(experiment(), tmp_path)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}

    def broken(emit: Emit) -> Mapping[str, Any]:
        emit("one")
        raise Refuted("water runs uphill")

    with pytest.raises(Refuted):
        record(experiment(run=broken), tmp_path)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


@pytest.mark.parametrize("line", ["x" * 81, "限" * 41, "two\nlines"])
def test_a_line_that_does_not_fit_a_page_is_a_fault(line: str) -> None:
    with pytest.raises(ValueError, match="no transcript line"):
        perform(experiment(lines=(line,)))


def test_eighty_columns_fit_and_a_chinese_character_takes_two() -> None:
    lines = ("x" * 80, "限" * 40)
    assert perform(experiment(lines=lines)).transcript == (
        "x" * 80 + "\n" + "限" * 40 + "\n"
    )


def test_claims_that_are_no_json_are_a_fault() -> None:
    with pytest.raises(ValueError):
        perform(experiment({"mean": float("nan")}))


def test_a_record_that_is_damaged_is_named(tmp_path: Path) -> None:
    record(experiment(), tmp_path)
    path = tmp_path / "small.json"
    data = json.loads(path.read_text())
    del data["limitations"]
    path.write_text(json.dumps(data))
    with pytest.raises(InvalidInput, match="lacks 'limitations'"):
        read("small", tmp_path)


def test_what_was_never_recorded_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="small"):
        read("small", tmp_path)


def test_an_unknown_experiment_is_named_with_the_nearest() -> None:
    with pytest.raises(InvalidInput, match="did you mean demo"):
        experiments.load("deno")


def test_every_experiment_is_complete() -> None:
    names = experiments.names()
    assert {"demo", "leak", "term-evaluation"} <= set(names)
    for name in names:
        loaded = experiments.load(name)
        assert loaded.limitations
        assert all(sentence.endswith(".") for sentence in loaded.limitations)


def test_shipped_evidence_is_sound_and_none_is_orphaned() -> None:
    names = [path.stem for path in evidence.SHIPPED.glob("*.json")]
    assert set(names) <= set(experiments.names())
    for name in names:
        found = read(name)
        loaded = experiments.load(name)
        assert found.data["limitations"] == list(loaded.limitations)
        assert found.to_json() == (evidence.SHIPPED / f"{name}.json").read_text(
            encoding="utf-8"
        )
        for line in found.transcript.split("\n"):
            assert evidence.columns(line) <= evidence.MAX_COLUMNS


@contract("C-46")
@pytest.mark.parametrize("name", ["demo"])
def test_quick_evidence_reproduces(name: str) -> None:
    assert evidence.check(experiments.load(name)) == []


@contract("C-46")
@pytest.mark.slow
@pytest.mark.parametrize("name", ["leak", "speed", "term-evaluation"])
def test_slow_evidence_reproduces(name: str) -> None:
    assert evidence.check(experiments.load(name)) == []


# The command.


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the shipped demo evidence that a test may damage."""
    folder = tmp_path / "evidence"
    folder.mkdir()
    for name in ("demo.json", "demo.txt"):
        (folder / name).write_bytes((evidence.SHIPPED / name).read_bytes())
    monkeypatch.setattr(evidence, "SHIPPED", folder)
    return folder


def test_check_says_the_same_and_ends_with_0(
    shipped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evidence", "--check", "demo"]) == 0
    assert "same" in capsys.readouterr().out


@contract("C-46")
def test_check_names_a_forged_claim_and_ends_with_1(
    shipped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = shipped / "demo.json"
    text = path.read_text()
    path.write_text(
        text.replace(
            '"kept_citation": "valid"', '"kept_citation": "unavailable"'
        )
    )
    assert path.read_text() != text
    assert main(["evidence", "--check", "demo"]) == 1
    out = capsys.readouterr().out
    assert (
        'claims.revoke.kept_citation: recorded "unavailable", found "valid"'
        in out
    )


def test_record_without_a_place_writes_nothing(
    shipped: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (shipped / "demo.json").stat().st_mtime_ns
    assert main(["evidence", "--record", "demo"]) == 2
    assert "--output" in capsys.readouterr().err
    assert (shipped / "demo.json").stat().st_mtime_ns == before


def test_record_writes_where_it_is_told_and_only_there(
    shipped: Path, tmp_path: Path
) -> None:
    before = (shipped / "demo.json").stat().st_mtime_ns
    mine = tmp_path / "mine"
    assert main(["evidence", "--record", "demo", "--output", str(mine)]) == 0
    assert sorted(p.name for p in mine.iterdir()) == ["demo.json", "demo.txt"]
    assert (shipped / "demo.json").stat().st_mtime_ns == before


def test_what_cannot_run_here_is_not_a_failure_unless_strict(
    shipped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(emit: Emit) -> Mapping[str, Any]:
        raise Unavailable("needs a model; see fetch-model")

    def load(name: str) -> Experiment:
        return experiment(run=absent)

    (shipped / "small.json").write_text(perform(experiment()).to_json())
    (shipped / "small.txt").write_text("one\ntwo\n")
    monkeypatch.setattr(experiments, "load", load)
    assert main(["evidence", "--check", "small"]) == 0
    assert main(["evidence", "--check", "small", "--strict"]) == 1
