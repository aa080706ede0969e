"""The gate passes our e-books and names the line of a planted fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from book.press import epub
from book.press.gates import Status, epubcheck
from tests.press.printed import (
    complete_edition,
    context,
    damage_epub,
    line_of,
)

ROOT = Path(__file__).resolve().parents[2]
FACTS = context(ROOT)
PAGE = "EPUB/05-lexical-baseline.xhtml"

pytestmark = pytest.mark.slow


@pytest.fixture
def book(tmp_path: Path) -> Path:
    epub.render({"en": complete_edition("en")}, tmp_path, FACTS)
    return tmp_path / epub.file_name("en")


def test_our_book_has_no_error_and_no_warning(book: Path) -> None:
    result = epubcheck.run(book.parent, FACTS)
    assert result.findings == ()
    assert (result.status, result.reason) == (Status.PASS, "1 books")


def test_a_link_to_nothing_is_an_error_with_file_and_line(book: Path) -> None:
    good, bad = 'href="#candidates-first"', 'href="#nowhere"'
    line = line_of(book, PAGE, good)
    damage_epub(book, PAGE, good, bad)
    result = epubcheck.run(book.parent, FACTS)
    assert result.status is Status.FAIL
    (found,) = result.findings
    assert (found.file, found.line) == (f"{book.name}!{PAGE}", line)
    assert found.message.startswith("error RSC-012: ")


def test_a_warning_fails_the_gate(book: Path) -> None:
    # EPUBCheck only warns of an unknown code of language or an old guide.
    opf = "EPUB/content.opf"
    damage_epub(
        book, opf, "<dc:date>2025-11-30</dc:date>", "<dc:date>x</dc:date>"
    )
    result = epubcheck.run(book.parent, FACTS)
    assert result.status is Status.FAIL
    assert [f.message.split(":")[0] for f in result.findings] == [
        "warning OPF-053"
    ]


def test_a_file_that_is_no_book_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "broken.epub").write_bytes(b"PK")
    result = epubcheck.run(tmp_path, FACTS)
    assert result.status is Status.FAIL
    assert {found.file for found in result.findings} == {"broken.epub"}


def test_no_book_at_all_is_a_finding(tmp_path: Path) -> None:
    assert epubcheck.run(tmp_path, FACTS).status is Status.FAIL


def test_without_epubcheck_the_gate_is_not_run(
    book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(epubcheck, "_jar", lambda: None)
    result = epubcheck.run(book.parent, FACTS)
    assert result.status is Status.NOT_RUN
    assert "python3 build.py --strict" in result.reason
