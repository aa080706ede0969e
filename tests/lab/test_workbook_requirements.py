"""What a stage needs: a server that is lent, and what the doctor says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab.errors import StoreUnavailable
from lab.store import embedded
from lab.workbook import doctor, generate, requirements, serverroom
from lab.workbook.checking import check, check_in_order
from lab.workbook.manifest import Live, Stage
from lab.workbook.requirements import DSN, Requirement
from lab.workbook.serverroom import ServerRoom
from lab.workbook.workspace import Workspace
from tests.lab.learners import (
    MODULE,
    TRACK,
    begun,
    lines,
    reference,
    write,
)


def nobody_at(password: str) -> str:
    """A server that is not there, with a password in its name."""
    return f"postgresql://me:{password}@127.0.0.1:1/lab"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Servers that were started and stopped, in place of real ones."""
    noted: list[str] = []

    @contextmanager
    def passing() -> Iterator[Any]:
        noted.append("start")
        yield SimpleNamespace(get_uri=lambda: "postgresql://ours")
        noted.append("stop")

    monkeypatch.delenv(DSN, raising=False)
    monkeypatch.setattr(embedded, "passing", passing)
    here = Requirement("postgres", lambda: True, "", optional=True)
    monkeypatch.setattr(
        requirements,
        "REQUIREMENTS",
        {**requirements.REQUIREMENTS, "postgres": here},
    )
    return noted


def test_a_server_is_started_once_and_only_when_needed(
    started: list[str],
) -> None:
    with ServerRoom() as room:
        assert room.variables(("pytest",)) == {}
        assert started == []
        for _ in range(2):
            assert room.variables(("pytest", "postgres")) == {
                DSN: "postgresql://ours"
            }
    assert started == ["start", "stop"]


def test_a_server_of_your_own_is_used_as_it_is(
    started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DSN, " postgresql://yours ")
    monkeypatch.setattr(serverroom, "reach", started.append)
    with ServerRoom() as room:
        for _ in range(2):
            assert room.variables(("postgres",)) == {DSN: "postgresql://yours"}
    # It was asked whether it is there, once, and nothing was started.
    assert started == ["postgresql://yours"]


def test_all_stages_of_a_check_share_one_server(
    started: list[str], tmp_path: Path
) -> None:
    stages = tuple(
        replace(stage, requires=("pytest", "postgres"))
        for stage in TRACK.stages[:2]
    )
    workspace = begun(tmp_path, replace(TRACK, stages=stages))
    write(workspace, reference())
    results = list(check_in_order(workspace))
    assert [one.outcome for one in results] == ["pass", "pass"]
    assert started == ["start", "stop"]


def test_a_server_that_does_not_start_is_no_fault_of_the_learner(
    started: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def passing() -> Any:
        raise StoreUnavailable("postgres: no room on the disk")

    monkeypatch.setattr(embedded, "passing", passing)
    workspace = begun(tmp_path)
    stage = replace(TRACK.stages[0], requires=("pytest", "postgres"))
    result = check(workspace, stage)
    assert result.outcome == "cannot"
    assert result.cause == "postgres: no room on the disk"
    assert DSN in result.next


@pytest.mark.server
def test_a_server_of_yours_that_is_not_there_is_none_either(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("psycopg")
    monkeypatch.setenv(DSN, nobody_at("hush"))
    workspace = begun(tmp_path)
    stage = replace(TRACK.stages[0], requires=("pytest", "postgres"))
    result = check(workspace, stage)
    assert result.outcome == "cannot"
    assert result.cause.startswith(f"{DSN}: connection failed")
    assert "hush" not in result.cause


def test_what_is_optional_and_missing_is_said_and_no_fault(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    gone = Requirement("moon", lambda: False, "pip install moon", "moon", True)
    monkeypatch.setattr(requirements, "REQUIREMENTS", {"moon": gone})
    found = [one for one in doctor.examine(tmp_path) if "moon" in one.what]
    assert [one.good for one in found] == [None]
    assert "pip install moon" in found[0].what


def test_the_doctor_names_the_models_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KEEPS_SECRETS_MODELS", str(tmp_path / "models"))
    monkeypatch.setattr(requirements, "REQUIREMENTS", {})
    said = [one.what for one in doctor.examine(tmp_path)]
    assert f"models are kept in {tmp_path / 'models'}" in said


@pytest.mark.server
def test_the_doctor_asks_the_server_that_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, postgres: Any
) -> None:
    monkeypatch.setenv(DSN, postgres.dsn)
    said = [one for one in doctor.examine(tmp_path) if "pgvector 0" in one.what]
    assert [one.good for one in said] == [True]
    assert said[0].what.startswith("PostgreSQL ")


@pytest.mark.server
def test_a_server_that_is_not_there_is_a_fault_without_its_password(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("psycopg")
    monkeypatch.setenv(DSN, nobody_at("hush"))
    said = [one for one in doctor.examine(tmp_path) if DSN in one.what]
    assert [one.good for one in said] == [False]
    assert "hush" not in said[0].what


@pytest.fixture
def moonlit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> tuple[Workspace, Stage, list[bool]]:
    """A stage whose live part needs the moon, which may be there."""
    there = [False]
    moon = Requirement("moon", lambda: there[0], "wait for the moon")
    monkeypatch.setattr(
        requirements,
        "REQUIREMENTS",
        {**requirements.REQUIREMENTS, "moon": moon},
    )
    first, second = TRACK.stages[:2]
    live = Live(("moon",), second.tests, second.expected)
    stage = replace(first, live=live)
    return begun(tmp_path, replace(TRACK, stages=(stage,))), stage, there


def test_without_what_is_live_the_rest_is_checked_and_not_done(
    moonlit: tuple[Workspace, Stage, list[bool]],
) -> None:
    workspace, stage, _ = moonlit
    # Stage 2, the live part, would fail: it is not written.
    starter = generate.starter(TRACK, {"01"})[MODULE]
    write(workspace, starter)
    assert lines(check(workspace, stage)) == [
        "01 Documents and citations: cannot be checked here",
        "  cause   its 13 offline tests pass; what is live needs moon",
        "  next    wait for the moon",
    ]
    assert not workspace.keeper.load()[0].passed(stage.id)


def test_a_fault_offline_is_told_before_what_is_missing(
    moonlit: tuple[Workspace, Stage, list[bool]],
) -> None:
    workspace, stage, _ = moonlit
    result = check(workspace, stage)
    assert (result.outcome, result.total) == ("fail", 13)


def test_what_is_live_is_checked_where_it_can_be(
    moonlit: tuple[Workspace, Stage, list[bool]],
) -> None:
    workspace, stage, there = moonlit
    there[0] = True
    write(workspace, generate.starter(TRACK, {"01"})[MODULE])
    result = check(workspace, stage)
    assert (result.outcome, result.passed) == ("fail", 13)
    write(workspace, generate.starter(TRACK, {"01", "02"})[MODULE])
    result = check(workspace, stage)
    assert stage.live is not None
    assert (result.outcome, result.total) == ("pass", 13 + stage.live.expected)
