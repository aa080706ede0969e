from hypothesis import given
from hypothesis import strategies as st

from lab import markdown
from lab.chunking import (
    BlockChunker,
    Chunker,
    SectionChunker,
    WindowChunker,
    estimate_tokens,
)
from lab.text import normalize, project
from tests.lab.generators import JOINS, PIECES
from tests.lab.support import contract
from tests.lab.test_chunking import check_laws

CHARACTERS = st.text(
    alphabet=st.one_of(
        st.characters(exclude_categories=["Cs"], exclude_characters="\x00"),
        st.sampled_from("#`~->|*=:\t\n 汉字ab1."),
    )
)
PARTS = st.lists(
    st.one_of(st.sampled_from(PIECES + JOINS), CHARACTERS), max_size=30
)
SOURCES = st.one_of(CHARACTERS, PARTS.map("".join))


@st.composite
def windows(draw: st.DrawFn) -> Chunker:
    size = draw(st.integers(1, 60))
    return WindowChunker(size, draw(st.integers(0, size - 1)))


@st.composite
def sections(draw: st.DrawFn) -> Chunker:
    tokens = draw(st.integers(1, 30))
    return SectionChunker(tokens, draw(st.integers(0, tokens - 1)))


blocks = st.builds(BlockChunker, st.integers(1, 200), st.integers(0, 4))


@given(SOURCES)
def test_blocks_tile_the_text(source: str) -> None:
    text = normalize(source)
    found = markdown.scan(text)
    assert "".join(text[b.start : b.end] for b in found) == text
    for block in found:
        assert block.start == 0 or text[block.start - 1] == "\n"


@contract("C-03", "C-05")
@given(
    st.one_of(windows(), sections(), blocks),
    st.sampled_from(["markdown", "text"]),
    SOURCES,
)
def test_every_chunker_keeps_the_laws(
    chunker: Chunker, format: str, source: str
) -> None:
    projection = project(format, source)
    chunks = check_laws(chunker, projection)
    for chunk in chunks:
        if isinstance(chunker, WindowChunker):
            assert len(chunk.text) <= chunker.size
        if isinstance(chunker, SectionChunker):
            assert estimate_tokens(chunk.text) <= chunker.max_tokens
    if isinstance(chunker, BlockChunker):
        # Only a single block may be longer than the limit.
        starts = {block.start for block in markdown.scan(projection.body)}
        for chunk in chunks:
            inside = range(chunk.start + 1, chunk.end)
            if format == "markdown" and len(chunk.text) > chunker.max_chars:
                assert not starts & set(inside)


@given(sections(), SOURCES)
def test_no_section_chunk_crosses_a_heading(
    chunker: Chunker, source: str
) -> None:
    projection = project("markdown", source)
    cuts = [h.start for h in markdown.headings(markdown.scan(projection.body))]
    for chunk in chunker.chunk(projection):
        assert not any(chunk.start < cut < chunk.end for cut in cuts)
