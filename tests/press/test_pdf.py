"""The PDF has bookmarks and tags, and its absence is said, not hidden."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from book.press import offline, pdf
from book.press.gates import not_run
from book.press.gates.browser import missing_tools
from tests.press.printed import complete_edition, context

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.browser
def test_every_edition_is_printed_with_bookmarks_and_tags(
    tmp_path: Path,
) -> None:
    missing = missing_tools()
    if missing:
        pytest.skip(missing.reason)
    editions = {"zh": complete_edition("zh")}
    offline.render(editions, tmp_path, context(ROOT))
    pdf.render(editions, tmp_path, context(ROOT))
    content = (tmp_path / "keeps-secrets-zh.pdf").read_bytes()
    assert content.startswith(b"%PDF-")
    assert b"/Outlines" in content
    assert b"/StructTreeRoot" in content
    # The preface, a chapter, hard cases, two appendices, title, contents
    # and colophon begin pages of their own or share one.
    assert content.count(b"/Type /Page\n") >= 6


def test_without_a_browser_there_is_none_and_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(
        pdf, "missing_tools", lambda: not_run("no browser", "get one")
    )
    facts = replace(context(ROOT), progress=said.append)
    pdf.render({"en": complete_edition("en")}, tmp_path, facts)
    assert said == ["pdf: none, no browser; to run it: get one"]
    assert list(tmp_path.iterdir()) == []
