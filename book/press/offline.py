"""The book as one HTML file for each language, which asks for nothing.

Everything is inside: text, drawings, looks, and a script for what a reader
may like but does not need (search, colours, size, resuming). A content
security policy lets that script run and nothing else, and lets the page
load nothing at all.
"""

from __future__ import annotations

import base64
import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import jinja2
from lxml import etree
from markupsafe import Markup

from book.press.blocks import Block, Chapter, Edition
from book.press.context import BuildContext
from book.press.links import SINGLE_PAGE, Resolver, localise
from book.press.scripts import with_ranking
from book.press.wording import chapter_label, words
from book.press.xhtml import (
    classes,
    keep_with_stop,
    local_name,
    mark_lines,
    serialise,
    without,
)

# Height of a chapter before it is laid out, for the scroll bar: CSS pixels
# for each character of prose. Only a first guess; the browser corrects it.
_PIXELS_A_CHARACTER: Final = {"en": 0.36, "zh": 0.85}


@dataclass(frozen=True)
class Link:
    """A line of the contents."""

    anchor: str
    text: str


@dataclass(frozen=True)
class Section:
    """A chapter as the template wants it; ``tall`` in CSS pixels."""

    slug: str
    number: str
    label: str
    title: str
    anchor: str
    headings: tuple[Link, ...]
    html: Markup
    tall: int


@dataclass(frozen=True)
class Division:
    """A part that has chapters; a ``divided`` one gets a line of its own."""

    title: str
    divided: bool
    chapters: tuple[Section, ...]


def file_name(lang: str) -> str:
    """The name of the offline file inside the output folder."""
    return f"keeps-secrets-{lang}.html"


def render(
    editions: Mapping[str, Edition], staging: Path, context: BuildContext
) -> None:
    """Write the offline file of every edition into ``staging``.

    Raises ``LinkError`` for a link to nothing.
    """
    for lang, edition in sorted(editions.items()):
        context.progress(f"offline: {lang}")
        path = staging / file_name(lang)
        text = edition_html(edition, context)
        path.write_text(text, encoding="utf-8", newline="\n")


def edition_html(edition: Edition, context: BuildContext) -> str:
    """The whole file."""
    folder = context.root / "site_templates"
    own = folder / "offline"
    said = tomllib.loads((own / "words.toml").read_text("utf-8"))
    table = {**words(edition), **said[edition.lang]}
    style = (own / "style.css").read_text("utf-8")
    dark = (folder / "site" / "assets" / "dark.css").read_text("utf-8")
    early = (own / "early.js").read_text("utf-8")
    script = with_ranking((own / "book.js").read_text("utf-8"), folder)
    # JSON inside a string of JavaScript: quoted twice.
    spoken = json.dumps(json.dumps(said[edition.lang], sort_keys=True))
    script = script.replace("WORDS", spoken.replace("</", "<\\/"), 1)
    return (
        _environment(own)
        .get_template("book.html.j2")
        .render(
            lang=_language(edition.lang),
            edition=edition,
            words=table,
            parts=_divisions(edition, table),
            policy=_policy(early, script),
            early=Markup(early),
            script=Markup(script),
            style=Markup(style.replace("{{ dark }}", dark.rstrip())),
            source=table["source"].format(digest=context.source_digest),
        )
        + "\n"
    )


def _language(lang: str) -> str:
    return {"zh": "zh-Hans"}.get(lang, lang)


def _environment(folder: Path) -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder, encoding="utf-8"),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _policy(*scripts: str) -> str:
    """A policy under which only these scripts run and nothing is loaded.

    Style attributes of drawings need ``unsafe-inline`` for styles.
    """
    allowed = " ".join(f"'{_hash(script)}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; "
        "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")


def _divisions(
    edition: Edition, table: Mapping[str, str]
) -> tuple[Division, ...]:
    resolver = Resolver(edition, SINGLE_PAGE)
    made = []
    for part in edition.parts:
        chapters = [edition.chapter(slug) for slug in part.slugs]
        if chapters:
            sections = tuple(
                _section(chapter, resolver, table) for chapter in chapters
            )
            divided = bool(chapters[0].number)
            made.append(Division(part.title, divided, sections))
    return tuple(made)


def _section(
    chapter: Chapter, resolver: Resolver, table: Mapping[str, str]
) -> Section:
    slug = chapter.slug
    html = "\n".join(
        _block(block, slug, resolver, table) for block in chapter.blocks
    )
    letters = sum(len(block.text) for block in chapter.blocks)
    return Section(
        slug=slug,
        number=chapter.number,
        label=chapter_label(chapter),
        title=chapter.title,
        anchor=SINGLE_PAGE.identity(slug, slug),
        headings=tuple(
            Link(SINGLE_PAGE.identity(slug, heading.id), heading.text)
            for heading in chapter.headings
            if heading.level == 2
        ),
        html=Markup(html),
        tall=400 + round(letters * _PIXELS_A_CHARACTER[chapter.lang]),
    )


def _block(
    block: Block, slug: str, resolver: Resolver, table: Mapping[str, str]
) -> str:
    root = localise(block.html, slug, resolver)
    without(root, ["button"])
    mark_lines(root)
    keep_with_stop(root)
    for element in list(root.iter("table")):
        box = etree.Element("div", {"class": "scroll"})
        element.addprevious(box)
        box.append(element)
        _scrolls(box, table["table"])
    if local_name(root) == "figure" and "formula" in classes(root):
        _scrolls(root, table["formula"])
    return serialise(root)


def _scrolls(element: etree._Element, label: str) -> None:
    """What may be wider than the page can be reached by keyboard."""
    element.set("tabindex", "0")
    element.set("role", "group")
    element.set("aria-label", label)
