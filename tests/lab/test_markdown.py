import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.markdown import (
    BLANK,
    COMMENT,
    FENCE,
    FRONT_MATTER,
    HEADING,
    HTML,
    INDENTED,
    MARKER,
    MAX_DEPTH,
    PARAGRAPH,
    RULE,
    TABLE,
    Block,
    headings,
    scan,
)
from lab.text import normalize
from tests.lab.generators import documents


def outline(text: str) -> list[tuple[int, str]]:
    return [(block.level, block.text) for block in headings(scan(text))]


def kinds(text: str) -> list[tuple[str, str]]:
    return [(block.kind, text[block.start : block.end]) for block in scan(text)]


def code(text: str) -> list[tuple[str, str]]:
    return [(b.info, b.text) for b in scan(text) if b.kind == FENCE]


def test_blocks_tile_every_text() -> None:
    for source in documents(5, 400):
        text = normalize(source)
        blocks = scan(text)
        assert "".join(text[b.start : b.end] for b in blocks) == text
        for block in blocks:
            assert block.start < block.end
            if block.kind == BLANK:
                assert not text[block.start : block.end].strip()


def test_an_empty_text_has_no_blocks() -> None:
    assert scan("") == []


def test_each_kind_of_block() -> None:
    text = (
        "---\na: 1\n---\n# H #\n\npara\nmore\n- item\n-\n\n---\n\n"
        "    code\n\n<!-- c\n# no\n-->\n<div>\n# no\n\n~~~ x\n# no\n~~~\n"
        "| a |\n|---|\n| b |\n"
    )
    assert kinds(text) == [
        (FRONT_MATTER, "---\na: 1\n---\n"),
        (HEADING, "# H #\n"),
        (BLANK, "\n"),
        (PARAGRAPH, "para\nmore\n"),
        (PARAGRAPH, "- item\n"),
        (MARKER, "-\n"),
        (BLANK, "\n"),
        (RULE, "---\n"),
        (BLANK, "\n"),
        (INDENTED, "    code\n"),
        (BLANK, "\n"),
        (COMMENT, "<!-- c\n# no\n-->\n"),
        (HTML, "<div>\n# no\n"),
        (BLANK, "\n"),
        (FENCE, "~~~ x\n# no\n~~~\n"),
        (TABLE, "| a |\n|---|\n| b |\n"),
    ]


# --- headings --------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("# a", (1, "a")),
        ("###### a", (6, "a")),
        ("## C#", (2, "C#")),
        ("## x ##", (2, "x")),
        ("## x #####", (2, "x")),
        ("## x ## y", (2, "x ## y")),
        ("## x \\#", (2, "x \\#")),
        ("   # a", (1, "a")),
        ("#\ta", (1, "a")),
        ("#", (1, "")),
        ("## ##", (2, "")),
        ("# a\u2028# b", (1, "a\u2028# b")),
    ],
)
def test_an_atx_heading(line: str, heading: tuple[int, str]) -> None:
    assert outline(line) == [heading]


@pytest.mark.parametrize(
    "line",
    [
        "#a",
        "####### a",
        "\\# a",
        "    # a",
        "\t# a",
        "x # a",
        "a\u2028# no",
        "a\x0c# no",
        "a\x85# no",
    ],
)
def test_no_heading(line: str) -> None:
    assert outline(line) == []


def test_setext_headings_take_the_whole_paragraph() -> None:
    assert outline("One\ntwo\n===\n\nThree\n   ---   \n") == [
        (1, "One two"),
        (2, "Three"),
    ]


def test_no_setext_heading_without_its_own_paragraph() -> None:
    assert outline("\n---\n\n- item\n---\n\n> quote\n===\n\n    x\n---") == []


def test_a_link_definition_is_no_setext_heading() -> None:
    assert outline("[a]: /url\n===\n\n[a]") == []
    assert outline("[a]: /url\nText\n===") == [(1, "Text")]


def test_what_cannot_interrupt_a_paragraph_stays_in_it() -> None:
    assert outline("Text\n2. two\n===") == [(1, "Text 2. two")]
    assert outline("Text\n<b>\n===") == [(1, "Text <b>")]
    assert outline("Text\n<b>\n# yes") == [(1, "yes")]
    assert outline("> Text\n<b>\n# yes") == [(1, "yes")]
    assert outline("Text\n1. one\n===") == []
    assert outline("Text\n    # no\n===") == [(1, "Text # no")]


def test_an_empty_item_ends_at_a_blank_line() -> None:
    assert outline("-\n\n  # yes") == [(1, "yes")]
    assert outline("-\n  # no\n\n  # no") == []


def test_a_heading_in_a_quote_or_list_does_not_divide_the_document() -> None:
    text = "> # quoted\n\n- # listed\n\n# real\n"
    assert outline(text) == [(1, "real")]
    found = [b for b in scan(text) if b.kind == HEADING]
    assert [(b.text, b.depth) for b in found] == [
        ("quoted", 1),
        ("listed", 1),
        ("real", 0),
    ]


# --- fences ----------------------------------------------------------------


def test_a_comment_inside_a_fence_is_no_heading() -> None:
    text = "# Example\n```python\n# A code comment\n```\n# Next"
    assert outline(text) == [(1, "Example"), (1, "Next")]


@pytest.mark.parametrize(
    ("text", "fences"),
    [
        ("~~~\n~~~ruby\n# x\n~~~", [("", "~~~ruby\n# x")]),
        ("```\n# fake\n`````\n# x", [("", "# fake")]),
        ("   ```\n   # a\n   ```\n", [("", "# a")]),
        ("```\n# open to the end\n", [("", "# open to the end")]),
        ("```\n~~~\n# a\n```", [("", "~~~\n# a")]),
        ("````\n```\n# a\n````", [("", "```\n# a")]),
        ("```\n``` x\n# a\n```", [("", "``` x\n# a")]),
        ("```\n    ```\n# a\n```", [("", "    ```\n# a")]),
        ("    ```\n", []),
        ("``\n# a\n``", []),
        ("``` a`b\n", []),
        ("~~~ a`b ~~~\nx\n~~~", [("a`b ~~~", "x")]),
        ("``` \t py x \t\n```", [("py x", "")]),
        ("```", [("", "")]),
        ("x\x0c```\n# real\n", []),
    ],
)
def test_a_fence(text: str, fences: list[tuple[str, str]]) -> None:
    assert code(text) == fences


def test_no_fence_leaks_a_heading_after_it() -> None:
    for text in (
        "~~~\n~~~ruby\n# x\n~~~\n# yes",
        "```\n# fake\n`````\n# yes",
        "   ```\n# no\n   ```\n# yes",
        "```\n~~~\n# no\n```\n# yes",
        "    ```\n\n# yes",
        "x\x0c```\n# yes",
    ):
        assert outline(text) == [(1, "yes")], text


def test_a_fence_in_a_list_item_ends_with_the_item() -> None:
    assert outline("- ```\n  # no\n  ```\n# yes") == [(1, "yes")]
    assert outline("- ```\n  # no\n# yes") == [(1, "yes")]
    assert outline("1. a\n\n   ```\n   # no\n   ```\n\n# yes") == [(1, "yes")]
    assert outline("> ```\n> # no\n# yes") == [(1, "yes")]


def test_a_list_item_around_a_tab_indented_fence() -> None:
    text = "-\ta\n\n\t```\n\t# no\n\t```\n# yes"
    assert outline(text) == [(1, "yes")]
    assert code(text) == [("", "# no")]


# --- front matter ----------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "---\na: 1\n---\n",
        "---\n# comment\n\na: 1\n...\n",
        '--- \n"a b": 1\n--- \n',
        "---\ntitle: x\nlist:\n- # y\n---\n",
    ],
)
def test_front_matter(text: str) -> None:
    rest = "# H\n"
    assert kinds(text + rest) == [(FRONT_MATTER, text), (HEADING, rest)]


@pytest.mark.parametrize(
    "text",
    [
        "---\n\n# Not\n\n---\n",
        "---\nSome text.\n---\n",
        "---\na: 1\n",
        "\n---\na: 1\n---\n",
        "----\na: 1\n----\n",
        "---",
    ],
)
def test_no_front_matter(text: str) -> None:
    assert all(kind != FRONT_MATTER for kind, _ in kinds(text))


# --- html, tables ----------------------------------------------------------


def test_a_comment_hides_headings_to_its_end_even_across_blank_lines() -> None:
    assert outline("<!--\n\n# no\n\n-->\n# yes") == [(1, "yes")]
    assert outline("<!-- x --> # no\n# yes") == [(1, "yes")]


def test_html_hides_headings_to_the_next_blank_line() -> None:
    assert outline("<div>\n# no\n\n# yes\n</div>") == [(1, "yes")]
    assert outline("<script>\n\n# no\n</script>\n# yes") == [(1, "yes")]


def test_a_table_with_two_header_rows_is_one_table() -> None:
    rows = "".join(f"| {n} | x |\n" for n in range(30))
    text = f"| a | b |\n| c | d |\n|---|:-:|\n{rows}"
    assert kinds("Intro.\n" + text) == [(PARAGRAPH, "Intro.\n"), (TABLE, text)]


def test_a_table_ends_before_a_blank_line_or_another_block() -> None:
    assert kinds("| a |\n|---|\n| b |\n# H\n")[1] == (HEADING, "# H\n")
    assert kinds("| a |\n|---|\n| b |\n\ntext")[2] == (PARAGRAPH, "text")


def test_a_delimiter_row_of_another_width_makes_no_table() -> None:
    text = "| a | b |\n|---|\n"
    assert kinds(text) == [(PARAGRAPH, text)]


# --- depth, time -----------------------------------------------------------


def test_deeper_nesting_than_the_limit_is_read_as_text() -> None:
    text = ">" * (MAX_DEPTH + 1) + "# no\n"
    (block,) = scan(text)
    assert (block.kind, block.depth) == (PARAGRAPH, MAX_DEPTH)
    (block,) = scan(text[1:])
    assert (block.kind, block.depth) == (HEADING, MAX_DEPTH)


# --- CommonMark ------------------------------------------------------------

# Compared with every example of the specification: the level and letters
# of each heading, the language and content of each code block. Inline
# markup is not this scanner's business, so a heading's text is compared
# by its letters and digits, and two examples are left out whose only
# difference is an escape or entity in the word after a fence.
INLINE_IN_INFO = {
    "``` foo\\+bar\nfoo\n```\n",
    "``` f&ouml;&ouml;\nfoo\n```\n",
}


def examples(data: Path) -> Iterator[dict[str, Any]]:
    path = data / "commonmark_spec" / "spec.json"
    for example in json.loads(path.read_text(encoding="utf-8")):
        if example["markdown"] not in INLINE_IN_INFO:
            yield example


def letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text)


def heading_pairs(blocks: list[Block]) -> list[tuple[int, str]]:
    found = [block for block in blocks if block.kind == HEADING]
    return [(block.level, letters(block.text)) for block in found]


@pytest.mark.data
def test_headings_are_those_of_every_commonmark_example(data: Path) -> None:
    seen = 0
    for example in examples(data):
        expected = [
            (int(level), letters(html.unescape(re.sub("<[^>]*>", "", text))))
            for level, text in re.findall(
                r"<h([1-6])>(.*?)</h\1>", example["html"], re.DOTALL
            )
        ]
        blocks = scan(normalize(example["markdown"]))
        assert heading_pairs(blocks) == expected, example
        seen += 1
    assert seen == 653


@pytest.mark.data
def test_code_blocks_are_those_of_every_commonmark_example(data: Path) -> None:
    seen = 0
    for example in examples(data):
        expected = [
            (html.unescape(info), html.unescape(text).removesuffix("\n"))
            for info, text in re.findall(
                r'<pre><code(?: class="language-([^"]*)")?>(.*?)</code></pre>',
                example["html"],
                re.DOTALL,
            )
        ]
        blocks = scan(normalize(example["markdown"]))
        found = [
            (block.info.split(" ")[0], block.text)
            for block in blocks
            if block.kind in (FENCE, INDENTED)
        ]
        assert found == expected, example
        seen += 1
    assert seen == 653
