import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from lab import canonical, markdown
from lab.chunking import (
    BlockChunker,
    Chunk,
    Chunker,
    SectionChunker,
    WindowChunker,
    estimate_tokens,
    from_spec,
)
from lab.errors import InvalidInput
from lab.text import Projection, project
from tests.lab.generators import documents
from tests.lab.support import contract

DEFAULTS: list[Chunker] = [WindowChunker(), SectionChunker(), BlockChunker()]
SETTINGS: list[Chunker] = [
    *DEFAULTS,
    WindowChunker(1, 0),
    WindowChunker(7, 6),
    WindowChunker(64, 0),
    SectionChunker(1, 0),
    SectionChunker(5, 4),
    SectionChunker(20, 0),
    BlockChunker(1, 0),
    BlockChunker(40, 3),
    BlockChunker(200, 0),
]


def spans(chunker: Chunker, source: str) -> list[tuple[int, int]]:
    chunks = chunker.chunk(project("markdown", source))
    return [(chunk.start, chunk.end) for chunk in chunks]


def texts(chunker: Chunker, source: str) -> list[str]:
    return [c.text for c in chunker.chunk(project("markdown", source))]


def check_laws(chunker: Chunker, projection: Projection) -> list[Chunk]:
    body = projection.body
    chunks = chunker.chunk(projection)
    covered = bytearray(len(body))
    for number, chunk in enumerate(chunks):
        assert chunk.number == number
        assert 0 <= chunk.start < chunk.end <= len(body)
        assert body[chunk.start : chunk.end] == chunk.text
        assert chunk.sha256 == canonical.sha256(chunk.text)
        assert chunk.text.strip()
        assert not number or chunks[number - 1].start < chunk.start
        covered[chunk.start : chunk.end] = b"\x01" * len(chunk.text)
    for at, character in enumerate(body):
        assert covered[at] or character.isspace(), (at, character)
    return chunks


# --- laws ------------------------------------------------------------------


@contract("C-03", "C-05")
@pytest.mark.parametrize("chunker", SETTINGS, ids=lambda c: c.fingerprint)
def test_every_chunker_keeps_the_laws_on_every_document(
    chunker: Chunker,
) -> None:
    for source in documents(6, 120):
        for format in ("markdown", "text"):
            check_laws(chunker, project(format, source))


@contract("C-05")
@pytest.mark.parametrize("chunker", SETTINGS, ids=lambda c: c.fingerprint)
@pytest.mark.parametrize("source", ["", "\n", " \t\n\u3000\n", "\ufeff"])
def test_a_document_without_text_has_no_chunks(
    chunker: Chunker, source: str
) -> None:
    assert spans(chunker, source) == []


@contract("C-05")
@pytest.mark.parametrize("chunker", DEFAULTS, ids=lambda c: c.fingerprint)
def test_a_blank_run_in_the_middle_makes_no_blank_chunk(
    chunker: Chunker,
) -> None:
    for source in (
        "Header." + " " * 5000 + "Footer.",
        "foo\n\n\n\nbaz",
        "# A\n# B\n",
        "a" + "\n" * 5000 + "b",
    ):
        check_laws(chunker, project("markdown", source))


@contract("C-05")
def test_a_long_run_without_spaces_is_cut_and_ends() -> None:
    source = "A" * 5000
    # 5000 = 27 * 180 + 140: windows start every 220 - 40 code points.
    windows = spans(WindowChunker(), source)
    assert windows == [(n, min(n + 220, 5000)) for n in range(0, 4861, 180)]
    # 96 tokens are 384 code points, and a cut word repeats nothing.
    pieces = spans(SectionChunker(), source)
    assert pieces == [(n, min(n + 384, 5000)) for n in range(0, 5000, 384)]
    assert spans(BlockChunker(), source) == [(0, 5000)]


def test_the_limits_hold_for_every_chunk() -> None:
    for source in documents(7, 150):
        projection = project("markdown", source)
        for chunk in WindowChunker(50, 10).chunk(projection):
            assert len(chunk.text) <= 50
        for chunk in SectionChunker(9, 3).chunk(projection):
            assert estimate_tokens(chunk.text) <= 9


def steps(work: Callable[[], object]) -> int:
    """Count the lines of Python that ``work`` runs."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


HOSTILE = [
    *("a", "汉", " ", "\n", "a ", "# a\n", "```\n", "> ", "- ", "    a\n\n"),
    *("a\n===\n", "[a]: b\n", "a|b\n-|-\n", "<a ", "<!--", "a\u0301", "> a\n"),
]


@pytest.mark.parametrize("unit", HOSTILE)
@pytest.mark.parametrize("chunker", DEFAULTS, ids=lambda c: c.fingerprint)
def test_twice_the_text_takes_at_most_about_twice_the_steps(
    chunker: Chunker, unit: str
) -> None:
    one = project("markdown", unit * (1_500 // len(unit)))
    two = project("markdown", unit * (3_000 // len(unit)))
    first = steps(lambda: chunker.chunk(one))
    second = steps(lambda: chunker.chunk(two))
    assert second <= 2.2 * first + 200


def test_nested_lists_before_blank_lines_stay_linear() -> None:
    def source(n: int) -> Projection:
        return project("markdown", "- " * n + "x\n" + "\n" * n)

    first = steps(lambda: BlockChunker().chunk(source(500)))
    second = steps(lambda: BlockChunker().chunk(source(1_000)))
    assert second <= 2.2 * first + 200


# --- windows ---------------------------------------------------------------


def test_windows_by_hand() -> None:
    # Ends at 10, 17, 24, 25; each start is the end before minus 3.
    assert spans(WindowChunker(10, 3), "a" * 25) == [
        (0, 10),
        (7, 17),
        (14, 24),
        (21, 25),
    ]


def test_a_window_prefers_to_end_after_a_blank_line() -> None:
    # The blank line ends at 8: in the second half of [0, 10), in the first
    # half of [5, 15).
    assert spans(WindowChunker(10, 3), "aaaaaa\n\nbbbbbbbb") == [
        (0, 8),
        (5, 15),
        (12, 16),
    ]
    # Blank means no ink, not no characters.
    assert spans(WindowChunker(10, 0), "aaaaaa\n \nbbbbbbbb")[0] == (0, 9)
    # In the first half it is ignored.
    assert spans(WindowChunker(10, 0), "aa\n\nbbbbbbbbbb")[0] == (0, 10)
    # And a text that fits is not cut at all.
    assert spans(WindowChunker(16, 0), "aaaaaa\n\nbbbbbbbb") == [(0, 16)]


@contract("C-03")
def test_repeated_text_keeps_its_own_offsets() -> None:
    assert spans(WindowChunker(5, 0), "chunk chunk") == [
        (0, 5),
        (5, 10),
        (10, 11),
    ]
    # Two tokens are eight code points; both words with their space are 11.
    assert spans(SectionChunker(2, 0), "chunk chunk") == [(0, 5), (6, 11)]


@contract("C-03")
def test_offsets_count_code_points_of_the_text_not_of_its_folding() -> None:
    # "İ".lower() has two code points; the body has one.
    (chunk,) = WindowChunker().chunk(project("text", "İ" * 3 + " TARGET"))
    assert (chunk.start, chunk.end) == (0, 10)
    assert chunk.text[4:] == "TARGET"


def test_an_overlap_as_large_as_allowed_still_moves_on() -> None:
    assert spans(WindowChunker(3, 2), "abcde") == [(0, 3), (1, 4), (2, 5)]


# --- sections --------------------------------------------------------------


def test_sections_by_hand() -> None:
    # Four tokens are 16 code points. [0, 13) holds three words, the fourth
    # would reach 18. "three" (5 code points, 2 tokens) may be repeated,
    # "two three" (9, 3 tokens) may not. [8, 23) has 15; then "five".
    source = "one two three four five six"
    assert spans(SectionChunker(4, 2), source) == [(0, 13), (8, 23), (19, 27)]


def test_a_cjk_character_is_a_token_and_may_be_cut_after() -> None:
    source = "云雀仪器的差旅政策"
    assert spans(SectionChunker(4, 1), source) == [(0, 4), (3, 7), (6, 9)]
    chunks = SectionChunker(8, 4).chunk(project("markdown", source * 20))
    starts = [chunk.start for chunk in chunks]
    assert starts == sorted(set(starts))
    assert starts[:3] == [0, 4, 8]


def test_a_word_longer_than_the_limit_is_cut_hard() -> None:
    assert spans(SectionChunker(5, 0), "a " + "B" * 50 + " c") == [
        (0, 1),
        (2, 22),
        (22, 42),
        (42, 54),
    ]


def test_no_shorter_word_is_cut() -> None:
    words = "The hotel limit in the UK is 210 pounds a night (from May)."
    for limit in range(2, 12):
        for text in texts(SectionChunker(limit, limit // 2), words):
            assert set(text.split()) <= set(words.split())


def test_no_chunk_crosses_a_heading() -> None:
    source = "before\n\n# A\naaa\n```\n# no\n```\n## B\nbbb"
    assert texts(SectionChunker(), source) == [
        "before",
        "# A\naaa\n```\n# no\n```",
        "## B\nbbb",
    ]
    assert texts(BlockChunker(), source) == texts(SectionChunker(), source)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("云雀", 2), ("云a雀", 3)],
)
def test_an_estimate_by_hand(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


# --- blocks ----------------------------------------------------------------

BLOCKS = "# H\n\naaaa\n\nbbbb\n\ncccccccc\n"  # at 0-3, 5-9, 11-15, 17-25


def test_blocks_by_hand() -> None:
    # 20: up to bbbb (15), then bbbb again with cccccccc (14 of 20).
    assert spans(BlockChunker(20, 1), BLOCKS) == [(0, 15), (11, 25)]
    # 13: # H and aaaa (9); aaaa and bbbb (10); bbbb and cccccccc would be
    # 14, so bbbb is not repeated.
    assert spans(BlockChunker(13, 1), BLOCKS) == [(0, 9), (5, 15), (17, 25)]
    assert spans(BlockChunker(15, 0), BLOCKS) == [(0, 15), (17, 25)]
    # Three may be repeated where three have room; never the first again.
    assert spans(BlockChunker(20, 3), BLOCKS) == [(0, 15), (5, 25)]


def test_separators_are_measured() -> None:
    # 4 + 2 + 4 code points with the blank line between them.
    assert spans(BlockChunker(10, 0), "aaaa\n\nbbbb") == [(0, 10)]
    assert spans(BlockChunker(9, 0), "aaaa\n\nbbbb") == [(0, 4), (6, 10)]


def test_a_fence_is_never_split() -> None:
    fence = "```\n" + "line\n\n" * 50 + "```"
    chunks = texts(BlockChunker(40, 1), f"intro\n\n{fence}\n\noutro")
    assert chunks == ["intro", fence, "outro"]


def test_a_table_over_the_limit_is_one_exact_slice() -> None:
    rows = "\n".join(f"| {n} | value |" for n in range(60))
    table = f"| n | v |\n| of | two rows |\n|---|---|\n{rows}"
    assert texts(BlockChunker(200, 1), f"a\n\n{table}\n\nb") == [
        "a",
        table,
        "b",
    ]


def test_a_heading_starts_a_chunk_and_nothing_is_repeated_across_it() -> None:
    source = "# A\n\none\n\n# B\n\ntwo\n"
    assert texts(BlockChunker(), source) == ["# A\n\none", "# B\n\ntwo"]


def test_a_quoted_heading_starts_no_section() -> None:
    source = "a\n\n> # quoted\n\nb"
    assert texts(BlockChunker(), source) == [source]
    assert texts(SectionChunker(), source) == [source]


def test_python_read_as_markdown_loses_nothing() -> None:
    source = "import os\n# one\nx = 1\n\n# two\ny = 2\n"
    for chunker in DEFAULTS:
        check_laws(chunker, project("markdown", source))
    assert texts(BlockChunker(), source) == [
        "import os",
        "# one\nx = 1",
        "# two\ny = 2",
    ]


# --- heading paths ---------------------------------------------------------


def test_a_chunk_knows_the_headings_above_it() -> None:
    source = "intro\n\n# A\n\n### A1\n\nx\n\n## A2\n\n# B\n\n```\n# no\n```\n"
    chunks = BlockChunker().chunk(project("markdown", source))
    assert [chunk.heading_path for chunk in chunks] == [
        (),
        ("A",),
        ("A", "A1"),
        ("A", "A2"),
        ("B",),
    ]


def test_the_path_is_that_of_the_first_ink() -> None:
    # The second window starts in the blank line before the heading.
    chunks = WindowChunker(4, 0).chunk(project("markdown", "aaa\n\n# B"))
    assert [(c.text, c.heading_path) for c in chunks] == [
        ("aaa\n", ()),
        ("\n# B", ("B",)),
    ]


def test_plain_text_has_no_headings() -> None:
    source = "# a comment\n\nvalue\n"
    for chunker in DEFAULTS:
        (chunk,) = chunker.chunk(project("text", source))
        assert chunk.heading_path == ()


def test_json_sections_are_headings() -> None:
    source = '{"title":"T","sections":[{"heading":"H","text":"x"}]}'
    chunks = SectionChunker().chunk(project("json", source))
    assert [(c.text, c.heading_path) for c in chunks] == [
        ("# T", ("T",)),
        ("## H\nx", ("T", "H")),
    ]


# --- settings --------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: WindowChunker(0, 0),
        lambda: WindowChunker(4097),
        lambda: WindowChunker(10, 10),
        lambda: WindowChunker(10, -1),
        lambda: WindowChunker(10.0),
        lambda: WindowChunker(True, 0),
        lambda: WindowChunker("220"),
        lambda: SectionChunker(0, 0),
        lambda: SectionChunker(8, 8),
        lambda: SectionChunker(4097),
        lambda: BlockChunker(0),
        lambda: BlockChunker(10, -1),
        lambda: BlockChunker(10, 65),
        lambda: BlockChunker(65537),
    ],
)
def test_settings_out_of_range_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(InvalidInput, match="must"):
        make()


@pytest.mark.parametrize("chunker", SETTINGS, ids=lambda c: c.fingerprint)
def test_a_chunker_is_made_again_from_its_spec(chunker: Chunker) -> None:
    stored = canonical.loads(canonical.dumps(chunker.spec()))
    again = from_spec(stored)
    assert again == chunker
    assert again.fingerprint == chunker.fingerprint


@contract("C-06")
def test_different_settings_have_different_fingerprints() -> None:
    prints = {chunker.fingerprint for chunker in SETTINGS}
    assert len(prints) == len(SETTINGS)
    assert WindowChunker().fingerprint == (
        f'window/1+markdown/{markdown.VERSION}{{"overlap":40,"size":220}}'
    )


@pytest.mark.parametrize(
    "spec",
    [
        None,
        {},
        {"kind": "windows"},
        {"kind": "window", "version": 1},
        {"kind": "window", "version": 2, "size": 9, "overlap": 0},
        {"kind": "window", "version": True, "size": 9, "overlap": 0},
        {"kind": "window", "version": 1, "size": 9, "overlap": 9},
        {"kind": "window", "version": 1, "size": 9, "overlap": 0, "x": 1},
    ],
)
def test_a_bad_spec_is_refused(spec: Any) -> None:
    with pytest.raises(InvalidInput, match=r"chunker|overlap"):
        from_spec(spec)


# --- real documents --------------------------------------------------------


@contract("C-03", "C-05")
@pytest.mark.data
@pytest.mark.parametrize(
    ("folder", "files"),
    [("handbook_18f", 249), ("vue_docs_en", 119), ("vue_docs_zh", 116)],
)
def test_every_chunker_keeps_the_laws_on_real_documents(
    data: Path, folder: str, files: int
) -> None:
    paths = sorted((data / folder).rglob("*.md"))
    assert len(paths) == files
    for path in paths:
        made = project("markdown", path.read_bytes().decode("utf-8"))
        for chunker in DEFAULTS:
            chunks = check_laws(chunker, made)
            if isinstance(chunker, BlockChunker):
                check_fences(chunks, made)


def check_fences(chunks: list[Chunk], made: Projection) -> None:
    ends = [(chunk.start, chunk.end) for chunk in chunks]
    for block in markdown.scan(made.body):
        if block.kind == markdown.FENCE:
            stop = len(made.body[: block.end].rstrip())
            assert any(s <= block.start and stop <= e for s, e in ends)
