"""Parity: the editions show the same things in the same order."""

from __future__ import annotations

from pathlib import Path

import pytest

from book.press.parity import ALLOWED, differences
from tests.press.project import FIRST, SLUG, Project, make_project
from tests.press.sample import sample_editions

FILE = f"book/zh/{SLUG}.md"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return make_project(tmp_path)


def test_the_sample_editions_agree() -> None:
    found = differences(sample_editions())
    assert found.problems == ()
    # Preface 2, chapter 19, glossary 3.
    assert found.blocks == 24
    assert all(name in found.report() for name in ALLOWED)


@pytest.mark.parametrize(
    ("en", "zh", "offset", "message"),
    [
        ("A.\n\nB.\n", "甲。\n", 0, "nothing where English has paragraph"),
        ("A.\n", "甲。\n\n- 乙\n", 2, "list where English has nothing"),
        ("- a\n", "甲。\n", 0, "paragraph where English has list"),
        ("## A {#a}\n", "## 甲 {#b}\n", 0, "heading 2 #b where English has"),
        ("## A {#a}\n", "### 甲 {#a}\n", 0, "heading 3 #a where English"),
        (
            '{{ value("demo", "count") }}\n',
            '{{ value("demo", "change") }}\n',
            0,
            "value: lacks demo:count; has demo:change beyond English",
        ),
        ("Three.\n", '{{ value("demo", "count") }}\n', 0, "value: has"),
        ('{{ source("sqlite-fts5") }}\n', "甲。\n", 0, "source: lacks sqlite"),
        ('{{ contract("C-01") }}\n', "甲。\n", 0, "contract: lacks C-01"),
        ("A[^x].\n\n[^x]: B.\n", "甲。\n", 0, "nothing where English has foo"),
        ("$x$\n", "甲。\n", 0, "formula: lacks math"),
        (
            '{{ listing("lab/index.py", "LIMIT") }}\n',
            '{{ listing("lab/index.py", "Index") }}\n',
            0,
            "listing differs: ",
        ),
        (
            '{{ typed("0.5", "by hand") }}\n',
            '{{ typed("0.6", "手算") }}\n',
            0,
            "typed number: lacks 0.5; has 0.6",
        ),
        (
            "| a |\n|---|\n| 1 |\n",
            "| 甲 |\n|---|\n| 1 |\n| 2 |\n",
            0,
            "the tables differ in rows",
        ),
        ("```json\n{}\n```\n", "```json\n[]\n```\n", 0, "code differs: "),
    ],
)
def test_a_planted_difference_is_found_at_its_line(
    project: Project, en: str, zh: str, offset: int, message: str
) -> None:
    project.chapter(f"Text.\n\n{en}", f"字。\n\n{zh}")
    faults = project.faults()
    assert any(
        fault.startswith(f"{FILE}:{FIRST + 2 + offset}: ")
        or (message.startswith("nothing") and fault.startswith(FILE))
        for fault in faults
        if message in fault
    ), faults


def test_front_matter_must_agree(project: Project) -> None:
    path = project.root / FILE
    path.write_text(path.read_text().replace("contracts: C-01\n", ""))
    assert f"{FILE}:1: front matter: contracts: ; English: C-01" in (
        project.faults()
    )


def test_references_may_change_places_within_a_block(
    project: Project,
) -> None:
    one, two = '{{ value("demo", "count") }}', '{{ value("demo", "change") }}'
    project.chapter(f"{one} of {two}.\n", f"{two} 里的 {one}。\n")
    assert project.faults() == []


def test_references_may_not_change_places_between_blocks(
    project: Project,
) -> None:
    one, two = '{{ value("demo", "count") }}', '{{ value("demo", "change") }}'
    project.chapter(f"{one}.\n\n{two}.\n", f"{two}。\n\n{one}。\n")
    assert len(project.faults()) == 2


def test_terms_and_fences_of_text_may_differ(project: Project) -> None:
    project.chapter(
        '{{ term("chunk") }}\n\n```text\nwords\n```\n',
        "片段\n\n```text\n字\n```\n",
    )
    assert project.faults() == []


def test_both_editions_have_the_same_block_ids(project: Project) -> None:
    project.chapter("A.\n\n- b\n\n> c\n", "甲。\n\n- 乙\n\n> 丙\n")
    editions = project.load().editions
    ids = {
        lang: [
            (block.id, block.kind)
            for chapter in edition.chapters
            for block in chapter.blocks
        ]
        for lang, edition in editions.items()
    }
    assert ids["en"] == ids["zh"]
