"""The preview shows what was saved, and what is wrong with it."""

from __future__ import annotations

import argparse
import json
import shutil
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from book.press import serve
from tests.press.project import Project, make_project

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = make_project(tmp_path)
    made.write("pyproject.toml", '[project]\nversion = "1.0.0"\n')
    # The appendices that list files of a lab, which this project has not.
    plan = (tmp_path / "book" / "book.toml").read_text("utf-8")
    made.write("book/book.toml", plan.replace('"b-evidence", "d-ledger", ', ""))
    shutil.copytree(ROOT / "site_templates", tmp_path / "site_templates")
    return made


@pytest.fixture
def address(project: Project) -> Iterator[str]:
    """A running preview of the project, on any free port."""
    with serve.Server(serve.Preview(project.root), 0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=20) as answer:
        return str(answer.read().decode("utf-8"))


def state(address: str) -> dict[str, Any]:
    return dict(json.loads(get(f"{address}/en/state.json")))


def test_a_saved_chapter_is_shown_within_two_seconds(
    project: Project, address: str
) -> None:
    before = state(address)
    assert before["problems"] == []
    assert "A saved sentence." not in get(f"{address}/en/book.html")
    project.chapter("A saved sentence.", "存好的一句。")
    started = time.monotonic()
    after = state(address)
    assert "A saved sentence." in get(f"{address}/en/book.html")
    assert time.monotonic() - started < 2
    assert "存好的一句。" in get(f"{address}/zh/book.html")
    assert after["edition"] != before["edition"]


def test_nothing_saved_is_nothing_done(address: str) -> None:
    assert state(address) == state(address)


def test_a_fault_is_shown_with_file_and_line(
    project: Project, address: str
) -> None:
    state(address)
    project.chapter('{{ source("no-such-source") }}')
    problems = state(address)["problems"]
    assert [fault.partition(":")[0] for fault in problems] == [
        "book/en/05-lexical-baseline.md",
        "book/zh/05-lexical-baseline.md",
    ]
    assert all("no-such-source" in fault for fault in problems)
    project.chapter("Mended.", "改好了。")
    assert state(address)["problems"] == []
    assert "Mended." in get(f"{address}/en/book.html")


def test_a_broken_plan_leaves_the_book_in_view(
    project: Project, address: str
) -> None:
    state(address)
    project.write("book/book.toml", "[book")
    assert "book/book.toml" in str(state(address)["problems"])
    assert "A baseline" in get(f"{address}/en/book.html")


def test_the_shell_frames_the_language_that_was_asked_for(
    address: str,
) -> None:
    assert 'src="/en/book.html"' in get(address)
    assert 'src="/zh/book.html"' in get(f"{address}/zh")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        get(f"{address}/fr/book.html")


def test_a_port_in_use_is_one_sentence(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        args = argparse.Namespace(port=port)
        assert serve.run(args, project.root) == 1
    assert "choose another with --port" in capsys.readouterr().out
