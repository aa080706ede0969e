"""Stage 1: documents by name, blocks, sections, exact offsets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from chunker import (
    Block,
    blocks,
    chunk_document,
    chunk_documents,
    load_documents,
    pack,
    title_of,
)
from pipeline_types import CORPUS, Chunk, Document, load_golden


def chunks(
    text: str, max_chars: int = 1200, overlap: int = 1, format: str = "markdown"
) -> list[Chunk]:
    """Return the chunks of a document with this text."""
    document = Document("memo", "Memo", text, format)
    return chunk_document(document, max_chars, overlap)


def texts(
    text: str, max_chars: int = 1200, overlap: int = 1, format: str = "markdown"
) -> list[str]:
    """Return the texts of these chunks."""
    return [one.text for one in chunks(text, max_chars, overlap, format)]


def put(folder: Path, **files: str) -> None:
    """Write files named ``docs_b`` as ``docs/b.md`` and the like."""
    for name, text in files.items():
        kind, _, stem = name.partition("_")
        ending = ".md" if kind == "docs" else ".txt"
        (folder / kind).mkdir(exist_ok=True)
        (folder / kind / (stem + ending)).write_text(text, "utf-8")


def test_documents_come_before_stories_each_by_name(tmp_path: Path) -> None:
    """Sort docs/*.md by name, then stories/*.txt; the id is the stem."""
    put(tmp_path, docs_b="# B\n", docs_a="# A\n", stories_aa="\n  Once\n")
    found = load_documents(tmp_path)
    assert [one.doc_id for one in found] == ["a", "b", "aa"]
    assert [one.format for one in found] == ["markdown", "markdown", "text"]
    assert found[0] == Document("a", "A", "# A\n", "markdown")


def test_a_title_is_the_first_h1_or_a_storys_first_line_in_ink() -> None:
    """A heading of level 2 is no title; nor is a line in a fence."""
    text = "intro\n\n## Two\n\n```\n# not this\n```\n\n# The one #\n\n# Two\n"
    assert title_of(text, "markdown") == "The one"
    assert title_of("\n \n  The Lamp  \n\nIt burned.\n", "text") == "The Lamp"
    assert title_of("no heading\n", "markdown") == ""


def test_a_document_without_title_or_with_an_id_twice_is_refused(
    tmp_path: Path,
) -> None:
    """Raise ValueError, naming the file."""
    put(tmp_path, docs_memo="## Only two\n")
    with pytest.raises(ValueError, match=r"memo\.md"):
        load_documents(tmp_path)
    put(tmp_path, docs_memo="# Memo\n", stories_memo="Memo\n")
    with pytest.raises(ValueError, match=r"memo\.txt"):
        load_documents(tmp_path)


def test_blocks_are_runs_of_lines_and_headings() -> None:
    """A heading line is a block; other lines run up to a blank one."""
    #       0123456789 0123456789
    text = "one\ntwo  \n\n## Six \t\nseven\n"
    assert blocks(text) == [
        Block(0, 7),
        Block(11, 17, 2, "Six"),
        Block(20, 25),
    ]


@pytest.mark.parametrize(
    ("line", "level", "heading"),
    [
        ("# One", 1, "One"),
        ("###### Six ######", 6, "Six"),
        ("   ## Three blanks", 2, "Three blanks"),
        ("## C# and #4", 2, "C# and #4"),
        ("####### seven", 0, ""),
        ("#tag", 0, ""),
        ("    # four blanks", 0, ""),
    ],
)
def test_what_is_a_heading(line: str, level: int, heading: str) -> None:
    """One to six signs, at most three blanks before, one after."""
    (block,) = blocks(line)
    assert (block.level, block.heading) == (level, heading)


def test_a_fence_is_one_block_whatever_it_holds() -> None:
    """Only as many of the same sign close it, or the end of the text."""
    fence = "````python\n# no heading\n\n```\n~~~~\n`````"
    assert [text_of(b, f"a\n{fence}\nb") for b in blocks(f"a\n{fence}\nb")] == [
        "a",
        fence,
        "b",
    ]
    assert len(blocks("~~~\n\n# still inside\n\n")) == 1


def text_of(block: Block, text: str) -> str:
    """Return what a block holds."""
    return text[block.start : block.end]


def test_plain_text_has_paragraphs_only() -> None:
    """No headings and no fences in a story."""
    text = "# One\n\n```\n\ntwo\n"
    assert [text_of(b, text) for b in blocks(text, "text")] == [
        "# One",
        "```",
        "two",
    ]


def test_blocks_are_packed_up_to_the_size() -> None:
    """Measure the stretch with its blank lines: it may equal max_chars."""
    # `aaaa`, blank line, `bbbb`: 4 + 2 + 4 characters.
    assert texts("aaaa\n\nbbbb\n", 10, 0) == ["aaaa\n\nbbbb"]
    assert texts("aaaa\n\nbbbb\n", 9, 0) == ["aaaa", "bbbb"]
    assert texts("aaaa\n\nbbbb\n", 1, 0) == ["aaaa", "bbbb"]
    # The size is of the chunk, wherever it begins.
    assert texts("xxxxxxxx\n\n# A\n\naaaa\n", 10) == [
        "xxxxxxxx",
        "# A\n\naaaa",
    ]
    assert texts("", 9, 0) == []
    assert texts(" \n\n", 9, 0) == []


def test_a_long_block_becomes_a_long_chunk() -> None:
    """Never cut a block: not a paragraph, and not a fence."""
    fence = "```\n" + "x\n\n" * 9 + "```"
    assert texts(f"a\n\n{fence}\n\nb\n", 8, 0) == ["a", fence, "b"]


def test_the_next_chunk_repeats_a_block() -> None:
    """Begin with the last block of the chunk before."""
    text = "aa\n\nbb\n\ncc\n\ndd\n"
    assert texts(text, 6) == ["aa\n\nbb", "bb\n\ncc", "cc\n\ndd"]
    # Three blocks fit into ten characters: repeat as many as are asked for.
    assert texts(text, 10, 1) == ["aa\n\nbb\n\ncc", "cc\n\ndd"]
    assert texts(text, 10, 2) == ["aa\n\nbb\n\ncc", "bb\n\ncc\n\ndd"]


def test_a_block_is_repeated_only_where_the_new_one_still_fits() -> None:
    """Step forward again until the new block fits, or stands alone."""
    # `bbbbbb` and `cc` would be 10 characters, and 9 are allowed.
    text = "a\n\nbbbbbb\n\ncc\n"
    assert texts(text, 9) == ["a\n\nbbbbbb", "cc"]
    assert pack([Block(0, 4)], 1, 3) == [(0, 4)]


def test_a_chunk_lies_in_one_section() -> None:
    """A heading begins a section, and nothing is repeated across it."""
    text = "before\n# A\n\naa\n## B\nbb\n"
    assert texts(text) == ["before", "# A\n\naa", "## B\nbb"]


def test_the_path_holds_the_headings_in_force() -> None:
    """Drop headings of the same level or a deeper one."""
    text = "x\n# A\na\n### C\nc\n## B\nb\n# D\nd\n"
    assert [one.heading_path for one in chunks(text)] == [
        "",
        "A",
        "A > C",
        "A > B",
        "D",
    ]


def test_ids_count_from_zero_with_three_digits() -> None:
    """The id is doc_id#index, as in memo#000."""
    found = chunks("aa\n\nbb\n", 2, 0)
    assert [one.chunk_id for one in found] == ["memo#000", "memo#001"]
    assert [(one.index, one.doc_id) for one in found] == [
        (0, "memo"),
        (1, "memo"),
    ]


@pytest.mark.parametrize(("max_chars", "overlap"), [(0, 0), (10, -1)])
def test_sizes_that_make_no_sense_are_refused(
    max_chars: int, overlap: int
) -> None:
    """Raise ValueError unless max_chars >= 1 and overlap >= 0."""
    with pytest.raises(ValueError, match=r"max_chars|overlap"):
        chunks("a\n", max_chars, overlap)


def test_offsets_are_exact_in_every_document_of_the_corpus() -> None:
    """Chunk text is a slice of the document, and starts move forward."""
    documents = load_documents()
    assert len(documents) >= 33
    for document in documents:
        found = chunk_document(document)
        for one in found:
            assert document.text[one.start : one.end] == one.text
            assert one.text == one.text.rstrip()
        starts = [one.start for one in found]
        assert starts == sorted(set(starts))


def test_no_chunk_of_the_corpus_spans_sections_or_cuts_a_fence() -> None:
    """A heading can only be a chunk's first line; fences come in pairs."""
    for chunk in chunk_documents(load_documents()):
        fences = len(re.findall(r"^ {0,3}```", chunk.text, re.M))
        assert fences % 2 == 0, chunk.chunk_id
        outside = re.sub(
            r"^ {0,3}```.*?^ {0,3}```", "", chunk.text, flags=re.M | re.S
        )
        rest = outside.partition("\n")[2]
        is_story = (CORPUS / "stories" / f"{chunk.doc_id}.txt").exists()
        assert is_story or not re.search(r"^#{1,6} ", rest, re.M), (
            chunk.chunk_id
        )


def test_every_anchor_lies_inside_some_chunk() -> None:
    """What a golden query looks for must not be cut in two."""
    found = chunk_documents(load_documents())
    for query in load_golden():
        assert any(map(query.relevant, found)), query.id
