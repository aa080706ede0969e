"""Sources: what the book leans on outside itself, and how far."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from book.press.manuscript import LANGUAGES, read_text
from book.press.problems import Problem, Problems

FILE = "sources.json"

_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_REQUIRED = (
    "id",
    "title",
    "authors",
    "url",
    "read",
    "supports",
    "does_not_support",
    "chapters",
    "licence",
)
_OPTIONAL = ("snapshot_sha256", "revision")
_BILINGUAL = ("supports", "does_not_support")


@dataclass(frozen=True)
class Source:
    """One outside source.

    ``read`` is the date it was read, ISO 8601. ``supports`` and
    ``does_not_support`` map a language to prose. ``snapshot_sha256`` is of
    the copy that was read, ``""`` when none was kept; ``revision`` is the
    upstream version, ``""`` when it has none.
    """

    id: str
    title: str
    authors: str
    url: str
    read: str
    supports: Mapping[str, str]
    does_not_support: Mapping[str, str]
    chapters: tuple[str, ...]
    licence: str
    snapshot_sha256: str
    revision: str
    line: int


def read_sources(root: Path) -> dict[str, Source]:
    """``sources.json`` by id, in its order; ``Problems`` lists its faults."""
    text = read_text(root, FILE)
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise Problems(
            [Problem(FILE, error.lineno, f"not valid JSON: {error.msg}")]
        ) from None
    if not isinstance(data, list):
        raise Problems([Problem(FILE, 1, "is not a list of sources")])
    problems: list[Problem] = []
    sources: dict[str, Source] = {}
    for position, entry in enumerate(data):
        faults = _faults(entry)
        name = entry.get("id") if isinstance(entry, dict) else None
        if isinstance(name, str) and name in sources:
            faults.append("stands twice")
        line = _line(text, name)
        shown = name or f"entry {position + 1}"
        problems.extend(
            Problem(FILE, line, f"{shown}: {fault}") for fault in faults
        )
        if not faults:
            sources[str(name)] = Source(
                **{
                    key: entry.get(key, "")
                    for key in (*_REQUIRED, *_OPTIONAL)
                    if key != "chapters"
                },
                chapters=tuple(entry["chapters"]),
                line=line,
            )
    if problems:
        raise Problems(problems)
    return sources


def use_problems(
    sources: Mapping[str, Source], used: Mapping[str, set[str]]
) -> list[Problem]:
    """Where ``chapters`` of an entry differs from the chapters citing it.

    ``used`` maps a source's id to the slugs that cite it.
    """
    problems: list[Problem] = []
    for source in sources.values():
        citing = used.get(source.id, set())
        for slug in sorted(citing - set(source.chapters)):
            message = f"{source.id}: chapter {slug} cites it"
            problems.append(
                Problem(FILE, source.line, message, "add it to chapters")
            )
        for slug in sorted(set(source.chapters) - citing):
            message = f"{source.id}: chapter {slug} does not cite it"
            problems.append(
                Problem(FILE, source.line, message, "take it off chapters")
            )
    return problems


def _faults(entry: Any) -> list[str]:
    if not isinstance(entry, dict):
        return ["is not an object"]
    faults = [f"lacks {key}" for key in _REQUIRED if key not in entry]
    faults += [
        f"has an unknown key {key}"
        for key in entry
        if key not in (*_REQUIRED, *_OPTIONAL)
    ]
    if faults:
        return faults
    for key in (*_REQUIRED, *_OPTIONAL):
        if key in (*_BILINGUAL, "chapters") or key not in entry:
            continue
        if not isinstance(entry[key], str) or not entry[key].strip():
            faults.append(f"{key} is not a text")
    for key in _BILINGUAL:
        value = entry[key]
        if (
            not isinstance(value, dict)
            or sorted(value) != sorted(LANGUAGES)
            or not all(isinstance(v, str) and v for v in value.values())
        ):
            faults.append(f"{key} needs a text in each language: en, zh")
    chapters = entry["chapters"]
    if not isinstance(chapters, list) or not all(
        isinstance(slug, str) for slug in chapters
    ):
        faults.append("chapters is not a list of slugs")
    if faults:
        return faults
    if not _ID.fullmatch(entry["id"]):
        faults.append("id is not of the form sqlite-fts5")
    if not entry["url"].startswith(("https://", "http://")):
        faults.append("url is not an address")
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", entry["read"]):
        faults.append("read is not a date such as 2025-11-30")
    digest = entry.get("snapshot_sha256", "0" * 64)
    if not re.fullmatch(r"[0-9a-f]{64}", digest):
        faults.append("snapshot_sha256 is not 64 hex digits")
    return faults


def _line(text: str, name: object) -> int:
    found = re.search(rf'"id"\s*:\s*"{re.escape(str(name))}"', text)
    return text.count("\n", 0, found.start()) + 1 if found else 0
