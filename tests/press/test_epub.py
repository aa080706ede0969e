"""The e-book is whole, navigable, the same twice, and fits a small screen."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from book.press import epub, readback
from book.press.contentmap import blocks_of
from book.press.epub import edition_epub
from book.press.gates.browser import browser, missing_tools
from tests.press.printed import (
    HARD,
    complete_edition,
    complete_editions,
    context,
)

ROOT = Path(__file__).resolve().parents[2]
CHAPTER = "05-lexical-baseline"
FACTS = context(ROOT)
XHTML = "{http://www.w3.org/1999/xhtml}"
OPF = "{http://www.idpf.org/2007/opf}"
TYPE = "{http://www.idpf.org/2007/ops}type"
LANG = "{http://www.w3.org/XML/1998/namespace}lang"


@pytest.fixture(scope="module")
def staging(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("epub")
    epub.render(complete_editions(), folder, FACTS)
    return folder


@pytest.fixture(scope="module")
def english(staging: Path) -> dict[str, str]:
    return members(staging / epub.file_name("en"))


def members(path: Path) -> dict[str, str]:
    with zipfile.ZipFile(path) as book:
        return {name: book.read(name).decode() for name in book.namelist()}


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_block_reads_back_with_the_digest_of_the_edition(
    staging: Path, lang: str
) -> None:
    wanted = blocks_of(complete_editions())[lang]
    pages = readback.read_epub(staging, lang)
    assert readback.compare(wanted, f"epub/{lang}", pages) == []


def test_the_mimetype_comes_first_and_is_not_compressed(staging: Path) -> None:
    with zipfile.ZipFile(staging / epub.file_name("en")) as book:
        first, *others = book.infolist()
    assert first.filename == "mimetype"
    assert first.compress_type == zipfile.ZIP_STORED
    names = [info.filename for info in others]
    assert names == sorted(names)
    dates = {info.date_time for info in (first, *others)}
    assert dates == {(2025, 11, 30, 0, 0, 0)}


def test_the_same_edition_gives_the_same_bytes() -> None:
    edition = complete_edition("zh")
    assert edition_epub(edition, FACTS) == edition_epub(edition, FACTS)


def test_the_contents_list_every_heading_in_order_and_depth(
    english: dict[str, str],
) -> None:
    nav = ElementTree.fromstring(english["EPUB/nav.xhtml"])
    toc, landmarks = nav.iter(f"{XHTML}nav")
    targets = [link.get("href") for link in toc.iter(f"{XHTML}a")]
    assert targets == [
        "titlepage.xhtml",
        "00-preface.xhtml",
        "part-finding.xhtml",
        f"{CHAPTER}.xhtml",
        f"{CHAPTER}.xhtml#candidates-first",
        f"{CHAPTER}.xhtml#a-corner",
        f"{HARD}.xhtml",
        f"{HARD}.xhtml#hard",
        "part-appendices.xhtml",
        "a-sources.xhtml",
        "a-sources.xhtml#src-sqlite-fts5",
        "a-sources.xhtml#ev-term-evaluation",
        "a-sources.xhtml#c-07",
        "a-sources.xhtml#file-tests-lab-test-search-py",
        "f-glossary.xhtml",
        "f-glossary.xhtml#chunk",
    ]
    deep = toc.findall(f".//{XHTML}a[@href='{CHAPTER}.xhtml#a-corner']")
    lists = [
        level for level in toc.iter(f"{XHTML}ol") if deep[0] in level.iter()
    ]
    assert len(lists) == 4  # part, chapter, section, subsection
    kinds = [link.get(TYPE) for link in landmarks.iter(f"{XHTML}a")]
    assert kinds == ["cover", "titlepage", "toc", "bodymatter", "glossary"]


def test_every_link_inside_the_book_has_its_target(
    english: dict[str, str],
) -> None:
    links = 0
    for name, text in english.items():
        if not name.endswith(".xhtml"):
            continue
        for href in re.findall(r'href="([^"]+)"', text):
            if href.startswith("https:"):
                continue
            page, _, anchor = href.partition("#")
            target = f"EPUB/{page}" if page else name
            assert target in english, href
            if anchor:
                assert f' id="{anchor}"' in english[target], href
            links += 1
    assert links > 40


def test_the_package_says_its_language_and_its_accessibility(
    staging: Path,
) -> None:
    for lang, tag in (("en", "en"), ("zh", "zh-Hans")):
        texts = members(staging / epub.file_name(lang))
        package = ElementTree.fromstring(texts["EPUB/content.opf"])
        assert package.get(LANG) == tag
        stated = {
            (meta.get("property"), meta.text)
            for meta in package.iter(f"{OPF}meta")
        }
        assert ("schema:accessModeSufficient", "textual") in stated
        assert ("schema:accessibilityHazard", "none") in stated
        assert (
            "dcterms:conformsTo",
            "EPUB Accessibility 1.1 - WCAG 2.2 Level AA",
        ) in stated
        assert ("dcterms:modified", "2025-11-30T00:00:00Z") in stated
        for name, text in texts.items():
            if name.endswith(".xhtml"):
                page = ElementTree.fromstring(text)
                assert (page.get("lang"), page.get(LANG)) == (tag, tag)


def test_footnotes_lead_there_and_back_with_both_kinds_of_role(
    english: dict[str, str],
) -> None:
    page = ElementTree.fromstring(english[f"EPUB/{CHAPTER}.xhtml"])
    roles = {
        element.get("role"): element
        for element in page.iter()
        if (element.get("role") or "").startswith("doc-")
    }
    assert roles["doc-noteref"].get(TYPE) == "noteref"
    assert roles["doc-noteref"].get("href") == "#fn-why"
    assert roles["doc-footnote"].get(TYPE) == "footnote"
    assert roles["doc-footnote"].get("id") == "fn-why"
    assert roles["doc-backlink"].get("href") == "#fnref-why"
    assert roles["doc-chapter"].get(TYPE) == "chapter"


def test_a_formula_has_its_text_and_its_page_says_mathml(
    english: dict[str, str],
) -> None:
    page = english[f"EPUB/{CHAPTER}.xhtml"]
    assert 'alttext="s = \\frac{1}{k + r}"' in page
    package = ElementTree.fromstring(english["EPUB/content.opf"])
    items = {
        item.get("href"): item.get("properties")
        for item in package.iter(f"{OPF}item")
    }
    assert items[f"{CHAPTER}.xhtml"] == "mathml svg"
    assert items["nav.xhtml"] == "nav"
    assert items["cover.svg"] == "cover-image"
    assert items["00-preface.xhtml"] is None


def test_no_colour_is_given_to_text(english: dict[str, str]) -> None:
    style = english["EPUB/style.css"]
    assert not re.findall(r"(?<![-\w])color\s*:", style)
    backgrounds = re.findall(r"([^{}]*)\{[^}]*background:", style)
    # Only drawings, which carry the colours of print, bring paper along.
    assert [selector.split()[-2:] for selector in backgrounds] == [
        ["figure", "svg"]
    ]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    missing = missing_tools()
    if missing:
        pytest.skip(missing.reason)
    with browser() as opened:
        yield opened


@pytest.mark.browser
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_no_page_is_wider_than_the_smallest_screen(
    chromium: Any, staging: Path, tmp_path: Path, lang: str
) -> None:
    with zipfile.ZipFile(staging / epub.file_name(lang)) as book:
        book.extractall(tmp_path)
    page = chromium.new_context(
        viewport={"width": 320, "height": 480}
    ).new_page()
    for path in sorted((tmp_path / "EPUB").glob("*.xhtml")):
        page.goto(path.as_uri())
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= 320, path.name


@pytest.mark.browser
def test_a_line_of_code_that_does_not_fit_goes_on_further_in(
    chromium: Any, staging: Path, tmp_path: Path
) -> None:
    with zipfile.ZipFile(staging / epub.file_name("en")) as book:
        book.extractall(tmp_path)
    page = chromium.new_context(
        viewport={"width": 320, "height": 480}
    ).new_page()
    page.goto((tmp_path / "EPUB" / f"{HARD}.xhtml").as_uri())
    # The boxes of the one long line of a listing, one for each line of type.
    boxes = page.evaluate(
        f"""() => {{
        const line = document.querySelector(
          '[data-block="{HARD}-0023"] .l');
        const range = document.createRange();
        range.selectNodeContents(line);
        return [...range.getClientRects()].map(r => r.left);
        }}"""
    )
    assert len(boxes) > 3
    assert min(boxes[1:]) > boxes[0] + 8
    # Empty lines and line ends stand as they do in the text: one line each.
    heights = page.evaluate(
        f"""() => [...document.querySelectorAll(
        '[data-block="{HARD}-0021"] .l')].map(e => e.offsetHeight)"""
    )
    assert len(heights) == 6
    assert min(heights) > 8
    assert max(heights[:5:3] + heights[3:5]) == min(heights[3:5])
