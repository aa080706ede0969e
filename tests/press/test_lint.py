"""Lint: each fault is planted, and found at its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from book.press.check import run
from tests.press.project import FIRST, SLUG, Project, make_project

FILES = {lang: f"book/{lang}/{SLUG}.md" for lang in ("en", "zh")}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return make_project(tmp_path)


def faults(project: Project, body: str, lang: str = "en") -> list[str]:
    """Faults of a chapter whose first lines are sound."""
    sound = {"en": "Text.\n", "zh": "字。\n"}
    sound[lang] = body
    project.chapter(sound["en"], sound["zh"])
    return [
        fault.removeprefix(f"{FILES[lang]}:")
        for fault in project.faults()
        if fault.startswith(FILES[lang])
        and "where English has" not in fault
        and "English line" not in fault
    ]


@pytest.mark.parametrize(
    ("body", "offset", "message"),
    [
        ("a\n\n# Title {#t}\n", 2, "a heading of level 1"),
        ("##### Deep {#t}\n", 0, "a heading of level 5"),
        ("## A {#a}\n\n#### B {#b}\n", 2, "level 4 follows one of 2"),
        ("a\n\n## No id\n", 2, "heading without an id: 'No id'"),
        ("## Id {#Id}\n", 0, "heading id 'Id'"),
        ("## Id {#标题}\n", 0, "heading id '标题'"),
        ("## Id {#fn-x}\n", 0, "heading id 'fn-x'"),
        ("## Id {#why}\n", 0, "heading id 'why' stands twice"),
        ("- ## Id {#x}\n", 0, "a heading inside a list"),
        ("a\n\n<div>x</div>\n", 2, "raw HTML: <div>x</div>"),
        ("a\nb <br> c\n", 1, "raw HTML: <br>"),
        ("a\n\n***\n", 2, "a horizontal rule"),
        ("![x](https://example.org/a.png)\n", 0, "an image: remote https:"),
        ("![x](a.png)\n", 0, "an image: a.png"),
        ("a\n[x](https://example.org)\n", 1, "a link to https://example.org"),
        ("<https://example.org>\n", 0, "a link to https://example.org"),
        ("[x](<>)\n", 0, "a link to nothing"),
        ("[x](b.html)\n", 0, "a link to b.html"),
        ("```\nx\n```\n", 0, "code without a language"),
        ("a\n\n    indented\n", 2, "code without a language"),
        ("```python\nx\n```\n", 0, "a python fence that is not woven"),
        ("```console\n$ x\n```\n", 0, "a console fence that is not woven"),
        ("```klingon\nx\n```\n", 0, "unknown language 'klingon'"),
        ("```text\n\nx\n```\n", 0, "a fence begins with an empty line"),
        (f"```text\nx\n{'y' * 81}\n```\n", 2, "a code line of 81 columns"),
        ("a ** b\n", 0, "emphasis that does not work"),
        ("a *b c\n", 0, "emphasis that does not work"),
        ("a [b][c]\n", 0, "a link that is not understood"),
        ("a [b](c d)\n", 0, "a link that is not understood"),
        ("a[^x]\n", 0, "a footnote that is not defined"),
        ("a\n\n[^x]: Never.\n", 2, "footnote x is never used"),
        ("a[^一]\n\n[^一]: b\n", 2, "footnote '一'"),
        ("a[^x]\n\n[^x]: b\n\n    - c\n", 4, "footnote x holds more"),
        ("::: warning\nx\n:::\n", 0, "a note that is not understood"),
        ("a\n\n::: note\nx\n", 2, "a note without its closing :::"),
        ("a {.class}\n", 0, "attributes that attach to nothing"),
        ("A passage here.\n", 0, "'passage' is not our word"),
        ("Two\nPassages? A passage.\n", 1, "'passage' is not our word"),
    ],
)
def test_a_planted_fault_is_found_at_its_line(
    project: Project, body: str, offset: int, message: str
) -> None:
    found = faults(project, body)
    assert any(
        fault.startswith(f"{FIRST + offset}: ") and message in fault
        for fault in found
    ), found


@pytest.mark.parametrize(
    ("caption", "message"),
    [
        ("Recall is 0.93", "is typed by hand"),
        ("A passage", "'passage' is not our word"),
        ("a <b>b</b>", "raw HTML: <b>"),
        ("a *b", "emphasis that does not work"),
        ("[x](https://example.org)", "a link to https://example.org"),
    ],
)
def test_captions_are_judged_at_the_line_of_their_macro(
    project: Project, caption: str, message: str
) -> None:
    found = faults(
        project,
        '{{ value("demo",\n "count") }} a\n\n'
        f'{{{{ transcript("demo",\n caption="{caption}") }}}}\n',
    )
    assert any(
        fault.startswith(f"{FIRST + 3}: ") and message in fault
        for fault in found
    ), found


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("**要点，**然后\n", "emphasis that does not work"),
        ("**“引”**后\n", "emphasis that does not work"),
        ("这里**“引号”**收尾\n", "emphasis that does not work"),
        ("第一行\n第二行\n", "a line break between '行' and '第'"),
        ("第一行，\nRAG\n", "a line break between '，' and 'R'"),
        ("RAG\n（括号）\n", "a line break between 'G' and '（'"),
        ("一个分块。\n", "'分块' is not our word"),
        ("召回率是 0.93。\n", "'0.93' next to '召回'"),
        ("延迟降到 12 毫秒。\n", "'12 毫秒' next to '延迟'"),
        ("平均快了 3 倍。\n", "'3 倍' next to '平均'"),
    ],
)
def test_a_fault_of_chinese_is_found(
    project: Project, body: str, message: str
) -> None:
    found = faults(project, body, "zh")
    assert any(
        fault.startswith(f"{FIRST}: ") and message in fault for fault in found
    ), found


@pytest.mark.parametrize(
    "body",
    [
        "Recall is 0.93 here.\n",
        "It answers in 12 ms, measured once.\n",
        "The median is 40%.\n",
        "Search takes 1.5 seconds.\n",
        "It is 3 times faster.\n",
        "R@10 of .985\n",
    ],
)
def test_a_measured_looking_number_is_not_typed(
    project: Project, body: str
) -> None:
    found = faults(project, f"a\n\n{body}")
    assert any(
        fault.startswith(f"{FIRST + 2}: ") and "is typed by hand" in fault
        for fault in found
    ), found


@pytest.mark.parametrize(
    "body",
    [
        "The hotel limit is 210 pounds in revision 2.\n",
        "Recall matters. Wait 30 seconds.\n",
        "Search for `38.101` finds it; recall is another matter.\n",
        "Recall is $0.5$ when one of two is found.\n",
        'Recall is {{ value("demo", "recall", ".2f") }} here.\n',
        'Recall is {{ typed("0.5", "worked by hand") }} of 2.\n',
        "Section 3.2.1 measures recall.\n",
        "snake_case and `*` and 2 \\* 3.\n",
        "A _word_ and **b**; `a` and *c*.\n",
        '```python unwoven="the tempting way"\nx = 1\n```\n',
        "```sh\npython -m lab demo\n```\n",
        "English words\nmay be wrapped.\n",
        "## A `code` {#code-heading}\n\n### B {#b}\n",
        "- a\n\n  $$\n  x\n  $$\n",
        "Costs \\$5 and \\$6.\n",
        "A \\[bracket\\](x).\n",
    ],
)
def test_what_is_right_passes(project: Project, body: str) -> None:
    project.chapter(body)
    assert [f for f in project.faults() if f.startswith(FILES["en"])] == []


@pytest.mark.parametrize(
    "body",
    [
        "**要点**，然后\n",
        "中文 RAG\n之后。\n",
        "这是**重点**。\n",
        "读者 `*` 表示所有人。\n",
        "等 30 秒。召回率另说。\n",
    ],
)
def test_what_is_right_in_chinese_passes(project: Project, body: str) -> None:
    project.chapter("Text.\n" if "`" not in body else "`*`\n", body)
    assert project.faults() == []


def test_allowances_are_listed_with_their_reasons(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    import argparse

    project.chapter(
        '```python unwoven="the tempting way"\nx = 1\n```\n\n'
        'Recall {{ typed("0.5", "1 of 2") }}.\n'
    )
    assert run(argparse.Namespace(), project.root) == 0
    shown = capsys.readouterr().out
    assert f"allowed  {FILES['en']}:{FIRST}: python fence (the tempt" in shown
    assert f"allowed  {FILES['zh']}:{FIRST + 4}: typed 0.5 (1 of 2)" in shown
    assert "nothing is wrong: en 6 chapters" in shown


def test_check_lists_every_fault_and_exits_with_2(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    import argparse

    project.chapter("<b>x</b>\n\n```python\ny\n```\n")
    assert run(argparse.Namespace(), project.root) == 2
    shown = capsys.readouterr().err.splitlines()
    assert len(shown) == 7
    assert shown[-1] == "6 problems"
    assert shown[0].startswith(f"{FILES['en']}:{FIRST}: raw HTML")
