"""Stage 1: documents, and chunks of them that can be found and cited.

A chunk is made of whole blocks, lies in one section, and knows where it
stands: ``document.text[chunk.start:chunk.end] == chunk.text``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pipeline_types import CORPUS, Chunk, Document

# At most three blanks, one to six signs, then the text, without the signs
# that may close it.
HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*")
FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")


@dataclass(frozen=True)
class Block:
    """A stretch ``[start, end)`` of a text, without white space after it.

    ``level`` is 1 to 6 for a heading, whose text is ``heading``, and 0 for
    anything else.
    """

    start: int
    end: int
    level: int = 0
    heading: str = ""


def title_of(text: str, format: str) -> str:
    """Return the first level 1 heading, or a story's first line in ink.

    ``format`` is ``markdown`` or ``text``. Returns ``""`` when there is
    none. A line inside a code fence is no heading.
    """
    if format == "text":
        lines = (line.strip() for line in text.split("\n"))
        return next(filter(None, lines), "")
    found = (block.heading for block in blocks(text) if block.level == 1)
    return next(found, "")


def load_documents(corpus: Path = CORPUS) -> list[Document]:
    """Return ``docs/*.md``, then ``stories/*.txt``, each sorted by name.

    The id is the name without its ending. Line ends become LF. Raises
    ``ValueError`` naming the file for one without a title, and for an id
    that was there before.
    """
    documents: dict[str, Document] = {}
    for pattern, format in (
        ("docs/*.md", "markdown"),
        ("stories/*.txt", "text"),
    ):
        for path in sorted(corpus.glob(pattern)):
            text = path.read_text("utf-8")
            title = title_of(text, format)
            if not title:
                raise ValueError(f"{path.name}: has no title")
            if path.stem in documents:
                raise ValueError(f"{path.name}: {path.stem} was there before")
            documents[path.stem] = Document(path.stem, title, text, format)
    return list(documents.values())


def blocks(text: str, format: str = "markdown") -> list[Block]:
    """Return the blocks of a text, in order.

    A heading line is a block. A code fence is one, from its opening line to
    the line that closes it (the same sign, at least as many, nothing after
    them) or to the end of the text: blank lines and ``#`` in it mean
    nothing. Any other run of lines that are not blank is one. Plain text
    knows runs of lines only. A block ends before the white space at its
    end.
    """
    found: list[Block] = []
    begun: int | None = None
    closing: re.Pattern[str] | None = None
    position = 0

    def finish(end: int) -> None:
        nonlocal begun
        if begun is not None:
            stop = begun + len(text[begun:end].rstrip())
            found.append(Block(begun, stop))
        begun = None

    for line in text.split("\n"):
        start, position = position, position + len(line) + 1
        markdown = format == "markdown"
        if closing:
            if closing.fullmatch(line):
                finish(position)
                closing = None
        elif not line.strip():
            finish(start)
        elif markdown and (fence := FENCE.match(line)):
            finish(start)
            begun = start
            sign, count = fence[1][0], len(fence[1])
            closing = re.compile(rf" {{0,3}}{sign}{{{count},}}[ \t]*")
        elif markdown and (heading := HEADING.fullmatch(line)):
            finish(start)
            stop = start + len(line.rstrip())
            level, words = len(heading[1]), heading[2] or ""
            found.append(Block(start, stop, level, words))
        elif begun is None:
            begun = start
    finish(len(text))
    return found


def pack(
    section: list[Block], max_chars: int, overlap: int
) -> list[tuple[int, int]]:
    """Return the spans of one section's chunks, as ``(start, end)``.

    A chunk takes blocks while the stretch from the start of its first to
    the end of its last is at most ``max_chars`` characters; a block that is
    longer becomes a chunk that is longer. The next chunk begins with the
    last ``overlap`` blocks of the one before, or with as many of them as
    leave room for the block that did not fit.
    """
    spans: list[tuple[int, int]] = []
    first = 0
    for last, block in enumerate(section):
        if last + 1 == len(section):
            spans.append((section[first].start, block.end))
            break
        following = section[last + 1]
        if following.end - section[first].start <= max_chars:
            continue
        spans.append((section[first].start, block.end))
        after = last + 1
        # At the old first it does not fit, so this moves forward.
        first = max(first, after - overlap)
        while (
            first < after and following.end - section[first].start > max_chars
        ):
            first += 1
    return spans


def chunk_document(
    document: Document, max_chars: int = 1200, overlap: int = 1
) -> list[Chunk]:
    """Return the chunks of a document, in order.

    A heading begins a section and is its first block; what stands before
    the first heading is a section too. The path holds the headings above,
    each of a lower level than the next. Raises ``ValueError`` unless
    ``max_chars >= 1`` and ``overlap >= 0``.
    """
    if max_chars < 1:
        raise ValueError("max_chars: must be at least 1")
    if overlap < 0:
        raise ValueError("overlap: must not be negative")
    sections: list[tuple[str, list[Block]]] = [("", [])]
    above: list[Block] = []
    for block in blocks(document.text, document.format):
        if block.level:
            above = [one for one in above if one.level < block.level]
            above.append(block)
            path = " > ".join(one.heading for one in above)
            sections.append((path, []))
        sections[-1][1].append(block)
    spans = [
        (path, start, end)
        for path, section in sections
        for start, end in pack(section, max_chars, overlap)
    ]
    return [
        Chunk(
            chunk_id=f"{document.doc_id}#{index:03d}",
            doc_id=document.doc_id,
            index=index,
            heading_path=path,
            text=document.text[start:end],
            start=start,
            end=end,
        )
        for index, (path, start, end) in enumerate(spans)
    ]


def chunk_documents(documents: Iterable[Document]) -> list[Chunk]:
    """Return the chunks of all documents, in order."""
    return [
        chunk for document in documents for chunk in chunk_document(document)
    ]
