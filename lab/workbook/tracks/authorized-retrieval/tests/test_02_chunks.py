"""Stage 2: sections first, then size, with exact offsets."""

from __future__ import annotations

import pytest
from authorized_retrieval import (
    Chunk,
    Document,
    chunk_document,
    estimate_tokens,
    sections,
)


def spans(text: str, size: int = 96, overlap: int = 16) -> list[list[int]]:
    """Return the span of every chunk of a text."""
    return [[one.start, one.end] for one in chunks(text, size, overlap)]


def chunks(text: str, size: int = 96, overlap: int = 16) -> list[Chunk]:
    """Return the chunks of a text."""
    document = Document("larkspur", "travel-policy", text, version=3)
    return chunk_document(document, size, overlap)


def test_tokens_are_characters_by_four_rounded_up() -> None:
    """Round up: five characters are two tokens, none are none."""
    texts = ["", "a", "abcd", "abcde", "abcdefgh"]
    assert [estimate_tokens(text) for text in texts] == [0, 1, 1, 2, 2]


def test_sections_begin_at_their_headings() -> None:
    """Only lines that start with `## ` cut; the heading itself is left out."""
    text = "Intro.\n## Limits\nHotel.\n### Not one\n## Trains\n"
    assert [(name, text[start:end]) for name, start, end in sections(text)] == [
        ("body", "Intro.\n"),
        ("Limits", "\nHotel.\n### Not one\n"),
        ("Trains", "\n"),
    ]


def test_a_text_without_headings_is_one_body() -> None:
    """Start with one section `body` that is the whole text."""
    assert sections("Hotel 180.") == [("body", 0, 10)]


def test_words_are_packed_up_to_the_size() -> None:
    """`alpha beta` is 10 characters, 3 tokens; with `gamma` it is 4."""
    assert spans("alpha beta gamma delta", 3, 0) == [[0, 10], [11, 22]]


def test_the_next_chunk_repeats_the_words_that_fit_the_overlap() -> None:
    """`gamma` is 2 tokens and is repeated; `beta gamma` is 3 and is not."""
    assert spans("alpha beta gamma delta", 4, 2) == [[0, 16], [11, 22]]


def test_the_end_of_a_section_ends_its_chunks() -> None:
    """Stop when a chunk reaches the last word: no tail of overlap alone."""
    assert spans("alpha beta gamma", 4, 2) == [[0, 16]]


def test_offsets_are_exact_in_the_whole_document() -> None:
    """Give finditer the section's start and end instead of slicing."""
    text = (
        "\n\n  Intro.\n## Limits\n\n   Hotel 180.\n\n## Trains\nSecond class."
    )
    found = chunks(text)
    assert [(one.section, one.start, one.text) for one in found] == [
        ("body", 4, "Intro."),
        ("Limits", 25, "Hotel 180."),
        ("Trains", 47, "Second class."),
    ]
    assert [text[one.start : one.end] for one in found] == [
        one.text for one in found
    ]


def test_a_repeated_sentence_keeps_its_own_offsets() -> None:
    """Move a cursor forward; text.find would give the first place again."""
    assert spans("same same same same", 1, 0) == [
        [0, 4],
        [5, 9],
        [10, 14],
        [15, 19],
    ]


def test_ids_count_from_1_through_the_document() -> None:
    """Number the chunks of all sections together, from 1."""
    found = chunks("One.\n## A\nTwo.\n## B\nThree.")
    assert [one.chunk_id for one in found] == [
        "travel-policy::1",
        "travel-policy::2",
        "travel-policy::3",
    ]
    assert found[0].version == 3


def test_a_section_without_words_gives_no_chunk() -> None:
    """Skip a section that holds nothing but blanks."""
    assert spans("## A\n\n## B\n  \n") == []
    assert spans("") == []


def test_an_over_long_word_stays_whole_and_alone() -> None:
    """Take one word even if it is too long, then go on after it."""
    text = "aa " + "b" * 50 + " cc"
    assert spans(text, 3, 1) == [[0, 2], [3, 53], [54, 56]]


def test_overlap_gives_way_to_a_word_that_needs_the_room() -> None:
    """Repeat nothing when the next word would not fit beside it."""
    text = "aaaa bbbb " + "c" * 12
    assert spans(text, 3, 1) == [[0, 9], [10, 22]]


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (8, -1), (8, 8)])
def test_impossible_sizes_are_refused(size: int, overlap: int) -> None:
    """Raise ValueError unless max_tokens > 0 and 0 <= overlap < max_tokens."""
    with pytest.raises(ValueError, match=r"max_tokens|overlap"):
        chunks("alpha", size, overlap)


def test_the_default_is_96_tokens_with_16_repeated() -> None:
    """Leave the defaults as they are: 96 and 16."""
    # 77 words with their blanks are 77 * 5 - 1 = 384 characters: 96 tokens.
    # Of those, the last 13 are 13 * 5 - 1 = 64: 16 tokens.
    text = " ".join(["word"] * 160)
    assert spans(text) == [[0, 384], [320, 704], [640, 799]]
