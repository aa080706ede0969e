"""One parsed chapter as blocks.

A block is what stands at the top level of the Markdown. Code, formulas,
tables and macro blocks inside a list, quote or note are blocks of their
own: what holds them is printed in pieces around them, each piece a block.
A piece of an ordered list says where its numbers start; an item that was
cut in two goes on in ``<li class="continued">``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.token import Token

from book.press.formulas import mathml
from book.press.highlighting import code_html
from book.press.lint import fence_language
from book.press.macros import (
    PLACEHOLDER,
    Captioned,
    Expanded,
    Inline,
    Reference,
    Whole,
)
from book.press.manuscript import Page
from book.press.markup import HEADING_ID, Filling, Node, inline_html
from book.press.problems import Problem
from book.press.xhtml import escape, escape_attribute

# How a captioned block is called, and counted.
COUNTED: Mapping[str, Mapping[str, str]] = {
    "listing": {"en": "Listing", "zh": "代码"},
    "transcript": {"en": "Session", "zh": "会话"},
    "table": {"en": "Table", "zh": "表"},
    "figure": {"en": "Figure", "zh": "图"},
}
_BACK = {"en": "Back to the text", "zh": "回到正文"}
_CONTAINERS = {
    "bullet_list": ("ul", "list"),
    "ordered_list": ("ol", "list"),
    "list_item": ("li", "list"),
    "blockquote": ("blockquote", "quote"),
    "container_note": ("aside", "note"),
}


@dataclass(frozen=True)
class Fragment:
    """A block to be: its kind, its root element, its line in the file."""

    kind: str
    html: str
    line: int


@dataclass
class Assembled:
    """What a chapter's tokens became."""

    fragments: list[Fragment] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def assemble(
    page: Page,
    number: str,
    expanded: Expanded,
    tokens: Sequence[Token],
    markdown: MarkdownIt,
) -> Assembled:
    """The blocks of one chapter, its title first; faults are listed.

    ``number`` is the chapter's, as printed, for the numbers of captions.
    """
    writer = _Writer(page, number, expanded, markdown)
    writer.write(tokens)
    return writer.out


class _Writer:
    """Walks the tokens once; ``_open`` are the containers it stands in."""

    def __init__(
        self,
        page: Page,
        number: str,
        expanded: Expanded,
        markdown: MarkdownIt,
    ) -> None:
        self.out = Assembled()
        self._page = page
        self._expanded = expanded
        self._markdown = markdown
        self._open: list[Node] = []
        self._root_kind = ""
        self._root_line = 0
        self._line = page.body_line
        self._names, self._labels = self._count(number)
        self._filling = Filling(self._inline, self._plain)

    def _count(self, number: str) -> tuple[dict[int, str], dict[str, str]]:
        """How each captioned result is called, and which labels there are.

        The second maps a label to ``kind NAME``, for references.
        """
        counts: dict[str, int] = {}
        names: dict[int, str] = {}
        labels: dict[str, str] = {}
        for index, (result, line) in enumerate(self._expanded.results):
            if not isinstance(result, Captioned):
                continue
            if not (result.caption or result.label):
                continue
            count = counts.get(result.kind, 0) + 1
            counts[result.kind] = count
            word = COUNTED[result.kind][self._page.lang]
            shown = f"{number}.{count}" if number else str(count)
            names[index] = f"{word} {shown}"
            if not result.label:
                continue
            if result.label in labels:
                self._fault(line, f"label {result.label!r} stands twice")
            labels[result.label] = names[index]
        return names, labels

    # Placeholders

    def _inline(self, index: int) -> str:
        result, line = self._expanded.results[index]
        if isinstance(result, Inline):
            return result.html
        if isinstance(result, Reference):
            name = self._reference(result, line)
            if result.label not in self._labels:
                return escape(name)
            anchor = escape_attribute(f"ks:#{_label_anchor(result.label)}")
            return f'<a class="ref" href="{anchor}">{escape(name)}</a>'
        self._fault(
            line,
            f"a {result.kind} in the middle of a paragraph",
            "let the macro stand alone, blank lines around it",
        )
        return ""

    def _plain(self, index: int) -> str:
        result, line = self._expanded.results[index]
        if isinstance(result, Inline):
            return result.text
        if isinstance(result, Reference):
            return self._reference(result, line)
        self._fault(line, f"a {result.kind} inside code or a formula")
        return ""

    def _reference(self, result: Reference, line: int) -> str:
        if result.label not in self._labels:
            there = ", ".join(self._labels) or "none"
            self._fault(
                line,
                f"ref: no block of this chapter has the label {result.label!r}",
                f"there is {there}",
            )
        return self._labels.get(result.label, result.label)

    def _fault(self, line: int, message: str, hint: str = "") -> None:
        self.out.problems.append(Problem(self._page.file, line, message, hint))

    # Tokens

    def write(self, tokens: Sequence[Token]) -> None:
        """Turn the tokens into fragments."""
        title = escape(self._page.title)
        slug = self._page.slug
        self.out.fragments.append(
            Fragment("heading", f'<h1 id="{slug}">{title}</h1>', 1)
        )
        index = 0
        while index < len(tokens):
            token = tokens[index]
            if token.map is not None:
                self._line = self._expanded.line(token.map[0])
            end = _end(tokens, index)
            name = token.type.removesuffix("_open")
            if name == "heading":
                self._heading(token, tokens[index + 1])
            elif name == "paragraph":
                self._paragraph(token, tokens[index + 1])
            elif name in ("fence", "code_block"):
                self._code(token)
            elif name == "math_block":
                self._formula(token)
            elif name == "table":
                self._table(tokens[index : end + 1])
            elif name == "footnote":
                self._footnote(token, tokens[index + 1 : end])
            elif name in _CONTAINERS:
                self._enter(name, token)
                end = index
            elif token.type.removesuffix("_close") in _CONTAINERS:
                self._leave()
            elif name == "footnote_block":
                end = index
            index = end + 1

    def _emit(self, kind: str, html: str, line: int) -> None:
        """A block; a container it stands in is cut in two around it."""
        pieces = self._cut() if self._open else None
        self.out.fragments.append(Fragment(kind, html, line))
        if pieces:
            self._open = pieces
            self._root_line = line

    def _heading(self, token: Token, inner: Token) -> None:
        name = HEADING_ID.search(inner.content)
        children = list(inner.children or [])
        while children and HEADING_ID.search(children[-1].content):
            last = children[-1]
            last.content = HEADING_ID.sub("", last.content)
            if last.content:
                break
            children.pop()
        html = inline_html(children, self._filling, self._told)
        anchor = name[1] if name else "missing"
        tag = token.tag
        self._emit(
            "heading", f'<{tag} id="{anchor}">{html}</{tag}>', self._line
        )

    def _told(self, message: str) -> None:
        self._fault(self._line, message)

    def _paragraph(self, token: Token, inner: Token) -> None:
        alone = PLACEHOLDER.fullmatch(inner.content.strip())
        if alone:
            result, line = self._expanded.results[int(alone[1])]
            if isinstance(result, Whole):
                self._emit(result.kind, result.html, line)
                return
            if isinstance(result, Captioned):
                html = self._captioned(int(alone[1]), result)
                self._emit(result.kind, html, line)
                return
        html = inline_html(inner.children or [], self._filling, self._told)
        if not self._open:
            self._emit("paragraph", f"<p>{html}</p>", self._line)
        elif token.hidden:
            # A tight item: text, then perhaps a list.
            self._open[-1].children.append(html)
        else:
            self._open[-1].children.append(f"<p>{html}</p>")

    def _captioned(self, index: int, result: Captioned) -> str:
        pieces: list[str] = []
        if index in self._names:
            name = escape(self._names[index])
            pieces.append(
                f'<span class="number" data-chrome="1">{name}</span> '
            )
        if result.caption:
            inline = self._markdown.parseInline(result.caption)[0]
            pieces.append(
                inline_html(inline.children or [], self._filling, self._told)
            )
        if result.link:
            href = escape_attribute(result.link)
            pieces.append(
                ' <span class="where" data-chrome="1">'
                f'<a href="{href}">{escape(result.link_text)}</a></span>'
            )
        caption = "".join(pieces).strip()
        tail = f"<figcaption>{caption}</figcaption>" if caption else ""
        mark = ""
        if result.label:
            anchor = escape_attribute(_label_anchor(result.label))
            mark = f' id="{anchor}"'
        return (
            f'<figure class="{result.kind}"{mark}>{result.html}{tail}</figure>'
        )

    def _code(self, token: Token) -> None:
        language, _ = fence_language(token)
        try:
            code = self._filling.plain(token.content)
            html = code_html(code, language or "text")
        except ValueError as error:
            self._told(str(error))
            return
        self._emit("code", f'<figure class="code">{html}</figure>', self._line)

    def _formula(self, token: Token) -> None:
        try:
            html = mathml(self._filling.plain(token.content), "block")
        except ValueError as error:
            self._told(str(error))
            return
        self._emit(
            "formula", f'<figure class="formula">{html}</figure>', self._line
        )

    def _table(self, tokens: Sequence[Token]) -> None:
        pieces: list[str] = []
        line = self._line
        for token in tokens:
            if token.type == "inline":
                if token.map is not None:
                    self._line = self._expanded.line(token.map[0])
                pieces.append(
                    inline_html(token.children or [], self._filling, self._told)
                )
            elif token.nesting < 0:
                pieces.append(f"</{token.tag}>")
            else:
                scope = ' scope="col"' if token.tag == "th" else ""
                style = str(token.attrGet("style") or "")
                side = style.removeprefix("text-align:")
                css = f' class="{side}"' if side else ""
                pieces.append(f"<{token.tag}{scope}{css}>")
        html = f'<figure class="table">{"".join(pieces)}</figure>'
        self._emit("table", html, line)

    def _footnote(self, token: Token, inner: Sequence[Token]) -> None:
        name = token.meta["label"]
        number = token.meta["id"] + 1
        pieces = [
            f'<span class="number" data-chrome="1">{number}</span>',
        ]
        line = 0
        for part in inner:
            if part.type == "inline":
                if part.map is not None:
                    self._line = self._expanded.line(part.map[0])
                    line = line or self._line
                html = inline_html(
                    part.children or [], self._filling, self._told
                )
                pieces.append(f"<p>{html}</p>")
        back = escape_attribute(_BACK[self._page.lang])
        pieces.append(
            '<p data-chrome="1"><a class="backlink" role="doc-backlink"'
            f' href="ks:#fnref-{name}" aria-label="{back}">↩</a></p>'
        )
        self._emit(
            "footnote",
            '<aside class="footnote" role="doc-footnote"'
            f' id="fn-{name}">{"".join(pieces)}</aside>',
            line or self._line,
        )

    # Containers

    def _enter(self, name: str, token: Token) -> None:
        tag, kind = _CONTAINERS[name]
        node = Node(tag)
        if name == "ordered_list":
            start = token.attrGet("start")
            node.attributes["start"] = str(1 if start is None else start)
        if name == "container_note":
            node.attributes = {"class": "note", "role": "note"}
            title = token.info.strip().removeprefix("note").strip()
            if title:
                node.children.append(self._note_title(title))
        if not self._open:
            self._root_kind = kind
            self._root_line = self._line
        else:
            self._open[-1].children.append(node)
        self._open.append(node)

    def _note_title(self, title: str) -> str:
        inline = self._markdown.parseInline(title)[0]
        html = inline_html(inline.children or [], self._filling, self._told)
        return f"<p><strong>{html}</strong></p>"

    def _leave(self) -> None:
        node = self._open.pop()
        if not self._open:
            self._finish(node)

    def _cut(self) -> list[Node]:
        """End what is open, and give the containers that go on after."""
        chain: list[Node] = []
        for node in self._open:
            again = Node(node.tag, dict(node.attributes))
            if node.tag == "ol":
                items = [
                    child for child in node.children if isinstance(child, Node)
                ]
                start = int(node.attributes["start"])
                again.attributes["start"] = str(start + len(items) - 1)
            elif node.tag == "li":
                again.attributes["class"] = "continued"
            if chain:
                chain[-1].children.append(again)
            chain.append(again)
        self._finish(self._open[0])
        return chain

    def _finish(self, root: Node) -> None:
        _prune(root)
        if root.children:
            self.out.fragments.append(
                Fragment(self._root_kind, root.html(), self._root_line)
            )


def _label_anchor(label: str) -> str:
    """The anchor of a labelled block, apart from those of headings."""
    return f"at-{label}"


def _end(tokens: Sequence[Token], index: int) -> int:
    """The token that closes this one; itself when it opens nothing."""
    depth = 0
    for number in range(index, len(tokens)):
        depth += tokens[number].nesting
        if depth <= 0:
            return number
    return len(tokens) - 1


def _prune(node: Node) -> None:
    """Drop what a cut left empty, and ``start="1"``, which says nothing."""
    for child in node.children:
        if isinstance(child, Node):
            _prune(child)
    kept: list[Node | str] = []
    for child in node.children:
        if isinstance(child, Node) and not child.children:
            # The item went on after a cut, but nothing was left of it.
            if node.tag == "ol" and child.attributes.get("class"):
                start = int(node.attributes.get("start", "1"))
                node.attributes["start"] = str(start + 1)
            continue
        kept.append(child)
    node.children = kept
    if node.attributes.get("start") == "1":
        del node.attributes["start"]
