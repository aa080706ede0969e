"""The title page of one language: the problem, the way in, the downloads."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment

from book.press.blocks import Edition

# What a reader may take away, by name; a PDF differs from build to build,
# so no page may state its checksum.
_KINDS: Final = {
    ".epub": "what_epub",
    ".html": "what_html",
    ".md": "what_md",
    ".zip": "what_zip",
}

# The chapters the title page sends a reader to, if they are in the book.
_LEAK: Final = "10-"
_DOCTOR: Final = "25-"


@dataclass(frozen=True)
class Download:
    """A file to take away; ``size`` in bytes, ``sha256`` in hex."""

    path: Path
    size: int
    sha256: str


def downloads(staging: Path) -> list[Download]:
    """The finished artefacts in the staging folder, in order of name."""
    return [
        Download(
            path,
            path.stat().st_size,
            hashlib.sha256(path.read_bytes()).hexdigest(),
        )
        for path in sorted(staging.glob("keeps-secrets-*"))
        if path.is_file() and path.suffix in _KINDS
    ]


def landing_words(folder: Path) -> Mapping[str, Any]:
    """The title page's own words, by language."""
    return tomllib.loads((folder / "landing.toml").read_text("utf-8"))


def landing_html(
    environment: Environment,
    edition: Edition,
    words: Mapping[str, str],
    text: Mapping[str, Any],
    files: Sequence[Download],
    lab_folder: str,
) -> str:
    """The finished title page of one edition.

    ``text`` is this language's part of ``landing_words``; ``lab_folder``
    is the folder the laboratory unpacks into.
    """
    shown = {
        **text,
        "try_code": [
            line.format(folder=lab_folder) for line in text["try_code"]
        ],
    }
    parts = [
        {
            "title": part.title,
            "chapters": [edition.chapter(slug) for slug in part.slugs],
        }
        for part in edition.parts
        if part.slugs
    ]
    listed = [
        {
            "name": file.path.name,
            "what": text[_KINDS[file.path.suffix]],
            "size": printed_size(file.size),
            "sha256": file.sha256,
        }
        # The other language's book is a click away; the lab is for both.
        for file in files
        if f"-{edition.lang}." in file.path.name or file.path.suffix == ".zip"
    ]
    return environment.get_template("landing.html").render(
        edition=edition,
        words=words,
        text=shown,
        doors=_doors(edition, text),
        parts=parts,
        downloads=listed,
    )


def printed_size(size: int) -> str:
    """A size in bytes as people read it.

    >>> printed_size(3_400_000), printed_size(52_000), printed_size(7)
    ('3.4 MB', '52 kB', '7 B')
    """
    if size >= 1_000_000:
        return f"{size / 1_000_000:.1f} MB"
    if size >= 1_000:
        return f"{size / 1_000:.0f} kB"
    return f"{size} B"


def _doors(edition: Edition, text: Mapping[str, Any]) -> list[dict[str, str]]:
    slugs = [chapter.slug for chapter in edition.chapters]
    doors = [(slugs[0], text["first_chapter"])]
    for prefix, label in (
        (_LEAK, text["leak_chapter"]),
        (_DOCTOR, text["doctor_chapter"]),
    ):
        doors += [(slug, label) for slug in slugs if slug.startswith(prefix)]
    return [{"href": f"{slug}.html", "text": label} for slug, label in doors]
