"""Stage 1: chunks of words."""

from __future__ import annotations

from types import SimpleNamespace


def test_chunks_start_every_size_minus_overlap_words(
    learner: SimpleNamespace,
) -> None:
    """Step by size - overlap; the words of a chunk are joined by a space."""
    found = learner.chunk_text("1 2 3 4 5 6 7 8", 4, 2)
    assert found == ["1 2 3 4", "3 4 5 6", "5 6 7 8"]


def test_a_chunk_that_reaches_the_end_is_the_last(
    learner: SimpleNamespace,
) -> None:
    """Stop once start + size covers the last word: no tail of overlap."""
    assert learner.chunk_text("1 2 3 4 5", 4, 3) == ["1 2 3 4", "2 3 4 5"]
    assert learner.chunk_text("1 2 3 4", 4, 3) == ["1 2 3 4"]


def test_an_empty_text_has_no_chunks(learner: SimpleNamespace) -> None:
    """Return [] for a text without words."""
    assert learner.chunk_text(" \n ", 4, 1) == []


def test_self_check_1_passes(learner: SimpleNamespace) -> None:
    """Run the cell of self-check 1 and read what it says."""
    learner.check_chunks()
