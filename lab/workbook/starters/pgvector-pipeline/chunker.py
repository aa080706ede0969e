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
    raise NotImplementedError("Stage 01: find the first H1 block, or the first line in ink")


def load_documents(corpus: Path = CORPUS) -> list[Document]:
    """Return ``docs/*.md``, then ``stories/*.txt``, each sorted by name.

    The id is the name without its ending. Line ends become LF. Raises
    ``ValueError`` naming the file for one without a title, and for an id
    that was there before.
    """
    raise NotImplementedError("Stage 01: read both folders in order, with id and title")


def blocks(text: str, format: str = "markdown") -> list[Block]:
    """Return the blocks of a text, in order.

    A heading line is a block. A code fence is one, from its opening line to
    the line that closes it (the same sign, at least as many, nothing after
    them) or to the end of the text: blank lines and ``#`` in it mean
    nothing. Any other run of lines that are not blank is one. Plain text
    knows runs of lines only. A block ends before the white space at its
    end.
    """
    raise NotImplementedError("Stage 01: go line by line, and remember an open fence")


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
    raise NotImplementedError("Stage 01: pack greedily, then step back for the overlap")


def chunk_document(
    document: Document, max_chars: int = 1200, overlap: int = 1
) -> list[Chunk]:
    """Return the chunks of a document, in order.

    A heading begins a section and is its first block; what stands before
    the first heading is a section too. The path holds the headings above,
    each of a lower level than the next. Raises ``ValueError`` unless
    ``max_chars >= 1`` and ``overlap >= 0``.
    """
    raise NotImplementedError("Stage 01: pack section by section, keeping the headings in force")


def chunk_documents(documents: Iterable[Document]) -> list[Chunk]:
    """Return the chunks of all documents, in order."""
    return [
        chunk for document in documents for chunk in chunk_document(document)
    ]
