"""Language parity: two editions that show the same things.

The editions have the same chapters, and each chapter the same sequence of
block kinds with the same headings, code, and references. What may differ
is in ``ALLOWED``, and reports print it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import unescape
from typing import Final

from book.press.blocks import (
    EXACT_KINDS,
    Block,
    Chapter,
    Edition,
    code_text,
    digest,
)
from book.press.problems import Problem

ALLOWED: Final[Mapping[str, str]] = {
    "words": "the words themselves, captions and drawings' labels included",
    "order in a block": "references inside one block may change places",
    "terms": "a language may link a glossary term more or less often",
    "plain text": "fences of text may be in the language of the edition",
}

_REFERENCES: Final[Mapping[str, re.Pattern[str]]] = {
    "value": re.compile(r'data-value="([^"]*)"'),
    "typed number": re.compile(r'data-typed="[^"]*">([^<]*)<'),
    "source": re.compile(r'href="ks-source:([^"]*)"'),
    "contract": re.compile(r'href="ks-contract:([^"]*)"'),
    "lab file": re.compile(r'href="ks-lab:([^"]*)"'),
    "evidence": re.compile(r'href="ks-evidence:([^"]*)"'),
    "footnote": re.compile(r'href="(ks:#fn-[^"]*)"'),
    "link": re.compile(r'href="(ks:(?!#fn|f-glossary)[^"]*)"'),
    "anchor": re.compile(r'\sid="([^"]*)"'),
    "formula": re.compile(r"<(math)\s"),
}


@dataclass(frozen=True)
class Parity:
    """What differs that may not, and how much was compared."""

    problems: tuple[Problem, ...]
    blocks: int

    def report(self) -> str:
        """One line for the table of gates."""
        return f"{self.blocks} blocks; may differ: {', '.join(ALLOWED)}"


def differences(editions: Mapping[str, Edition]) -> Parity:
    """Compare the English edition with the Chinese."""
    first, second = editions["en"], editions["zh"]
    problems: list[Problem] = []
    slugs = [chapter.slug for chapter in first.chapters]
    others = [chapter.slug for chapter in second.chapters]
    if slugs != others:
        only = sorted(set(slugs) ^ set(others))
        message = f"the editions differ in chapters: {', '.join(only)}"
        problems.append(Problem("book/book.toml", 0, message))
    compared = 0
    for chapter in first.chapters:
        if chapter.slug in others:
            other = second.chapter(chapter.slug)
            problems.extend(_chapter(chapter, other))
            compared += len(chapter.blocks)
    return Parity(tuple(problems), compared)


def _chapter(first: Chapter, second: Chapter) -> list[Problem]:
    problems: list[Problem] = []
    file = f"book/{second.lang}/{second.slug}.md"
    for what, english, chinese in [
        ("contracts", ", ".join(first.contracts), ", ".join(second.contracts)),
        ("experiment", first.experiment, second.experiment),
    ]:
        if english != chinese:
            message = f"front matter: {what}: {chinese}; English: {english}"
            problems.append(Problem(file, 1, message))
    shapes = [_shape(block) for block in first.blocks]
    others = [_shape(block) for block in second.blocks]
    if shapes != others:
        return [*problems, *_shape_problems(first, second, shapes, others)]
    for one, other_block in zip(first.blocks, second.blocks, strict=True):
        for message in _block(one, other_block):
            place = f"English line {one.line}"
            problems.append(
                Problem(file, other_block.line, f"{message} ({place})")
            )
    return problems


def _shape(block: Block) -> str:
    """Kind of a block; of a heading also its level and id."""
    if block.kind == "heading":
        found = re.search(r'^<h(\d)[^>]*\sid="([^"]*)"', block.html)
        if found:
            return f"heading {found[1]} #{found[2]}"
    return block.kind


def _shape_problems(
    first: Chapter, second: Chapter, shapes: list[str], others: list[str]
) -> list[Problem]:
    """Where the sequences of blocks part, in few words."""
    problems: list[Problem] = []
    matcher = difflib.SequenceMatcher(None, shapes, others, autojunk=False)
    for change, a0, a1, b0, b1 in matcher.get_opcodes():
        if change == "equal":
            continue
        here = second.blocks[min(b0, len(second.blocks) - 1)]
        there = first.blocks[min(a0, len(first.blocks) - 1)]
        english = ", ".join(shapes[a0:a1]) or "nothing"
        chinese = ", ".join(others[b0:b1]) or "nothing"
        problems.append(
            Problem(
                f"book/{second.lang}/{second.slug}.md",
                here.line,
                f"{chinese} where English has {english}"
                f" (English line {there.line})",
            )
        )
    return problems


def _block(one: Block, other: Block) -> list[str]:
    messages: list[str] = []
    if one.kind in EXACT_KINDS and "language-text" not in one.html:
        code, code2 = code_text(one.html), code_text(other.html)
        if code != code2:
            messages.append(
                f"{other.kind} differs: {digest(code2)[:12]}, English has"
                f" {digest(code)[:12]}"
            )
    read: Callable[[Block, re.Pattern[str]], list[str]] = _found
    for what, pattern in _REFERENCES.items():
        have, want = read(other, pattern), read(one, pattern)
        if sorted(have) != sorted(want):
            missing = _without(want, have)
            extra = _without(have, want)
            parts = [
                f"lacks {', '.join(missing)}" if missing else "",
                f"has {', '.join(extra)} beyond English" if extra else "",
            ]
            shown = "; ".join(part for part in parts if part)
            messages.append(f"{what}: {shown}")
    if one.kind == "table" and one.html.count("<tr") != other.html.count("<tr"):
        messages.append("the tables differ in rows")
    return messages


def _found(block: Block, pattern: re.Pattern[str]) -> list[str]:
    return [unescape(name) for name in pattern.findall(block.html)]


def _without(names: list[str], others: list[str]) -> list[str]:
    left = list(names)
    for name in others:
        if name in left:
            left.remove(name)
    return left
