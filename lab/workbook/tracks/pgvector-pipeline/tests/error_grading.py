"""Grades an error analysis: a table in Markdown, and paragraphs about it.

A pass over the text for each thing that is asked; each returns what is
wrong, one sentence apiece. The key is a reading, not the truth: a share of
it is asked for, and some rows have two.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

COLUMNS: Final = ("query", "kind", "fix")
SHARE_PERCENT: Final = 70
LEAST_WORDS: Final = 25

_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*)")
_RULE = re.compile(r"[ |:-]*-[ |:-]*")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d+[.)])\s+")


@dataclass(frozen=True)
class Row:
    """A miss as the learner reads it; ``line`` counts from 1."""

    query: str
    kind: str
    fix: str
    line: int


@dataclass(frozen=True)
class Paragraph:
    """A paragraph or an item of a list, and the headings it stands below."""

    headings: tuple[str, ...]
    text: str

    def names(self, kind: str) -> bool:
        """Say whether it, or a heading above it, names a kind.

        With a blank for the hyphen is fine, and in capitals.
        """
        wanted = rf"(?<!\w){re.escape(kind)}(?!\w)".replace(r"\-", "[- ]")
        return any(
            re.search(wanted, text, re.IGNORECASE)
            for text in (*self.headings, " ".join(self.text.split()))
        )


@dataclass(frozen=True)
class Reading:
    """How the key reads a miss: kinds and fixes it accepts, and why."""

    kinds: tuple[str, ...]
    fixes: tuple[str, ...]
    why: str


def load_key(path: Path) -> dict[str, Reading]:
    """Return the key, by the id of the query."""
    queries = json.loads(path.read_text("utf-8"))["queries"]
    return {
        name: Reading(tuple(one["kinds"]), tuple(one["fixes"]), one["why"])
        for name, one in queries.items()
    }


def rows(text: str) -> list[Row]:
    """Return the rows of every table that has the three ``COLUMNS``.

    Further columns are passed over; a cell that is missing is ``""``.
    """
    found = []
    head: list[str] = []
    for line, content in _lines(text):
        cells = _cells(content)
        if not cells:
            head = []
        elif not head:
            head = [cell.lower() for cell in cells]
        elif set(COLUMNS) <= set(head) and not _RULE.fullmatch(content):
            values = dict(zip(head, cells, strict=False))
            query, kind, fix = (values.get(name, "") for name in COLUMNS)
            found.append(Row(query, kind, fix, line))
    return found


def paragraphs(text: str) -> list[Paragraph]:
    """Return paragraphs and items of lists.

    Tables, quotations, code and comments are none.
    """
    found = []
    above: list[tuple[int, str]] = []
    words: list[str] = []

    def finish() -> None:
        if words:
            headings = tuple(heading for _, heading in above)
            found.append(Paragraph(headings, " ".join(words)))
        words.clear()

    for _, content in _lines(text):
        heading, item = _HEADING.fullmatch(content), _ITEM.match(content)
        quoted = content.lstrip().startswith((">", "|"))
        if heading or item or quoted or not content.strip():
            finish()
        if heading:
            level = len(heading[1])
            above = [one for one in above if one[0] < level]
            above.append((level, heading[2]))
        elif content.strip() and not quoted:
            words.append(content[item.end() if item else 0 :].strip())
    finish()
    return found


def missing(found: Sequence[Row], missed: Collection[str]) -> list[str]:
    """Name every miss without a row."""
    there = {row.query for row in found}
    return [
        f"{name}: the pipeline misses it, and it has no row"
        for name in sorted(missed)
        if name not in there
    ]


def invented(
    found: Sequence[Row], missed: Collection[str], key: Mapping[str, Reading]
) -> list[str]:
    """Name every row that is about no miss, and every second one.

    What the reference misses and this pipeline just finds may have a row:
    an approximate index can move a chunk by a place from run to run.
    """
    faults = []
    seen: set[str] = set()
    for row in found:
        if row.query not in missed and row.query not in key:
            faults.append(
                f"line {row.line}: {row.query!r} is no query that is missed"
            )
        elif row.query in seen:
            faults.append(f"line {row.line}: {row.query} has a row already")
        seen.add(row.query)
    return faults


def unknown(
    found: Sequence[Row], kinds: Collection[str], fixes: Collection[str]
) -> list[str]:
    """Name every word that is neither a kind nor a fix, where it should."""
    faults = []
    for row in found:
        for column, value, known in (
            ("kind", row.kind, kinds),
            ("fix", row.fix, fixes),
        ):
            if value not in known:
                faults.append(
                    f"line {row.line}: {column} {value!r} of {row.query};"
                    f" it is one of {', '.join(known)}"
                )
    return faults


def disagreement(
    found: Sequence[Row], missed: Collection[str], key: Mapping[str, Reading]
) -> list[str]:
    """Say so when too few kinds agree with the key.

    Counted over the misses that the key knows; a miss without a row does
    not agree. Of the rows that do not, the first is named, without what
    the key says.
    """
    kind_of = {row.query: row.kind for row in found}
    known = sorted(set(missed) & set(key))
    apart = [name for name in known if kind_of.get(name) not in key[name].kinds]
    agreed = len(known) - len(apart)
    if 100 * agreed >= SHARE_PERCENT * len(known):
        return []
    needed = -(-SHARE_PERCENT * len(known) // 100)
    return [
        f"{agreed} of {len(known)} kinds agree with the key, {needed} should;"
        f" read {apart[0]} again"
    ]


def unexplained(text: str) -> list[str]:
    """Name every kind in the table that has no paragraph of its own.

    A paragraph has at least ``LEAST_WORDS`` words and explains one kind
    that it, or a heading above it, names.
    """
    used = list(dict.fromkeys(row.kind for row in rows(text)))
    long = [
        one for one in paragraphs(text) if len(one.text.split()) >= LEAST_WORDS
    ]
    explains: dict[int, str] = {}

    def place(kind: str, tried: set[int]) -> bool:
        """Give a kind a paragraph; move another kind if that makes room."""
        for number, one in enumerate(long):
            if number in tried or not one.names(kind):
                continue
            tried.add(number)
            if number not in explains or place(explains[number], tried):
                explains[number] = kind
                return True
        return False

    return [
        f"{kind}: no paragraph of {LEAST_WORDS} words or more is about it"
        for kind in used
        if not place(kind, set())
    ]


def otherwise(found: Sequence[Row], key: Mapping[str, Reading]) -> list[str]:
    """Say of each row how the key reads it, if differently. A spoiler."""
    notes = []
    for row in found:
        reading = key.get(row.query)
        if reading and row.kind not in reading.kinds:
            notes.append(f"{row.query}: {reading.kinds[0]}. {reading.why}")
        elif reading and row.fix not in reading.fixes:
            choices = ", ".join(reading.fixes)
            notes.append(f"{row.query}: {choices}. {reading.why}")
    return notes


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines with their numbers; a fence is blank lines.

    A line with nothing but a comment is left out: it ends no table.
    """
    bare = _COMMENT.sub(lambda one: "\n" * one[0].count("\n"), text)
    closing = ""
    for number, (line, was) in enumerate(
        zip(bare.split("\n"), text.split("\n"), strict=True), 1
    ):
        fence = _FENCE.match(line)
        if closing:
            closed = line.strip()
            if closed.startswith(closing) and not closed.strip(closing[0]):
                closing = ""
            yield number, ""
        elif fence:
            closing = fence[1]
            yield number, ""
        elif line.strip() or not was.strip():
            yield number, line


def _cells(line: str) -> list[str]:
    """Return the cells of a table's line, without marks; else ``[]``."""
    line = line.strip()
    if not line.startswith("|"):
        return []
    inside = line.removeprefix("|").removesuffix("|")
    return [cell.strip().strip("`*_ ") for cell in inside.split("|")]
