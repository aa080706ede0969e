"""The complete Markdown says what the blocks say, whatever their text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from book.press import fulltext, readback
from book.press.blocks import Edition
from book.press.fulltext import edition_markdown
from book.press.readback import Expected, compare
from tests.press.printed import (
    HARD,
    complete_edition,
    complete_editions,
    context,
)

CHAPTER = "05-lexical-baseline"


@pytest.fixture(scope="module")
def english() -> str:
    return edition_markdown(complete_edition("en"))


def expected(edition: Edition) -> dict[str, list[Expected]]:
    return {
        chapter.slug: [
            Expected(block.id, block.kind, block.sha256)
            for block in chapter.blocks
        ]
        for chapter in edition.chapters
    }


def section(text: str, identity: str) -> str:
    """What stands between a block's mark and the next mark."""
    body = text.split(f"<!-- {identity} ", 1)[1]
    return body.split("\n", 1)[1].split("\n\n<!-- ", 1)[0]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_block_reads_back_with_the_digest_of_the_edition(
    tmp_path: Path, lang: str
) -> None:
    editions = complete_editions()
    fulltext.render(editions, tmp_path, context(tmp_path))
    pages = readback.read_markdown(tmp_path, lang)
    assert list(pages) == [c.slug for c in editions[lang].chapters]
    assert compare(expected(editions[lang]), f"md/{lang}", pages) == []


def test_a_blocks_text_is_literal_where_markdown_would_read_marks(
    english: str,
) -> None:
    # Read with plain CommonMark, by a parser this code does not configure.
    rendered = MarkdownIt("commonmark").enable("table").render(english)
    assert "<p># not a heading</p>" in rendered
    assert "<p>1. not a list</p>" in rendered
    assert "<p>--- and *stars* and _lines_ and snake_case_name</p>" in rendered
    assert (
        "&lt;b&gt;not bold&lt;/b&gt; &amp;amp; &amp;#65; a &lt; b" in rendered
    )
    assert "Wait!<a href=" in rendered


def test_emphasis_beside_chinese_punctuation_is_still_emphasis() -> None:
    rendered = MarkdownIt("commonmark").render(
        edition_markdown(complete_edition("zh"))
    )
    assert (
        "字<strong>粗，</strong>字，字<em>（斜）</em>字<em>斜</em>字"
        in rendered
    )


def test_a_fence_is_longer_than_any_run_of_backticks_inside_it(
    english: str,
) -> None:
    written = section(english, f"{HARD}-0021")
    assert written.startswith("`````text\n```\n````\n")
    assert written.endswith("~~~ trailing  \n`````")


def test_code_keeps_its_tabs_and_empty_lines(english: str) -> None:
    assert section(english, f"{CHAPTER}-0005") == (
        "```text\na\tb < c\n\n  d\n```"
    )


def test_a_bar_in_a_cell_does_not_end_the_cell(english: str) -> None:
    lines = section(english, f"{HARD}-0024").split("\n")
    assert lines[:3] == [
        r"| a \| b | count |",
        "| --- | ---: |",
        r"| `x \| y` | \\\| *e* |",
    ]


def test_formulas_are_tex_between_dollars(english: str) -> None:
    assert "$`k = 60`$.[^05-lexical-baseline--why]" in english
    assert section(english, f"{CHAPTER}-0013") == (
        "```math\ns = \\frac{1}{k + r}\n```"
    )


def test_every_link_inside_the_file_has_its_anchor(english: str) -> None:
    anchors = re.findall(r'<a id="([^"]+)"></a>', english)
    links = re.findall(r"\]\(#([^)]+)\)", english)
    assert len(anchors) == len(set(anchors))
    assert f"{CHAPTER}--candidates-first" in links
    assert set(links) <= set(anchors)


def test_every_footnote_is_defined_once_and_named_by_its_chapter(
    english: str,
) -> None:
    defined = re.findall(r"^\[\^([^\]]+)\]: ", english, re.MULTILINE)
    used = re.findall(r"[^\n\\]\[\^([^\]]+)\]", english)
    assert sorted(defined) == sorted(used)
    assert defined == [f"{CHAPTER}--why", f"{HARD}--n2"]


def test_a_chapter_says_its_number_before_it_begins(english: str) -> None:
    assert f"\n*Chapter 1*\n\n<!-- chapter {CHAPTER} -->\n" in english
    assert "\n*Appendix A*\n\n<!-- chapter a-sources -->\n" in english


def test_two_renderings_are_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        fulltext.render(complete_editions(), folder, context(folder))
    for lang in ("en", "zh"):
        name = fulltext.file_name(lang)
        first = (tmp_path / "a" / name).read_bytes()
        assert first == (tmp_path / "b" / name).read_bytes()
        assert b"\r" not in first
