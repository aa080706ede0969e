"""The one scanner of Markdown blocks: what is a heading, what is a fence.

It reads the block structure of CommonMark 0.31 (block quotes and lists
included, since a fence may sit in a list item), pipe tables of GFM, and
front matter. It builds no tree and reads no inline markup: it says, for
every line, which leaf block the line belongs to. ``scan`` tiles the text,
so the slices of the blocks joined together are the text.

Only LF ends a line. Time is linear in the text: containers nested deeper
than ``MAX_DEPTH`` are read as text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

VERSION: Final = 1
MAX_DEPTH: Final = 32

FRONT_MATTER: Final = "front matter"
HEADING: Final = "heading"
FENCE: Final = "fence"
INDENTED: Final = "indented code"
COMMENT: Final = "html comment"
HTML: Final = "html"
TABLE: Final = "table"
RULE: Final = "rule"
PARAGRAPH: Final = "paragraph"
MARKER: Final = "marker"
BLANK: Final = "blank"


@dataclass(frozen=True)
class Block:
    """A leaf block: whole lines ``[start, end)`` of the text, LF included.

    ``level`` is 1 to 6 for a heading, else 0. ``text`` is a heading's text
    without its markers, the content of code, else empty; ``info`` is what
    follows an opening fence. ``depth`` counts the block quotes and list
    items around the block. A line with nothing but container markers is a
    ``marker``.
    """

    kind: str
    start: int
    end: int
    level: int = 0
    text: str = ""
    info: str = ""
    depth: int = 0


def scan(text: str) -> list[Block]:
    """Return the leaf blocks of ``text`` in order; they tile it."""
    scanner = _Scanner(text)
    start = _front_matter_end(text)
    if start:
        scanner.blocks.append(Block(FRONT_MATTER, 0, start))
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        scanner.line(start, end)
        start = end
    scanner.close_leaf()
    return scanner.blocks


def headings(blocks: list[Block]) -> list[Block]:
    """Return the headings that divide the document.

    A heading inside a block quote or a list item is part of it.
    """
    return [b for b in blocks if b.kind == HEADING and b.depth == 0]


def title(text: str) -> str:
    """Return the document's title, or ``""`` when it has none.

    The first level-1 heading with text wins; else the front matter's
    ``title``.
    """
    blocks = scan(text)
    for block in headings(blocks):
        if block.level == 1 and block.text:
            return block.text
    if blocks and blocks[0].kind == FRONT_MATTER:
        return _front_matter_title(text[: blocks[0].end])
    return ""


# --- front matter ---------------------------------------------------------

_KEY = re.compile(
    r"""(?:[^\s:#"'\[\]{}-][^:]*+|"[^"]*+"|'[^']*+')\s*+:(?=\s|\Z)"""
)


def _front_matter_end(text: str) -> int:
    """Return where the front matter ends; 0 when there is none.

    ``---`` alone also draws a rule, so the first line that is neither
    blank nor a comment has to be a key.
    """
    start = text.find("\n") + 1
    if not start or text[:start].rstrip() != "---":
        return 0
    keyed = False
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        line = text[start:end].rstrip()
        if line in ("---", "..."):
            return end if keyed else 0
        if not keyed and line and not line.startswith("#"):
            if not _KEY.match(line):
                return 0
            keyed = True
        start = end
    return 0


def _front_matter_title(source: str) -> str:
    lines = source.split("\n")
    for n, line in enumerate(lines):
        key, colon, value = line.partition(":")
        if not colon or key.rstrip().strip("\"'") != "title":
            continue
        value = value.strip()
        if value[:1] in (">", "|"):
            indented = []
            for more in lines[n + 1 :]:
                if more.strip() and not more[0].isspace():
                    break
                indented.append(more)
            return " ".join(" ".join(indented).split())
        return _scalar(value)
    return ""


def _scalar(value: str) -> str:
    """Read a one-line YAML scalar: quoted, or plain with a comment."""
    if value[:1] == "'":
        body = re.match(r"'((?:[^']|'')*)'", value)
        return body[1].replace("''", "'").strip() if body else value
    if value[:1] == '"':
        body = re.match(r'"((?:[^"\\]|\\.)*)"', value)
        return re.sub(r"\\(.)", r"\1", body[1]).strip() if body else value
    return re.split(r"(?:^|\s)#", value, maxsplit=1)[0].strip()


# --- lines ----------------------------------------------------------------


class _Cursor:
    """A place in one line, in characters and in columns (tab stops of 4)."""

    def __init__(self, line: str) -> None:
        self.line = line
        self.at = 0
        self.column = 0
        self.owed = 0  # columns of a tab that were consumed in part
        self.look()

    def look(self) -> None:
        """Find the next character that is neither space nor tab."""
        at, column = self.at, self.column
        while at < len(self.line) and self.line[at] in " \t":
            column += 4 - column % 4 if self.line[at] == "\t" else 1
            at += 1
        self.next = at
        self.next_column = column
        self.indent = column - self.column
        self.blank = at == len(self.line)

    def columns(self, count: int) -> None:
        """Consume ``count`` columns of white space, or what there is."""
        while count > 0 and self.at < len(self.line):
            character = self.line[self.at]
            if character not in " \t":
                break
            width = 4 - self.column % 4 if character == "\t" else 1
            taken = min(width, count)
            self.column += taken
            count -= taken
            self.owed = width - taken
            if not self.owed:
                self.at += 1
        self.look()

    def marker(self, characters: int) -> None:
        """Move past the indent and a marker of ``characters``."""
        self.at = self.next + characters
        self.column = self.next_column + characters
        self.owed = 0
        self.look()

    def rest(self) -> str:
        """Return what is left, a half-consumed tab as its spaces."""
        if self.owed:
            return " " * self.owed + self.line[self.at + 1 :]
        return self.line[self.at :]

    def ahead(self) -> str:
        """Return what is left without its indent."""
        return self.line[self.next :]


@dataclass
class _Container:
    """A block quote, or a list item whose content begins ``width`` in."""

    quote: bool
    width: int = 0
    empty: bool = False


@dataclass
class _Leaf:
    """The open leaf block."""

    block: Block
    lines: list[str]
    spans: list[tuple[int, int]]
    fence: str = ""
    fence_indent: int = 0
    html_end: re.Pattern[str] | None = None


_FENCE = re.compile(r"(`{3,})([^`]*)\Z|(~{3,})(.*)\Z", re.DOTALL)
_ITEM = re.compile(r"(?:([*+-])|([0-9]{1,9})([.)]))(?=[ \t]|\Z)")
_SETEXT = re.compile(r"(=+|-+)[ \t]*\Z")
_ATX = re.compile(r"(#{1,6})(?=[ \t]|\Z)")
_DELIMITER = re.compile(r"[ \t]*:?-+:?[ \t]*\Z")
_DEFINITION = re.compile(
    r" {0,3}\[(?!\s*\])(?:[^\[\]\\]|\\.)+\]:\s*"
    r"(?:<[^<>\n]*>|[^\s<]\S*)"
    r"""(?:\s+(?:"[^"]*"|'[^']*'|\([^()]*\)))?\s*\Z"""
)
_HTML_NAMES = (
    "address article aside base basefont blockquote body caption center col"
    " colgroup dd details dialog dir div dl dt fieldset figcaption figure"
    " footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html iframe"
    " legend li link main menu menuitem nav noframes ol optgroup option p"
    " param search section summary table tbody td tfoot th thead title tr"
    " track ul"
).replace(" ", "|")
_ATTRIBUTE = (
    r"(?:\s+[A-Za-z_:][\w:.-]*+"
    r"""(?:\s*=\s*(?:[^\s"'=<>`]++|'[^']*'|"[^"]*"))?)"""
)
_I = re.IGNORECASE | re.ASCII
_BLANK = re.compile(r"(?!)")  # ends at a blank line, not at a match
# The seven ways to start an HTML block, each with what ends it.
_HTML_STARTS: Final = (
    (
        re.compile(r"<(?:script|pre|textarea|style)(?:\s|>|\Z)", _I),
        re.compile(r"</(?:script|pre|textarea|style)>", _I),
    ),
    (re.compile(r"<!--"), re.compile(r"-->")),
    (re.compile(r"<\?"), re.compile(r"\?>")),
    (re.compile(r"<![A-Za-z]"), re.compile(r">")),
    (re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>")),
    (re.compile(rf"</?(?:{_HTML_NAMES})(?:\s|/?>|\Z)", _I), _BLANK),
    (
        re.compile(
            rf"(?:<[A-Za-z][A-Za-z0-9-]*{_ATTRIBUTE}*\s*/?>"
            r"|</[A-Za-z][A-Za-z0-9-]*\s*>)\s*\Z",
            _I,
        ),
        _BLANK,
    ),
)


class _Scanner:
    """The state of CommonMark's block phase, one line at a time."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.blocks: list[Block] = []
        self.containers: list[_Container] = []
        self.leaf: _Leaf | None = None

    def line(self, start: int, end: int) -> None:
        line = self.text[start:end].removesuffix("\n")
        cursor = _Cursor(line)
        matched = self._match_containers(cursor)
        if matched == len(self.containers) and self._continue_leaf(
            cursor, start, end
        ):
            return
        matched, opened = self._open_containers(cursor, matched, start, end)
        if opened:
            return
        self._add_text(cursor, matched, start, end)

    # --- step one: which containers go on? --------------------------------

    def _match_containers(self, cursor: _Cursor) -> int:
        for n, container in enumerate(self.containers):
            if container.quote:
                if cursor.indent > 3 or not cursor.ahead().startswith(">"):
                    return n
                cursor.marker(1)
                cursor.columns(1)
            elif cursor.blank:
                if container.empty:
                    return n
            elif cursor.indent >= container.width:
                cursor.columns(container.width)
            else:
                return n
        return len(self.containers)

    # --- step two: does the open leaf take the line as it is? --------------

    def _continue_leaf(self, cursor: _Cursor, start: int, end: int) -> bool:
        leaf = self.leaf
        if leaf is None:
            return False
        kind = leaf.block.kind
        if kind == FENCE:
            if self._closes_fence(leaf, cursor):
                leaf.spans.append((start, end))
                self.close_leaf()
                return True
            cursor.columns(min(leaf.fence_indent, cursor.indent))
            self._take(leaf, cursor.rest(), start, end)
            return True
        if kind in (HTML, COMMENT):
            assert leaf.html_end is not None
            if leaf.html_end is _BLANK and cursor.blank:
                self.close_leaf()
                return False
            self._take(leaf, cursor.rest(), start, end)
            if leaf.html_end.search(leaf.lines[-1]):
                self.close_leaf()
            return True
        if kind == INDENTED:
            if cursor.indent >= 4 or cursor.blank:
                cursor.columns(4)
                self._take(leaf, cursor.rest(), start, end)
                return True
            self.close_leaf()
        elif cursor.blank:
            self.close_leaf()
        return False

    @staticmethod
    def _closes_fence(leaf: _Leaf, cursor: _Cursor) -> bool:
        if cursor.indent > 3:
            return False
        run = cursor.ahead().rstrip(" \t")
        return len(run) >= len(leaf.fence) and run == leaf.fence[0] * len(run)

    @staticmethod
    def _take(leaf: _Leaf, content: str, start: int, end: int) -> None:
        leaf.lines.append(content)
        leaf.spans.append((start, end))

    # --- step three: what begins here? ------------------------------------

    def _open_containers(
        self, cursor: _Cursor, matched: int, start: int, end: int
    ) -> tuple[int, bool]:
        """Open what the line opens; report whether a leaf took the line."""
        while not cursor.blank:
            paragraph = self._paragraph_at(matched)
            if cursor.indent > 3:
                if self.leaf is None or not self._is_paragraph():
                    self._close_to(matched)
                    cursor.columns(4)
                    self._open(INDENTED, cursor.rest(), start, end)
                    return matched, True
                break
            ahead = cursor.ahead()
            if ahead[0] == ">" and matched < MAX_DEPTH:
                self._close_to(matched)
                cursor.marker(1)
                cursor.columns(1)
                self.containers.append(_Container(quote=True))
                matched += 1
                continue
            if self._start_leaf(
                cursor, ahead, matched, paragraph is not None, start, end
            ):
                return matched, True
            if paragraph is not None and self._setext(
                paragraph, ahead, start, end
            ):
                return matched, True
            if _is_rule(ahead):
                self._close_to(matched)
                self._emit(RULE, start, end)
                return matched, True
            item = self._item(cursor, ahead, paragraph is not None)
            if item is None or matched >= MAX_DEPTH:
                break
            self._close_to(matched)
            self._enter_item(cursor, item)
            matched += 1
        return matched, False

    def _start_leaf(
        self,
        cursor: _Cursor,
        ahead: str,
        matched: int,
        in_paragraph: bool,
        start: int,
        end: int,
    ) -> bool:
        first = ahead[0]
        if first == "#" and (atx := _ATX.match(ahead)):
            self._close_to(matched)
            self._emit(
                HEADING,
                start,
                end,
                level=len(atx[1]),
                text=_atx_text(ahead[atx.end() :]),
            )
            return True
        if first in "`~" and (fence := _FENCE.match(ahead)):
            self._close_to(matched)
            leaf = self._open(FENCE, None, start, end)
            leaf.fence = fence[1] or fence[3]
            leaf.fence_indent = cursor.indent
            info = (fence[2] if fence[1] else fence[4]).strip(" \t")
            leaf.block = replace(leaf.block, info=info)
            return True
        if first == "<":
            return self._start_html(
                cursor, ahead, matched, in_paragraph, start, end
            )
        return False

    def _start_html(
        self,
        cursor: _Cursor,
        ahead: str,
        matched: int,
        in_paragraph: bool,
        start: int,
        end: int,
    ) -> bool:
        for n, (opens, closes) in enumerate(_HTML_STARTS):
            if not opens.match(ahead):
                continue
            # The last kind, any complete tag, cannot break a paragraph,
            # not even one that would only be continued lazily.
            if n == 6 and (in_paragraph or self._is_paragraph()):
                return False
            self._close_to(matched)
            kind = COMMENT if n == 1 else HTML
            leaf = self._open(kind, cursor.rest(), start, end)
            leaf.html_end = closes
            if closes.search(ahead):
                self.close_leaf()
            return True
        return False

    def _setext(
        self, paragraph: _Leaf, ahead: str, start: int, end: int
    ) -> bool:
        underline = _SETEXT.match(ahead)
        if not underline:
            return False
        lines = paragraph.lines
        cut = 0
        while cut < len(lines) and _DEFINITION.match(lines[cut]):
            cut += 1
        if cut == len(lines):
            return False
        if cut:
            # Definitions are no text of the heading.
            self.blocks.append(
                replace(paragraph.block, end=paragraph.spans[cut][0])
            )
        self.leaf = None
        self.blocks.append(
            replace(
                paragraph.block,
                kind=HEADING,
                start=paragraph.spans[cut][0],
                end=end,
                level=1 if underline[1][0] == "=" else 2,
                text=" ".join(line.strip(" \t") for line in lines[cut:]),
            )
        )
        return True

    def _item(
        self, cursor: _Cursor, ahead: str, in_paragraph: bool
    ) -> re.Match[str] | None:
        item = _ITEM.match(ahead)
        if item is None:
            return None
        if in_paragraph:
            # A number inside a sentence starts no list, unless it is 1.
            if not ahead[item.end() :].strip(" \t"):
                return None
            if item[2] and int(item[2]) != 1:
                return None
        return item

    def _enter_item(self, cursor: _Cursor, item: re.Match[str]) -> None:
        offset = cursor.indent
        marker = item.end()
        cursor.marker(marker)
        if cursor.blank:
            width = marker + 1
        elif cursor.indent > 4:
            width = marker + 1
            cursor.columns(1)
        else:
            width = marker + cursor.indent
            cursor.columns(cursor.indent)
        self.containers.append(
            _Container(False, offset + width, empty=cursor.blank)
        )

    # --- step four: text ---------------------------------------------------

    def _add_text(
        self, cursor: _Cursor, matched: int, start: int, end: int
    ) -> None:
        leaf = self.leaf
        if cursor.blank:
            self._close_to(matched)
            kind = BLANK if not cursor.line.strip(" \t") else MARKER
            self._emit(kind, start, end)
            return
        if leaf is not None and leaf.block.kind in (PARAGRAPH, TABLE):
            # Also when containers were left unmatched: lazy continuation.
            lazy = matched < len(self.containers)
            if not (lazy and leaf.block.kind == TABLE):
                self._take(leaf, cursor.rest(), start, end)
                if not lazy:
                    self._try_table(leaf)
                return
        self._close_to(matched)
        self._open(PARAGRAPH, cursor.rest(), start, end)

    def _try_table(self, leaf: _Leaf) -> None:
        """Turn a paragraph into a table when its delimiter row is read.

        All rows down to the delimiter row are its header, so that a header
        of two lines is not torn apart.
        """
        if leaf.block.kind == TABLE or len(leaf.lines) < 2:
            return
        columns = _delimiter_columns(leaf.lines[-1])
        if not columns or _columns(leaf.lines[-2]) != columns:
            return
        first = len(leaf.lines) - 2
        while first and _columns(leaf.lines[first - 1]) == columns:
            first -= 1
        if first:
            self.blocks.append(replace(leaf.block, end=leaf.spans[first][0]))
            leaf.lines = leaf.lines[first:]
            leaf.spans = leaf.spans[first:]
        leaf.block = replace(leaf.block, kind=TABLE, start=leaf.spans[0][0])

    # --- opening and closing ----------------------------------------------

    def _is_paragraph(self) -> bool:
        return self.leaf is not None and self.leaf.block.kind in (
            PARAGRAPH,
            TABLE,
        )

    def _paragraph_at(self, matched: int) -> _Leaf | None:
        """Return the open paragraph if all its containers go on."""
        leaf = self.leaf
        if leaf is None or matched < len(self.containers):
            return None
        return leaf if leaf.block.kind == PARAGRAPH else None

    def _emit(
        self, kind: str, start: int, end: int, level: int = 0, text: str = ""
    ) -> None:
        if kind not in (BLANK, MARKER):
            self._fill()
        self.blocks.append(
            Block(
                kind,
                start,
                end,
                level=level,
                text=text,
                depth=len(self.containers),
            )
        )

    def _open(
        self, kind: str, content: str | None, start: int, end: int
    ) -> _Leaf:
        self._fill()
        block = Block(kind, start, end, depth=len(self.containers))
        lines = [] if content is None else [content]
        self.leaf = _Leaf(block, lines, [(start, end)])
        return self.leaf

    def _fill(self) -> None:
        for container in self.containers:
            container.empty = False

    def _close_to(self, matched: int) -> None:
        """Close the open leaf, and the containers beyond ``matched``."""
        self.close_leaf()
        del self.containers[matched:]

    def close_leaf(self) -> None:
        leaf = self.leaf
        self.leaf = None
        if leaf is None:
            return
        block = replace(leaf.block, end=leaf.spans[-1][1])
        if block.kind == FENCE:
            block = replace(block, text="\n".join(leaf.lines))
        elif block.kind == INDENTED:
            # Blank lines after indented code are not part of it.
            count = len(leaf.lines)
            while not leaf.lines[count - 1].strip(" \t"):
                count -= 1
            block = replace(
                block,
                end=leaf.spans[count - 1][1],
                text="\n".join(leaf.lines[:count]),
            )
            self.blocks.append(block)
            self.blocks.extend(
                Block(
                    MARKER if self.text[start:end].strip(" \t\n") else BLANK,
                    start,
                    end,
                    depth=block.depth,
                )
                for start, end in leaf.spans[count:]
            )
            return
        self.blocks.append(block)


def _atx_text(rest: str) -> str:
    """Strip the closing run of ``#``; ``C#`` keeps its own."""
    text = rest.strip(" \t")
    kept = text.rstrip("#")
    if not kept or kept[-1] in " \t":
        return kept.rstrip(" \t")
    return text


def _is_rule(ahead: str) -> bool:
    if ahead[0] not in "*-_":
        return False
    marks = ahead.replace(" ", "").replace("\t", "")
    return len(marks) >= 3 and marks == ahead[0] * len(marks)


def _cells(row: str) -> list[str]:
    row = row.strip(" \t").removeprefix("|")
    cells = re.split(r"(?<!\\)\|", row)
    return cells[:-1] if len(cells) > 1 and not cells[-1].strip() else cells


def _columns(row: str) -> int:
    """Count the cells of a row; 0 when it holds no pipe."""
    return len(_cells(row)) if "|" in row else 0


def _delimiter_columns(row: str) -> int:
    """Count the columns of ``|---|:-:|``; 0 when it is no such row."""
    if "|" not in row or "-" not in row:
        return 0
    cells = _cells(row)
    if not all(_DELIMITER.match(cell) for cell in cells):
        return 0
    return len(cells)
