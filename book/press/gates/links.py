"""Every link inside every output, and between them, leads to something.

Reads the finished artefacts: the site's pages and what they load, the
offline files, the e-books, and the Markdown. A link is followed to a file
and, when it has a fragment, to an element with that id. Ids that occur
twice on a page are faults too: a link to one of them leads to either.
Links that leave the book are not followed; they must be http or https.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from lxml import etree
from lxml import html as lxml_html
from markdown_it import MarkdownIt
from mdit_py_plugins.footnote import footnote_plugin

from book.press.context import BuildContext
from book.press.gates import Gate, GateResult, judged
from book.press.problems import Problem

_OUTSIDE: Final = frozenset({"http", "https", "mailto"})
_ATTRIBUTES: Final = ("href", "src", "poster", "data", "cite")
_XLINK: Final = "{http://www.w3.org/1999/xlink}href"
_ANCHOR = re.compile(r'<a\s[^>]*?\b(?:id|name)="([^"]*)"')
_HTML_LINK = re.compile(r'\s(?:href|src)="([^"]*)"')


@dataclass(frozen=True)
class Document:
    """What one file links to, and what can be linked to in it.

    ``links`` and ``doubled`` are pairs of line and text.
    """

    links: tuple[tuple[int, str], ...]
    ids: frozenset[str]
    doubled: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class Output:
    """One artefact: its documents by path, and its other files."""

    name: str
    documents: Mapping[str, Document]
    files: frozenset[str] = field(default_factory=frozenset)

    def place(self, path: str) -> str:
        """How a document of this output is named in a finding."""
        return f"{self.name}{path}" if path else self.name


def read_markup(data: bytes, *, xml: bool) -> Document:
    """The links and ids of a page; XML must be well-formed."""
    if xml:
        root = etree.fromstring(data)
    else:
        parser = lxml_html.HTMLParser(encoding="utf-8")
        root = lxml_html.document_fromstring(data, parser=parser)
    links: list[tuple[int, str]] = []
    ids: Counter[str] = Counter()
    lines: dict[str, int] = {}
    for element in root.iter(etree.Element):
        line = int(getattr(element, "sourceline", None) or 0)
        for name in (*_ATTRIBUTES, _XLINK):
            value = element.get(name)
            if value is not None:
                links.append((line, str(value)))
        for source in str(element.get("srcset") or "").split(","):
            if source.strip():
                links.append((line, source.split()[0]))
        for identity in {element.get("id"), _name_of(element)} - {None}:
            ids[str(identity)] += 1
            lines[str(identity)] = line
    doubled = tuple(
        (lines[one], one) for one, times in ids.items() if times > 1
    )
    return Document(tuple(links), frozenset(ids), doubled)


def _name_of(element: etree._Element) -> str | None:
    if str(element.tag).rpartition("}")[2] != "a":
        return None
    name = element.get("name")
    return None if name is None else str(name)


def read_markdown(text: str) -> Document:
    """The links and explicit anchors of a Markdown file."""
    links: list[tuple[int, str]] = []
    anchors: Counter[str] = Counter()
    # A code host reads footnotes; bare CommonMark would see links in them.
    parser = MarkdownIt("commonmark").enable("table").use(footnote_plugin)
    for token in parser.parse(text):
        line = token.map[0] + 1 if token.map else 0
        if token.type == "html_block":
            anchors.update(_ANCHOR.findall(token.content))
            links += [(line, one) for one in _HTML_LINK.findall(token.content)]
        for child in token.children or ():
            if child.type == "html_inline":
                anchors.update(_ANCHOR.findall(child.content))
                found = _HTML_LINK.findall(child.content)
                links += [(line, one) for one in found]
            for name in ("href", "src"):
                value = child.attrGet(name)
                if value is not None:
                    links.append((line, str(value)))
    doubled = tuple((0, one) for one, times in anchors.items() if times > 1)
    return Document(tuple(links), frozenset(anchors), doubled)


def read_site(folder: Path) -> Output:
    """Every page of the site; what it offers for download is no page."""
    documents: dict[str, Document] = {}
    files: set[str] = set()
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        name = path.relative_to(folder).as_posix()
        files.add(name)
        if path.suffix == ".html" and not name.startswith("downloads/"):
            documents[name] = read_markup(path.read_bytes(), xml=False)
    return Output("site/", documents, frozenset(files))


def read_epub(file: Path) -> Output:
    """Every page of an e-book, the package document included."""
    documents: dict[str, Document] = {}
    with zipfile.ZipFile(file) as book:
        names = book.namelist()
        for name in names:
            if name.endswith((".xhtml", ".opf", ".ncx", ".svg")):
                documents[name] = read_markup(book.read(name), xml=True)
    return Output(f"{file.name}!", documents, frozenset(names))


def read_single(file: Path) -> Output:
    """An output that is one page: the offline file or the Markdown."""
    data = file.read_bytes()
    document = (
        read_markdown(data.decode("utf-8"))
        if file.suffix == ".md"
        else read_markup(data, xml=False)
    )
    return Output(file.name, {"": document})


def faults(output: Output) -> Iterator[Problem]:
    """Every link of an output that leads nowhere, every id it has twice."""
    for path, document in output.documents.items():
        place = output.place(path)
        for line, identity in document.doubled:
            yield Problem(place, line, f"the id {identity!r} is there twice")
        for line, link in document.links:
            why = _fault(output, path, link)
            if why:
                yield Problem(place, line, f"link {link!r}: {why}")


def _fault(output: Output, path: str, link: str) -> str:
    try:
        parts = urlsplit(link)
    except ValueError as error:
        return f"cannot be read ({error})"
    if parts.scheme == "data":
        return ""
    if parts.scheme:
        known = parts.scheme in _OUTSIDE
        return "" if known else f"{parts.scheme}: is no way to a page"
    if parts.netloc:
        return "names a host and no scheme"
    target = path
    if parts.path:
        if parts.path.startswith("/"):
            # The page for lost addresses cannot know where it is read.
            if path != "404.html":
                return "is absolute, and breaks wherever else this is put"
            target = unquote(parts.path).lstrip("/")
        else:
            folder = posixpath.dirname(path)
            target = posixpath.normpath(
                posixpath.join(folder, unquote(parts.path))
            )
        if target not in output.files:
            return f"there is no {target}"
    fragment = unquote(parts.fragment)
    document = output.documents.get(target)
    if fragment and document is not None and fragment not in document.ids:
        return f"{target or 'this file'} has no element with this id"
    return ""


def _between(staging: Path, site: Output) -> Iterator[Problem]:
    """The site's downloads are the artefacts beside it, byte for byte."""
    for name in sorted(site.files):
        if not name.startswith("downloads/"):
            continue
        artefact = staging / posixpath.basename(name)
        copy = staging / "site" / name
        if not artefact.is_file():
            yield Problem(f"site/{name}", 0, "there is no such artefact")
        elif artefact.read_bytes() != copy.read_bytes():
            yield Problem(f"site/{name}", 0, "differs from the artefact")


def run(staging: Path, context: BuildContext) -> GateResult:
    """All outputs that are in ``staging``."""
    site = read_site(staging / "site")
    outputs = [site]
    for file in sorted(staging.glob("keeps-secrets-*")):
        if file.suffix == ".epub":
            outputs.append(read_epub(file))
        elif file.suffix in (".html", ".md"):
            outputs.append(read_single(file))
    found = [problem for output in outputs for problem in faults(output)]
    found += _between(staging, site)
    count = sum(
        len(document.links)
        for output in outputs
        for document in output.documents.values()
    )
    return judged(found, f"{count} links in {len(outputs)} outputs")


GATE = Gate("links", run, order=40)
