"""What MkDocs is told: a generated configuration and stub pages.

The configuration is all that ties us to MkDocs Material; another generator
would need another of these modules and a frame, nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from book.press.blocks import Chapter, Edition

# Languages of the book, in the order of the switch: what HTML calls them,
# what search engines are told, and what Material calls them.
HTML_LANG: Final = {"en": "en", "zh": "zh-Hans"}

# mkdocs-static-i18n puts the pages of its default language at the top; one
# folder deeper keeps both languages in folders of their own.
DEFAULT: Final = "en"

# What the page's script says; the rest of the words stay on the server.
_SCRIPT_WORDS: Final = (
    "search_loading search_failed search_none search_none_help search_one"
    " search_many search_more copy copied copy_failed copy_label"
).split()


@dataclass(frozen=True)
class Frame:
    """What every page of one language says around the text."""

    edition: Edition
    words: Mapping[str, str]

    @property
    def lang(self) -> str:
        """The language as folders are named."""
        return self.edition.lang

    @property
    def hreflang(self) -> str:
        """The language as HTML names it."""
        return HTML_LANG[self.lang]


def printed_title(chapter: Chapter) -> str:
    """A chapter's title with its number in front."""
    if not chapter.number:
        return chapter.title
    return f"{chapter.number}. {chapter.title}"


def source_path(lang: str, slug: str) -> str:
    """Where the stub of a page lies, below the folder of stubs."""
    folder = f"{lang}/{lang}" if lang == DEFAULT else lang
    return f"{folder}/{slug}.md"


def stub(lang: str, slug: str, title: str, description: str) -> str:
    """A page that holds metadata only; JSON is YAML."""
    meta: dict[str, str] = {
        "lang": lang,
        "slug": slug,
        "title": title,
        "description": description,
    }
    if slug == "index":
        meta["template"] = "landing.html"
    lines = [
        f"{key}: {json.dumps(value, ensure_ascii=False)}"
        for key, value in meta.items()
    ]
    return "\n".join(["---", *lines, "---", ""])


def mkdocs_config(
    frames: Sequence[Frame],
    *,
    theme_dir: Path,
    hook: Path,
    docs_dir: Path,
    site_dir: Path,
    site_url: str,
) -> dict[str, Any]:
    """The whole of ``mkdocs.yml``, for both languages.

    ``site_url`` is the public address with a slash at its end, or ``""``
    when it is not known; then nothing on the site is absolute.
    """
    languages = [
        {
            "locale": frame.lang,
            "name": frame.words["name"],
            "default": frame.lang == DEFAULT,
            "site_name": frame.edition.title,
            "site_description": frame.edition.metadata["description"],
            "site_author": frame.edition.metadata["authors"],
            "theme": {"language": frame.hreflang},
            "nav": _nav(frame.edition),
            "extra": _extra(frame, frames),
        }
        for frame in frames
    ]
    return {
        "site_name": frames[0].edition.title,
        "site_description": frames[0].edition.metadata["description"],
        "site_author": frames[0].edition.metadata["authors"],
        "site_url": site_url,
        "docs_dir": str(docs_dir),
        "site_dir": str(site_dir),
        "use_directory_urls": False,
        "theme": {
            "name": "material",
            "custom_dir": str(theme_dir),
            "language": HTML_LANG[DEFAULT],
            "font": False,
        },
        "hooks": [str(hook)],
        "markdown_extensions": [],
        "extra": _extra(frames[0], frames),
        # Naming the plugins keeps MkDocs from adding its search.
        "plugins": [
            {
                "i18n": {
                    "docs_structure": "folder",
                    "fallback_to_default": False,
                    "reconfigure_material": False,
                    "reconfigure_search": False,
                    "languages": languages,
                }
            }
        ],
    }


def _nav(edition: Edition) -> list[Any]:
    sections: list[Any] = [source_path(edition.lang, "index")]
    for part in edition.parts:
        pages = [
            {
                printed_title(edition.chapter(slug)): source_path(
                    edition.lang, slug
                )
            }
            for slug in part.slugs
        ]
        if pages:
            sections.append({part.title: pages})
    return sections


def _extra(frame: Frame, frames: Sequence[Frame]) -> dict[str, Any]:
    other = next((one for one in frames if one.lang != frame.lang), frame)
    metadata = frame.edition.metadata
    return {
        "lang": frame.lang,
        "hreflang": frame.hreflang,
        "words": dict(frame.words),
        "script_words": {key: frame.words[key] for key in _SCRIPT_WORDS},
        "made": frame.words["made"].format_map(metadata),
        "other": {
            "lang": other.lang,
            "hreflang": other.hreflang,
            "name": other.words["name"],
            "locale": other.words["locale"],
        },
        "editions": [
            {
                "lang": one.lang,
                "hreflang": one.hreflang,
                "title": one.edition.title,
                "words": dict(one.words),
            }
            for one in frames
        ],
    }
