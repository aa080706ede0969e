"""Macros: what they name exists, and lines stay true."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.press.project import FIRST, SLUG, Project, make_project

FILE = f"book/en/{SLUG}.md"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return make_project(tmp_path)


def faults(project: Project, body: str) -> list[str]:
    """Faults of the English chapter, without its file name."""
    project.chapter(body, "字。\n")
    return [
        fault.removeprefix(f"{FILE}:")
        for fault in project.faults()
        if fault.startswith(FILE)
    ]


def test_an_unknown_macro_is_named_with_those_there_are(
    project: Project,
) -> None:
    (fault,) = faults(project, 'x\n\n{{ vaule("demo", "count") }}\n')
    assert fault.startswith(f"{FIRST + 2}: there is no macro 'vaule'; there")
    assert "value" in fault


def test_a_wrong_argument_is_named(project: Project) -> None:
    (fault,) = faults(project, '{{ value("demo", pth="count") }}\n')
    assert fault.startswith(f"{FIRST}: value: ")
    assert "path" in fault


def test_every_fault_of_one_paragraph_is_reported(project: Project) -> None:
    body = (
        '{{ term("no") }} {{ source("no") }}\n{{ contract("C-99") }}\n'
        '{{ chapter("99-no") }} {{ test("tests/lab/test_leak.py::no") }}\n'
        '{{ ref("no") }}\n'
    )
    found = faults(project, body)
    assert len(found) == 6
    lines = [int(fault.partition(":")[0]) - FIRST for fault in found]
    assert lines == [0, 0, 1, 2, 2, 3]


def test_lines_stay_true_after_a_macro_of_several_lines(
    project: Project,
) -> None:
    body = (
        '{{ table("demo", rows="by",\n  columns=[["C", "@key"],\n'
        '  ["R", "recall"]]) }}\n\n{## a\ncomment ##}\n\n<b>x</b>\n'
    )
    assert {
        int(f.partition(":")[0]) - FIRST for f in faults(project, body)
    } == {7}


def test_a_comment_leaves_nothing_and_raw_text_stays(
    project: Project,
) -> None:
    project.chapter("a{## b ##}c `{% raw %}{{ x }}{% endraw %}`\n")
    assert project.resolved().blocks[-1].text == "ac {{ x }}"


def test_a_statement_is_refused(project: Project) -> None:
    found = faults(project, "{% if x %}a{% endif %}\n")
    assert any("Jinja statements have no place" in f for f in found)


def test_an_expression_without_a_macro_is_refused(project: Project) -> None:
    assert faults(project, "{{ 1 + 1 }}\n") == [
        f"{FIRST}: {{{{ 1 + 1 }}}} calls no macro"
    ]


def test_an_unclosed_macro_is_one_clear_message(project: Project) -> None:
    found = faults(project, 'a\n\n{{ value("demo", \n')
    assert found == [f"{FIRST + 2}: a macro without its closing }}}}"]


def test_a_private_use_character_cannot_forge_a_placeholder(
    project: Project,
) -> None:
    found = faults(project, "a\n\ue0000\ue001\n")
    assert f"{FIRST + 1}: the private-use character U+E000; delete it" in found


def test_a_block_macro_stands_alone(project: Project) -> None:
    found = faults(project, 'See {{ transcript("demo") }} here.\n')
    assert found == [
        f"{FIRST}: a transcript in the middle of a paragraph; let the macro"
        " stand alone, blank lines around it"
    ]


def test_labels_are_numbered_by_kind_and_may_be_named_before(
    project: Project,
) -> None:
    project.chapter(
        'See {{ ref("later") }}.\n\n'
        '{{ listing("lab/index.py", "LIMIT", caption="One") }}\n\n'
        '{{ transcript("demo", label="later") }}\n\n'
        '{{ listing("lab/index.py", "LIMIT", caption="Two") }}\n'
    )
    chapter = project.resolved()
    shown = "".join(block.html for block in chapter.blocks)
    assert '<a class="ref" href="ks:#at-later">Session 1.1</a>' in shown
    assert 'data-chrome="1">Listing 1.2</span> Two' in shown
    assert '<a class="ref" href="ks:#at-later">会话 1.1</a>' in "".join(
        block.html for block in project.resolved("zh").blocks
    )


def test_a_caption_may_hold_inline_markdown_and_macros(
    project: Project,
) -> None:
    project.chapter(
        '{{ transcript("demo", caption="With `k` = " ~'
        ' value("demo", "count")) }}\n'
    )
    assert project.resolved().blocks[-1].text.endswith("\nWith k = 3")


def test_macros_work_inside_code_and_formulas(project: Project) -> None:
    project.chapter(
        '`k={{ value("demo", "count") }}` and $k={{ value("demo", "count") }}$'
    )
    assert project.resolved().blocks[-1].text == "k=3 and k=3"


def test_references_are_links_to_what_they_name(project: Project) -> None:
    project.chapter(
        '{{ contract("C-01") }} {{ term("chunk") }} {{ term("chunk", text="x")'
        ' }} {{ chapter("00-preface") }} {{ chapter("05-lexical-baseline",'
        ' "#why", text="w") }}'
        ' {{ test("tests/lab/test_leak.py::test_nothing_leaks") }}\n'
    )
    html = project.last()
    for link in (
        'href="ks-contract:C-01">C-01<',
        'href="ks:f-glossary#chunk">chunk<',
        'href="ks:f-glossary#chunk">x<',
        'href="ks:00-preface">Preface<',
        'href="ks:05-lexical-baseline#why">w<',
        'href="ks-lab:tests/lab/test_leak.py"><code>test_nothing_leaks<',
    ):
        assert link in html
    assert 'href="ks:f-glossary#chunk">片段<' in project.last("zh")


def test_links_to_anchors_that_are_not_there_are_errors(
    project: Project,
) -> None:
    found = faults(
        project,
        '{{ chapter("00-preface", "#no") }}\n\n[a](#wy) [b](00-preface.md)\n'
        "[c](14-deletion.md#x)\n",
    )
    assert [fault.partition(";")[0] for fault in found] == [
        f"{FIRST}: a link to 00-preface#no, which is not there",
        f"{FIRST + 2}: a link to 05-lexical-baseline#wy, which is not there",
        f"{FIRST + 2}: a link to 14-deletion, which the book has not",
    ]
    assert "did you mean `why`?" in found[1]


def test_an_anchor_that_a_label_takes_again_is_an_error(
    project: Project,
) -> None:
    found = faults(
        project,
        '## A {#at-x}\n\n{{ transcript("demo", label="x") }}\n',
    )
    assert found == [f"{FIRST + 2}: the id 'at-x' stands twice in this chapter"]
    found = faults(
        project,
        '{{ transcript("demo", label="x") }}\n\n'
        '{{ transcript("demo", label="x") }}\n',
    )
    assert f"{FIRST + 2}: label 'x' stands twice" in found
