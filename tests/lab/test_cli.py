"""The command line: what it prints, what it refuses, how it ends."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import lab
from lab.cli import main
from lab.cli.console import safe, wrap
from lab.evidence import columns
from lab.index import Index
from lab.model import Context
from tests.lab.support import document

ALICE = ["--tenant", "larkspur", "--as", "alice"]
EVE = ["--tenant", "larkspur", "--as", "eve"]
ESCAPE = "\x1b[2J"

Output = pytest.CaptureFixture[str]


@pytest.fixture
def db(tmp_path: Path) -> str:
    """An index with one document for alice, and one deleted."""
    path = str(tmp_path / "index.db")
    with Index.open(path) as index:
        index.upsert(document(origin="travel.md", updated_at=1_700_000_000))
        index.upsert(document("old-note", "# Old\n\nzxqvsecret"))
        index.delete("larkspur", "old-note", 2)
    return path


def run(*words: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
    """Run the program itself; the environment holds nothing of ours."""
    environment: Mapping[str, str] = {
        **os.environ,
        "PYTHONPATH": str(Path(lab.__file__).parent.parent),
        **more.pop("env", {}),
    }
    return subprocess.run(
        [sys.executable, "-m", "lab", *words],
        capture_output=True,
        check=False,
        env=environment,
        timeout=120,
        **more,
    )


# Reading.


def test_search_shows_title_text_and_citation(db: str, capsys: Output) -> None:
    assert main(["search", "hotel night", "--db", db, *ALICE]) == 0
    out = capsys.readouterr().out
    assert "1. Travel policy" in out
    assert "A hotel night may cost 180 pounds." in out
    assert "ks1:larkspur/travel-policy@1[" in out


def test_search_for_machines_is_what_the_library_says(
    db: str, capsys: Output
) -> None:
    assert main(["search", "hotel", "--db", db, "--json", *ALICE]) == 0
    with Index.open(db) as index:
        expected = index.search("hotel", Context("larkspur", "alice"))
    assert capsys.readouterr().out == expected.to_json() + "\n"


def test_another_reader_finds_nothing_and_that_is_no_error(
    db: str, capsys: Output
) -> None:
    assert main(["search", "hotel", "--db", db, *EVE]) == 0
    assert "Nothing found that you may read." in capsys.readouterr().out


def test_explain_shows_what_each_term_adds(db: str, capsys: Output) -> None:
    assert main(["search", "hotel", "--db", db, "--explain", *ALICE]) == 0
    out = capsys.readouterr().out
    # One chunk, df 1: ln(4 / 3) = 0.287682, and tf 1 at average length.
    assert "hotel: 0.287682 (tf 1, df 1, idf 0.287682)" in out


def test_max_age_counts_from_the_time_it_is_told(
    db: str, capsys: Output
) -> None:
    words = ["search", "hotel", "--db", db, *ALICE, "--max-age", "100"]
    assert main([*words, "--now", "1700000100"]) == 0
    assert "1 of 1 candidate." in capsys.readouterr().out
    assert main([*words, "--now", "1700000101"]) == 0
    assert "(1 too old)" in capsys.readouterr().out


def test_ask_quotes_and_cites_or_abstains(db: str, capsys: Output) -> None:
    assert main(["ask", "hotel night", "--db", db, *ALICE]) == 0
    out = capsys.readouterr().out
    assert "  | A hotel night may cost 180 pounds." in out
    assert "ks1:" in out
    assert main(["ask", "hotel night", "--db", db, *EVE]) == 0
    assert "No evidence that you may read" in capsys.readouterr().out


def test_check_ends_with_0_when_it_holds_and_3_when_it_does_not(
    db: str, capsys: Output
) -> None:
    assert main(["ask", "hotel", "--db", db, "--json", *ALICE]) == 0
    answer = json.loads(capsys.readouterr().out)
    citation = answer["evidence"][0]["citation"]
    assert main(["check", citation, "--db", db, *ALICE]) == 0
    assert "valid: Travel policy" in capsys.readouterr().out
    assert main(["check", citation, "--db", db, *EVE]) == 3
    assert capsys.readouterr().out == "unavailable\n"
    assert main(["check", "ks1:forged", "--db", db, *ALICE]) == 3


def test_read_prints_the_document_and_denies_it_like_an_unknown_one(
    db: str, capsys: Output
) -> None:
    assert main(["read", "travel-policy", "--db", db, *ALICE]) == 0
    assert capsys.readouterr().out == (
        "# Travel policy\n\nA hotel night may cost 180 pounds.\n"
    )
    errors = []
    for who, what in ((EVE, "travel-policy"), (ALICE, "unknown")):
        assert main(["read", what, "--db", db, *who]) == 3
        errors.append(capsys.readouterr().err.replace(what, "DOC"))
    assert errors[0] == errors[1]


@pytest.mark.parametrize(
    "words",
    [
        ["search", "x", *ALICE],
        ["ask", "x", *ALICE],
        ["check", "ks1:x", *ALICE],
        ["read", "x", *ALICE],
        ["status"],
        ["verify"],
        ["purge"],
        ["rebuild"],
    ],
)
def test_a_missing_index_is_said_and_not_made(
    words: list[str], tmp_path: Path, capsys: Output
) -> None:
    path = tmp_path / "typo.db"
    assert main([*words, "--db", str(path)]) == 3
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "typo.db: there is no index" in printed.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["search", "", *ALICE], 2),
        (["search", "x" * 1025, *ALICE], 2),
        (["search", "x", "--limit", "0", *ALICE], 2),
        (["search", "x", "--limit", "ten", *ALICE], 2),
        (["search", "x", "--limit", "9" * 5000, *ALICE], 2),
        (["search", "x", "--mode", "telepathic", *ALICE], 2),
        (["search", "x", "--max-age", "-1", *ALICE], 2),
        (["search", "x", "--tenant", "", "--as", "alice"], 2),
        (["search", "x", "--tenant", "a/b", "--as", "alice"], 2),
        (["search", "x", "--tenant", "larkspur", "--as", "a\udcffb"], 2),
        (["search", "lone \udcff surrogate", *ALICE], 2),
        (["search", "nul\x00", *ALICE], 2),
        (["search", "x", "--tenant", "larkspur"], 2),
        (["read", "../etc", *ALICE], 2),
        (["ask", "x", "--limit", "11", *ALICE], 2),
        (["status", "--doc", "travel-policy"], 2),
        (["status", "--doc", "unknown", "--tenant", "larkspur"], 3),
        (["rebuild", "--chunker", "window:0"], 2),
        (["rebuild", "--chunker", "sentences"], 2),
        (["rebuild", "--chunker", "window:1:2:3"], 2),
        (["rebuild", "--encoder", "hashing:x"], 2),
        (["rebuild", "--encoder", "counts:3"], 2),
        (["apply", "no-such-file.jsonl"], 2),
        (["apply", "."], 2),
    ],
)
def test_bad_input_is_one_sentence_on_standard_error(
    db: str, words: list[str], code: int, capsys: Output
) -> None:
    before = Path(db).read_bytes()
    assert main([*words, "--db", db]) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.strip()
    assert "Traceback" not in printed.err
    assert Path(db).read_bytes() == before


def test_errors_for_machines_are_json(db: str, capsys: Output) -> None:
    assert main(["read", "unknown", "--db", db, "--json", *ALICE]) == 3
    error = json.loads(capsys.readouterr().err)["error"]
    assert error["code"] == "not_found"


def test_a_file_that_is_no_index_is_named(
    tmp_path: Path, capsys: Output
) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(
        "just text, and longer than a header of one hundred bytes\n" * 9
    )
    assert main(["status", "--db", str(path)]) == 3
    assert "notes.txt" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "code"), [("", 2), (".", 3)])
@pytest.mark.parametrize("words", [["status"], ["apply", "-"]])
def test_a_name_that_is_no_file_is_refused(
    name: str,
    code: int,
    words: list[str],
    tmp_path: Path,
) -> None:
    done = run(*words, "--db", name, input=b"", cwd=tmp_path)
    assert done.returncode == code
    assert b"Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_no_command_prints_help_and_ends_with_2(capsys: Output) -> None:
    assert main([]) == 2
    assert "search" in capsys.readouterr().err


def test_a_fault_is_one_line_too(
    db: str, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    def broken(*arguments: Any, **more: Any) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.delenv("KEEPS_SECRETS_DEBUG", raising=False)
    monkeypatch.setattr(Index, "status", broken)
    assert main(["status", "--db", db]) == 1
    assert "ZeroDivisionError: a bug" in capsys.readouterr().err


# The trusted side.


def test_apply_reports_each_refusal_by_its_line(
    tmp_path: Path, capsys: Output
) -> None:
    events = tmp_path / "events.jsonl"
    good = {
        "op": "upsert",
        "tenant": "acme",
        "doc_id": "a",
        "revision": 2,
        "format": "text",
        "source": "hello",
        "policy": {"readers": ["*"]},
    }
    old = {**good, "revision": 1}
    # A BOM, a blank line, CRLF and a line separator that ends no line.
    strange = {**good, "doc_id": "b", "source": "one\u2028two"}
    lines = [
        "\ufeff" + json.dumps(good),
        "",
        json.dumps(old) + "\r",
        json.dumps(strange, ensure_ascii=False),
        '{"op":"upsert"',
    ]
    events.write_text("\n".join(lines), encoding="utf-8", newline="")
    path = str(tmp_path / "index.db")
    assert main(["apply", str(events), "--db", path]) == 3
    printed = capsys.readouterr()
    assert printed.out == "2 indexed, 2 refused\n"
    assert "line 3 (upsert) refused: stale_revision" in printed.err
    assert "line 5 (?) refused: invalid_input" in printed.err


def test_apply_of_malformed_events_only_ends_with_2(tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    events.write_text('{"op": "upsert", "op": "delete"}\n')
    assert main(["apply", str(events), "--db", str(tmp_path / "i.db")]) == 2


def test_events_that_are_not_utf8_apply_nothing_and_make_no_index(
    tmp_path: Path, capsys: Output
) -> None:
    events = tmp_path / "events.jsonl"
    events.write_bytes(b'{}\n{"op": "\xff"}\n')
    path = tmp_path / "index.db"
    assert main(["apply", str(events), "--db", str(path)]) == 2
    assert "line 2 is not UTF-8" in capsys.readouterr().err
    assert not path.exists()


def test_apply_reads_standard_input(tmp_path: Path) -> None:
    event = b'{"op":"delete","tenant":"acme","doc_id":"a","revision":3}\n'
    path = str(tmp_path / "index.db")
    done = run("apply", "-", "--db", path, "--json", input=event)
    assert done.returncode == 0
    assert json.loads(done.stdout)["outcomes"][0]["state"] == "deleted"


def test_status_counts_and_shows_a_policy(db: str, capsys: Output) -> None:
    assert main(["status", "--db", db]) == 0
    assert "1 document, 1 chunk, 1 tombstone" in capsys.readouterr().out
    words = ["status", "--db", db, "--tenant", "larkspur", "--doc"]
    assert main([*words, "travel-policy"]) == 0
    assert "readers  alice" in capsys.readouterr().out
    assert main([*words, "old-note"]) == 0
    assert "deleted, revision 2" in capsys.readouterr().out


def test_verify_ends_with_1_and_names_the_fault(
    db: str, capsys: Output
) -> None:
    assert main(["verify", "--db", db]) == 0
    assert "No fault" in capsys.readouterr().out
    with sqlite3.connect(db) as damaged:
        damaged.execute("UPDATE chunks SET text = 'forged'")
    assert main(["verify", "--db", db]) == 1
    assert "larkspur/travel-policy" in capsys.readouterr().out


def test_purge_takes_deleted_text_out_of_the_file(
    db: str, capsys: Output
) -> None:
    assert main(["purge", "--db", db]) == 0
    assert "backups" in capsys.readouterr().out
    folder = Path(db).parent
    assert all(
        b"zxqvsecret" not in path.read_bytes() for path in folder.iterdir()
    )


def test_rebuild_changes_the_projection_and_nothing_else(
    db: str, capsys: Output
) -> None:
    words = ["rebuild", "--db", db, "--encoder", "none", "--chunker"]
    assert main([*words, "block:600:0"]) == 0
    assert "1 document, 1 chunk rebuilt: encoder none" in (
        capsys.readouterr().out
    )
    assert main(["search", "hotel", "--db", db, *ALICE]) == 0
    printed = capsys.readouterr()
    assert "1. Travel policy" in printed.out
    assert "without the vector channel" in printed.err


def test_evaluate_writes_its_measures_where_it_is_told(
    db: str, tmp_path: Path, capsys: Output
) -> None:
    queries = tmp_path / "golden.jsonl"
    query = {
        "id": "q1",
        "tenant": "larkspur",
        "principal": "alice",
        "kind": "factual",
        "lang": "en",
        "query": "hotel night",
        "documents": [],
        "anchors": ["180 pounds"],
        "designated": [],
        "note": "",
    }
    queries.write_text(json.dumps(query))
    output = tmp_path / "out.json"
    words = ["evaluate", "--db", db, "--queries", str(queries)]
    assert main([*words, "--output", str(output)]) == 0
    assert "overall" in capsys.readouterr().out
    measures = json.loads(output.read_text())["measures"]["overall"]
    assert measures["mrr@10"]["value"] == 1.0


def test_evaluate_of_the_fixture_needs_no_index(
    tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["evaluate", "--mode", "lexical", "--json"]) == 0
    claims = json.loads(capsys.readouterr().out)
    assert claims["mode"] == "lexical"
    assert claims["broken"] == []
    assert list(tmp_path.iterdir()) == []


# The console.


@pytest.mark.parametrize("encoding", ["gbk", "cp1252", "ascii"])
def test_output_is_utf8_whatever_the_console_says(
    tmp_path: Path, encoding: str
) -> None:
    path = str(tmp_path / "index.db")
    with Index.open(path) as index:
        index.upsert(document(source="# 差旅\n\nnaïve 住宿 😀 €"))
    for more in ([], ["--json"]):
        done = run(
            "search",
            "住宿",
            "--db",
            path,
            *ALICE,
            *more,
            env={"PYTHONIOENCODING": encoding, "PYTHONUTF8": "1"},
        )
        assert done.returncode == 0, done.stderr
        assert "naïve 住宿 😀 €" in done.stdout.decode("utf-8")


def test_a_closed_pipe_is_no_traceback(db: str) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(lab.__file__).parent.parent),
    }
    words = ["search", "hotel", "--db", db, *ALICE]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "lab", *words],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
        env=environment,
        timeout=120,
    )
    os.close(writer)
    assert done.stderr == b""


def test_a_document_cannot_steer_the_terminal(
    tmp_path: Path, capsys: Output
) -> None:
    path = str(tmp_path / "index.db")
    with Index.open(path) as index:
        index.upsert(
            document(source=f"# Title {ESCAPE}\n\nhotel {ESCAPE}\u202e end")
        )
    for words in (["search", "hotel", "--explain"], ["ask", "hotel"]):
        assert main([*words, "--db", path, *ALICE]) == 0
        out = capsys.readouterr().out
        assert "\x1b" not in out
        assert "\u202e" not in out
    assert safe("a\tb\nc") == "a\tb\nc"


def test_wrapped_text_fits_and_loses_nothing_but_white_space() -> None:
    for text in (
        "word " * 60,
        "限额住宿" * 60,
        "mixed 住宿 limit " * 30,
        "x" * 300,
    ):
        lines = wrap(text, "  ", 1000)
        assert all(columns(line) <= 78 for line in lines)
        assert "".join("".join(lines).split()) == "".join(text.split())
    short = wrap("word " * 60, "  ", 2)
    assert len(short) == 2
    assert short[-1].endswith(" …")
    assert columns(short[-1]) <= 78
