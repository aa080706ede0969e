"""The one hook MkDocs runs for us: our HTML instead of its own.

MkDocs gets stub pages that hold metadata only. When it has converted a
stub, this hook answers with the finished page, and with its contents, from
the folder ``fragments`` beside ``mkdocs.yml``. It imports nothing of the
press, so MkDocs may run it in a process of its own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mkdocs.structure.toc import AnchorLink, TableOfContents


def on_page_content(_html: str, *, page: Any, config: Any, files: Any) -> str:
    """The finished HTML of ``page``; also sets ``page.toc``."""
    folder = Path(config.config_file_path).parent / "fragments"
    name = f"{page.meta['lang']}/{page.meta['slug']}"
    headings = json.loads((folder / f"{name}.json").read_text("utf-8"))
    page.toc = contents(headings)
    return (folder / f"{name}.html").read_text("utf-8")


def contents(headings: list[tuple[int, str, str]]) -> TableOfContents:
    """Headings, each (level, id, text), as the tree MkDocs wants."""
    tops: list[AnchorLink] = []
    path: list[AnchorLink] = []
    for level, anchor, text in headings:
        link = AnchorLink(text, anchor, level)
        while path and path[-1].level >= level:
            path.pop()
        (path[-1].children if path else tops).append(link)
        path.append(link)
    return TableOfContents(tops)
