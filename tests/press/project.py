"""A whole small project, sound in every respect, for tests to damage."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from book.press.blocks import Chapter
from book.press.resolve import Loaded, load

SLUG = "05-lexical-baseline"

_TOML = """\
[book]
authors = "Nobody"
version = "1.0.0"
date = "2025-11-30"
licence = "CC BY 4.0"
licence_url = "https://creativecommons.org/licenses/by/4.0/"
code_licence = "MIT"
data_licence = "CC0 1.0"

[en]
title = "A Book"
subtitle = "Small"
description = "A small book."
identifier = "urn:uuid:908fdb0c-5651-58c6-918b-65dfa02ac0c4"

[zh]
title = "书"
subtitle = "小"
description = "一本小书。"
identifier = "urn:uuid:5fb0dd0f-36a9-51d6-8f53-df9bc655a264"

[[part]]
id = "front"
numbering = "none"
en = "Front"
zh = "前"
chapters = ["00-preface"]

[[part]]
id = "finding"
en = "Finding"
zh = "找"
chapters = ["05-lexical-baseline"]

[[part]]
id = "appendices"
numbering = "letters"
en = "Appendices"
zh = "附录"
chapters = ["a-sources", "b-evidence", "d-ledger", "f-glossary"]
"""

_GLOSSARY = """\
[[term]]
id = "chunk"
word = { en = "chunk", zh = "片段" }
definition = { en = "A piece.", zh = "一段。" }
avoid = { en = ["passage"], zh = ["分块"] }
"""

_CONTRACTS = """\
[[contract]]
id = "C-01"
group = "access"
title.en = "Nothing leaks"
title.zh = "什么也不漏"
en = "A reader finds what they may read."
zh = "读者只找到他可读的。"
scope.en = "Timing."
scope.zh = "时间。"
tests = ["tests/lab/test_leak.py::test_nothing_leaks"]
"""

_TESTS = """\
from support import contract


@contract("C-01")
def test_nothing_leaks():
    assert True
"""

_SOURCES = [
    {
        "id": "sqlite-fts5",
        "title": "SQLite FTS5 Extension",
        "authors": "SQLite project",
        "url": "https://www.sqlite.org/fts5.html",
        "read": "2025-11-30",
        "supports": {"en": "Syntax.", "zh": "语法。"},
        "does_not_support": {"en": "Secrets.", "zh": "保密。"},
        "chapters": [SLUG],
        "licence": "public domain",
    }
]

_EVIDENCE = {
    "schema": "ks.evidence/1",
    "name": "demo",
    "kind": "core",
    "fixture": "f" * 64,
    "encoder": "terms-1",
    "chunker": None,
    "flags": {"page": False},
    "limitations": ["A small fixture."],
    "claims": {
        "recall": 0.9166,
        "count": 3,
        "change": -0.25,
        "sound": True,
        "by": {
            "lexical": {"recall": 0.9, "hits": 12},
            "hybrid": {"recall": 1.0, "hits": 14},
        },
        "runs": [{"k": 3}, {"k": 5}],
    },
    "observed": {"python": "3.11.2", "p50_ms": 12.345},
}

_CODE = '''\
"""Index."""

import typing

LIMIT = 5


# Why the cut is here.
@typing.final
class Index:
    """An index.

    Of words.
    """

    size: int = 0

    def search(self, query: str) -> list[str]:
        """Find."""
        # region: cut
        found = [query]
        return found[:LIMIT]
        # endregion

    @property
    def name(self) -> str:
        return "it"


@typing.overload
def twice(a: int) -> int: ...
@typing.overload
def twice(a: str) -> str: ...
def twice(a):
    return a
'''

_FRONT = """\
---
title: {title}
summary: {title}.
contracts: C-01
experiment: demo
---
"""

BODY = {
    "en": '\nSee {{ source("sqlite-fts5") }}.\n\n## Why {#why}\n\nText.\n',
    "zh": '\n见 {{ source("sqlite-fts5") }}。\n\n## 为什么 {#why}\n\n字。\n',
}


@dataclass(frozen=True)
class Project:
    """A project's root, with short ways to change and judge it."""

    root: Path

    def write(self, file: str, text: str | bytes) -> None:
        """Write a file of the project."""
        path = self.root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        data = text.encode() if isinstance(text, str) else text
        path.write_bytes(data)

    def chapter(self, en: str, zh: str | None = None) -> None:
        """Put a body after the sound one of the chapter, in English and,
        when it is given, in Chinese.
        """
        for lang, body in (("en", en), ("zh", en if zh is None else zh)):
            title = {"en": "A baseline", "zh": "基线"}[lang]
            self.write(
                f"book/{lang}/{SLUG}.md",
                _FRONT.format(title=title) + BODY[lang] + "\n" + body,
            )

    def load(self) -> Loaded:
        """Everything, faults included."""
        return load(self.root)

    def faults(self) -> list[str]:
        """Every fault as it is printed."""
        return [str(problem) for problem in self.load().problems]

    def resolved(self, lang: str = "en") -> Chapter:
        """The chapter, which must be sound."""
        loaded = self.load()
        assert loaded.problems == ()
        return loaded.editions[lang].chapter(SLUG)

    def last(self, lang: str = "en") -> str:
        """XHTML of the chapter's last block."""
        return self.resolved(lang).blocks[-1].html


# The line of the chapter file on which the body given to it begins.
FIRST = len((_FRONT + BODY["en"] + "\n").split("\n"))


def make_project(root: Path) -> Project:
    """Write the sound project into an empty folder."""
    project = Project(root)
    project.write("book/book.toml", _TOML)
    project.write("book/glossary.toml", _GLOSSARY)
    project.write("sources.json", json.dumps(_SOURCES, indent=1))
    project.write("lab/contracts.toml", _CONTRACTS)
    project.write("lab/evidence/demo.json", json.dumps(_EVIDENCE))
    project.write("lab/evidence/demo.txt", "$ python -m lab demo\nfound 3\n")
    project.write("lab/index.py", _CODE)
    project.write("tests/lab/test_leak.py", _TESTS)
    for lang, title in (("en", "Preface"), ("zh", "前言")):
        project.write(
            f"book/{lang}/00-preface.md",
            f"---\ntitle: {title}\nsummary: {title}.\n---\n\nHi.\n",
        )
    project.chapter("")
    return project
