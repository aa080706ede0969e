"""Learners for the tests of the workbook: some right, most wrong."""

from __future__ import annotations

from pathlib import Path

from lab.workbook import generate
from lab.workbook.checking import Result, check
from lab.workbook.manifest import Track, track
from lab.workbook.telling import told
from lab.workbook.workspace import Workspace

TRACK = track("authorized-retrieval")
MODULE = "authorized_retrieval.py"


def begun(root: Path, one: Track = TRACK) -> Workspace:
    """Return a fresh workspace below ``root``."""
    workspace = Workspace(one, root)
    workspace.start()
    return workspace


def write(workspace: Workspace, text: str, name: str = MODULE) -> None:
    """Replace what the learner wrote."""
    (workspace.folder / name).write_text(text, "utf-8", newline="\n")


def reference(old: str = "", new: str = "", name: str = MODULE) -> str:
    """Return the reference with one piece replaced, which must be there."""
    text = generate.solution(TRACK)[name]
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
