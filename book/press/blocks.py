"""The resolved edition: a book as lists of blocks.

This is what the manuscript becomes and all that a renderer ever sees. A
block holds one piece of the book twice: as a fragment of neutral XHTML and
as the text a reader sees, whose SHA-256 goes into the content map.

**Neutral XHTML.** One root element per block, well-formed XML, with
``data-block`` (the block's id) and ``data-kind``. Whatever is not content
(numbering, back-links, buttons) sits in an element marked
``data-chrome="1"``. Links inside the book say ``ks:SLUG#ANCHOR``,
``ks:SLUG`` or ``ks:#ANCHOR``; links to what ships beside it
``ks-lab:PATH``, ``ks-evidence:NAME``, ``ks-contract:C-07`` and
``ks-source:ID``. Ids are unique within a chapter only; block ids are
unique in the edition.

**Visible text.** Chrome is skipped. A formula counts as its TeX
annotation, a drawing as its ``<title>``. Text flows into lines: a line
ends where a paragraph, list item, table row or caption ends, its runs of
white space become one space, cells are separated by TAB, empty lines are
dropped, lines are in NFC and joined by LF. Text inside ``<pre>`` is exact.
A caption comes last, wherever it stands in the page.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree import ElementTree

KINDS = (
    "heading",
    "paragraph",
    "list",
    "quote",
    "listing",
    "code",
    "transcript",
    "table",
    "figure",
    "formula",
    "note",
    "footnote",
    "exercise",
    "run",
    "doctor",
)

# Kinds whose text is code, compared byte for byte.
EXACT_KINDS = frozenset({"listing", "code", "transcript"})

# Elements that begin and end a line of visible text.
_LINES = frozenset(
    "h1 h2 h3 h4 h5 h6 p ul ol li dl dt dd blockquote aside figure table"
    " thead tbody tr div section details summary pre".split()
)


@dataclass(frozen=True)
class Block:
    """One block: ``html`` is neutral XHTML, ``text`` what is visible.

    ``id`` is the chapter's slug and a four-digit ordinal, the same in both
    languages. ``sha256`` is of ``text`` in UTF-8, lower-case hex. ``line``
    is the line of the manuscript it came from, 0 for generated text.
    """

    id: str
    kind: str
    html: str
    text: str
    sha256: str
    line: int


@dataclass(frozen=True)
class Heading:
    """A heading of a chapter: ``level`` 1 to 4, ``id`` its anchor."""

    level: int
    id: str
    text: str
    block_id: str


@dataclass(frozen=True)
class Chapter:
    """One chapter or appendix in one language.

    ``number`` is as printed: ``"1"``, ``"A"``, ``""`` for the preface.
    ``part`` is the id of its part. ``contracts`` are the ids it explains,
    ``experiment`` the name of the experiment it shows (``""`` for none).
    ``words`` counts prose: words of spaced scripts, characters of Han.
    """

    slug: str
    lang: str
    number: str
    part: str
    title: str
    summary: str
    contracts: tuple[str, ...]
    experiment: str
    blocks: tuple[Block, ...]
    headings: tuple[Heading, ...]
    words: int


@dataclass(frozen=True)
class Part:
    """A part of the book and the slugs of its chapters, in order."""

    id: str
    title: str
    slugs: tuple[str, ...]


@dataclass(frozen=True)
class Edition:
    """The whole book in one language, ``lang`` being ``en`` or ``zh``.

    ``metadata`` holds strings for title pages: see ``book/book.toml``.
    """

    lang: str
    title: str
    subtitle: str
    parts: tuple[Part, ...]
    chapters: tuple[Chapter, ...]
    metadata: Mapping[str, str]

    def chapter(self, slug: str) -> Chapter:
        """The chapter with this slug; ``KeyError`` when there is none."""
        for chapter in self.chapters:
            if chapter.slug == slug:
                return chapter
        raise KeyError(slug)


def block_id(slug: str, ordinal: int) -> str:
    """The id of the ``ordinal``-th block of a chapter, from 1."""
    return f"{slug}-{ordinal:04d}"


def make_block(
    slug: str, ordinal: int, kind: str, html: str, line: int
) -> Block:
    """A block from a fragment with one root, which gets id and kind.

    Raises ``ValueError`` for an unknown kind or a fragment that is not
    well-formed XML with one root element.
    """
    if kind not in KINDS:
        raise ValueError(f"unknown kind of block: {kind!r}")
    identity = block_id(slug, ordinal)
    marked, count = re.subn(
        r"^<([a-z][a-z0-9]*)",
        rf'<\1 data-block="{identity}" data-kind="{kind}"',
        html,
        count=1,
    )
    if count != 1:
        raise ValueError(f"block {identity} has no root element")
    text = visible_text(marked)
    return Block(identity, kind, marked, text, digest(text), line)


def digest(text: str) -> str:
    """SHA-256 of the text in UTF-8, 64 lower-case hex digits."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def visible_text(html: str) -> str:
    """The text a reader sees in a fragment of neutral XHTML.

    Raises ``ValueError`` when the fragment is not well-formed XML.
    """
    try:
        root = ElementTree.fromstring(html)
    except ElementTree.ParseError as error:
        raise ValueError(
            f"not well-formed XML ({error}): {html[:200]}"
        ) from None
    writer = _TextWriter()
    writer.element(root)
    return writer.result()


def _name(element: ElementTree.Element) -> str:
    """The tag without its namespace."""
    return element.tag.rpartition("}")[2]


def code_text(html: str) -> str:
    """The exact text of a block's ``<pre>``; ``""`` when it has none."""
    for element in ElementTree.fromstring(html).iter():
        if _name(element) == "pre":
            return "".join(element.itertext())
    return ""


class _TextWriter:
    """Collects visible text line by line; captions wait for the end."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._captions: list[str] = []
        self._open: list[str] = []

    def result(self) -> str:
        self._end_line()
        return "\n".join([*self._lines, *self._captions])

    def _end_line(self) -> None:
        # A cell boundary is a TAB of ours; TABs of the text are spaces.
        cells = "".join(self._open).split("\0")
        line = "\t".join(" ".join(cell.split()) for cell in cells)
        self._open = []
        if line.strip():
            self._lines.append(unicodedata.normalize("NFC", line))

    def element(self, element: ElementTree.Element) -> None:
        if element.get("data-chrome") is not None:
            return
        name = _name(element)
        if name == "math":
            self._open.append(_annotation(element))
        elif name == "svg":
            self._open.append(_title(element))
        elif name == "pre":
            self._end_line()
            self._lines.append("".join(element.itertext()))
        elif name in ("figcaption", "caption"):
            inner = _TextWriter()
            inner.children(element)
            self._captions.extend(filter(None, [inner.result()]))
        elif name == "br":
            self._open.append(" ")
        elif name == "tr":
            self._end_line()
            for position, cell in enumerate(element):
                if position:
                    self._open.append("\0")
                inner = _TextWriter()
                inner.children(cell)
                self._open.append(inner.result())
            self._end_line()
        elif name in _LINES:
            self._end_line()
            self.children(element)
            self._end_line()
        else:
            self.children(element)

    def children(self, element: ElementTree.Element) -> None:
        self._open.append(element.text or "")
        for child in element:
            self.element(child)
            self._open.append(child.tail or "")


def _annotation(math: ElementTree.Element) -> str:
    for element in math.iter():
        if _name(element) == "annotation":
            return element.text or ""
    return ""


def _title(svg: ElementTree.Element) -> str:
    for child in svg:
        if _name(child) == "title":
            return child.text or ""
    return ""
