"""The book as EPUB 3.3, one file for each language.

Pages are written whole here and handed to ebooklib as finished items: its
own HTML items are pretty-printed, which puts white space into listings. It
knows nothing of ``xml:lang`` on the package, of the source's date, or of
entries in a fixed order, so its file is taken apart and packed again.
"""

from __future__ import annotations

import datetime
import io
import tempfile
import unicodedata
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import jinja2
from ebooklib import epub
from lxml import etree
from markupsafe import Markup

from book.press.blocks import Block, Chapter, Edition, Heading
from book.press.context import BuildContext
from book.press.links import EPUB, Resolver, is_appendix, localise
from book.press.wording import chapter_label, words
from book.press.xhtml import (
    classes,
    is_chrome,
    keep_with_stop,
    local_name,
    mark_lines,
    serialise,
    tex_of,
    without,
)

_OPF: Final = "http://www.idpf.org/2007/opf"
_OPS_TYPE: Final = "{http://www.idpf.org/2007/ops}type"

# What each role is called in EPUB's own, older vocabulary.
_EPUB_TYPES: Final = {
    "doc-noteref": "noteref",
    "doc-footnote": "footnote",
    "doc-backlink": "backlink",
}

# EPUB Accessibility 1.1 and the schema.org terms it asks for.
_CONFORMS: Final = "EPUB Accessibility 1.1 - WCAG 2.2 Level AA"
_ACCESSIBILITY: Final = (
    ("schema:accessMode", "textual"),
    ("schema:accessMode", "visual"),
    ("schema:accessModeSufficient", "textual"),
    ("schema:accessModeSufficient", "textual,visual"),
    ("schema:accessibilityFeature", "alternativeText"),
    ("schema:accessibilityFeature", "ARIA"),
    ("schema:accessibilityFeature", "describedMath"),
    ("schema:accessibilityFeature", "displayTransformability"),
    ("schema:accessibilityFeature", "longDescription"),
    ("schema:accessibilityFeature", "MathML"),
    ("schema:accessibilityFeature", "readingOrder"),
    ("schema:accessibilityFeature", "structuralNavigation"),
    ("schema:accessibilityFeature", "tableOfContents"),
    ("schema:accessibilityHazard", "none"),
)
_SUMMARY: Final = {
    "en": (
        "Every heading is in the contents. Drawings have a title and a "
        "description, formulas are MathML with their TeX as text, tables "
        "have marked headings, footnotes lead there and back, and no colour "
        "is fixed. All of it can be read as text alone."
    ),
    "zh": (
        "目录列出每个标题。插图有标题和描述，公式是 MathML 并附 TeX 文本，"
        "表格标明表头，脚注可往返，文字颜色不固定。全书可以纯文本方式阅读。"
    ),
}


@dataclass(frozen=True)
class Page:
    """A finished content document; ``properties`` as the manifest wants."""

    name: str
    text: str
    properties: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entry:
    """A line of the contents, or a landmark of some ``kind``."""

    href: str
    text: str
    children: tuple[Entry, ...] = ()
    kind: str = ""


def file_name(lang: str) -> str:
    """The name of the e-book inside the output folder."""
    return f"keeps-secrets-{lang}.epub"


def render(
    editions: Mapping[str, Edition], staging: Path, context: BuildContext
) -> None:
    """Write the e-book of every edition into ``staging``.

    Raises ``LinkError`` for a link to nothing.
    """
    for lang, edition in sorted(editions.items()):
        context.progress(f"epub: {lang}")
        content = edition_epub(edition, context)
        (staging / file_name(lang)).write_bytes(content)


def edition_epub(edition: Edition, context: BuildContext) -> bytes:
    """The whole e-book; the same bytes for the same edition and context."""
    press = _Press(edition, context)
    modified = datetime.datetime.fromtimestamp(
        context.source_date_epoch, datetime.UTC
    )
    pages = press.pages()
    book = epub.EpubBook()
    # The constructor's own metadata names ebooklib's version as generator.
    book.metadata = {}
    _describe(book, edition)
    for page in pages:
        item = epub.EpubItem(
            uid=_manifest_id(page.name),
            file_name=page.name,
            media_type="application/xhtml+xml",
            content=page.text.encode("utf-8"),
        )
        item.properties = list(page.properties)
        book.add_item(item)
        book.spine.append(item)
    for name, media_type, properties, text in (
        ("style.css", "text/css", [], press.template_text("style.css")),
        ("cover.svg", "image/svg+xml", ["cover-image"], press.cover()),
    ):
        item = epub.EpubItem(
            uid=_manifest_id(name),
            file_name=name,
            media_type=media_type,
            content=text.encode("utf-8"),
        )
        item.properties = properties
        book.add_item(item)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "book.epub"
        epub.EpubWriter(str(path), book, {"mtime": modified}).write()
        return _repack(path.read_bytes(), edition.lang, modified)


def _manifest_id(name: str) -> str:
    # An XML name may not begin with a digit, and a slug does.
    return "item-" + name.replace(".", "-")


def _describe(book: epub.EpubBook, edition: Edition) -> None:
    data = edition.metadata
    # Where ebooklib looks for the package's id and for its NCX's.
    book.IDENTIFIER_ID = "book-id"
    book.uid = data["identifier"]
    dc: tuple[tuple[str, str, dict[str, str]], ...] = (
        ("identifier", data["identifier"], {"id": "book-id"}),
        ("title", edition.title, {"id": "title"}),
        ("title", edition.subtitle, {"id": "subtitle"}),
        ("language", _language(edition.lang), {}),
        ("creator", data["authors"], {"id": "creator"}),
        ("description", data["description"], {}),
        ("date", data["date"], {}),
        ("rights", f"{data['licence']} {data['licence_url']}", {}),
        ("publisher", data["authors"], {}),
    )
    for name, value, attributes in dc:
        book.add_metadata("DC", name, value, attributes)
    refined = (
        ("title", "title-type", "main"),
        ("title", "display-seq", "1"),
        ("subtitle", "title-type", "subtitle"),
        ("subtitle", "display-seq", "2"),
    )
    for target, name, value in refined:
        attributes = {"refines": f"#{target}", "property": name}
        book.add_metadata(None, "meta", value, attributes)
    stated = (
        *_ACCESSIBILITY,
        ("schema:accessibilitySummary", _SUMMARY[edition.lang]),
        ("dcterms:conformsTo", _CONFORMS),
        ("a11y:certifiedBy", data["authors"]),
    )
    for name, value in stated:
        book.add_metadata(None, "meta", value, {"property": name})


def _language(lang: str) -> str:
    """The edition's language as a tag that names its script."""
    return {"zh": "zh-Hans"}.get(lang, lang)


class _Press:
    """Makes the pages of one edition."""

    def __init__(self, edition: Edition, context: BuildContext) -> None:
        self._edition = edition
        self._context = context
        self._words = words(edition)
        self._resolver = Resolver(edition, EPUB)
        self._templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(
                context.root / "site_templates" / "epub", encoding="utf-8"
            ),
            undefined=jinja2.StrictUndefined,
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def template_text(self, name: str) -> str:
        return self._templates.get_template(name).render()

    def pages(self) -> list[Page]:
        """Every content document, in reading order."""
        edition = self._edition
        cover = self._fill("cover", words=self._words)
        title = self._fill(
            "titlepage",
            edition=edition,
            words=self._words,
            source=self._words["source"].format(
                digest=self._context.source_digest
            ),
        )
        nav = self._fill(
            "nav",
            words=self._words,
            contents=self._contents(),
            landmarks=self._landmarks(),
        )
        made = [
            self._page("cover", self._words["cover"], "cover", cover),
            self._page("titlepage", edition.title, "frontmatter", title),
            self._page(
                "nav", self._words["contents"], "frontmatter", nav, ("nav",)
            ),
        ]
        for part in edition.parts:
            chapters = [edition.chapter(slug) for slug in part.slugs]
            if not chapters:
                continue
            matter = _matter(chapters[0])
            if matter != "frontmatter":
                body = self._fill("part", part=part, chapters=chapters)
                made.append(
                    self._page(f"part-{part.id}", part.title, matter, body)
                )
            made += [self._chapter(chapter) for chapter in chapters]
        return made

    def _fill(self, template: str, **values: object) -> Markup:
        name = f"{template}.xhtml.j2"
        return Markup(self._templates.get_template(name).render(**values))

    def _page(
        self,
        stem: str,
        title: str,
        matter: str,
        body: Markup,
        properties: tuple[str, ...] = (),
    ) -> Page:
        text = self._fill(
            "page",
            lang=_language(self._edition.lang),
            title=title,
            matter=matter,
            body=body,
        )
        return Page(f"{stem}.xhtml", f"{text}\n", properties)

    def _chapter(self, chapter: Chapter) -> Page:
        blocks = [self._block(block, chapter) for block in chapter.blocks]
        body = self._fill(
            "chapter",
            kind=_kind(chapter),
            label=chapter_label(chapter),
            anchor=chapter.headings[0].id,
            blocks=[Markup(block) for block in blocks],
        )
        properties = tuple(
            name
            for name, tag in (("mathml", "<math"), ("svg", "<svg"))
            if any(tag in block for block in blocks)
        )
        matter = _matter(chapter)
        return self._page(chapter.slug, chapter.title, matter, body, properties)

    def _block(self, block: Block, chapter: Chapter) -> str:
        root = localise(block.html, chapter.slug, self._resolver)
        without(root, ["button"])
        mark_lines(root)
        keep_with_stop(root)
        for element in list(root.iter(etree.Element)):
            kind = _EPUB_TYPES.get(element.get("role") or "")
            if kind:
                element.set(_OPS_TYPE, kind)
            name = local_name(element)
            if name == "math" and not element.get("alttext"):
                element.set("alttext", " ".join(tex_of(element).split()))
            if name == "figure" and "formula" in classes(element):
                # It may be wider than the page: let keys scroll it.
                element.set("tabindex", "0")
            if name == "figcaption" and _empty(element):
                parent = element.getparent()
                if parent is not None:
                    parent.remove(element)
        return serialise(root)

    def _contents(self) -> tuple[Entry, ...]:
        entries = [Entry("titlepage.xhtml", self._words["title_page"])]
        for part in self._edition.parts:
            chapters = tuple(
                _entry(self._edition.chapter(slug)) for slug in part.slugs
            )
            if not chapters:
                continue
            first = self._edition.chapter(part.slugs[0])
            if _matter(first) == "frontmatter":
                entries += chapters
            else:
                href = f"part-{part.id}.xhtml"
                entries.append(Entry(href, part.title, chapters))
        return tuple(entries)

    def _landmarks(self) -> tuple[Entry, ...]:
        names = self._words
        marks = [
            Entry("cover.xhtml", names["cover"], kind="cover"),
            Entry("titlepage.xhtml", names["title_page"], kind="titlepage"),
            Entry("nav.xhtml", names["contents"], kind="toc"),
        ]
        body = [
            chapter
            for chapter in self._edition.chapters
            if _matter(chapter) == "bodymatter"
        ]
        if body:
            href = f"{body[0].slug}.xhtml"
            marks.append(Entry(href, names["start"], kind="bodymatter"))
        for chapter in self._edition.chapters:
            if _kind(chapter) == "glossary":
                href = f"{chapter.slug}.xhtml"
                marks.append(Entry(href, chapter.title, kind="glossary"))
        return tuple(marks)

    def cover(self) -> str:
        """The cover, as a drawing of its own."""
        edition = self._edition
        # A wide character fills its em, so fewer of them make a line.
        size = 190 if _is_wide(edition.title[0]) else 170
        title = _wrap(edition.title, size, 1320)
        subtitle = _wrap(edition.subtitle, 64, 1320)
        first = 340
        below = first + 215 * (len(title) - 1) + 150
        last = below + 92 * (len(subtitle) - 1)
        return self._templates.get_template("cover.svg.j2").render(
            lang=_language(edition.lang),
            words=self._words,
            authors=edition.metadata["authors"],
            title=[
                {"text": line, "y": first + 215 * place, "size": size}
                for place, line in enumerate(title)
            ],
            subtitle=[
                {"text": line, "y": below + 92 * place, "size": 64}
                for place, line in enumerate(subtitle)
            ],
            bars=list(_bars(max(1000, last + 90))),
        )


def _empty(element: etree._Element) -> bool:
    """Whether nothing is left of an element once its chrome is gone."""
    return not (element.text or "").strip() and all(
        is_chrome(child) and not (child.tail or "").strip() for child in element
    )


def _kind(chapter: Chapter) -> str:
    """What a chapter is, in EPUB's vocabulary; ``doc-`` makes it a role."""
    if not chapter.number:
        return "preface"
    if "glossary" in chapter.slug:
        return "glossary"
    return "appendix" if is_appendix(chapter) else "chapter"


def _matter(chapter: Chapter) -> str:
    if not chapter.number:
        return "frontmatter"
    return "backmatter" if is_appendix(chapter) else "bodymatter"


def _entry(chapter: Chapter) -> Entry:
    """A chapter's line in the contents, its headings under it."""
    href = f"{chapter.slug}.xhtml"
    number = f"{chapter.number} " if chapter.number else ""
    children = _nest(list(chapter.headings[1:]), href)
    return Entry(href, number + chapter.title, children)


def _nest(headings: Sequence[Heading], href: str) -> tuple[Entry, ...]:
    """Headings as a tree: each under the last one of a higher level."""
    entries = []
    place = 0
    while place < len(headings):
        heading = headings[place]
        end = place + 1
        while end < len(headings) and headings[end].level > heading.level:
            end += 1
        children = _nest(headings[place + 1 : end], href)
        entries.append(Entry(f"{href}#{heading.id}", heading.text, children))
        place = end
    return tuple(entries)


def _wrap(text: str, size: int, width: int) -> list[str]:
    """Lines that fit in ``width`` when set at ``size``, both in pixels.

    Wide characters take one em, others are reckoned at 0.56 of one.
    """
    lines = [""]
    for piece in _breakable(text):
        if _measure(lines[-1] + piece.rstrip()) * size > width and lines[-1]:
            lines.append("")
        lines[-1] += piece
    return [line.strip() for line in lines if line.strip()]


def _breakable(text: str) -> Iterator[str]:
    """Pieces a line may end after: words, and single wide characters."""
    piece = ""
    for place, character in enumerate(text):
        piece += character
        following = text[place + 1 : place + 2]
        # No line begins with Chinese punctuation.
        if following and unicodedata.category(following)[0] == "P":
            continue
        if character == " " or _is_wide(character) or _is_wide(following):
            yield piece
            piece = ""
    if piece:
        yield piece


def _is_wide(character: str) -> bool:
    return bool(character) and unicodedata.east_asian_width(character) in "WF"


def _measure(text: str) -> float:
    return sum(1.0 if _is_wide(character) else 0.56 for character in text)


def _bars(first: int) -> Iterator[dict[str, int]]:
    """Lines of writing nobody can read, ragged, from ``first`` down."""
    widths = (1240, 1320, 1100, 1290, 900, 1320, 1180, 1260, 760, 1310)
    for place, y in enumerate(range(first, 2100, 100)):
        yield {"x": 140, "y": y, "width": widths[place % len(widths)]}


def _repack(content: bytes, lang: str, modified: datetime.datetime) -> bytes:
    """The same e-book with its package mended and its entries in order."""
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        entries = {name: packed.read(name) for name in packed.namelist()}
    opf = "EPUB/content.opf"
    entries[opf] = _mend_package(entries[opf], lang)
    mimetype = entries.pop("mimetype")
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as packed:
        # Reading systems look for this entry first, and not compressed.
        packed.writestr(
            _member("mimetype", modified, zipfile.ZIP_STORED), mimetype
        )
        for name in sorted(entries):
            member = _member(name, modified, zipfile.ZIP_DEFLATED)
            packed.writestr(member, entries[name], compresslevel=9)
    return made.getvalue()


def _member(
    name: str, modified: datetime.datetime, method: int
) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name, modified.timetuple()[:6])
    member.compress_type = method
    member.create_system = 3  # Unix, wherever this runs
    member.external_attr = 0o644 << 16
    return member


def _mend_package(opf: bytes, lang: str) -> bytes:
    root = etree.fromstring(opf)
    root.set("{http://www.w3.org/XML/1998/namespace}lang", _language(lang))
    # A prefix nothing uses, and a table of contents of EPUB 2's kind that
    # is not there: ebooklib writes both into every package.
    root.attrib.pop("prefix", "")
    for spine in root.iter(f"{{{_OPF}}}spine"):
        spine.attrib.pop("toc", "")
    etree.indent(root)
    made: bytes = etree.tostring(root, encoding="utf-8", xml_declaration=True)
    return made + b"\n"
