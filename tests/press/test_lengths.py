"""The build says how long each chapter is."""

from __future__ import annotations

from dataclasses import replace

from book.press import lengths
from tests.press.printed import complete_editions


def test_every_chapter_has_a_line_with_both_languages() -> None:
    editions = complete_editions()
    lines = lengths.table(editions).splitlines()
    chapters = editions["en"].chapters
    assert [line.split()[0] for line in lines[1:-1]] == [
        chapter.slug for chapter in chapters
    ]
    assert lines[-1].split()[1:] == [
        f"{sum(c.words for c in editions[lang].chapters):,}"
        for lang in ("en", "zh")
    ]


def test_words_of_a_chapter_stand_in_the_column_of_their_language() -> None:
    editions = complete_editions()
    first = editions["zh"].chapters[0]
    longer = replace(first, words=1234)
    rest = editions["zh"].chapters[1:]
    editions = {
        **editions,
        "zh": replace(editions["zh"], chapters=(longer, *rest)),
    }
    line = lengths.table(editions).splitlines()[1]
    assert line.split()[0] == first.slug
    assert line.split()[2] == "1,234"
