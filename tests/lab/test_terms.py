import sqlite3
import unicodedata
from pathlib import Path

import pytest

from lab.terms import FINGERPRINT, MAX_TERM, VERSION, terms
from lab.terms_tables import MARKS
from tests.lab.generators import documents
from tests.lab.support import contract


def through_fts5(text: str) -> list[str]:
    """Index ``text`` as the index does; read the tokens FTS5 kept."""
    db = sqlite3.connect(":memory:")
    db.execute(
        "CREATE VIRTUAL TABLE t USING fts5"
        "(terms, tokenize=\"ascii tokenchars '_'\")"
    )
    db.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, 'instance')")
    db.execute("INSERT INTO t VALUES (?)", (" ".join(terms(text)),))
    rows = db.execute("SELECT term FROM v ORDER BY doc, offset").fetchall()
    db.close()
    return [term for (term,) in rows]


def finds(query: str, text: str) -> bool:
    wanted = terms(query)
    return bool(wanted) and set(wanted) <= set(terms(text))


SCRIPTS = [
    ("API接口v2", ["api", "接口", "v2"]),
    ("38.101", ["38", "101"]),
    ("multi-agent", ["multi", "agent"]),
    ("snake_case __init__", ["snake_case", "__init__"]),
    ("Ａｂｃ＿１２", ["abc_12"]),
    ("Café CAFE\u0301", ["café", "café"]),
    ("STRASSE Straße", ["strasse", "straße"]),
    ("İSTANBUL ISPARTA ı", ["i\u0307stanbul", "isparta", "ı"]),
    ("ΟΔΟΣ. οδος", ["οδος", "οδος"]),
    ("Москва Ёлка", ["москва", "ёлка"]),
    ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
    ("สวัสดี ครับ", ["สวัสดี", "ครับ"]),
    ("שָׁלוֹם عَرَبِيّ", ["ש\u05b8\u05c1לו\u05b9ם", "عَرَبِي\u0651"]),
    ("北京大学", ["北京", "京大", "大学"]),
    ("A单B", ["a", "单", "b"]),
    ("日本語のテスト", ["日本", "本語", "語の", "のテ", "テス", "スト"]),
    ("한국어 테스트 배포", ["한국", "국어", "테스", "스트", "배포"]),
    ("ㇰㇱㇲ", ["ㇰㇱ", "ㇱㇲ"]),
    ("ﾕｰｻﾞｰ", ["ユー", "ーザ", "ザー"]),
    ("ﾊﾟﾋﾟ", ["パピ"]),
    ("\u30cf\u309a\u30d2", ["パヒ"]),
    ("時々 〇一", ["時々", "〇一"]),
    ("\U00020000\U00020001", ["\U00020000\U00020001"]),
    ("\u3400一\u9fff", ["\u3400一", "一\u9fff"]),
    (
        "\U00020000一\U0002ceb0",
        ["\U00020000一", "一\U0002ceb0"],
    ),
    ("\ufa0e一", ["\ufa0e一"]),
    ("\U0001b164ア\U0001b000", ["\U0001b164ア", "ア\U0001b000"]),
    ("\u1112\u119e가\u3131", ["\u1112\u119e", "\u119e가", "가\u3131"]),
    ("\U0002a700", ["\U0002a700"]),
    ("\U00031350\U00031351", ["\U00031350\U00031351"]),
    ("\U0002ebf0\U000323b0", ["\U0002ebf0\U000323b0"]),
    ("漢\U000e0100字", ["漢字"]),
    ("in\u00adter\u200dop", ["interop"]),
    ("x² ½ Ⅷ", ["x²", "½", "ⅷ"]),
    ("J\u030c", ["ǰ"]),
    ("1. a\u0301\u0316b", ["1", "á\u0316b"]),
    (" \u0301\u0301 ", []),
    ("…—!?（）。，・", []),
    ("\U0001f44d\U0001f3fd ❤\ufe0f", []),
    ("", []),
]


@pytest.mark.parametrize(("text", "expected"), SCRIPTS)
def test_the_terms_of_every_script(text: str, expected: list[str]) -> None:
    expected = [unicodedata.normalize("NFC", term) for term in expected]
    assert terms(text) == expected


@pytest.mark.parametrize("text", [text for text, _ in SCRIPTS])
def test_fts5_keeps_every_term_as_it_is(text: str) -> None:
    assert through_fts5(text) == terms(text)


def test_fts5_keeps_the_terms_of_documents_that_look_for_trouble() -> None:
    for text in documents(2, 150):
        assert through_fts5(text) == terms(text)


def test_fts5_keeps_a_term_of_any_length() -> None:
    for unit in ("a", "é", "\U0001e900", "汉\u3099", "汉" + "\u0301" * 9000):
        text = unit * 40_000 if len(unit) < 9 else unit * 3
        assert through_fts5(text) == terms(text)
    assert terms("a" * 40_000) == ["a" * MAX_TERM]


def test_a_term_has_no_character_the_ascii_tokenizer_would_cut() -> None:
    for text in documents(3, 150):
        for term in terms(text):
            assert term == term.lower()
            assert all(c > "\x7f" or c.isalnum() or c == "_" for c in term)


def test_every_code_point_is_safe_alone_and_between_letters() -> None:
    for first in range(0, 0x110000, 0x1000):
        characters = map(chr, range(first, first + 0x1000))
        for term in terms(" ".join(f"{c} a{c}b" for c in characters)):
            assert term
            assert all(c > "\x7f" or c.isalnum() or c == "_" for c in term)


def test_terms_of_terms_are_the_same_terms() -> None:
    for text in documents(4, 150):
        found = terms(text)
        assert terms(" ".join(found)) == found


def test_a_border_between_han_and_ascii_is_a_border_of_terms() -> None:
    text = "步2 重跑gen-itgc后50条悬空引用清零"
    for query in ("悬空", "itgc", "gen", "50", "重跑", "gen-itgc"):
        assert finds(query, text)
    assert not finds("空悬", text)


@pytest.mark.parametrize(
    "text",
    ["한국어 테스트 배포", "日本語のテスト", "北京大学是好学校", "ﾃｽﾄ環境"],
)
def test_two_characters_from_anywhere_in_a_run_are_found(text: str) -> None:
    folded = unicodedata.normalize("NFKC", text)
    for run in folded.split():
        for at in range(len(run) - 1):
            assert finds(run[at : at + 2], text)
            assert finds(run[at:], text)


def test_a_single_character_between_other_scripts_is_found() -> None:
    assert finds("单", "A单B")


def test_half_width_and_full_width_kana_find_each_other() -> None:
    assert finds("ユーザー", "開始ﾕｰｻﾞｰ認証")
    assert finds("ﾕｰｻﾞｰ", "開始ユーザー認証")


def test_an_accent_makes_another_letter() -> None:
    assert not finds("a", "ą")
    assert not finds("ą", "a")
    assert finds("a\u0328", "ą")


def test_a_run_of_marks_does_not_hide_the_word_it_ends() -> None:
    assert finds("cafe\u0301", "CAF\u00c9")


@contract("C-14")
@pytest.mark.parametrize("mark", [chr(c) for c in range(33, 127)])
def test_ascii_punctuation_is_never_syntax(mark: str) -> None:
    if mark.isalnum() or mark == "_":
        assert terms(f"a {mark} b") == ["a", mark.lower(), "b"]
    else:
        assert terms(mark) == []
        assert terms(f"a{mark}b") == ["a", "b"]


@contract("C-14")
def test_a_serial_number_is_found_by_itself() -> None:
    assert terms("TS01-H-18011-005") == ["ts01", "h", "18011", "005"]


def test_a_lone_surrogate_or_nul_is_no_term() -> None:
    assert terms("a\ud800b\x00c") == ["a", "b", "c"]


def test_marks_are_those_of_unicode_14() -> None:
    listed = {c for a, b in MARKS for c in range(a, b + 1)}
    for code in listed:
        assert unicodedata.category(chr(code))[0] == "M"
    if unicodedata.unidata_version == "14.0.0":
        everything = range(0x110000)
        marks = {
            c for c in everything if unicodedata.category(chr(c))[0] == "M"
        }
        assert listed == marks


def test_the_fingerprint_names_the_version() -> None:
    assert f"terms/{VERSION}" == FINGERPRINT


@pytest.mark.data
def test_equivalent_strings_have_equal_terms(data: Path) -> None:
    path = data / "unicode_normalization" / "NormalizationTest.txt"
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line and line[0] not in "#@":
            source, nfc, nfd = (
                "".join(chr(int(c, 16)) for c in column.split())
                for column in line.split(";")[:3]
            )
            assert terms(source) == terms(nfc) == terms(nfd)
