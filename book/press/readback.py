"""What the finished artefacts say, read by someone who did not write them.

Nothing here is shared with the code that made the blocks or printed them:
HTML and XHTML go through a small reader of its own, Markdown through
markdown-it, and the rules of visible text are written down a second time.
So a fault in either place shows as a difference.

The rules. Chrome (``data-chrome``) does not count. A formula counts as its
TeX annotation, a drawing as its title. A line ends where a paragraph, list
item, row or caption ends; white space in it collapses; cells are parted by
TAB; empty lines are dropped; lines are joined by LF; code is exact; captions
come last; NFC.

In the Markdown, a comment ``<!-- ID KIND -->`` stands before each block, and
``<!-- chapter SLUG -->`` and ``<!-- end SLUG -->`` around each chapter.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.footnote import footnote_plugin

from book.press.problems import Problem

LANGUAGES: Final = ("en", "zh")
BEGIN: Final = "<!-- blocks:start -->"
END: Final = "<!-- blocks:end -->"

_VOID: Final = frozenset(
    {"area", "br", "col", "hr", "img", "input", "link", "meta", "wbr"}
)
_LINE_ELEMENTS: Final = frozenset(
    {"h1", "h2", "h3", "h4", "h5", "h6", "p", "ul", "ol", "li", "dl", "dt",
     "dd", "blockquote", "aside", "figure", "table", "thead", "tbody", "div",
     "section", "details", "summary"}
)  # fmt: skip
_CAPTIONS: Final = frozenset({"figcaption", "caption"})


@dataclass(frozen=True)
class Read:
    """A block as found in an output: its text, and the line it starts on."""

    id: str
    kind: str
    text: str
    line: int

    @property
    def sha256(self) -> str:
        """The digest the content map lists."""
        return hashlib.sha256(self.text.encode()).hexdigest()


# Blocks of one output in one language, by slug, in the order found there.
Pages = dict[str, list[Read]]


# --- markup ---------------------------------------------------------------


@dataclass
class _Node:
    tag: str
    attributes: Mapping[str, str]
    line: int
    children: list[_Node | str] = field(default_factory=list)


class _Tree(HTMLParser):
    """Tags as they stand; an end tag that fits nothing is a fault."""

    def __init__(self, where: str, first_line: int) -> None:
        super().__init__(convert_charrefs=True)
        self.root = _Node("", {}, first_line)
        self._stack = [self.root]
        self._where = where
        self._first = first_line

    def _line(self) -> int:
        return self._first + self.getpos()[0] - 1

    def handle_starttag(
        self, tag: str, attrs: list[tuple[str, str | None]]
    ) -> None:
        node = _Node(tag, {k: v or "" for k, v in attrs}, self._line())
        self._stack[-1].children.append(node)
        if tag not in _VOID:
            self._stack.append(node)

    def handle_startendtag(
        self, tag: str, attrs: list[tuple[str, str | None]]
    ) -> None:
        node = _Node(tag, {k: v or "" for k, v in attrs}, self._line())
        self._stack[-1].children.append(node)

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID:
            return
        if self._stack[-1].tag != tag:
            raise UnreadableError(
                Problem(
                    self._where,
                    self._line(),
                    f"</{tag}> closes <{self._stack[-1].tag}>",
                )
            )
        self._stack.pop()

    def handle_data(self, data: str) -> None:
        self._stack[-1].children.append(data)

    def finish(self) -> _Node:
        """The tree, once everything in it is closed."""
        self.close()
        if len(self._stack) > 1:
            left = self._stack[-1]
            raise UnreadableError(
                Problem(self._where, left.line, f"<{left.tag}> is not closed")
            )
        return self.root


class UnreadableError(Exception):
    """An output is not in the form its blocks can be read from."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def _tree(markup: str, where: str, first_line: int = 1) -> _Node:
    parser = _Tree(where, first_line)
    parser.feed(markup)
    return parser.finish()


def _blocks_in(node: _Node) -> Iterator[_Node]:
    for child in node.children:
        if isinstance(child, _Node):
            if "data-block" in child.attributes:
                yield child
            else:
                yield from _blocks_in(child)


def _markup_blocks(node: _Node, where: str) -> list[Read]:
    found = []
    for block in _blocks_in(node):
        identity = block.attributes["data-block"]
        if next(_blocks_in(block), None) is not None:
            message = f"block {identity} has a block inside"
            raise UnreadableError(Problem(where, block.line, message))
        kind = block.attributes.get("data-kind", "")
        lines = _Lines()
        lines.node(block)
        found.append(Read(identity, kind, lines.text(), block.line))
    return found


class _Lines:
    """Visible text, put together line by line."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.captions: list[str] = []
        self.cells: list[str] = [""]

    def text(self) -> str:
        self.end()
        return unicodedata.normalize(
            "NFC", "\n".join(self.done + self.captions)
        )

    def add(self, text: str) -> None:
        self.cells[-1] += text

    def end(self) -> None:
        line = "\t".join(re.sub(r"\s+", " ", c).strip() for c in self.cells)
        self.cells = [""]
        if line.strip():
            self.done.append(line)

    def exact(self, text: str) -> None:
        self.end()
        self.done.append(text)

    def node(self, node: _Node) -> None:
        tag = node.tag
        if "data-chrome" in node.attributes or tag in ("script", "style"):
            return
        if tag == "math":
            self.add(_first(node, "annotation"))
        elif tag == "svg":
            self.add(_first(node, "title"))
        elif tag == "br":
            self.add(" ")
        elif tag == "pre":
            self.exact(_all_text(node))
        elif tag in _CAPTIONS:
            inner = _Lines()
            inner.inside(node)
            self.captions.append(inner.text())
        elif tag == "tr":
            self.row(node)
        elif tag in _LINE_ELEMENTS:
            self.end()
            self.inside(node)
            self.end()
        else:
            self.inside(node)

    def inside(self, node: _Node) -> None:
        for child in node.children:
            if isinstance(child, str):
                self.add(child)
            else:
                self.node(child)

    def row(self, node: _Node) -> None:
        self.end()
        cells = []
        for child in node.children:
            if isinstance(child, _Node):
                inner = _Lines()
                inner.inside(child)
                cells.append(inner.text())
        self.cells = cells or [""]
        self.end()


def _all_text(node: _Node) -> str:
    return "".join(
        child if isinstance(child, str) else _all_text(child)
        for child in node.children
    )


def _first(node: _Node, tag: str) -> str:
    """The text of the first ``tag`` inside, ``""`` when there is none."""
    for child in node.children:
        if isinstance(child, _Node):
            if child.tag == tag:
                return _all_text(child)
            deeper = _first(child, tag)
            if deeper:
                return deeper
    return ""


# --- Markdown -------------------------------------------------------------

_CHAPTER_MARK = re.compile(r"<!-- (chapter|end) (\S+) -->")
_BLOCK_MARK = re.compile(r"<!-- (\S+-\d{4}) ([a-z]+) -->")
_CHROME_TAG = re.compile(r"<(\w+) data-chrome=\"1\">$")


def _markdown() -> MarkdownIt:
    parser = MarkdownIt("commonmark").enable("table").use(footnote_plugin)
    # Footnotes stay where they stand; escapes stay apart from plain text,
    # so that a dollar of the text is not taken for the edge of a formula.
    parser.disable(["footnote_tail", "text_join"])
    return parser


def _markdown_pages(text: str, where: str) -> Pages:
    pages: Pages = {}
    slug = ""
    mark: tuple[str, str, int] | None = None
    body: list[Token] = []

    def end_block() -> None:
        nonlocal mark
        if mark is not None and slug:
            identity, kind, line = mark
            visible = _markdown_text(body)
            pages[slug].append(Read(identity, kind, visible, line))
        mark = None
        body.clear()

    for token in _markdown().parse(text):
        line = token.map[0] + 1 if token.map else 0
        comment = token.content if token.type == "html_block" else ""
        chapter = _CHAPTER_MARK.match(comment)
        block = _BLOCK_MARK.match(comment)
        if chapter and token.level == 0:
            end_block()
            if chapter[1] == "chapter":
                slug = chapter[2]
                pages.setdefault(slug, [])
            else:
                slug = ""
        elif block and token.level == 0:
            end_block()
            mark = (block[1], block[2], line)
        elif slug and mark is None:
            message = f"text outside every block of {slug}"
            raise UnreadableError(Problem(where, line, message))
        else:
            body.append(token)
    end_block()
    return pages


def _markdown_text(tokens: Sequence[Token]) -> str:
    lines = _Lines()
    row: list[str] = []
    for token in tokens:
        if token.type == "inline":
            inner = _Lines()
            _inline(token.children or [], inner)
            line = inner.text()
            if row and row[-1] == "\0":
                row[-1] = line
            elif line:
                lines.exact(line)
        elif token.type in ("fence", "code_block"):
            if token.info == "math":
                lines.add(token.content)
                lines.end()
            else:
                lines.exact(token.content.removesuffix("\n"))
        elif token.type == "tr_open":
            row = []
        elif token.type in ("th_open", "td_open"):
            row.append("\0")
        elif token.type == "tr_close":
            lines.cells = row
            lines.end()
            row = []
        elif token.type == "html_block":
            lines.add(token.content)
            lines.end()
    return lines.text()


def _inline(tokens: Sequence[Token], lines: _Lines) -> None:
    chrome = ""
    for place, token in enumerate(tokens):
        if token.type == "html_inline":
            opened = _CHROME_TAG.match(token.content)
            if opened:
                chrome = f"</{opened[1]}>"
            elif token.content == chrome:
                chrome = ""
            elif token.content == "<br>":
                lines.add(" ")
        elif chrome:
            continue
        elif token.type in ("softbreak", "hardbreak"):
            lines.add(" ")
        elif token.type == "code_inline":
            lines.add(token.content)
        elif token.type in ("text", "text_special"):
            lines.add(_without_dollars(tokens, place))


def _without_dollars(tokens: Sequence[Token], place: int) -> str:
    """A text without the dollars that mark a neighbour as a formula."""
    text = tokens[place].content
    if tokens[place].type != "text":
        return text
    if _formula(tokens, place + 1):
        text = text.removesuffix("$")
    if _formula(tokens, place - 1):
        text = text.removeprefix("$")
    return text


def _formula(tokens: Sequence[Token], place: int) -> bool:
    if not 0 < place < len(tokens) - 1:
        return False
    before, after = tokens[place - 1], tokens[place + 1]
    return (
        tokens[place].type == "code_inline"
        and (before.type, after.type) == ("text", "text")
        and before.content.endswith("$")
        and after.content.startswith("$")
    )


# --- outputs --------------------------------------------------------------


def read_site_page(markup: str, where: str) -> list[Read]:
    """The blocks of one page of the site, between its two marks."""
    start = markup.find(BEGIN)
    end = markup.find(END)
    if start < 0 or end < start:
        message = f"the marks {BEGIN} and {END} are not both there"
        raise UnreadableError(Problem(where, 0, message))
    first_line = markup.count("\n", 0, start) + 1
    tree = _tree(markup[start:end], where, first_line)
    return _markup_blocks(tree, where)


def read_site(staging: Path, lang: str) -> Pages:
    """Pages of the online book that hold blocks, by slug."""
    pages: Pages = {}
    for path in sorted((staging / "site" / lang).glob("*.html")):
        markup = path.read_text("utf-8")
        if BEGIN in markup:
            where = f"site/{lang}/{path.name}"
            pages[path.stem] = read_site_page(markup, where)
    return pages


def read_epub(staging: Path, lang: str) -> Pages:
    """Content documents of the e-book that hold blocks, by slug."""
    name = f"keeps-secrets-{lang}.epub"
    pages: Pages = {}
    with zipfile.ZipFile(staging / name) as book:
        for member in book.namelist():
            if member.endswith(".xhtml"):
                where = f"{name}!{member}"
                tree = _tree(book.read(member).decode("utf-8"), where)
                blocks = _markup_blocks(tree, where)
                if blocks:
                    slug = Path(member).stem
                    pages[slug] = blocks
    return pages


def read_offline(staging: Path, lang: str) -> Pages:
    """Sections of the offline file, by the slug each says it holds."""
    name = f"keeps-secrets-{lang}.html"
    tree = _tree((staging / name).read_text("utf-8"), name)
    pages: Pages = {}

    def walk(node: _Node) -> None:
        for child in node.children:
            if not isinstance(child, _Node):
                continue
            slug = child.attributes.get("data-chapter")
            if slug is None:
                walk(child)
            else:
                pages.setdefault(slug, []).extend(_markup_blocks(child, name))

    walk(tree)
    return pages


def read_markdown(staging: Path, lang: str) -> Pages:
    """Chapters of the full text, by slug."""
    name = f"keeps-secrets-{lang}.md"
    return _markdown_pages((staging / name).read_text("utf-8"), name)


READERS: Final = {
    "epub": read_epub,
    "html": read_offline,
    "md": read_markdown,
    "site": read_site,
}

# Where a fault in an output is reported, when no page narrows it down.
_PLACES: Final = {
    "epub": "keeps-secrets-{lang}.epub",
    "html": "keeps-secrets-{lang}.html",
    "md": "keeps-secrets-{lang}.md",
    "site": "site/{lang}",
}


def read_outputs(staging: Path) -> dict[str, Pages]:
    """Everything the artefacts in ``staging`` hold, by ``"site/en"`` etc.

    Raises ``UnreadableError`` for an artefact that is broken, and
    ``OSError`` for one that is not there.
    """
    return {
        f"{output}/{lang}": reader(staging, lang)
        for output, reader in READERS.items()
        for lang in LANGUAGES
    }


def as_map(
    outputs: Mapping[str, Pages],
) -> dict[str, dict[str, list[list[str]]]]:
    """The ``outputs`` of a content map: ``[[id, sha256], …]`` by slug."""
    return {
        name: {
            slug: [[block.id, block.sha256] for block in blocks]
            for slug, blocks in pages.items()
        }
        for name, pages in outputs.items()
    }


@dataclass(frozen=True)
class Expected:
    """A block as the resolved edition lists it."""

    id: str
    kind: str
    sha256: str


def compare(
    expected: Mapping[str, Sequence[Expected]], output: str, pages: Pages
) -> list[Problem]:
    """Differences between an edition, by slug, and what an output holds.

    Names the output, the chapter, the block's id and its kind: blocks that
    are missing, that should not be there, that stand in another order, that
    say something else.
    """
    kind, _, lang = output.partition("/")
    place = _PLACES[kind].format(lang=lang)
    found = []
    for slug in expected:
        if slug not in pages:
            message = f"{output}: chapter {slug} is missing"
            found.append(Problem(place, 0, message))
    for slug in pages:
        if slug not in expected:
            line = pages[slug][0].line if pages[slug] else 0
            message = f"{output}: chapter {slug} is in no edition"
            found.append(Problem(place, line, message))
    for slug, blocks in expected.items():
        if slug in pages:
            where = f"{place}/{slug}.html" if kind == "site" else place
            found += _compare_chapter(
                blocks, pages[slug], where, f"{output}: chapter {slug}"
            )
    return found


def _compare_chapter(
    expected: Sequence[Expected], read: Sequence[Read], where: str, label: str
) -> list[Problem]:
    found = []
    wanted = {block.id: block for block in expected}
    seen: set[str] = set()
    for block in read:
        name = f"{label}: block {block.id} ({block.kind or 'no kind'})"
        if block.id not in wanted or block.id in seen:
            why = (
                "is there twice" if block.id in seen else "should not be there"
            )
            found.append(Problem(where, block.line, f"{name} {why}"))
            continue
        seen.add(block.id)
        want = wanted[block.id]
        if block.kind != want.kind:
            message = f"{name} should be of kind {want.kind}"
            found.append(Problem(where, block.line, message))
        if block.sha256 != want.sha256:
            start = " ".join(block.text.split())[:60]
            message = f"{name} says something else: {start!r}"
            found.append(Problem(where, block.line, message))
    for missing in expected:
        if missing.id not in seen:
            name = f"block {missing.id} ({missing.kind})"
            found.append(Problem(where, 0, f"{label}: {name} is missing"))
    order = [block.id for block in expected if block.id in seen]
    actual = list(dict.fromkeys(b.id for b in read if b.id in wanted))
    for should, block_id in zip(order, actual, strict=True):
        if should != block_id:
            block = next(b for b in read if b.id == block_id)
            message = (
                f"{label}: block {block_id} ({block.kind}) stands where "
                f"{should} ({wanted[should].kind}) should"
            )
            found.append(Problem(where, block.line, message))
            break
    return found
