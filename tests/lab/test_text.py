import json
import unicodedata
from pathlib import Path

import pytest

from lab import canonical
from lab.errors import InvalidInput
from lab.text import Projection, Utf16Span, normalize, project, to_utf16
from tests.lab.generators import documents
from tests.lab.support import contract


def refused(source: object, format: str = "json") -> str:
    with pytest.raises(InvalidInput) as caught:
        project(format, source)  # type: ignore[arg-type]
    return str(caught.value)


def section_source(**section: object) -> str:
    good = {"heading": "h", "text": "t"}
    return json.dumps(
        {"title": "T", "sections": [good, good, good, good | section]}
    )


# --- normalising ----------------------------------------------------------


def test_all_line_ends_become_lf() -> None:
    assert normalize("a\r\nb\rc\nd\r\r\n") == "a\nb\nc\nd\n\n"


def test_only_carriage_returns_and_line_feeds_are_line_ends() -> None:
    text = "a\x0cb\u2028c\u0085d\x0be"
    assert normalize(text) == text


def test_a_line_end_across_a_read_boundary_is_one_line_end() -> None:
    assert normalize("x" * 4095 + "\r\n" + "T") == "x" * 4095 + "\nT"


def test_text_becomes_nfc() -> None:
    assert normalize("e\u0301") == "\u00e9"
    assert normalize("\ufdfa") == "\ufdfa"  # NFKC would make 18 of it


def test_a_leading_byte_order_mark_is_dropped_and_others_stay() -> None:
    assert normalize("\ufeffa\ufeffb") == "a\ufeffb"


def test_normalising_twice_changes_nothing() -> None:
    for text in ("\ufeff\ufeffa", "\r\r\n", *documents(1, 200)):
        once = normalize(text)
        assert normalize(once) == once


@contract("C-04")
@pytest.mark.parametrize("value", [None, b"bytes", 1, ["a"]])
def test_what_is_not_text_is_refused_by_name(value: object) -> None:
    with pytest.raises(InvalidInput, match="query: must be a string"):
        normalize(value, "query")  # type: ignore[arg-type]


@contract("C-04")
def test_nul_is_refused_with_its_place() -> None:
    source = "before" + "\x00" * 10291 + "after"
    assert "NUL at code point 6" in refused(source, "markdown")
    assert "NUL at code point 1" in refused("é\x00", "text")


@contract("C-04")
def test_a_lone_surrogate_is_refused_with_its_place() -> None:
    message = refused("ab\ud800", "markdown")
    assert "lone surrogate U+D800 at code point 2" in message


def test_marks_stacked_to_exhaust_the_machine_are_refused() -> None:
    assert normalize("a" + "\u0316" * 1024)
    message = refused("a" + "\u0301\u0316" * 50_000, "text")
    assert "more than 1024 combining marks in a row" in message


# --- projections ----------------------------------------------------------


def test_a_digest_covers_format_title_and_body() -> None:
    made = project("text", "One\nTwo")
    expected = canonical.sha256('["text","One","One\\nTwo"]')
    assert made == Projection("One", "One\nTwo", expected, "text")
    assert project("markdown", "One\nTwo").sha256 != made.sha256
    one = project("markdown", "---\ntitle: A\n---\nx")
    two = project("markdown", "---\ntitle: B\n---\nx")
    assert one.sha256 != two.sha256


@contract("C-03")
def test_the_same_text_has_the_same_digest_however_it_was_saved() -> None:
    windows = project("markdown", "\ufeff# Caf\u00e9\r\n\r\nquota is 7\r\n")
    unix = project("markdown", "# Cafe\u0301\n\nquota is 7\n")
    assert windows == unix
    at = windows.body.index("7")
    assert windows.body[at : at + 1] == "7"
    assert at == 17


def test_markdown_keeps_its_markup() -> None:
    assert project("markdown", "# *a*\n\n`b`").body == "# *a*\n\n`b`"


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("# One\n\n# Two", "One"),
        ("## Two\n\n# One", "One"),
        ("One\n===", "One"),
        ("```\n# no\n```\n# yes", "yes"),
        ("---\ntitle: Front\n---\n# Head", "Head"),
        ("---\n# no\ntitle: Front\n---\ntext", "Front"),
        ('---\ntitle: "A \\"b\\": c" # x\n---\n', 'A "b": c'),
        ("---\ntitle: 'it''s'\n---\n", "it's"),
        ("---\ntitle: plain # comment\n---\n", "plain"),
        ("---\ntitle: C#\n---\n", "C#"),
        ("---\ntitle: >-\n  two\n  lines\nother: x\n---\n", "two lines"),
        ("\ufeff---\na: 1\n---\n# H", "H"),
        ("\ufeff# H", "H"),
        ("## only two", "Untitled"),
        ("#\n\n# real", "real"),
        ("> # quoted\n\ntext", "Untitled"),
        ("", "Untitled"),
        ("---\ntitle:\n---\n", "Untitled"),
        ("## C#\n\n# C#", "C#"),
    ],
)
def test_a_markdown_title(source: str, title: str) -> None:
    assert project("markdown", source).title == title


def test_the_title_of_plain_text_is_its_first_line_with_text() -> None:
    made = project("text", "\n \n  # First  \nsecond")
    assert made.title == "# First"
    assert made.body == "\n \n  # First  \nsecond"
    assert project("text", " \n").title == "Untitled"


def test_json_is_projected_as_a_document_with_headings() -> None:
    source = {
        "title": "Travel",
        "sections": [
            {"heading": "Hotels", "text": "At most 180.\r\nPer night."},
            {"heading": "Trains", "text": ""},
        ],
    }
    made = project("json", "\ufeff" + json.dumps(source))
    assert made.title == "Travel"
    assert made.body == (
        "# Travel\n\n## Hotels\nAt most 180.\nPer night.\n\n## Trains\n"
    )


def test_json_escapes_are_read_before_accents_are_joined() -> None:
    # In the source the letter n of the escape stands before the accent.
    source = '{"title":"T","sections":[{"heading":"h","text":"a\\n\u0301"}]}'
    assert project("json", source).body.endswith("a\n\u0301")


def test_json_without_sections_is_its_title() -> None:
    made = project("json", '{"title":"T","sections":[]}')
    assert made.body == "# T"


def test_json_with_a_blank_title_is_untitled() -> None:
    assert project("json", '{"title":" ","sections":[]}').title == "Untitled"


@contract("C-04")
@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"text": 1}, "sections[3].text: must be a string, not the number 1"),
        ({"text": None}, "sections[3].text: must be a string, not null"),
        ({"text": True}, "sections[3].text: must be a string, not a boolean"),
        ({"text": ["a"]}, "sections[3].text: must be a string, not a list"),
        ({"text": {}}, "sections[3].text: must be a string, not an object"),
        ({"heading": 1.5}, "sections[3].heading: must be a string"),
        ({"heading": "a\r\nb"}, "sections[3].heading: must be one line"),
        ({"extra": "x"}, "sections[3]: unknown key 'extra'"),
        ({"text": "\ud800"}, "sections[3].text: lone surrogate U+D800"),
        ({"text": "a\x00"}, "sections[3].text: NUL at code point 1"),
        ({"text": float("nan")}, "sections[3].text: must be a string, not"),
        ({"text": float("inf")}, "the number Infinity"),
    ],
)
def test_a_bad_section_is_refused_by_its_path(
    section: dict[str, object], message: str
) -> None:
    assert message in refused(section_source(**section))


@contract("C-04")
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "json source: not JSON at line 1 column 1"),
        ("[]", "document: must be an object, not a list"),
        ('"x"', "document: must be an object, not a string"),
        ("{}", "title: missing"),
        ('{"title":"a"}', "sections: missing"),
        ('{"title":1,"sections":[]}', "title: must be a string"),
        ('{"title":"a","sections":{}}', "sections: must be a list"),
        ('{"title":"a","sections":["x"]}', "sections[0]: must be an object"),
        ('{"title":"a","sections":[{"text":""}]}', "sections[0].heading: mis"),
        ('{"title":"a","sections":[],"x":1}', "document: unknown key 'x'"),
        ('{"title":"a","sections":[],"\\ud800":1}', "key '\\ud800'"),
        ('{"title":"a","title":"b","sections":[]}', "'title' twice"),
        (
            '{"title":"a","sections":[{"heading":"h","heading":"h","text":""}]}',
            "sections[0]: must be an object, not an object with the key"
            " 'heading' twice",
        ),
        ('{"title":NaN,"sections":[]}', "title: must be a string, not the"),
        ('{"title":"a\nb","sections":[]}', "not JSON at line 1"),
        ('{"title":"\ud800","sections":[]}', "title: lone surrogate"),
    ],
)
def test_a_bad_json_document_is_refused(source: str, message: str) -> None:
    assert message in refused(source)


@pytest.mark.parametrize("digits", ["9" * 4301, "1" + "0" * 10**6, "1e999"])
def test_a_huge_number_is_refused_by_its_path(digits: str) -> None:
    source = section_source(text=0).replace('"text": 0', f'"text": {digits}')
    message = refused(source)
    assert message.startswith("sections[3].text: must be a string")
    assert len(message) < 100


@contract("C-04")
@pytest.mark.parametrize("bomb", ["[" * 200_000, '{"a":' * 200_000])
def test_a_nesting_bomb_is_refused(bomb: str) -> None:
    assert "nested too deeply" in refused(bomb)


def test_bytes_are_no_source() -> None:
    assert "json source: must be a string" in refused(b"{}")
    assert "markdown source: must be a string" in refused(b"", "markdown")


@pytest.mark.parametrize("format", ["html", "", "Markdown", None])
def test_an_unknown_format_is_refused(format: str) -> None:
    assert "format: must be one of markdown, json, text" in refused("", format)


# --- other consumers' units -----------------------------------------------


@contract("C-03")
def test_a_span_after_an_emoji_moves_in_utf16() -> None:
    text = "\U0001f44d\U0001f3fd quota is 5"
    assert text[12:13] == "5"
    # Two of the twelve code points before it take two units each.
    assert to_utf16(text, 12, 13) == Utf16Span(14, 15)
    assert to_utf16(text, 0, 2) == Utf16Span(0, 4)
    # The last code point of the first plane takes one unit.
    assert to_utf16("ａ\uffffb", 2, 3) == Utf16Span(2, 3)
    units = text.encode("utf-16-le")
    assert units[14 * 2 : 15 * 2].decode("utf-16-le") == "5"


@pytest.mark.parametrize(("start", "end"), [(-1, 0), (2, 1), (0, 4)])
def test_a_span_outside_the_text_is_refused(start: int, end: int) -> None:
    with pytest.raises(InvalidInput):
        to_utf16("abc", start, end)


@pytest.mark.data
def test_normalising_agrees_with_the_unicode_test_file(data: Path) -> None:
    path = data / "unicode_normalization" / "NormalizationTest.txt"
    rows = 0
    for line in path.read_text(encoding="utf-8").split("\n"):
        if not line or line[0] in "#@":
            continue
        columns = [
            "".join(chr(int(c, 16)) for c in column.split())
            for column in line.split(";")[:5]
        ]
        source, nfc, nfd, nfkc, nfkd = columns
        assert normalize(source) == normalize(nfd) == normalize(nfc) == nfc
        assert normalize(nfkd) == normalize(nfkc) == nfkc
        rows += 1
    assert rows == 18_593
    assert unicodedata.unidata_version >= "14"
