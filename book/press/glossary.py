"""The glossary: one word for one thing, in both languages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from book.press.manuscript import LANGUAGES, read_toml
from book.press.problems import Problem, Problems

FILE = "book/glossary.toml"
_KEYS = frozenset({"id", "word", "definition", "avoid"})


@dataclass(frozen=True)
class Term:
    """A word of the book; each mapping is from language to text.

    ``avoid`` lists words that would say the same thing another way, and
    are errors in that language.
    """

    id: str
    word: Mapping[str, str]
    definition: Mapping[str, str]
    avoid: Mapping[str, tuple[str, ...]]


def read_glossary(root: Path) -> dict[str, Term]:
    """The glossary by id, in its order; ``Problems`` lists its faults."""
    problems: list[Problem] = []
    terms: dict[str, Term] = {}
    entries = read_toml(root, FILE).get("term", [])
    for position, entry in enumerate(entries, 1):
        name = str(entry.get("id", f"term {position}"))
        if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
            problems.append(
                Problem(FILE, 0, f"{name}: its id is not lower-case ASCII")
            )
        if name in terms:
            problems.append(Problem(FILE, 0, f"{name} stands twice"))
        for key in sorted(set(entry) - _KEYS):
            problems.append(Problem(FILE, 0, f"{name}: unknown key {key}"))
        for key in ("word", "definition"):
            if not _bilingual(entry.get(key)):
                problems.append(
                    Problem(FILE, 0, f"{name}: {key} needs en and zh")
                )
        avoid = entry.get("avoid", {})
        terms[name] = Term(
            name,
            _strings(entry.get("word")),
            _strings(entry.get("definition")),
            {lang: tuple(avoid.get(lang, ())) for lang in LANGUAGES},
        )
    if problems:
        raise Problems(problems)
    return terms


def _bilingual(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and sorted(value) == sorted(LANGUAGES)
        and all(isinstance(text, str) and text for text in value.values())
    )


def _strings(value: Any) -> dict[str, str]:
    return dict(value) if _bilingual(value) else {}
