"""Markdown as we use it, and its inline text as XHTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.container import container_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin

from book.press.formulas import mathml
from book.press.macros import PLACEHOLDER
from book.press.xhtml import escape, escape_attribute

HEADING_ID = re.compile(r"\s*\{#([^}\s]+)\}\s*$")
_CHAPTER_LINK = re.compile(r"(?:\./)?([0-9a-z-]+)\.md(#.*)?")


def parser() -> MarkdownIt:
    """CommonMark with tables, footnotes, formulas and notes.

    Raw HTML is parsed, so that lint can refuse it. Unmatched emphasis
    marks stay tokens of their own, so that lint can see them.
    """
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
    markdown.use(footnote_plugin, inline=False)
    markdown.use(
        dollarmath_plugin,
        allow_labels=False,
        allow_digits=False,
        double_inline=False,
    )
    markdown.use(container_plugin, "note")
    return markdown.disable("text_join")


@dataclass
class Node:
    """An element being made: attributes, and finished XHTML or elements."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Node | str] = field(default_factory=list)

    def html(self) -> str:
        """The element as XHTML; never a self-closing tag."""
        marks = "".join(
            f' {key}="{escape_attribute(value)}"'
            for key, value in self.attributes.items()
        )
        inner = "".join(
            child if isinstance(child, str) else child.html()
            for child in self.children
        )
        return f"<{self.tag}{marks}>{inner}</{self.tag}>"


@dataclass(frozen=True)
class Filling:
    """What placeholders become: by number, as XHTML and as plain text."""

    html: Callable[[int], str]
    text: Callable[[int], str]

    def plain(self, text: str) -> str:
        """Text with every placeholder as plain text."""
        return PLACEHOLDER.sub(lambda found: self.text(int(found[1])), text)

    def escaped(self, text: str) -> str:
        """Text as XHTML, with every placeholder filled in."""
        pieces = PLACEHOLDER.split(text)
        return "".join(
            self.html(int(piece)) if number % 2 else escape(piece)
            for number, piece in enumerate(pieces)
        )


def inline_html(
    tokens: Sequence[Token], filling: Filling, fault: Callable[[str], None]
) -> str:
    """Inline tokens as XHTML; what cannot be printed is told to ``fault``.

    Lint has its own opinion of links, images and raw HTML.
    """
    pieces: list[str] = []
    for token in tokens:
        match token.type:
            case "text" | "text_special":
                pieces.append(filling.escaped(token.content))
            case "softbreak":
                pieces.append("\n")
            case "hardbreak":
                pieces.append("<br/>")
            case "code_inline":
                code = escape(filling.plain(token.content))
                pieces.append(f"<code>{code}</code>")
            case "em_open" | "strong_open":
                pieces.append(f"<{token.tag}>")
            case "em_close" | "strong_close" | "link_close":
                pieces.append(f"</{token.tag}>")
            case "link_open":
                href = book_link(str(token.attrGet("href") or ""))
                pieces.append(f'<a href="{escape_attribute(href)}">')
            case "math_inline":
                try:
                    tex = filling.plain(token.content)
                    pieces.append(mathml(tex, "inline"))
                except ValueError as error:
                    fault(str(error))
            case "footnote_ref":
                pieces.append(_footnote_reference(token))
            case _:
                continue
    return "".join(pieces)


def book_link(href: str) -> str:
    """A link as written, in the form blocks use.

    ``#x`` is in this chapter, ``SLUG.md#x`` in another.
    """
    if href.startswith("#"):
        return f"ks:{href}"
    found = _CHAPTER_LINK.fullmatch(href)
    if found:
        return f"ks:{found[1]}{found[2] or ''}"
    return href


def tokens_with_lines(
    tokens: Sequence[Token],
) -> Iterator[tuple[Token, int]]:
    """Inline tokens in order, with their line in the text, from 0."""
    for token in tokens:
        if token.type != "inline" or token.map is None:
            continue
        line = token.map[0]
        for child in token.children or []:
            yield child, line
            if child.type in ("softbreak", "hardbreak"):
                line += 1
            else:
                line += child.content.count("\n")


def _footnote_reference(token: Token) -> str:
    name = token.meta["label"]
    again = token.meta["subId"]
    suffix = f"-{again + 1}" if again else ""
    return (
        f'<a class="fnref" role="doc-noteref" id="fnref-{name}{suffix}"'
        f' href="ks:#fn-{name}" data-chrome="1">{token.meta["id"] + 1}</a>'
    )
