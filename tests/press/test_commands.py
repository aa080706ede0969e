"""The small commands: a new chapter, experiments run again."""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

import pytest

from book.press import commands, new, rerun


def named(slug: str) -> argparse.Namespace:
    return argparse.Namespace(what="chapter", slug=slug)


def test_a_new_chapter_has_the_same_start_in_both_languages(
    tmp_path: Path,
) -> None:
    assert new.run(named("07-two-channels"), tmp_path) == 0
    text = "---\ntitle: Two channels\nsummary: Two channels\n---\n\n"
    for lang in ("en", "zh"):
        path = tmp_path / "book" / lang / "07-two-channels.md"
        assert path.read_text("utf-8") == text


def test_a_chapter_that_exists_is_never_written_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "book" / "zh" / "07-two-channels.md"
    path.parent.mkdir(parents=True)
    path.write_text("mine", "utf-8")
    assert new.run(named("07-two-channels"), tmp_path) == 2
    assert path.read_text("utf-8") == "mine"
    assert not (tmp_path / "book" / "en").exists()
    said = capsys.readouterr().err
    assert said == "book/zh/07-two-channels.md: is there already\n"


@pytest.mark.parametrize("slug", ["7-x", "07_x", "07-X", "../07-x", "07-", ""])
def test_a_slug_of_another_form_is_refused(tmp_path: Path, slug: str) -> None:
    assert new.run(named(slug), tmp_path) == 2
    assert list(tmp_path.iterdir()) == []


def test_every_command_of_the_table_has_its_code() -> None:
    missing = [c.name for c in commands.COMMANDS if not c.exists()]
    assert missing == []
    assert all(callable(command.load()) for command in commands.COMMANDS)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([], ["--check"]),
        (["demo", "leak"], ["--check", "demo", "leak"]),
        (
            ["--record", "demo"],
            ["--record", "demo", "--output", "lab/evidence"],
        ),
    ],
)
def test_experiments_are_run_by_the_lab_in_this_tree(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    argv: list[str],
    words: list[str],
) -> None:
    seen: list[tuple[list[str], Path]] = []

    def record(
        command: list[str], *, cwd: Path, check: bool
    ) -> subprocess.CompletedProcess[str]:
        assert not check
        seen.append((command[1:], cwd))
        return subprocess.CompletedProcess(command, 1)

    monkeypatch.setattr(subprocess, "run", record)
    command, args = commands.parse(["evidence", *argv])
    assert command.load()(args, tmp_path) == 1
    assert seen == [(["-m", "lab", "evidence", *words], tmp_path)]
    assert rerun.FOLDER == "lab/evidence"
