"""The book on paper: the offline file, printed by a headless browser.

An extra. A PDF carries the mark of the browser that printed it, so it is
outside the byte comparison, and without a browser there is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from book.press import offline
from book.press.blocks import Edition
from book.press.context import BuildContext
from book.press.gates.browser import browser, missing_tools

_FOOTER = (
    '<div style="width:100%;font:8pt sans-serif;text-align:center">'
    '<span class="pageNumber"></span></div>'
)


def file_name(lang: str) -> str:
    """The name of the PDF inside the output folder."""
    return f"keeps-secrets-{lang}.pdf"


def render(
    editions: Mapping[str, Edition], staging: Path, context: BuildContext
) -> None:
    """Print every offline file in ``staging``, with bookmarks and tags.

    Says so and writes nothing when there is no browser to print with.
    """
    missing = missing_tools()
    if missing is not None:
        context.progress(f"pdf: none, {missing.reason}")
        return
    with browser() as chromium:
        for lang in sorted(editions):
            context.progress(f"pdf: {lang}")
            page = chromium.new_page(color_scheme="light")
            page.goto((staging / offline.file_name(lang)).as_uri())
            page.pdf(
                path=staging / file_name(lang),
                format="A4",
                margin={
                    "top": "20mm",
                    "bottom": "20mm",
                    "left": "18mm",
                    "right": "18mm",
                },
                display_header_footer=True,
                header_template="<span></span>",
                footer_template=_FOOTER,
                outline=True,
                tagged=True,
            )
            page.close()
