"""Macros that point: to sources, contracts, tests, terms and chapters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from book.press.faults import MacroError, nearest
from book.press.macros import Call, Inline, Reference
from book.press.symbols import defines
from book.press.xhtml import escape, escape_attribute

_Entry = TypeVar("_Entry")


def source(call: Call, name: str, *, text: str = "") -> Inline:
    """A link to an outside source, by its title."""
    entry = _entry(call.library.sources, name, "source")
    return _link(f"ks-source:{name}", text or (entry.title if entry else name))


def contract(call: Call, name: str, *, text: str = "") -> Inline:
    """A link to a contract in the ledger, by its id."""
    _entry(call.library.contracts, name, "contract")
    return _link(f"ks-contract:{name}", text or name)


def link_to_test(call: Call, name: str, *, text: str = "") -> Inline:
    """A link to a test, named as pytest does: ``path::name``."""
    file, _, names = name.partition("::")
    content = call.library.read(file)
    if names and not defines(content, names.split("::")):
        raise MacroError(f"{file} has no test {names}")
    shown = text or names.rpartition("::")[2] or file
    html = f'<a href="{escape_attribute(f"ks-lab:{file}")}">'
    return Inline(f"{html}<code>{escape(shown)}</code></a>", shown)


def term(call: Call, name: str, *, text: str = "") -> Inline:
    """A word of the glossary, linked to its definition."""
    entry = _entry(call.library.terms, name, "term")
    shown = text or (entry.word[call.lang] if entry else name)
    return _link(f"ks:f-glossary#{name}", shown, css="term")


def chapter(
    call: Call, slug: str, anchor: str = "", *, text: str = ""
) -> Inline:
    """A link to another chapter, by its title.

    Whether the anchor is there is checked when all links are.
    """
    slugs = list(call.library.plan.slugs())
    if slug not in slugs:
        raise MacroError(
            f"the book has no chapter {slug}", nearest(slug, slugs)
        )
    if anchor and not anchor.startswith("#"):
        raise MacroError(f"anchor {anchor!r}", f'write "#{anchor}"')
    title = call.library.titles.get((call.lang, slug), slug)
    return _link(f"ks:{slug}{anchor}", text or title)


def ref(call: Call, label: str) -> Reference:
    """A mention of a captioned block of this chapter: "Listing 5.2"."""
    del call
    return Reference(label)


def typed(call: Call, text: str, reason: str) -> Inline:
    """A number no experiment measured, and why it stands here."""
    del call
    if not reason.strip():
        raise MacroError(f"{text!r} needs a reason")
    place = escape_attribute(reason)
    html = f'<span class="value" data-typed="{place}">{escape(text)}</span>'
    return Inline(html, text)


def _link(href: str, text: str, css: str = "") -> Inline:
    mark = f' class="{css}"' if css else ""
    html = f'<a{mark} href="{escape_attribute(href)}">{escape(text)}</a>'
    return Inline(html, text)


def _entry(
    entries: Mapping[str, _Entry] | None, name: str, what: str
) -> _Entry | None:
    """The entry; None when the whole register could not be read."""
    if entries is None:
        return None
    if name not in entries:
        raise MacroError(
            f"there is no {what} {name}", nearest(name, list(entries))
        )
    return entries[name]
