"""The site's search index: one entry for each section of the book.

Material's own search needs a word list to cut Chinese into words, and finds
a word only where it was cut the same way. Ours looks for the very
characters, section by section, so it needs no dictionary, no worker and no
server: the index is a script, which a page opened from a file can load too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from book.press.blocks import Chapter, Edition


def sections(chapter: Chapter) -> list[tuple[str, str, str]]:
    """The sections of a chapter: (anchor, heading, text below it).

    The first has the chapter's title and no anchor.
    """
    headings = {one.block_id: one for one in chapter.headings}
    found: list[tuple[str, str, list[str]]] = []
    for block in chapter.blocks:
        heading = headings.get(block.id)
        if heading is not None:
            anchor = "" if heading.level == 1 else heading.id
            found.append((anchor, heading.text, []))
        elif found:
            found[-1][2].append(block.text)
    return [(anchor, title, "\n".join(text)) for anchor, title, text in found]


def index_of(edition: Edition) -> str:
    """The index of one edition, as a script that adds itself to the page."""
    pages = [
        {
            "url": f"{chapter.slug}.html",
            "number": chapter.number,
            "sections": sections(chapter),
        }
        for chapter in edition.chapters
    ]
    data = json.dumps(pages, ensure_ascii=False, separators=(",", ":"))
    # In a string of a script these two end the line.
    data = data.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    name = json.dumps(edition.lang)
    return f"(self.ksIndex=self.ksIndex||{{}})[{name}]={data};\n"


def write_indexes(folder: Path, editions: Mapping[str, Edition]) -> None:
    """One index for each language; a page loads them when asked to search."""
    folder.mkdir(parents=True, exist_ok=True)
    for lang, edition in editions.items():
        (folder / f"{lang}.js").write_text(index_of(edition), "utf-8")
