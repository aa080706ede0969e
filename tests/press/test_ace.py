"""The gate passes our e-books and names the line of a planted barrier."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from book.press import epub
from book.press.gates import NODE_MODULES, Status, ace
from book.press.gates.browser import missing_tools
from tests.press.printed import (
    complete_edition,
    context,
    damage_epub,
    line_of,
)

ROOT = Path(__file__).resolve().parents[2]
FACTS = context(ROOT)
PAGE = "EPUB/05-lexical-baseline.xhtml"

pytestmark = [pytest.mark.slow, pytest.mark.browser]


@pytest.fixture
def book(tmp_path: Path) -> Path:
    if missing_tools() or not (ROOT / NODE_MODULES / ".bin/ace-cli").exists():
        pytest.skip("Ace or Chromium is not installed")
    epub.render({"zh": complete_edition("zh")}, tmp_path, FACTS)
    return tmp_path / epub.file_name("zh")


def test_our_book_has_no_barrier(book: Path) -> None:
    result = ace.run(book.parent, FACTS)
    assert result.findings == ()
    assert (result.status, result.reason) == (Status.PASS, "1 books")


def test_a_cover_without_its_text_is_named_with_file_and_line(
    book: Path,
) -> None:
    member = "EPUB/cover.xhtml"
    line = line_of(book, member, "<img")
    damage_epub(book, member, 'alt="封面：', 'data-alt="')
    result = ace.run(book.parent, FACTS)
    assert result.status is Status.FAIL
    places = {(found.file, found.line) for found in result.findings}
    assert places == {(f"{book.name}!{member}", line)}


def test_missing_metadata_is_found_in_the_package(book: Path) -> None:
    meta = '<meta property="schema:accessibilityHazard">none</meta>'
    damage_epub(book, "EPUB/content.opf", meta, "")
    result = ace.run(book.parent, FACTS)
    assert result.status is Status.FAIL
    assert any(
        found.file == f"{book.name}!EPUB/content.opf"
        and "accessibilityHazard" in found.message
        for found in result.findings
    )


def test_without_ace_the_gate_is_not_run(tmp_path: Path) -> None:
    result = ace.run(tmp_path, replace(FACTS, root=tmp_path))
    assert result.status is Status.NOT_RUN
    assert "npm ci --prefix locks/node" in result.reason
