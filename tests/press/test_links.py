"""Every reference of the book leads somewhere, in each output's own way."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from book.press.blocks import Chapter, Edition, make_block
from book.press.gates import Status, links
from book.press.links import (
    EPUB,
    SINGLE_PAGE,
    SITE,
    LinkError,
    Resolver,
    lab_anchor,
    localise,
)
from book.press.xhtml import serialise
from tests.press.printed import context
from tests.press.sample import sample_edition

CHAPTER = "05-lexical-baseline"


def _appendix(slug: str, letter: str, *anchors: str) -> Chapter:
    blocks = tuple(
        make_block(slug, ordinal, "heading", f'<h2 id="{one}">x</h2>', 1)
        for ordinal, one in enumerate(anchors, 1)
    )
    chapter = sample_edition("en").chapter("f-glossary")
    return replace(chapter, slug=slug, number=letter, blocks=blocks)


def _edition() -> Edition:
    edition = sample_edition("en")
    appendices = (
        _appendix("a-sources", "A", "src-sqlite-fts5"),
        _appendix("b-evidence", "B", "ev-term-evaluation"),
        _appendix("d-contracts", "D", "c-07"),
        _appendix("e-core", "E", "file-lab-index-py"),
    )
    return replace(edition, chapters=(*edition.chapters, *appendices))


@pytest.mark.parametrize(
    ("href", "site", "single", "epub"),
    [
        (
            "ks:f-glossary#chunk",
            "f-glossary.html#chunk",
            "#f-glossary--chunk",
            "f-glossary.xhtml#chunk",
        ),
        (
            "ks:f-glossary",
            "f-glossary.html",
            "#f-glossary--f-glossary",
            "f-glossary.xhtml",
        ),
        (
            "ks:#candidates-first",
            "#candidates-first",
            f"#{CHAPTER}--candidates-first",
            "#candidates-first",
        ),
        (
            "ks-evidence:term-evaluation",
            "b-evidence.html#ev-term-evaluation",
            "#b-evidence--ev-term-evaluation",
            "b-evidence.xhtml#ev-term-evaluation",
        ),
        (
            "ks-contract:C-07",
            "d-contracts.html#c-07",
            "#d-contracts--c-07",
            "d-contracts.xhtml#c-07",
        ),
        (
            "ks-lab:lab/index.py::Index.search",
            "e-core.html#file-lab-index-py",
            "#e-core--file-lab-index-py",
            "e-core.xhtml#file-lab-index-py",
        ),
        ("https://example.org/a#b",) * 4,
    ],
)
def test_a_reference_is_spelt_in_each_output_s_own_way(
    href: str, site: str, single: str, epub: str
) -> None:
    edition = _edition()
    spelt = [
        Resolver(edition, layout)(href, CHAPTER)
        for layout in (SITE, SINGLE_PAGE, EPUB)
    ]
    assert spelt == [site, single, epub]


def test_a_lab_file_no_appendix_lists_is_read_in_the_site_s_copy() -> None:
    resolver = Resolver(_edition(), SITE)
    link = resolver("ks-lab:tests/lab/test_search.py", CHAPTER)
    assert link == "../lab/tests/lab/test_search.py.txt"


@pytest.mark.parametrize(
    ("href", "why"),
    [
        ("ks:09-nowhere", "there is no chapter '09-nowhere'"),
        ("ks:f-glossary#gone", "f-glossary has no anchor 'gone'"),
        ("ks:#gone", f"{CHAPTER} has no anchor 'gone'"),
        ("ks-contract:C-99", "no appendix lists the contract 'C-99' (#c-99)"),
        ("ks-source:gone", "no appendix lists the source 'gone' (#src-gone)"),
        ("ks-lab:lab/gone.py", "no appendix lists the lab file"),
        ("ks-lab:", "this is no kind of link we know"),
        ("../other.html", "this is no kind of link we know"),
        ("javascript:alert(1)", "this is no kind of link we know"),
    ],
)
def test_a_reference_to_nothing_is_refused_by_name(href: str, why: str) -> None:
    resolver = Resolver(_edition(), EPUB)
    with pytest.raises(LinkError) as caught:
        resolver(href, CHAPTER)
    message = str(caught.value)
    assert message.startswith(f"en/{CHAPTER}: link {href!r}: ")
    assert why in message


def test_a_preview_of_some_chapters_links_what_is_missing_to_its_top() -> None:
    resolver = Resolver(sample_edition("en"), SINGLE_PAGE, partial=True)
    assert resolver("ks-contract:C-07", CHAPTER) == "#"


def test_an_anchor_of_a_chapter_is_not_taken_for_an_appendix() -> None:
    edition = sample_edition("en")
    impostor = make_block(CHAPTER, 90, "heading", '<h2 id="c-08">x</h2>', 1)
    chapter = edition.chapter(CHAPTER)
    chapter = replace(chapter, blocks=(*chapter.blocks, impostor))
    resolver = Resolver(replace(edition, chapters=(chapter,)), SITE)
    with pytest.raises(LinkError):
        resolver("ks-contract:C-08", CHAPTER)


def test_ids_and_their_uses_carry_the_chapter_on_a_shared_page() -> None:
    svg = (
        '<figure class="figure"><svg xmlns="http://www.w3.org/2000/svg"'
        ' xmlns:xlink="http://www.w3.org/1999/xlink"'
        ' aria-labelledby="t d"><title id="t">a</title><desc id="d">b</desc>'
        '<path id="p" clip-path="url(#c)"/><use xlink:href="#p"/></svg>'
        "</figure>"
    )
    resolver = Resolver(_edition(), SINGLE_PAGE)
    html = serialise(localise(svg, "s", resolver))
    assert 'aria-labelledby="s--t s--d"' in html
    assert 'id="s--p"' in html
    assert 'clip-path="url(#s--c)"' in html
    assert ' href="#s--p"' in html


def test_a_lab_path_becomes_an_anchor_of_letters_and_hyphens() -> None:
    assert lab_anchor("lab/store/__init__.py") == "file-lab-store-init-py"


# ---- the gate ---------------------------------------------------------------

GOOD = {
    "site/index.html": '<a href="en/a.html">a</a>',
    "site/en/a.html": (
        '<link rel="stylesheet" href="../assets/book.css">\n'
        '<a href="b.html#there">b</a> <a href="#here">up</a>\n'
        '<p id="here">x</p><a href="https://example.org/x#y">out</a>'
    ),
    "site/en/b.html": '<p id="there">x</p><a href="../downloads/f.zip">f</a>',
    "site/assets/book.css": "p { color: red }",
    "site/downloads/f.zip": "zip",
    "f.zip": "zip",
    "keeps-secrets-en.html": '<p id="x">x</p><a href="#x">x</a>',
    "keeps-secrets-en.md": (
        '<a id="x"></a>\n\n# X\n\n[to X](#x), a note[^n].\n\n[^n]: One.\n'
    ),
}


def _staged(tmp_path: Path, **changed: str) -> Path:
    """Good outputs, except for what is changed, by name without suffix."""
    files = {
        **GOOD,
        **{name.replace("|", "."): text for name, text in changed.items()},
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    with zipfile.ZipFile(tmp_path / "keeps-secrets-en.epub", "w") as book:
        page = changed.get("epub", '<p id="x"><a href="#x">x</a></p>')
        book.writestr("EPUB/a.xhtml", f"<html>{page}</html>")
    return tmp_path


def _found(staging: Path) -> list[str]:
    result = links.run(staging, context(staging))
    assert (result.status is Status.FAIL) == bool(result.findings)
    return [str(one) for one in result.findings]


def test_good_outputs_pass_and_every_link_is_counted(tmp_path: Path) -> None:
    result = links.run(_staged(tmp_path), context(tmp_path))
    assert result.status is Status.PASS
    # Six on the site; one each in the offline file, Markdown and e-book.
    assert result.reason == "9 links in 4 outputs"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "site/en/b.html",
            '\n\n<a id="there" href="gone.html">x</a>',
            "site/en/b.html:3: link 'gone.html': there is no en/gone.html",
        ),
        (
            "site/en/b.html",
            '<p id="other">x</p>',
            "site/en/a.html:2: link 'b.html#there': en/b.html has no element"
            " with this id",
        ),
        (
            "site/en/b.html",
            '<p id="there">x</p><img src="x.png">',
            "site/en/b.html:1: link 'x.png': there is no en/x.png",
        ),
        (
            "site/en/b.html",
            '<p id="there">x</p>\n<p id="there">y</p>',
            "site/en/b.html:2: the id 'there' is there twice",
        ),
        (
            "site/en/b.html",
            '<p id="there">x</p><a href="/en/a.html">x</a>',
            "is absolute",
        ),
        (
            "site/en/b.html",
            '<p id="there">x</p><a href="ks:05-x">x</a>',
            "ks: is no way to a page",
        ),
        (
            "site/en/b.html",
            '<p id="there">x</p><a href="//example.org/">x</a>',
            "names a host and no scheme",
        ),
        (
            "site/en/b.html",
            '<p id="there">x</p><a href="javascript:alert(1)">x</a>',
            "javascript: is no way to a page",
        ),
        (
            "keeps-secrets-en.html",
            '<p>x</p>\n<a href="#gone">x</a>',
            "keeps-secrets-en.html:2: link '#gone': this file has no element",
        ),
        (
            "keeps-secrets-en.html",
            '<a href="other.html">x</a>',
            "there is no other.html",
        ),
        (
            "keeps-secrets-en.md",
            "# X\n\n[to Y](#y)\n",
            "keeps-secrets-en.md:3: link '#y': this file has no element",
        ),
        (
            "epub",
            '<a href="b.xhtml">x</a>',
            "keeps-secrets-en.epub!EPUB/a.xhtml:1: link 'b.xhtml': there is"
            " no EPUB/b.xhtml",
        ),
        ("f.zip", "another", "site/downloads/f.zip: differs from"),
    ],
)
def test_a_planted_fault_is_named_with_its_place(
    name: str, text: str, said: str, tmp_path: Path
) -> None:
    found = _found(_staged(tmp_path, **{name: text}))
    assert any(said in one for one in found), found
