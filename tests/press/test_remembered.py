"""A gate of the laboratory runs again when, and only when, it must."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from book.press.context import LabZip
from book.press.gates import Gate, GateResult, Status, failed, passed
from book.press.gates.remembered import remembering
from book.press.problems import Problem
from tests.press.printed import context

ZIP = LabZip("lab.zip", 1, "a" * 64)


class Counted:
    """A gate that counts its runs, in a tree with one file of the lab."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.runs = 0
        self.result = passed("7 passed")
        self.zip = ZIP
        (root / "lab").mkdir()
        self.write("x = 1\n")

    def write(self, text: str) -> None:
        (self.root / "lab" / "a.py").write_text(text, "utf-8")

    def judge(self, *, of_lab: bool = True) -> GateResult:
        def run(*_: object) -> GateResult:
            self.runs += 1
            return self.result

        gate = Gate("counted", run, of_lab=of_lab)
        (again,) = remembering([gate], self.root)
        made = replace(context(self.root), lab_zip=self.zip)
        return again.run(self.root, made)


@pytest.fixture
def counted(tmp_path: Path) -> Counted:
    return Counted(tmp_path)


def test_what_passed_is_not_run_again_and_says_so(counted: Counted) -> None:
    counted.judge()
    result = counted.judge()
    assert counted.runs == 1
    assert result.status is Status.PASS
    assert result.reason == "7 passed; passed before, nothing changed"


def test_a_changed_line_of_the_lab_runs_it_again(counted: Counted) -> None:
    counted.judge()
    counted.write("x = 2\n")
    counted.judge()
    assert counted.runs == 2


def test_another_zip_runs_it_again(counted: Counted) -> None:
    counted.judge()
    counted.zip = LabZip("lab.zip", 1, "b" * 64)
    counted.judge()
    assert counted.runs == 2


def test_public_data_at_hand_runs_it_again(
    counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KEEPS_SECRETS_DATA", raising=False)
    counted.judge()
    monkeypatch.setenv("KEEPS_SECRETS_DATA", "somewhere")
    counted.judge()
    assert counted.runs == 2


def test_a_failure_is_never_remembered(counted: Counted) -> None:
    counted.result = failed([Problem("lab", 0, "broken")])
    counted.judge()
    assert counted.judge().status is Status.FAIL
    assert counted.runs == 2


def test_a_gate_of_the_book_always_runs(counted: Counted) -> None:
    counted.judge(of_lab=False)
    counted.judge(of_lab=False)
    assert counted.runs == 2


def test_a_torn_memory_is_no_memory(counted: Counted) -> None:
    counted.judge()
    (counted.root / ".cache" / "gates.json").write_text('{"cou', "utf-8")
    counted.judge()
    assert counted.runs == 2
