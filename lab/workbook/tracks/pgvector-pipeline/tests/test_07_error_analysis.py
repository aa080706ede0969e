"""Stage 7: what is missed, why, and what would mend it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import error_grading as grading
import pipeline_types
import pytest

TEXT = Path(pipeline_types.__file__).with_name("error_analysis.md")
TO_DO = re.compile(r"<!-- (Stage 07: [^>]*?) -->")


def error_analysis() -> str:
    """Return the learner's text.

    Raises ``NotImplementedError`` while its table has no rows.
    """
    text = TEXT.read_text("utf-8")
    if not grading.rows(text):
        asked = TO_DO.search(text)
        task = asked[1] if asked else "Stage 07: give every miss a row"
        raise NotImplementedError(task)
    return text


@pytest.fixture(scope="module")
def missed(connection: Any, schema: str) -> Callable[[], frozenset[str]]:
    """Return what asks this pipeline, once, which queries it misses."""

    @cache
    def ask() -> frozenset[str]:
        from chunker import chunk_documents, load_documents
        from reranking import Bm25Reranker, Pipeline
        from store import ChunkStore, HashingEmbedder, index_chunks

        embedder = HashingEmbedder()
        store = ChunkStore(connection, schema, embedder.dims)
        store.create()
        index_chunks(store, embedder, chunk_documents(load_documents()))
        pipeline = Pipeline(store, embedder, Bm25Reranker())
        return frozenset(
            query.id
            for query in pipeline_types.load_golden()
            if not any(
                query.relevant(hit.chunk)
                for hit in pipeline.search(query.query, pipeline_types.TOP_K)
            )
        )

    return ask


@pytest.fixture(scope="module")
def key() -> dict[str, grading.Reading]:
    """Return the key."""
    return grading.load_key(pipeline_types.KEY)


def test_every_miss_has_a_row(missed: Callable[[], frozenset[str]]) -> None:
    """Run metrics.py --failures, and give each id that it lists a row."""
    rows = grading.rows(error_analysis())
    faults = grading.missing(rows, missed())
    assert not faults, faults[0]


def test_no_row_is_about_something_else(
    missed: Callable[[], frozenset[str]], key: dict[str, grading.Reading]
) -> None:
    """One row for each miss, none twice, and none for what is found."""
    rows = grading.rows(error_analysis())
    faults = grading.invented(rows, missed(), key)
    assert not faults, faults[0]


def test_kinds_and_fixes_are_words_of_the_vocabulary() -> None:
    """Use FAILURE_KINDS and FIXES of pipeline_types, letter for letter."""
    faults = grading.unknown(
        grading.rows(error_analysis()),
        pipeline_types.FAILURE_KINDS,
        pipeline_types.FIXES,
    )
    assert not faults, faults[0]


def test_seven_kinds_in_ten_agree_with_the_key(
    missed: Callable[[], frozenset[str]],
    key: dict[str, grading.Reading],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Read question, passage and the ten hits; take the first line that fits.

    Having passed, the log says which rows the key reads otherwise, and why.
    """
    rows = grading.rows(error_analysis())
    faults = grading.disagreement(rows, missed(), key)
    assert not faults, faults[0]
    with capsys.disabled():
        for note in grading.otherwise(rows, key):
            print(f"\nthe key: {note}")


def test_every_kind_used_is_explained() -> None:
    """Write 25 words or more on each kind, naming it or below its heading."""
    faults = grading.unexplained(error_analysis())
    assert not faults, faults[0]
