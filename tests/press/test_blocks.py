"""Visible text: what a reader sees, and nothing else."""

from __future__ import annotations

import hashlib

import pytest

from book.press.blocks import KINDS, make_block, visible_text
from tests.press.sample import sample_editions


def test_runs_of_white_space_are_one_space_and_the_ends_are_bare() -> None:
    assert visible_text("<p>  a\n  b\u00a0c <em> d</em> </p>") == "a b c d"


def test_items_and_nested_items_are_lines() -> None:
    html = "<ul><li>a<ul><li>b</li></ul></li><li><p>c</p><p>d</p></li></ul>"
    assert visible_text(html) == "a\nb\nc\nd"


def test_cells_are_separated_by_tabs_and_the_caption_comes_last() -> None:
    html = (
        "<figure><figcaption>cap</figcaption><table><tr><th>a\tb</th><td/>"
        "</tr><tr><td><p>c</p><p>d</p></td><td>e</td></tr></table></figure>"
    )
    assert visible_text(html) == "a b\t\nc d\te\ncap"


def test_code_is_exact_and_chrome_is_not_there() -> None:
    html = (
        "<figure><pre><code>a\t b \n\n  c</code></pre><figcaption>"
        '<span data-chrome="1">Listing 1</span> cap</figcaption></figure>'
    )
    assert visible_text(html) == "a\t b \n\n  c\ncap"


def test_a_formula_is_its_tex_and_a_drawing_its_title() -> None:
    html = (
        '<p>x <math xmlns="http://www.w3.org/1998/Math/MathML"><semantics>'
        "<mi>k</mi><annotation>k</annotation></semantics></math> "
        '<svg xmlns="http://www.w3.org/2000/svg"><title>t</title>'
        "<text>label</text></svg></p>"
    )
    assert visible_text(html) == "x k t"


def test_text_is_composed_but_code_keeps_its_bytes() -> None:
    assert visible_text("<p>e\u0301</p>") == "\u00e9"
    assert visible_text("<pre>e\u0301</pre>") == "e\u0301"


def test_a_block_carries_its_id_and_the_digest_of_its_text() -> None:
    block = make_block("s", 7, "paragraph", '<p class="x">a &lt; b</p>', 3)
    assert block.id == "s-0007"
    assert block.html.startswith('<p data-block="s-0007" data-kind="paragraph"')
    assert block.sha256 == hashlib.sha256(b"a < b").hexdigest()


def test_a_block_that_is_not_xml_or_of_no_known_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="not well-formed"):
        make_block("s", 1, "paragraph", "<p>a<br></p>", 1)
    with pytest.raises(ValueError, match="unknown kind"):
        make_block("s", 1, "poem", "<p>a</p>", 1)


def test_the_sample_has_every_kind_of_block_in_both_languages() -> None:
    for edition in sample_editions().values():
        kinds = {b.kind for c in edition.chapters for b in c.blocks}
        assert kinds == set(KINDS)
