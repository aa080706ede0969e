"""The site holds the blocks as they are, in a frame of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from book.press.blocks import Chapter, Edition, Heading, Part, make_block
from tests.press.sample import sample_editions


def site_editions() -> Mapping[str, Edition]:
    """The sample book with the appendices its links lead to."""
    return {
        lang: _with_appendices(edition)
        for lang, edition in sample_editions().items()
    }


def _with_appendices(edition: Edition) -> Edition:
    added = (
        _appendix(edition, "a-sources", "A", "src-sqlite-fts5"),
        _appendix(edition, "b-evidence", "B", "ev-term-evaluation"),
        _appendix(edition, "d-ledger", "D", "c-07"),
        _appendix(edition, "e-core", "E", "file-tests-lab-test-search-py"),
    )
    *others, last = edition.parts
    slugs = (*(one.slug for one in added), *last.slugs)
    return replace(
        edition,
        chapters=(*edition.chapters[:-1], *added, edition.chapters[-1]),
        parts=(*others, Part(last.id, last.title, slugs)),
    )


def _appendix(edition: Edition, slug: str, letter: str, anchor: str) -> Chapter:
    fragments = [
        ("heading", f'<h1 id="{slug}">{letter}: {slug}</h1>'),
        ("heading", f'<h2 id="{anchor}">{anchor}</h2>'),
        ("paragraph", f"<p>{edition.title}</p>"),
    ]
    blocks = tuple(
        make_block(slug, ordinal, kind, html, ordinal)
        for ordinal, (kind, html) in enumerate(fragments, 1)
    )
    return replace(
        edition.chapters[-1],
        slug=slug,
        number=letter,
        title=slug,
        blocks=blocks,
        headings=(
            Heading(1, slug, blocks[0].text, blocks[0].id),
            Heading(2, anchor, anchor, blocks[1].id),
        ),
    )
