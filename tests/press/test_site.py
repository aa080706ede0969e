"""The site holds the blocks as they are, in a frame of its own."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from book.press import readback, site
from book.press.blocks import Edition, make_block
from book.press.landing import landing_words, printed_size
from book.press.problems import Problems
from book.press.scripts import with_ranking
from book.press.site_config import source_path
from book.press.site_search import sections
from tests.press.printed import complete_edition, complete_editions, context

ROOT = Path(__file__).parents[2]
TEMPLATES = ROOT / "site_templates/site"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The complete sample's site, with one e-book to take away."""
    staging = tmp_path_factory.mktemp("staging")
    (staging / "keeps-secrets-en.epub").write_bytes(b"not really an e-book")
    (staging / "keeps-secrets-en.pdf").write_bytes(b"differs every time")
    site.render(complete_editions(), staging, context(ROOT))
    return staging


def _page(staging: Path, name: str) -> str:
    return (staging / "site" / name).read_text("utf-8")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_block_comes_through_as_it_is(made: Path, lang: str) -> None:
    edition = complete_edition(lang)
    pages = readback.read_site(made, lang)
    assert {
        slug: [(b.id, b.sha256) for b in got] for slug, got in pages.items()
    } == {
        chapter.slug: [(b.id, b.sha256) for b in chapter.blocks]
        for chapter in edition.chapters
    }


def test_two_builds_of_one_source_are_the_same_bytes(
    made: Path, tmp_path: Path
) -> None:
    (tmp_path / "keeps-secrets-en.epub").write_bytes(b"not really an e-book")
    site.render(complete_editions(), tmp_path, context(ROOT))
    assert _files(tmp_path / "site") == _files(made / "site")


def _files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_page_says_its_language_and_where_the_other_is(made: Path) -> None:
    page = _page(made, "zh/05-lexical-baseline.html")
    assert '<html lang="zh-Hans"' in page
    assert re.search(
        r'<link rel="alternate" hreflang="en"'
        r' href="../en/05-lexical-baseline.html">',
        page,
    )
    assert re.search(
        r'<a class="ks-language"[^>]* href="../en/05-lexical-baseline.html"',
        page,
    )


def test_a_page_describes_itself_to_whoever_shares_it(made: Path) -> None:
    page = _page(made, "en/05-lexical-baseline.html")
    summary = "Why &lt;candidates&gt; come first &amp; scores second."
    assert f'<meta name="description" content="{summary}">' in page
    assert f'<meta property="og:description" content="{summary}">' in page
    assert '<meta property="og:locale" content="en_GB">' in page


def test_a_chapter_names_what_holds_it_up(made: Path) -> None:
    page = _page(made, "en/05-lexical-baseline.html")
    facts = page[page.index('class="ks-facts"') :]
    assert '<a href="a-sources.html#c-07">C-07</a>' in facts
    assert "#ev-term-evaluation" in facts
    assert ">tests/lab/test_search.py</a>" in facts
    assert facts.count("#ev-term-evaluation") == 1


def test_the_title_page_offers_files_with_size_and_checksum(
    made: Path,
) -> None:
    page = _page(made, "en/index.html")
    digest = hashlib.sha256(b"not really an e-book").hexdigest()
    assert digest in page
    assert "20 B" in page
    copy = made / "site/downloads/keeps-secrets-en.epub"
    assert copy.read_bytes() == b"not really an e-book"
    assert ".pdf" not in page


def test_every_inline_script_is_allowed_by_its_hash_and_no_other(
    made: Path,
) -> None:
    for page in sorted((made / "site").rglob("*.html")):
        html = page.read_text("utf-8")
        found = re.search(r'Content-Security-Policy" content="([^"]+)"', html)
        assert found, page
        policy = found[1].replace("&#39;", "'")
        for script in re.findall(r"<script>(.*?)</script>", html, re.DOTALL):
            digest = hashlib.sha256(script.encode()).digest()
            allowed = f"'sha256-{base64.b64encode(digest).decode()}'"
            assert allowed in policy, page
        script_part = policy.partition("script-src")[2].partition(";")[0]
        assert "unsafe" not in script_part
        assert "http" not in policy


def test_nothing_is_shipped_that_no_page_loads(made: Path) -> None:
    names = _files(made / "site")
    assert not [name for name in names if name.endswith((".map", ".gz"))]
    assert not [name for name in names if "lunr" in name or "bundle" in name]
    assert "assets/stylesheets/LICENSE.txt" in names


def test_a_link_that_leads_nowhere_stops_the_site_and_names_its_page(
    tmp_path: Path,
) -> None:
    editions = complete_editions()
    editions["en"] = _with_paragraph(
        editions["en"], '<p><a href="ks:99-gone">x</a></p>'
    )
    with pytest.raises(Problems) as caught:
        site.render(editions, tmp_path, context(ROOT))
    assert "en/00-preface" in str(caught.value)
    assert "'99-gone'" in str(caught.value)


def _with_paragraph(edition: Edition, html: str) -> Edition:
    first, *rest = edition.chapters
    block = make_block(first.slug, 90, "paragraph", html, 1)
    first = replace(first, blocks=(*first.blocks, block))
    return replace(edition, chapters=(first, *rest))


def test_no_line_begins_with_the_stop_after_a_formula(made: Path) -> None:
    page = _page(made, "en/05-lexical-baseline.html")
    assert re.search(
        r'<span class="ks-keep"><math[^>]*>.*?</math>\.</span>', page
    )


def test_the_index_has_every_section_once() -> None:
    chapter = complete_edition("en").chapter("05-lexical-baseline")
    found = sections(chapter)
    assert [anchor for anchor, _, _ in found] == [
        "",
        "candidates-first",
        "a-corner",
    ]
    assert "python -m lab demo" in found[1][2]
    assert "A window is not a witness." in found[2][2]


def test_the_index_is_a_script_no_text_can_break_out_of(made: Path) -> None:
    script = _page(made, "search/zh.js")
    head, _, data = script.partition('["zh"]=')
    assert head == "(self.ksIndex=self.ksIndex||{})"
    assert json.loads(data.rstrip().removesuffix(";"))[1]["number"] == "1"
    assert "\u2028" not in script


def test_both_languages_have_the_same_words() -> None:
    words = tomllib.loads((TEMPLATES / "words.toml").read_text("utf-8"))
    landing = landing_words(TEMPLATES)
    assert words["en"].keys() == words["zh"].keys()
    assert landing["en"].keys() == landing["zh"].keys()
    assert len(landing["en"]["promises"]) == len(landing["zh"]["promises"])


def test_the_dark_colours_are_the_same_for_system_and_button() -> None:
    css = site.stylesheet(TEMPLATES)
    blocks = re.findall(r"\{\s*(color-scheme: dark;[^}]*)\}", css)
    assert len(blocks) == 2
    assert blocks[0].split() == blocks[1].split()


def _contrasts() -> Iterator[tuple[str, str, str, float]]:
    css = site.stylesheet(TEMPLATES)
    light = css[css.index(":root {") : css.index("@media")]
    dark = (TEMPLATES / "assets/dark.css").read_text("utf-8")
    inks = "ink soft link accent hl-keyword hl-name hl-string hl-number"
    for theme, text in (("light", light), ("dark", dark)):
        named = dict(re.findall(r"--([\w-]+): (#\w{6});", text))
        for ink in [*inks.split(), "hl-comment", "hl-prompt"]:
            for ground in ("paper", "raised", "code"):
                yield theme, ink, ground, _ratio(named[ink], named[ground])
        yield theme, "ink", "mark", _ratio(named["ink"], named["mark"])


def _ratio(one: str, other: str) -> float:
    """Contrast as WCAG 2.2 defines it."""

    def luminance(colour: str) -> float:
        channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
            for c in channels
        ]
        return sum(
            weight * c
            for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True)
        )

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_every_ink_can_be_read_on_every_ground() -> None:
    poor = [one for one in _contrasts() if one[3] < 4.5]
    assert not poor


def test_stubs_of_the_default_language_lie_one_folder_deeper() -> None:
    assert source_path("en", "index") == "en/en/index.md"
    assert source_path("zh", "index") == "zh/index.md"


def test_sizes_are_printed_as_people_read_them() -> None:
    assert printed_size(3_400_000) == "3.4 MB"
    assert printed_size(52_000) == "52 kB"
    assert printed_size(7) == "7 B"


def test_a_script_without_a_place_for_ranking_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no one place for ranking\.js"):
        with_ranking("nothing here", ROOT / "site_templates")
