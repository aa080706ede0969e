"""The runner: nothing lost, nothing guessed, nothing of others let in."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

import lab
from lab.workbook import checking, hints, requirements
from lab.workbook.checking import Result, check, check_in_order
from lab.workbook.cli import PROGRAM, main
from lab.workbook.progress import Keeper, Progress
from lab.workbook.requirements import Requirement
from lab.workbook.telling import Voice
from lab.workbook.workspace import Workspace
from tests.lab.learners import MODULE, TRACK, begun, lines, reference, write

ROOT = Path(lab.__file__).parent.parent
NAME = TRACK.id

Words = Callable[..., tuple[int, str]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for workspaces, named by the environment."""
    root = tmp_path / "home"
    monkeypatch.setenv("KEEPS_SECRETS_WORKBOOK", str(root))
    monkeypatch.setenv("LANG", "C.UTF-8")
    return root


def run(*words: str) -> tuple[int, str]:
    """Run a command here; exit code and everything it printed."""
    out = io.StringIO()
    code = main(words, out, out)
    return code, out.getvalue()


def command(
    *words: str, env: Mapping[str, str], cwd: Path
) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-B", "-m", "lab.workbook", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT), **env},
        cwd=cwd,
        capture_output=True,
        check=False,
        timeout=120,
    )


# Starting


def test_start_refuses_a_workspace_that_is_there(home: Path) -> None:
    assert run("start", NAME)[0] == 0
    mine = home / NAME / MODULE
    mine.write_text("# mine\n", "utf-8")
    code, told = run("start", NAME)
    assert code == 3
    assert "--force" in told
    assert mine.read_text("utf-8") == "# mine\n"


def test_start_with_force_keeps_the_old_one_whole(home: Path) -> None:
    run("start", NAME)
    write(Workspace(TRACK, home), reference())
    run("check", "--stage", "1")
    (home / NAME / "notes.txt").write_text("mine", "utf-8")
    code, told = run("start", NAME, "--force")
    assert code == 0
    kept = home / f"{NAME}.backup-0001"
    assert str(kept) in told
    assert (kept / "notes.txt").read_text("utf-8") == "mine"
    assert (kept / MODULE).read_text("utf-8") == reference()
    assert not Workspace(TRACK, home).keeper.load()[0].stages
    assert run("start", NAME, "--force")[0] == 0
    assert (home / f"{NAME}.backup-0002").is_dir()
    assert (kept / "notes.txt").is_file()


def test_a_workspace_is_never_inside_the_lab(home: Path) -> None:
    place = ROOT / "lab" / "workbook" / "mine"
    code, told = run("start", NAME, "--workspace", str(place))
    assert code == 2
    assert "inside the lab" in told
    assert not place.exists()


def test_an_unknown_track_gets_a_suggestion(home: Path) -> None:
    code, told = run("start", "authorised-retrieval")
    assert code == 2
    assert f"did you mean {NAME}?" in told


def test_check_before_start_says_how_to_begin(home: Path) -> None:
    for words in (["check"], ["check", NAME], ["hint"], ["reset"]):
        code, told = run(*words)
        assert code == 3
        assert "start" in told


# Checking


@pytest.mark.slow
def test_check_stops_at_the_first_failure_and_all_goes_on(home: Path) -> None:
    workspace = begun(home)
    code, told = run("check")
    assert code == 1
    assert told.count(": fails") == 1
    assert f"Testing {workspace.folder / MODULE}" in told
    assert len(told.splitlines()) < 12
    code, told = run("check", "--all")
    assert code == 1
    assert told.count(": fails") == len(TRACK.stages)
    assert "0 of 10 stages pass." in told


def test_one_stage_is_checked_alone(home: Path) -> None:
    workspace = begun(home)
    write(workspace, reference())
    assert run("check", "--stage", "4")[0] == 0
    progress, _ = workspace.keeper.load()
    assert list(progress.stages) == ["04-namespaces"]
    assert progress.passed("04-namespaces")


def test_a_stage_that_breaks_again_is_no_longer_passed(home: Path) -> None:
    workspace = begun(home)
    write(workspace, reference())
    assert run("check", "--stage", "4")[0] == 0
    write(workspace, reference('f"tenant/{tenant}"', '"tenant"'))
    assert run("check", "--stage", "4")[0] == 1
    assert not workspace.keeper.load()[0].passed("04-namespaces")


def test_what_is_missing_is_named_and_blocks_nothing_later(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = Requirement("moon", lambda: False, "pip install moon")
    monkeypatch.setattr(
        requirements,
        "REQUIREMENTS",
        {**requirements.REQUIREMENTS, "moon": needed},
    )
    first = replace(TRACK.stages[0], requires=("pytest", "moon"))
    one = replace(TRACK, stages=(first, *TRACK.stages[1:3]))
    workspace = begun(home, one)
    write(workspace, reference())
    results = list(check_in_order(workspace))
    assert [one.outcome for one in results] == ["cannot", "pass", "pass"]
    assert lines(results[0]) == [
        "01 Documents and citations: cannot be checked here",
        "  cause   it needs moon",
        "  next    pip install moon",
    ]
    assert not workspace.keeper.load()[0].passed("01-documents")


def test_a_test_that_does_not_run_is_noticed(
    home: Path, tmp_path: Path
) -> None:
    workspace = begun(home)
    write(workspace, reference())
    stage = replace(TRACK.stage("4"), expected=10)
    result = check(workspace, stage)
    assert result.outcome == "error"
    assert result.cause == "9 tests ran, 10 should"


def test_a_file_that_is_gone_is_named(home: Path) -> None:
    workspace = begun(home)
    (workspace.folder / MODULE).unlink()
    result = check(workspace, TRACK.stage("1"))
    assert result.outcome == "fail"
    assert result.cause == f"{MODULE} is not there"
    assert str(TRACK.starter / MODULE) in result.next


def test_a_file_in_another_encoding_is_told_to_be_saved_as_utf8(
    home: Path,
) -> None:
    workspace = begun(home)
    text = "# 检索\n" + reference()
    (workspace.folder / MODULE).write_bytes(text.encode("gbk"))
    result = check(workspace, TRACK.stage("1"))
    assert result.outcome == "fail"
    assert result.next == f"save {MODULE} as UTF-8, and check again"


def test_an_edit_within_the_same_second_is_seen(home: Path) -> None:
    workspace = begun(home)
    file = workspace.folder / MODULE
    right = reference()
    wrong = reference('f"tenant/{tenant}"', 'f"renter/{tenant}"')
    assert len(right) == len(wrong)
    stamp = int(time.time()) - 10
    write(workspace, right)
    os.utime(file, (stamp, stamp))
    # The learner's own Python leaves bytecode behind.
    subprocess.run(
        [sys.executable, "-c", "import authorized_retrieval"],
        cwd=workspace.folder,
        env={
            name: value
            for name, value in os.environ.items()
            if not name.startswith("PYTHON")
        },
        check=True,
    )
    assert list(workspace.folder.glob("__pycache__/*.pyc"))
    assert check(workspace, TRACK.stage("4")).outcome == "pass"
    write(workspace, wrong)
    os.utime(file, (stamp, stamp))
    assert check(workspace, TRACK.stage("4")).outcome == "fail"


def test_nothing_of_a_project_around_it_counts(tmp_path: Path) -> None:
    around = tmp_path / "another project"
    around.mkdir()
    (around / "conftest.py").write_text("raise RuntimeError('theirs')\n")
    (around / "pytest.ini").write_text("[pytest]\naddopts = --nonsense\n")
    (around / "sitecustomize.py").write_text("raise RuntimeError\n")
    workspace = begun(around / "我的 练习")
    write(workspace, reference())
    done = command(
        *("check", NAME, "--stage", "1", "--workspace", "我的 练习"),
        env={
            "PYTEST_ADDOPTS": "--nonsense",
            "PYTEST_PLUGINS": "nonsense",
            "LAB_MODULE": "solution",
            "PYTHONOPTIMIZE": "2",
        },
        cwd=around,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_pythons_own_switches_change_no_verdict_and_no_message(
    tmp_path: Path,
) -> None:
    workspace = begun(tmp_path)
    write(workspace, reference('f"tenant/{tenant}"', "tenant"))
    done = command(
        *("check", NAME, "--stage", "4", "--workspace", str(tmp_path)),
        env={"PYTHONOPTIMIZE": "2", "PYTHONWARNINGS": "error"},
        cwd=tmp_path,
    )
    assert done.returncode == 1
    # Without docstrings there would be no next action.
    assert b'next    Return f"tenant/{tenant}".' in done.stdout


def test_a_module_like_one_of_pythons_does_not_hide_it(home: Path) -> None:
    workspace = begun(home)
    write(workspace, reference())
    write(workspace, "raise RuntimeError('mine')\n", "pytest.py")
    assert check(workspace, TRACK.stage("4")).outcome == "pass"


@pytest.mark.slow
def test_a_process_that_hangs_is_ended_with_all_it_started(
    home: Path, tmp_path: Path
) -> None:
    beat = tmp_path / "beat"
    child = (
        "import pathlib, time\n"
        f"file = pathlib.Path({str(beat)!r})\n"
        "while True:\n"
        "    file.write_text(str(time.monotonic()))\n"
        "    time.sleep(0.05)\n"
    )
    workspace = begun(home)
    hanging = (
        "    import subprocess, sys, time\n"
        f"    subprocess.Popen([sys.executable, '-c', {child!r}])\n"
        "    time.sleep(600)\n"
    )
    write(
        workspace,
        reference("    if not tenant.strip():\n", hanging + "    if True:\n"),
    )
    started = time.monotonic()
    result = check(workspace, TRACK.stage("4"), timeout=15)
    assert time.monotonic() - started < 60
    assert result.outcome == "fail"
    assert "did not finish in 15 seconds" in result.cause
    assert beat.exists()
    before = beat.read_text()
    time.sleep(0.5)
    assert beat.read_text() == before


# What is given


def test_a_given_file_that_was_changed_is_kept_and_put_back(home: Path) -> None:
    workspace = begun(home)
    write(workspace, reference())
    shared = workspace.folder / "retrieval_types.py"
    test = workspace.folder / "tests" / "test_04_namespaces.py"
    shared.write_text("raise RuntimeError\n", "utf-8")
    test.write_text("def test_nothing():\n    pass\n", "utf-8")
    code, told = run("check", "--stage", "4")
    assert code == 0
    assert told.count("is given; yours is kept in") == 2
    kept = sorted((workspace.own / "kept").iterdir())
    assert [path.name for path in kept] == [
        "0001-retrieval_types.py",
        "0001-tests-test_04_namespaces.py",
    ]
    assert kept[0].read_text("utf-8") == "raise RuntimeError\n"


def test_line_ends_of_another_system_are_no_change(home: Path) -> None:
    workspace = begun(home)
    shared = workspace.folder / "retrieval_types.py"
    shared.write_bytes(shared.read_bytes().replace(b"\n", b"\r\n"))
    assert workspace.restore() == []


# Progress


def test_reset_forgets_results_only_and_prints_an_undo_that_works(
    home: Path,
) -> None:
    workspace = begun(home)
    write(workspace, reference())
    run("check", "--stage", "1")
    before = workspace.keeper.file.read_bytes()
    code, told = run("reset")
    assert code == 0
    assert not workspace.keeper.file.exists()
    assert (workspace.folder / MODULE).read_text("utf-8") == reference()
    (undo,) = [one for one in told.splitlines() if one.startswith("  undo")]
    words = undo.split(f"{PROGRAM} ")[1].split()
    run("check", "--stage", "2")
    between = workspace.keeper.file.read_bytes()
    assert run(*words)[0] == 0
    assert workspace.keeper.file.read_bytes() == before
    # What was done in between is not lost either: undo takes it back.
    assert run(*words)[0] == 0
    assert workspace.keeper.file.read_bytes() == between


def test_reset_all_is_every_track(home: Path) -> None:
    workspace = begun(home)
    run("check", "--stage", "1")
    assert run("reset", "--all")[0] == 0
    assert not workspace.keeper.file.exists()
    assert run("reset", NAME, "--all")[0] == 2


def test_undo_without_a_reset_changes_nothing(home: Path) -> None:
    begun(home)
    code, told = run("reset", "--undo")
    assert code == 3
    assert "no reset to undo" in told


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b'{"format": 2, "stages": {}}',
        b'{"format": 1, "stages": {"01-documents": {"outcome": "passed",'
        b' "where": "", "rungs": 0}}}',
        b'{"format": 1, "stages": {"01-documents": {"outcome": "pass",'
        b' "where": "", "rungs": true}}}',
    ],
)
def test_an_unreadable_progress_file_is_put_aside_and_said(
    home: Path, content: bytes
) -> None:
    workspace = begun(home)
    workspace.keeper.file.write_bytes(content)
    code, told = run("list")
    assert code == 0
    aside = workspace.own / "progress.unreadable-0001.json"
    assert str(aside) in told
    assert aside.read_bytes() == content


def test_progress_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = Keeper(tmp_path)
    keeper.save(Progress().having("01-a", outcome="pass"))
    before = keeper.file.read_bytes()

    def fail(*words: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="full"):
        keeper.save(Progress().having("01-a", outcome="fail"))
    assert keeper.file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["progress.json"]


# Hints and solutions


def test_hints_come_one_rung_for_each_request(home: Path) -> None:
    begun(home)
    run("check")
    found = [run("hint", "--lang", "en")[1] for _ in range(4)]
    stage = TRACK.stages[0]
    for number, told in enumerate(found, 1):
        rung = min(number, len(stage.hints))
        assert told.startswith(
            f"01 Documents and citations: hint {rung} of {len(stage.hints)}"
        )
        start = stage.hints[rung - 1]["en"].split(",")[0]
        assert start in " ".join(told.split())
        assert f"where   {MODULE}:" in told
    assert (
        stage.hints[0]["zh"]
        in run("hint", "--stage", "1", "--lang", "zh")[1].replace("\n  ", "")
        or "hint 3" in found[3]
    )


def test_every_stage_has_a_nudge_and_nearly_the_answer() -> None:
    for stage in TRACK.stages:
        assert len(stage.hints) >= 3


def test_a_solution_is_shown_only_after_passing(home: Path) -> None:
    workspace = begun(home)
    code, told = run("solution", "--stage", "4")
    assert code == 3
    assert "once it has passed" in told
    write(workspace, reference())
    run("check", "--stage", "4")
    code, told = run("solution", "--stage", "4")
    assert code == 0
    assert 'return f"tenant/{tenant}"' in told
    assert "solution 04" not in told


class Scripted:
    """A model provider's client that always says the same."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.asked: dict[str, object] = {}
        self.messages = self
        self.content = [self]
        self.type = "text"

    def create(self, **request: object) -> Scripted:
        self.asked = request
        return self


def test_a_nudge_sees_stage_output_and_diff(home: Path) -> None:
    workspace = begun(home)
    stage = TRACK.stage("4")
    write(workspace, reference('f"tenant/{tenant}"', 'f"renter/{tenant}"'))
    check(workspace, stage)
    client = Scripted("Look at the first word of what you return.")
    said = hints.nudge(workspace, stage, "a-model", client)
    assert said == client.text
    asked = str(client.asked["messages"])
    assert "Namespaces and visibility" in asked
    assert "renter/larkspur" in asked
    assert '+    return f"renter/{tenant}"' in asked
    # What other stages took is nobody's business here.
    assert "blake2b" not in asked


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("word " * 90, "90 words"),
        ("", "90 words"),
        ('Write\n  return  f"tenant/{tenant}"', "give a solution line away"),
    ],
)
def test_a_nudge_that_says_too_much_is_not_shown(
    home: Path, text: str, why: str
) -> None:
    workspace = begun(home)
    with pytest.raises(hints.NoNudge, match=why):
        hints.nudge(workspace, TRACK.stage("4"), "m", Scripted(text))


def test_without_a_key_the_rung_and_the_place_are_shown(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(home)
    run("check")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    code, told = run("hint", "--nudge", "a-model")
    assert code == 3
    assert "hint 1 of 3" in told
    assert f"where   {MODULE}:" in told
    assert "without --nudge" in told


# Consoles


def test_a_gbk_console_gets_plain_marks_and_its_own_chinese(
    tmp_path: Path,
) -> None:
    root = tmp_path / "我的 练习"
    workspace = begun(root)
    write(workspace, reference())
    done = command(
        *("check", NAME, "--stage", "1", "--workspace", str(root)),
        *("--lang", "zh"),
        env={"PYTHONIOENCODING": "gbk", "LC_ALL": "C.UTF-8"},
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    told = done.stdout.decode("gbk")
    assert "我的 练习" in told
    assert "ok 01 文档与引用: passes, 13 tests" in told.splitlines()


def test_a_console_that_knows_only_ascii_gets_escapes(tmp_path: Path) -> None:
    root = tmp_path / "练习"
    begun(root)
    done = command(
        *("list", "--workspace", str(root)),
        env={"PYTHONIOENCODING": "ascii", "LC_ALL": "zh_CN.UTF-8"},
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert b"Documents and citations" in done.stdout
    assert b"\\u7ec3\\u4e60" in done.stdout


def test_a_path_that_the_locale_cannot_read_is_a_path_all_the_same(
    tmp_path: Path,
) -> None:
    workspace = begun(tmp_path / "练习")
    write(workspace, reference())
    done = command(
        *("check", NAME, "--stage", "1", "--workspace", "练习"),
        env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr


def test_a_result_is_told_in_fewer_than_ten_lines_whatever_it_holds(
    tmp_path: Path,
) -> None:
    stage = TRACK.stages[0]
    long = "a word " * 400 + "x" * 500
    result = Result(stage, "fail", 0, 9, (), tmp_path, long, long, long, long)
    out = io.StringIO()
    Voice(out, "en").result(result)
    assert len(out.getvalue().splitlines()) < 10


def test_a_message_cannot_steer_the_terminal(tmp_path: Path) -> None:
    result = Result(
        TRACK.stages[0], "fail", 0, 9, (), tmp_path, cause="\x1b[2J\u202e"
    )
    out = io.StringIO()
    Voice(out, "en").result(result)
    assert "\x1b" not in out.getvalue()


# The whole


def test_the_doctor_finds_nothing_here(home: Path) -> None:
    begun(home)
    code, told = run("doctor")
    assert code == 0
    assert "starters and solutions are what their sources make" in told
    assert f"{NAME}: 0 of 10 stages passed" in told


def test_the_doctor_names_what_is_wrong(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = begun(home)
    (workspace.folder / MODULE).unlink()
    gone = Requirement("pytest", lambda: False, "pip install pytest")
    monkeypatch.setattr(requirements, "REQUIREMENTS", {"pytest": gone})
    code, told = run("doctor")
    assert code == 1
    assert "pytest is missing" in told
    assert "pip install pytest" in told
    assert f"{MODULE} is not there" in told


def test_the_lab_and_the_workbook_are_one_command(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lab", "workbook", "list"],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "KEEPS_SECRETS_WORKBOOK": str(tmp_path),
            "PYTHONIOENCODING": "gbk",
            "LC_ALL": "C",
        },
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Documents and citations" in done.stdout.decode("gbk")


def test_a_closed_pipe_is_no_traceback(home: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-B", "-m", "lab.workbook", "list"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
        timeout=120,
    )
    os.close(writer)
    assert done.stderr == b""


def test_a_claim_is_the_name_of_a_test_in_words() -> None:
    name = "tests/test_05_bm25.py::test_ties_go_by_id[memo-1]"
    assert checking.claim(name) == "ties go by id (memo-1)"


def test_logs_say_what_was_tested(home: Path) -> None:
    workspace = begun(home)
    result = check(workspace, TRACK.stage("1"))
    log = result.log.read_text("utf-8")
    assert f"tested  {workspace.folder / MODULE}" in log
    assert "NotImplementedError: Stage 01" in log
    shutil.rmtree(workspace.folder)
