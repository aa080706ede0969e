"""The complete text as one Markdown file for each language.

The blocks' neutral XHTML is written out again as CommonMark with tables and
footnotes, the dialect code hosts read. What has no Markdown of its own takes
the form those hosts agree on: a formula is TeX between dollars (inline in a
code span, so that nothing inside it is taken for emphasis), a drawing is its
title and its description.

Before each block stands a comment with its id and kind, and behind the
comment, on the same line, the block's anchors. Neither shows on a page; the
first lets the text be compared block by block, the second keeps links alive.
Numbers that are not content stand in ``<b data-chrome="1">``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lxml import etree

from book.press.blocks import Block, Chapter, Edition
from book.press.context import BuildContext
from book.press.links import SINGLE_PAGE, Resolver, localise
from book.press.wording import chapter_label
from book.press.xhtml import (
    classes,
    escape,
    is_chrome,
    local_name,
    tex_of,
    text_of,
)

_WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "en": {
        "figure": "Figure",
        "contents": "Contents",
        "version": "Version {version}, {date}. {authors}. Licence: {licence}.",
    },
    "zh": {
        "figure": "图",
        "contents": "目录",
        "version": "版本 {version}，{date}。{authors}。许可：{licence}。",
    },
}

# Elements that hold blocks; a run of inline content in one is a paragraph.
_CONTAINERS: Final = frozenset(
    {"aside", "div", "section", "figure", "details", "dd", "header", "footer"}
)
_BLOCKS: Final = _CONTAINERS | {
    "blockquote", "caption", "dl", "dt", "figcaption", "h1", "h2", "h3", "h4",
    "h5", "h6", "hr", "ol", "p", "pre", "summary", "table", "ul",
}  # fmt: skip
# Inline elements that keep their tags, for want of a mark of Markdown.
_TAGGED: Final = frozenset(
    {"sub", "sup", "kbd", "mark", "u", "s", "del", "ins"}
)
# Inline elements that are dropped around their content.
_PLAIN: Final = frozenset(
    {"span", "b", "i", "small", "abbr", "cite", "dfn", "q", "var", "samp",
     "time", "bdi", "bdo", "label"}
)  # fmt: skip
_MARKS: Final = {"em": "*", "strong": "**"}


def file_name(lang: str) -> str:
    """The name of the Markdown file inside the output folder."""
    return f"keeps-secrets-{lang}.md"


def render(
    editions: Mapping[str, Edition], staging: Path, context: BuildContext
) -> None:
    """Write the full text of every edition into ``staging``.

    Raises ``LinkError`` for a link to nothing and ``ValueError`` for markup
    that has no form in Markdown.
    """
    for lang, edition in sorted(editions.items()):
        context.progress(f"markdown: {lang}")
        path = staging / file_name(lang)
        path.write_text(
            edition_markdown(edition), encoding="utf-8", newline="\n"
        )


def edition_markdown(edition: Edition) -> str:
    """The whole book, ending in one line end."""
    resolver = Resolver(edition, SINGLE_PAGE)
    pieces = [_title_page(edition)]
    for part in edition.parts:
        pieces.append(f"---\n\n**{_text(part.title)}**\n")
        for slug in part.slugs:
            pieces.append(_chapter(edition.chapter(slug), resolver))
    return "\n".join(pieces)


def _title_page(edition: Edition) -> str:
    words = _WORDS[edition.lang]
    lines = [
        f"# {_text(edition.title)}",
        "",
        f"{_text(edition.subtitle)}",
        "",
        _text(words["version"].format_map(_Known(edition.metadata))),
        "",
        f"**{words['contents']}**",
        "",
    ]
    for part in edition.parts:
        lines.append(f"- {_text(part.title)}")
        for slug in part.slugs:
            chapter = edition.chapter(slug)
            number = f"{chapter.number}. " if chapter.number else ""
            target = SINGLE_PAGE.address(slug, "", slug)
            label = _text(number + chapter.title)
            lines.append(f"  - [{label}]({_href(target)})")
    return "\n".join([*lines, ""])


class _Known(dict[str, str]):
    """Metadata for a sentence; what the book does not state is a dash."""

    def __missing__(self, key: str) -> str:
        return "-"


def _chapter(chapter: Chapter, resolver: Resolver) -> str:
    label = chapter_label(chapter)
    pieces = [f"*{label}*\n"] if label else []
    pieces.append(f"<!-- chapter {chapter.slug} -->\n")
    for block in chapter.blocks:
        root = localise(block.html, chapter.slug, resolver)
        try:
            pieces.append(_block(block, root, chapter.lang))
        except ValueError as error:
            raise ValueError(f"{chapter.lang} {block.id}: {error}") from None
    pieces.append(f"<!-- end {chapter.slug} -->\n")
    return "\n".join(pieces)


def _block(block: Block, root: etree._Element, lang: str) -> str:
    anchors = "".join(
        f'<a id="{escape(identity)}"></a>' for identity in _anchors(root)
    )
    lines = _Writer(lang).block(root)
    # A comment ends its own block of HTML, so what follows is Markdown.
    return "\n".join([f"<!-- {block.id} {block.kind} -->{anchors}", *lines, ""])


def _anchors(element: etree._Element) -> Iterator[str]:
    """Ids a link may lead to; those inside drawings are only their own."""
    if local_name(element) in ("svg", "math"):
        return
    identity = element.get("id")
    if identity and element.get("role") not in ("doc-noteref", "doc-footnote"):
        yield identity
    for child in element:
        yield from _anchors(child)


def _is_note_reference(element: etree._Element) -> bool:
    return bool(element.get("role") == "doc-noteref")


def _label(fragment: str) -> str:
    """The footnote's label, unique in the book: ``SLUG--why``."""
    return fragment.lstrip("#").replace("--fn-", "--", 1)


@dataclass(frozen=True)
class _Writer:
    """Writes one block's elements as lines of Markdown."""

    lang: str
    in_table: bool = False

    def block(self, element: etree._Element) -> list[str]:
        """The lines of a block-level element."""
        name = local_name(element)
        if is_chrome(element):
            return []
        if element.get("role") == "doc-footnote":
            body = self._flow(element)
            label = _label(element.get("id") or "")
            return _hang(f"[^{label}]: ", body, 4)
        if name in ("h1", "h2", "h3", "h4", "h5", "h6"):
            line = self._inline(element)
            line = re.sub(r"(#+)$", r"\\\1", line)
            return [f"{'#' * int(name[1])} {line}"]
        if name in ("p", "summary", "figcaption", "caption"):
            return _paragraph(self._inline(element))
        if name == "dt":
            return [f"**{self._inline(element)}**"]
        if name == "hr":
            return ["---"]
        if name in ("ul", "ol"):
            return self._list(element, ordered=name == "ol")
        if name == "blockquote" or name == "aside":
            return [f"> {line}".rstrip() for line in self._flow(element)]
        if name == "pre":
            return _fence(element)
        if name == "table":
            return self._table(element)
        if name == "dl" or name in _CONTAINERS:
            return self._flow(element)
        raise ValueError(f"no Markdown for <{name}> as a block")

    def _flow(self, element: etree._Element) -> list[str]:
        """Lines of a container, captions last, blocks a line apart."""
        blocks: list[list[str]] = []
        captions: list[list[str]] = []
        inline: list[etree._Element | str] = [element.text or ""]

        def end_paragraph() -> None:
            lines = _paragraph(self._finish(self._items(inline)))
            inline.clear()
            if lines:
                blocks.append(lines)

        for child in element:
            name = local_name(child)
            if name in ("figcaption", "caption"):
                captions.append(self.block(child))
            elif name == "svg":
                end_paragraph()
                blocks.append(self._drawing(child))
            elif name == "math" and local_name(element) == "figure":
                end_paragraph()
                tex = " ".join(tex_of(child).split())
                blocks.append(["```math", tex, "```"])
            elif name in _BLOCKS:
                end_paragraph()
                blocks.append(self.block(child))
            elif is_chrome(child) and not _is_note_reference(child):
                pass
            else:
                inline.append(child)
            inline.append(child.tail or "")
        end_paragraph()
        return _apart([*blocks, *captions])

    def _drawing(self, svg: etree._Element) -> list[str]:
        title = svg.find("{*}title")
        description = svg.find("{*}desc")
        figure = _WORDS[self.lang]["figure"]
        named = "" if title is None else _text(title.text or "")
        lines = [f'<b data-chrome="1">[{figure}] </b>{named}']
        if description is not None and (description.text or "").strip():
            told = _text(description.text or "")
            lines += ["", f'<small data-chrome="1">{told}</small>']
        return lines

    def _list(self, element: etree._Element, ordered: bool) -> list[str]:
        number = int(element.get("start") or "1")
        items = [child for child in element if local_name(child) == "li"]
        written: list[list[str]] = []
        loose = any(child.find("{*}p") is not None for child in items)
        first: list[str] = []
        for item in items:
            body = self._flow(item)
            if "continued" in classes(item):
                # The rest of an item that a block of its own cut in two.
                first = body
            else:
                bullet = f"{number}. " if ordered else "- "
                written.append(_hang(bullet, body, len(bullet)))
            number += 1
        if not loose:
            written = [[line for one in written for line in one]]
        return _apart([first, *written])

    def _table(self, element: etree._Element) -> list[str]:
        cells = _Writer(self.lang, in_table=True)
        rows: list[list[etree._Element]] = [
            [cell for cell in row if local_name(cell) in ("td", "th")]
            for row in element.iter("{*}tr")
        ]
        if not rows or not all(local_name(cell) == "th" for cell in rows[0]):
            raise ValueError("a table has no row of column headings")
        width = len(rows[0])
        lines = []
        for row in rows:
            if len(row) != width or any(
                cell.get("colspan") or cell.get("rowspan") for cell in row
            ):
                raise ValueError("a table's rows differ in their cells")
            line = " | ".join(cells._inline(cell) for cell in row)
            lines.append(f"| {line} |")
        rule = " | ".join(_alignment(cell) for cell in rows[0])
        lines.insert(1, f"| {rule} |")
        captions = [self.block(c) for c in element.iter("{*}caption")]
        return _apart([lines, *captions])

    def _inline(self, element: etree._Element) -> str:
        content: list[etree._Element | str] = [element.text or ""]
        for child in element:
            content += [child, child.tail or ""]
        return self._finish(self._items(content))

    def _items(
        self, content: Iterable[etree._Element | str]
    ) -> list[tuple[str, str]]:
        items: list[tuple[str, str]] = []
        for piece in content:
            if isinstance(piece, str):
                items.append(("text", re.sub(r"[ \t\r\n\f]+", " ", piece)))
            else:
                items += self._element(piece)
        return items

    def _element(self, element: etree._Element) -> list[tuple[str, str]]:
        name = local_name(element)
        if not name:
            return []
        children: list[etree._Element | str] = [element.text or ""]
        for child in element:
            children += [child, child.tail or ""]
        if _is_note_reference(element):
            return [("raw", f"[^{_label(element.get('href') or '')}]")]
        if is_chrome(element):
            if "number" not in classes(element):
                return []
            number = _text(text_of(element))
            return [("raw", f'<b data-chrome="1">{number}</b>')]
        if name in _MARKS:
            inner = self._items(children)
            return [("open", name), *inner, ("close", name)]
        if name == "code":
            return [("raw", _code_span(text_of(element)))]
        if name == "math":
            return [("raw", f"${_code_span(tex_of(element))}$")]
        if name == "a":
            href = element.get("href")
            if href is None:
                return self._items(children)
            inner = self._items(children)
            return [("raw", "["), *inner, ("raw", f"]({_href(href)})")]
        if name == "br":
            return [("raw", "<br>")]
        if name == "wbr":
            return []
        if name in _TAGGED:
            inner = self._items(children)
            return [("raw", f"<{name}>"), *inner, ("raw", f"</{name}>")]
        if name in _PLAIN:
            return self._items(children)
        if name == "svg":
            title = element.find("{*}title")
            return [("text", "" if title is None else title.text or "")]
        if self.in_table and name in _BLOCKS:
            return [("text", " "), *self._items(children), ("text", " ")]
        raise ValueError(f"no Markdown for <{name}> in a line")

    def _finish(self, items: Sequence[tuple[str, str]]) -> str:
        written = "".join(_spell(_join_text(items))).strip(" ")
        return written.replace("|", r"\|") if self.in_table else written


def _join_text(items: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Neighbouring text as one item, empty text dropped."""
    joined: list[tuple[str, str]] = []
    for kind, value in items:
        if kind == "text" and joined and joined[-1][0] == "text":
            value = re.sub(" +", " ", joined.pop()[1] + value)
        if value:
            joined.append((kind, value))
    return joined


def _spell(items: Sequence[tuple[str, str]]) -> list[str]:
    """Items as Markdown; emphasis as marks where marks would be read."""
    spelled = [
        _text(value) if kind == "text" else value for kind, value in items
    ]
    partner = _partners(items)
    for start, end in partner.items():
        name = items[start][1]
        marks = _flanks(items, start, end)
        spelled[start] = _MARKS[name] if marks else f"<{name}>"
        spelled[end] = _MARKS[name] if marks else f"</{name}>"
    for place, (kind, value) in enumerate(items[:-1]):
        # "!" before a link would make it an image.
        if kind == "text" and value.endswith("!"):
            following = spelled[place + 1]
            if following.startswith("["):
                spelled[place] = spelled[place][:-1] + r"\!"
    return spelled


def _partners(items: Sequence[tuple[str, str]]) -> dict[int, int]:
    stack: list[int] = []
    pairs: dict[int, int] = {}
    for place, (kind, _) in enumerate(items):
        if kind == "open":
            stack.append(place)
        elif kind == "close":
            pairs[stack.pop()] = place
    return pairs


def _flanks(items: Sequence[tuple[str, str]], start: int, end: int) -> bool:
    """Whether marks at both ends would open and close emphasis.

    A mark must touch its content, and content that begins or ends with
    punctuation needs white space on the far side (CommonMark 6.2): the rule
    under which marks between Chinese characters and Chinese punctuation
    stay literal. Marks that touch other marks are never used.
    """

    def edge(place: int, which: int) -> str:
        if not 0 <= place < len(items):
            return " "
        kind, value = items[place]
        return "*" if kind in ("open", "close") else value[which]

    before, first = edge(start - 1, -1), edge(start + 1, 0)
    last, after = edge(end - 1, -1), edge(end + 1, 0)
    if end == start + 1 or "*" in (before, first, last, after):
        return False
    return _touches(first, before) and _touches(last, after)


def _touches(inner: str, outer: str) -> bool:
    if inner.isspace():
        return False
    punctuation = unicodedata.category(inner)[0] in "PS"
    return not punctuation or outer.isspace()


_SPECIAL = re.compile(
    r"""\\ | ` | \* | \[ | \] | \$ | ~
    | (?<![A-Za-z0-9])_ | _(?![A-Za-z0-9])
    | <(?=[A-Za-z/!?]) | &(?=\#?\w+;)""",
    re.VERBOSE,
)


def _text(text: str) -> str:
    """Text in which no character is taken for a mark of Markdown."""
    return _SPECIAL.sub(lambda match: "\\" + match[0], text)


def _paragraph(line: str) -> list[str]:
    """One line, its beginning not taken for a heading, list or quote."""
    if not line:
        return []
    line = re.sub(r"^(\d{1,9})([.)])(?=\s|$)", r"\1\\\2", line)
    return [re.sub(r"^(#{1,6}(?=\s|$)|[-+](?=\s|$)|>|=+$|-+$)", r"\\\1", line)]


def _code_span(text: str) -> str:
    text = re.sub(r"\s", " ", text)
    fence = "`" * (_longest_run(text) + 1)
    # One space at both ends is taken off again; it parts inner backticks.
    edges = text[:1] + text[-1:]
    spaced = "`" in edges or (edges == "  " and text.strip() != "")
    pad = " " if spaced else ""
    return f"{fence}{pad}{text}{pad}{fence}" if text else ""


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def _fence(pre: etree._Element) -> list[str]:
    text = text_of(pre)
    fence = "`" * max(3, _longest_run(text) + 1)
    code = pre.find("{*}code")
    language = next(
        (
            name.removeprefix("language-")
            for name in ([] if code is None else classes(code))
            if name.startswith("language-")
        ),
        "",
    )
    return [f"{fence}{language}", *(text.split("\n") if text else []), fence]


def _href(href: str) -> str:
    if re.search(r"[\s()<>]", href):
        return f"<{href.replace(' ', '%20')}>"
    return href


def _alignment(cell: etree._Element) -> str:
    hint = f"{cell.get('class') or ''} {cell.get('style') or ''}"
    if "right" in hint or "number" in hint:
        return "---:"
    return ":---:" if "center" in hint else "---"


def _apart(blocks: Iterable[list[str]]) -> list[str]:
    """Blocks with an empty line between, empty ones dropped."""
    lines: list[str] = []
    for block in blocks:
        if block:
            lines += ["", *block] if lines else block
    return lines


def _hang(bullet: str, lines: list[str], indent: int) -> list[str]:
    """Lines behind a bullet, the others indented to stay in its item."""
    first, *rest = lines or [""]
    hung = [f"{' ' * indent}{line}" if line else "" for line in rest]
    return [f"{bullet}{first}".rstrip(), *hung]
