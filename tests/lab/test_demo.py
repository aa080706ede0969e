"""The demo: a story that ends well only when every promise held."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lab import answers
from lab import index as index_module
from lab.cli import main
from lab.directory import Directory
from lab.index import Index
from lab.model import Checked, Removed
from lab.store.sqlite import SQLiteSnapshot

SUCCESS = "promises held"


def test_the_demo_tells_the_whole_story(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["demo"]) == 0
    out = capsys.readouterr().out
    titles = [line for line in out.split("\n") if line[:1].isdigit()]
    assert len(titles) == 7
    assert "ks1:larkspur/travel-policy@1[" in out
    assert "ks1:larkspur/travel-policy@2[" in out
    assert out.strip().split("\n")[-1].endswith(f"{SUCCESS}.")
    assert out.count("   ok  ") == int(out.strip().split("\n")[-1].split()[1])


def test_the_demo_for_machines_is_one_json_value(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["demo", "--json"]) == 0
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert out.startswith('{"cite":')


def _no_delete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        Index, "delete", lambda self, t, d, revision: Removed("x", revision, 1)
    )


def _no_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    true = Directory.set_group

    def only_new(self: Directory, *names: Any, **more: Any) -> int:
        if more.get("expected_revision") == 0:
            return true(self, *names, **more)
        return 1

    monkeypatch.setattr(Directory, "set_group", only_new)


def _no_order_of_revisions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "_admit", lambda *arguments: "indexed")


def _any_citation_is_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(snapshot: Any, context: Any, citation: str) -> Any:
        return Checked("valid", citation, "180 GBP", ""), []

    monkeypatch.setattr(answers, "check", check)


def _everybody_sees_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    true = SQLiteSnapshot.readable

    def readable(self: SQLiteSnapshot, context: Any) -> Any:
        view = true(self, context)
        self._db.execute(
            "INSERT OR IGNORE INTO temp.visible"
            " SELECT id FROM documents WHERE live AND tenant = ?",
            (context.tenant,),
        )
        return view

    monkeypatch.setattr(SQLiteSnapshot, "readable", readable)


@pytest.mark.parametrize(
    "damage",
    [
        _no_delete,
        _no_directory,
        _no_order_of_revisions,
        _any_citation_is_valid,
        _everybody_sees_everything,
    ],
)
def test_a_broken_lab_ends_the_demo_with_1_and_no_success(
    damage: Callable[[pytest.MonkeyPatch], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    damage(monkeypatch)
    assert main(["demo"]) == 1
    printed = capsys.readouterr()
    assert SUCCESS not in printed.out
    assert "did not hold" in printed.err
    assert "Traceback" not in printed.err
