"""Learners for the tests of the workbook: some right, most wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab.workbook import generate
from lab.workbook.checking import Result, check
from lab.workbook.manifest import Track, track
from lab.workbook.serverroom import ServerRoom
from lab.workbook.telling import told
from lab.workbook.workspace import Workspace

TRACK = track("authorized-retrieval")
MODULE = "authorized_retrieval.py"


def parameter(one: Track, *more: Any) -> Any:
    """Return a track's id as a parameter, marked by what the track needs."""
    needed = {name for stage in one.stages for name in stage.requires}
    marks = [pytest.mark.server] if "postgres" in needed else []
    return pytest.param(one.id, *more, marks=marks)


def begun(root: Path, one: Track = TRACK) -> Workspace:
    """Return a fresh workspace below ``root``."""
    workspace = Workspace(one, root)
    workspace.start()
    return workspace


def write(workspace: Workspace, text: str, name: str = MODULE) -> None:
    """Replace what the learner wrote."""
    (workspace.folder / name).write_text(text, "utf-8", newline="\n")


def reference(
    old: str = "", new: str = "", name: str = MODULE, one: Track = TRACK
) -> str:
    """Return the reference with one piece replaced, which must be there."""
    text = generate.solution(one)[name]
    assert text.count(old) >= 1, old
    return text.replace(old, new) if old else text


def lines(result: Result) -> list[str]:
    """Return what a learner reads, but for the path of the log."""
    told_lines = told(result, result.stage.title["en"])
    assert len(told_lines) < 10
    return [line for line in told_lines if not line.startswith("  log ")]


def checked(
    root: Path, stage: str, text: str, timeout: float | None = None
) -> Result:
    """Return what comes of checking a stage of a learner's module."""
    workspace = begun(root)
    write(workspace, text)
    return check(workspace, TRACK.stage(stage), timeout=timeout)


def solved(
    root: Path,
    one: Track,
    stage: str,
    changed: str,
    text: str,
    room: ServerRoom,
) -> Result:
    """Return what comes of checking a stage when all of a track is solved.

    The file ``changed`` has ``text`` in place of the reference's.
    """
    workspace = begun(root, one)
    for file, whole in generate.solution(one).items():
        write(workspace, text if file == changed else whole, file)
    return check(workspace, one.stage(stage), room=room)
