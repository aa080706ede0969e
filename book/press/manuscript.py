"""The manuscript: which chapters there are, and their text as written."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from book.press.problems import Problem, Problems

LANGUAGES = ("en", "zh")

_SLUG = re.compile(r"[0-9a-z]+(-[0-9a-z]+)*")
_KEYS = ("title", "summary", "contracts", "experiment")
_EDITION_KEYS = ("title", "subtitle", "description", "identifier")
_SHARED_KEYS = (
    "authors",
    "version",
    "date",
    "licence",
    "licence_url",
    "code_licence",
    "data_licence",
)


@dataclass(frozen=True)
class PlannedPart:
    """A part as ``book.toml`` has it.

    ``numbering`` is ``digits``, ``letters`` or ``none``.
    """

    id: str
    titles: Mapping[str, str]
    numbering: str
    slugs: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """``book/book.toml``: parts, order of chapters, title pages.

    ``metadata`` maps a language to the strings of its title page.
    """

    parts: tuple[PlannedPart, ...]
    metadata: Mapping[str, Mapping[str, str]]

    def slugs(self) -> tuple[str, ...]:
        """Every chapter, in the order of the book."""
        return tuple(slug for part in self.parts for slug in part.slugs)

    def part_of(self, slug: str) -> PlannedPart:
        """The part a chapter stands in; ``KeyError`` when in none."""
        for part in self.parts:
            if slug in part.slugs:
                return part
        raise KeyError(slug)

    def number(self, slug: str) -> str:
        """The number as printed: chapters count on through the parts."""
        numbering = self.part_of(slug).numbering
        if numbering == "none":
            return ""
        counted = [
            other
            for part in self.parts
            if part.numbering == numbering
            for other in part.slugs
        ]
        position = counted.index(slug)
        if numbering == "letters":
            return chr(ord("A") + position)
        return str(position + 1)


@dataclass(frozen=True)
class Page:
    """One chapter file: its front matter, and its body as written.

    ``file`` is relative to the root, ``body_line`` the line of the file
    its body starts on. ``contracts`` and ``experiment`` come from the
    front matter; ``lines`` gives the line of each of its keys.
    """

    slug: str
    lang: str
    file: str
    title: str
    summary: str
    contracts: tuple[str, ...]
    experiment: str
    body: str
    body_line: int
    lines: Mapping[str, int]


def read_text(root: Path, file: str) -> str:
    """A text file of the project, line ends made LF.

    Raises ``Problems`` with one sentence when it is missing, unreadable or
    not UTF-8.
    """
    try:
        raw = (root / file).read_bytes()
    except FileNotFoundError:
        raise _problem(file, 0, "no such file", "write it") from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise _problem(file, 0, f"cannot be read: {reason}") from None
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise _problem(
            file, line, "not valid UTF-8", "save the file as UTF-8"
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_toml(root: Path, file: str) -> dict[str, Any]:
    """A TOML file of the project; ``Problems`` names the line at fault."""
    text = read_text(root, file)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        line = int(found.group(1)) if found else 0
        raise _problem(file, line, f"not valid TOML: {error}") from None


def read_plan(root: Path) -> Plan:
    """``book/book.toml``; raises ``Problems`` listing every fault in it."""
    file = "book/book.toml"
    data = read_toml(root, file)
    problems: list[Problem] = []
    metadata = _metadata(data, file, problems)
    parts: list[PlannedPart] = []
    seen: set[str] = set()
    for entry in _tables(data.get("part")):
        name = str(entry.get("id", ""))
        titles = {lang: entry.get(lang) for lang in LANGUAGES}
        slugs = entry.get("chapters")
        numbering = entry.get("numbering", "digits")
        if not name or not all(isinstance(t, str) for t in titles.values()):
            problems.append(
                Problem(file, 0, "a [[part]] needs id and a title: en, zh")
            )
            continue
        if numbering not in ("digits", "letters", "none"):
            problems.append(
                Problem(
                    file,
                    0,
                    f"part {name}: unknown numbering {numbering!r}",
                    "use digits, letters or none",
                )
            )
            continue
        if not isinstance(slugs, list) or not all(
            isinstance(slug, str) and _SLUG.fullmatch(slug) for slug in slugs
        ):
            problems.append(
                Problem(
                    file,
                    0,
                    f"part {name}: chapters is a list of slugs such as"
                    " 05-lexical-baseline",
                )
            )
            continue
        for slug in slugs:
            if slug in seen:
                problems.append(Problem(file, 0, f"{slug} is listed twice"))
            seen.add(slug)
        parts.append(
            PlannedPart(
                name,
                {lang: str(title) for lang, title in titles.items()},
                numbering,
                tuple(slugs),
            )
        )
    if problems:
        raise Problems(problems)
    return Plan(tuple(parts), metadata)


def read_page(root: Path, lang: str, slug: str) -> Page:
    """One chapter file; raises ``Problems`` listing its faults."""
    file = f"book/{lang}/{slug}.md"
    lines = read_text(root, file).split("\n")
    if lines[0] != "---" or "---" not in lines[1:]:
        raise _problem(
            file,
            1,
            "no front matter",
            "begin with '---', title: and summary:, and '---' again",
        )
    end = lines.index("---", 1)
    problems: list[Problem] = []
    fields: dict[str, str] = {}
    places: dict[str, int] = {}
    for number, line in enumerate(lines[1:end], 2):
        if not line.strip():
            continue
        key, colon, value = line.partition(":")
        key = key.strip()
        if not colon or key not in _KEYS or key in fields:
            problems.append(
                Problem(
                    file,
                    number,
                    f"front matter line not understood: {line.strip()!r}",
                    f"each of {', '.join(_KEYS)} once, as 'key: value'",
                )
            )
            continue
        fields[key] = _unquote(value.strip())
        places[key] = number
    for key in ("title", "summary"):
        if not fields.get(key) and not problems:
            problems.append(Problem(file, 1, f"front matter lacks {key}"))
    if problems:
        raise Problems(problems)
    named = fields.get("contracts", "").strip("[]")
    contracts = (name.strip() for name in named.split(","))
    return Page(
        slug=slug,
        lang=lang,
        file=file,
        title=fields["title"],
        summary=fields["summary"],
        contracts=tuple(name for name in contracts if name),
        experiment=fields.get("experiment", ""),
        body="\n".join(lines[end + 1 :]),
        body_line=end + 2,
        lines=places,
    )


def stray_files(
    root: Path, plan: Plan, generated: frozenset[str]
) -> list[Problem]:
    """Chapter files that ``book.toml`` does not list, as problems.

    A chapter that is written but not listed would silently be left out.
    """
    listed = set(plan.slugs())
    found: list[Problem] = []
    for lang in LANGUAGES:
        for path in sorted((root / "book" / lang).glob("*.md")):
            file = f"book/{lang}/{path.name}"
            if path.stem in generated:
                found.append(
                    Problem(file, 0, "this chapter is generated", "delete it")
                )
            elif path.stem not in listed:
                found.append(
                    Problem(
                        file,
                        0,
                        "book/book.toml does not list this chapter",
                        "list its slug, or move the draft elsewhere",
                    )
                )
    return found


def _metadata(
    data: Mapping[str, Any], file: str, problems: list[Problem]
) -> dict[str, dict[str, str]]:
    """The strings of each language's title page."""
    found: dict[str, dict[str, str]] = {}
    for table, keys in [
        ("book", _SHARED_KEYS),
        *((lang, _EDITION_KEYS) for lang in LANGUAGES),
    ]:
        entry = data.get(table)
        if not isinstance(entry, dict):
            problems.append(Problem(file, 0, f"lacks the table [{table}]"))
            continue
        for key in keys:
            if not isinstance(entry.get(key), str) or not entry[key]:
                problems.append(
                    Problem(file, 0, f"[{table}] lacks the text {key}")
                )
        for key in entry:
            if key not in keys:
                problems.append(
                    Problem(file, 0, f"[{table}] has an unknown key {key}")
                )
        found[table] = {key: str(entry.get(key, "")) for key in keys}
    return {
        lang: {**found.get("book", {}), **found.get(lang, {})}
        for lang in LANGUAGES
    }


def _tables(value: object) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        return []
    return [entry for entry in value if isinstance(entry, dict)]


def _unquote(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1]
    return value


def _problem(file: str, line: int, message: str, hint: str = "") -> Problems:
    return Problems([Problem(file, line, message, hint)])
