"""Where the book's own links lead, in each output.

The manuscript names places in the book, never files: ``ks:SLUG#ANCHOR``,
``ks-lab:PATH``, ``ks-evidence:NAME``, ``ks-contract:C-07``,
``ks-source:ID``. A :class:`Layout` says how one output spells a place; a
:class:`Resolver` turns each reference into a link there, and refuses one
that leads to nothing. ``localise`` does so for a whole fragment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from lxml import etree

from book.press.blocks import Chapter, Edition
from book.press.xhtml import local_name

# Schemes of links that leave the book; anything else must be ours.
_OUTSIDE: Final = ("https:", "http:", "mailto:")

# Attributes that hold ids of the same fragment, separated by spaces.
_ID_LISTS: Final = frozenset(
    {"aria-controls", "aria-describedby", "aria-labelledby", "for", "headers"}
)
_ID = re.compile(r'\sid="([^"]+)"')
_URL = re.compile(r"url\(#([^)]+)\)")
_XLINK_HREF: Final = "{http://www.w3.org/1999/xlink}href"
_SVG: Final = "{http://www.w3.org/2000/svg}"


class LinkError(ValueError):
    """A reference that leads nowhere; the message names it and its page."""


@dataclass(frozen=True)
class Layout:
    """How one output spells a place in the book.

    ``page`` is the address of a chapter with ``{slug}`` in it, or ``""``
    when all chapters share one page, where ids carry ``SLUG--`` in front.
    ``lab`` is the address of a copy of a lab file, with ``{path}`` in it,
    for outputs that have such copies.
    """

    page: str
    lab: str = ""

    @property
    def shared(self) -> bool:
        """Whether all chapters stand on one page."""
        return not self.page

    def identity(self, slug: str, anchor: str) -> str:
        """The id under which an anchor of a chapter is found here."""
        return f"{slug}--{anchor}" if self.shared else anchor

    def address(self, slug: str, anchor: str, from_slug: str) -> str:
        """The link to an anchor; ``""`` is the chapter's beginning."""
        if self.shared:
            return f"#{self.identity(slug, anchor or slug)}"
        if slug == from_slug:
            return f"#{anchor or slug}"
        fragment = f"#{anchor}" if anchor else ""
        return self.page.format(slug=slug) + fragment


SITE: Final = Layout("{slug}.html", lab="../lab/{path}.txt")
SINGLE_PAGE: Final = Layout("")
EPUB: Final = Layout("{slug}.xhtml")


def lab_anchor(path: str) -> str:
    """The anchor of a lab file in the appendix that weaves the code.

    >>> lab_anchor("tests/lab/test_search.py")
    'file-tests-lab-test-search-py'
    """
    return "file-" + re.sub(r"[^a-z0-9]+", "-", path.lower()).strip("-")


def evidence_anchor(name: str) -> str:
    """The anchor of an evidence file in the appendix that lists them."""
    return f"ev-{name}"


def contract_anchor(contract: str) -> str:
    """The anchor of a contract in the ledger: ``C-07`` is at ``c-07``."""
    return contract.lower()


def source_anchor(source: str) -> str:
    """The anchor of a source in the appendix that lists them."""
    return f"src-{source}"


def is_appendix(chapter: Chapter) -> bool:
    """Whether a chapter is an appendix: those are lettered."""
    return chapter.number.isalpha()


# What each scheme of ours names, and the anchor it stands at.
_SCHEMES: Final[Mapping[str, tuple[str, Callable[[str], str]]]] = {
    "ks-lab": ("lab file", lab_anchor),
    "ks-evidence": ("evidence", evidence_anchor),
    "ks-contract": ("contract", contract_anchor),
    "ks-source": ("source", source_anchor),
}


class Resolver:
    """Turns references of one edition into links of one output.

    ``partial`` is for previews of some chapters: what is not there is then
    linked to the page's own beginning. A book that ships is never partial.
    """

    def __init__(
        self, edition: Edition, layout: Layout, *, partial: bool = False
    ) -> None:
        self.layout = layout
        self._partial = partial
        self._lang = edition.lang
        self._anchors: dict[str, frozenset[str]] = {}
        self._appendix: dict[str, str] = {}
        for chapter in edition.chapters:
            found = frozenset(
                anchor
                for block in chapter.blocks
                for anchor in _ID.findall(block.html)
            )
            self._anchors[chapter.slug] = found
            if is_appendix(chapter):
                self._appendix.update(dict.fromkeys(found, chapter.slug))

    def __call__(self, href: str, slug: str) -> str:
        """The link for ``href`` as it stands in the chapter ``slug``.

        Raises :class:`LinkError` when it leads to nothing.
        """
        if href.startswith(_OUTSIDE):
            return href
        scheme, _, rest = href.partition(":")
        try:
            if scheme == "ks":
                return self._place(rest, slug)
            if scheme in _SCHEMES and rest:
                return self._beside(scheme, rest, slug)
        except LinkError as error:
            if self._partial:
                return "#"
            raise self._error(href, slug, str(error)) from None
        raise self._error(href, slug, "this is no kind of link we know")

    def _place(self, rest: str, slug: str) -> str:
        target, _, anchor = rest.partition("#")
        target = target or slug
        if target not in self._anchors:
            raise LinkError(f"there is no chapter {target!r}")
        if anchor and anchor not in self._anchors[target]:
            raise LinkError(f"{target} has no anchor {anchor!r}")
        return self.layout.address(target, anchor, slug)

    def _beside(self, scheme: str, rest: str, slug: str) -> str:
        what, spell = _SCHEMES[scheme]
        # A test may be named in pytest's way, path::name.
        name = rest.partition("::")[0]
        anchor = spell(name)
        home = self._appendix.get(anchor)
        if home is not None:
            return self.layout.address(home, anchor, slug)
        if scheme == "ks-lab" and self.layout.lab:
            return self.layout.lab.format(path=name)
        raise LinkError(f"no appendix lists the {what} {name!r} (#{anchor})")

    def _error(self, href: str, slug: str, why: str) -> LinkError:
        return LinkError(f"{self._lang}/{slug}: link {href!r}: {why}")


def localise(html: str, slug: str, resolver: Resolver) -> etree._Element:
    """A block's fragment, as it stands in one output.

    Returns a new tree in which every link is resolved and, where chapters
    share a page, every id and every reference to one carries the slug.
    Raises :class:`LinkError`; ``ValueError`` when it is not XML.
    """
    try:
        root = etree.fromstring(html)
    except etree.XMLSyntaxError as error:
        raise ValueError(f"{slug}: not well-formed XML: {error}") from None
    for element in root.iter():
        if local_name(element):
            _localise(element, slug, resolver)
    return root


def _localise(element: etree._Element, slug: str, resolver: Resolver) -> None:
    layout = resolver.layout

    def own(match: re.Match[str]) -> str:
        return f"url(#{layout.identity(slug, match[1])})"

    for raw_key, raw_value in list(element.attrib.items()):
        key, value = str(raw_key), str(raw_value)
        if key in ("href", _XLINK_HREF):
            # Inside a drawing, #id is a part of the same drawing.
            inner = value.startswith("#") and str(element.tag).startswith(_SVG)
            changed = (
                f"#{layout.identity(slug, value[1:])}"
                if inner
                else resolver(value, slug)
            )
        elif key == "id":
            changed = layout.identity(slug, value)
        elif key in _ID_LISTS:
            changed = " ".join(
                layout.identity(slug, one) for one in value.split()
            )
        else:
            changed = _URL.sub(own, value)
        element.set(key, changed)
