"""The independent reader sees what a reader sees, and tells what differs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from book.press.readback import (
    Expected,
    Pages,
    Read,
    UnreadableError,
    as_map,
    compare,
    read_site_page,
)
from tests.press.printed import complete_edition

SHA_A = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"


def page(body: str) -> str:
    return (
        f"<html><body>\n<!-- blocks:start -->{body}<!-- blocks:end --></html>"
    )


def text(html: str) -> str:
    (block,) = read_site_page(page(html), "site/en/x.html")
    return block.text


def test_the_digest_is_sha256_of_the_visible_text() -> None:
    (block,) = read_site_page(
        page('<p data-block="x-0001" data-kind="paragraph">a</p>'), "x"
    )
    assert block == Read("x-0001", "paragraph", "a", 2)
    assert block.sha256 == SHA_A
    assert as_map({"site/en": {"x": [block]}}) == {
        "site/en": {"x": [["x-0001", SHA_A]]}
    }


@pytest.mark.parametrize(
    ("html", "seen"),
    [
        ("<p data-block='x'> a \n b&nbsp;c </p>", "a b c"),
        ("<p data-block='x'>e\u0301 &lt;b&gt; &#x5b88;</p>", "é <b> 守"),
        ("<p data-block='x'>a<br/>b<a data-chrome='1'>1</a></p>", "a b"),
        (
            "<ul data-block='x'><li>a<ul><li>b</li></ul>c</li><li></li></ul>",
            "a\nb\nc",
        ),
        (
            "<figure data-block='x'><figcaption>last</figcaption><table><tr>"
            "<th>a\tb</th><th></th></tr><tr><td><p>c</p><p>d</p></td><td>e"
            "</td></tr></table></figure>",
            "a b\t\nc d\te\nlast",
        ),
        (
            "<figure data-block='x'><pre><code><span>  a\t</span>\n\n&amp;"
            "</code></pre><figcaption><b data-chrome='1'>1 </b>c</figcaption>"
            "</figure>",
            "  a\t\n\n&\nc",
        ),
        (
            "<p data-block='x'>is <math><semantics><mi>k</mi><annotation>k_1"
            "</annotation></semantics></math></p>",
            "is k_1",
        ),
        (
            "<figure data-block='x'><svg><style>p{}</style><title>T</title>"
            "<desc>D</desc><g/><text>no</text></svg></figure>",
            "T",
        ),
    ],
)
def test_visible_text(html: str, seen: str) -> None:
    assert text(html) == seen


def test_the_reader_agrees_with_the_edition_on_every_sample_block() -> None:
    # Two implementations of one rule, over every kind of block there is.
    for lang in ("en", "zh"):
        for chapter in complete_edition(lang).chapters:
            for block in chapter.blocks:
                assert text(block.html) == block.text, block.id


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("<p data-block='x'>a", "site/en/x.html:2: <p> is not closed"),
        ("<p>\n<b>a</p>", "site/en/x.html:3: </p> closes <b>"),
        (
            "<div data-block='x'>\n<p data-block='y'>a</p></div>",
            "site/en/x.html:2: block x has a block inside",
        ),
    ],
)
def test_a_broken_page_is_named_with_its_line(body: str, message: str) -> None:
    with pytest.raises(UnreadableError, match=message):
        read_site_page(page(body), "site/en/x.html")


def test_a_page_without_its_marks_is_refused() -> None:
    with pytest.raises(UnreadableError, match="not both there"):
        read_site_page("<p data-block='x'>a</p>", "site/en/x.html")


ONE = Read("x-0001", "heading", "one", 3)
TWO = Read("x-0002", "code", "two", 5)
THREE = Read("x-0003", "list", "three", 7)
WANTED = {"x": [Expected(b.id, b.kind, b.sha256) for b in (ONE, TWO, THREE)]}


def differences(pages: Pages, output: str = "md/en") -> list[str]:
    return [str(problem) for problem in compare(WANTED, output, pages)]


def test_the_same_blocks_are_no_difference() -> None:
    assert differences({"x": [ONE, TWO, THREE]}) == []


def test_a_missing_block_is_named() -> None:
    assert differences({"x": [ONE, THREE]}) == [
        "keeps-secrets-en.md: md/en: chapter x: block x-0002 (code) is missing"
    ]


def test_an_extra_block_is_named_with_its_line() -> None:
    extra = Read("x-0009", "note", "more", 8)
    assert differences({"x": [ONE, TWO, THREE, extra]}, "epub/en") == [
        "keeps-secrets-en.epub:8: epub/en: chapter x: block x-0009 (note) "
        "should not be there"
    ]


def test_a_block_that_stands_twice_is_named() -> None:
    assert differences({"x": [ONE, TWO, TWO, THREE]}) == [
        "keeps-secrets-en.md:5: md/en: chapter x: block x-0002 (code) "
        "is there twice"
    ]


def test_reordered_blocks_are_named() -> None:
    assert differences({"x": [ONE, THREE, TWO]}) == [
        "keeps-secrets-en.md:7: md/en: chapter x: block x-0003 (list) stands "
        "where x-0002 (code) should"
    ]


def test_one_changed_space_in_a_listing_is_a_change() -> None:
    changed = replace(TWO, text="two ")
    assert differences({"x": [ONE, changed, THREE]}, "site/en") == [
        "site/en/x.html:5: site/en: chapter x: block x-0002 (code) says "
        "something else: 'two'"
    ]


def test_another_kind_is_a_change() -> None:
    changed = replace(THREE, kind="quote")
    assert differences({"x": [ONE, TWO, changed]}) == [
        "keeps-secrets-en.md:7: md/en: chapter x: block x-0003 (quote) "
        "should be of kind list"
    ]


def test_missing_and_unknown_chapters_are_named() -> None:
    assert differences({"y": [ONE]}, "html/zh") == [
        "keeps-secrets-zh.html: html/zh: chapter x is missing",
        "keeps-secrets-zh.html:3: html/zh: chapter y is in no edition",
    ]
