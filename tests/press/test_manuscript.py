"""Reading the book's plan and its chapters."""

from __future__ import annotations

from pathlib import Path

import pytest

from book.press.manuscript import read_plan
from book.press.problems import Problems
from book.press.resolve import load_editions
from tests.press.project import SLUG, Project, make_project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return make_project(tmp_path)


def test_a_sound_project_gives_both_editions(project: Project) -> None:
    editions = load_editions(project.root)
    assert list(editions) == ["en", "zh"]
    slugs = [chapter.slug for chapter in editions["en"].chapters]
    assert slugs[:3] == ["00-preface", SLUG, "a-sources"]
    assert editions["zh"].title == "书"
    assert editions["zh"].metadata["licence"] == "CC BY 4.0"


def test_chapters_count_on_and_appendices_have_letters(
    project: Project,
) -> None:
    plan = read_plan(project.root)
    numbers = [plan.number(slug) for slug in plan.slugs()]
    assert numbers == ["", "1", "A", "B", "C", "D"]


def test_front_matter_is_read(project: Project) -> None:
    chapter = project.resolved()
    assert chapter.title == "A baseline"
    assert chapter.contracts == ("C-01",)
    assert chapter.experiment == "demo"
    assert chapter.blocks[0].html == (
        f'<h1 data-block="{SLUG}-0001" data-kind="heading" id="{SLUG}">'
        "A baseline</h1>"
    )


def test_words_count_han_characters_and_spaced_words(project: Project) -> None:
    project.chapter("one two3\n", "两个字 word\n")
    # Titles and the sound body: "A baseline", "See SQLite FTS5 Extension",
    # "Why", "Text"; in Chinese 基线 见 SQLite FTS5 Extension 为什么 字.
    assert project.resolved("en").words == 2 + 4 + 1 + 1 + 2
    assert project.resolved("zh").words == 2 + 1 + 3 + 3 + 1 + 3 + 1


def test_a_listed_chapter_that_does_not_exist_is_named(
    project: Project,
) -> None:
    (project.root / f"book/zh/{SLUG}.md").unlink()
    assert f"book/zh/{SLUG}.md: no such file; write it" in project.faults()


def test_a_chapter_that_is_not_listed_is_not_left_out_in_silence(
    project: Project,
) -> None:
    project.write("book/en/14-deletion.md", "---\ntitle: x\n---\n")
    faults = project.faults()
    assert len(faults) == 1
    assert faults[0].startswith("book/en/14-deletion.md: book/book.toml does")


def test_a_file_that_is_not_utf8_is_one_clear_message(
    project: Project,
) -> None:
    project.write(
        f"book/en/{SLUG}.md", b"---\ntitle: a\nsummary: b\n---\n\n\xff\xfe\n"
    )
    assert (
        f"book/en/{SLUG}.md:6: not valid UTF-8; save the file as UTF-8"
        in project.faults()
    )


@pytest.mark.parametrize(
    ("front", "line", "message"),
    [
        ("title: a\n", 1, "no front matter"),
        ("---\ntitle: a\n---\n", 1, "front matter lacks summary"),
        ("---\ntitel: a\n---\n", 2, "front matter line not understood"),
        ("---\ntitle: a\ntitle: b\n---\n", 3, "front matter line not"),
    ],
)
def test_faulty_front_matter_is_named_with_its_line(
    project: Project, front: str, line: int, message: str
) -> None:
    project.write("book/en/00-preface.md", front)
    assert any(
        fault.startswith(f"book/en/00-preface.md:{line}: {message}")
        for fault in project.faults()
    )


def test_faulty_toml_is_one_clear_message(project: Project) -> None:
    project.write("book/book.toml", "[book]\nauthors = \n")
    with pytest.raises(Problems) as caught:
        load_editions(project.root)
    (problem,) = caught.value.problems
    assert (problem.file, problem.line) == ("book/book.toml", 2)


def test_every_fault_of_the_plan_is_listed(project: Project) -> None:
    project.write(
        "book/book.toml",
        '[book]\n[en]\n[zh]\n[[part]]\nid = "x"\nen = "X"\nzh = "X"\n'
        'chapters = ["../etc"]\n',
    )
    with pytest.raises(Problems) as caught:
        read_plan(project.root)
    messages = [problem.message for problem in caught.value.problems]
    assert "[book] lacks the text authors" in messages
    assert "[zh] lacks the text title" in messages
    assert any("chapters is a list of slugs" in m for m in messages)


def test_the_title_page_has_the_version_of_the_project(
    project: Project,
) -> None:
    project.write("pyproject.toml", '[project]\nversion = "1.0.0"\n')
    assert project.faults() == []
    project.write("pyproject.toml", '[project]\nversion = "1.0.1"\n')
    (fault,) = project.faults()
    assert fault.startswith("book/book.toml: version 1.0.0, but pyproject")


def test_faults_of_several_chapters_come_in_one_run(project: Project) -> None:
    project.write(
        "book/en/00-preface.md",
        '---\ntitle: P\nsummary: s\n---\n\n{{ value("demo", "nothing") }}\n',
    )
    project.chapter("<b>raw</b>\n", "字。\n")
    files = {fault.partition(":")[0] for fault in project.faults()}
    assert {"book/en/00-preface.md", f"book/en/{SLUG}.md"} <= files


def test_crlf_and_a_byte_order_mark_change_nothing(project: Project) -> None:
    before = project.resolved()
    path = project.root / f"book/en/{SLUG}.md"
    crlf = path.read_bytes().replace(b"\n", b"\r\n")
    path.write_bytes(b"\xef\xbb\xbf" + crlf)
    assert project.resolved() == before


def test_a_list_is_printed_in_pieces_around_a_fence(project: Project) -> None:
    project.chapter(
        "1. one\n2. two\n\n   ```text\n   a\n     b\n   ```\n\n   after\n"
        "3. three\n   - deep\n\n     ```text\n     c\n     ```\n4. four\n"
    )
    blocks = project.resolved().blocks[4:]
    assert [block.kind for block in blocks] == [
        "list",
        "code",
        "list",
        "code",
        "list",
    ]
    assert [block.text for block in blocks] == [
        "one\ntwo",
        "a\n  b",
        "after\nthree\ndeep",
        "c",
        "four",
    ]
    assert 'start="2"><li class="continued"><p>after' in blocks[2].html
    assert 'start="4"><li><p>four' in blocks[4].html


def test_a_note_holds_blocks_and_a_title(project: Project) -> None:
    project.chapter("::: note A *title*\nText.\n\n- item\n:::\n\nAfter.\n")
    note, after = project.resolved().blocks[4:]
    assert note.kind == "note"
    assert note.text == "A title\nText.\nitem"
    assert after.text == "After."


def test_footnotes_come_last_in_order_of_mention(project: Project) -> None:
    project.chapter(
        "One[^b] two[^a] again[^b].\n\n[^a]: First *note*.\n\n[^b]: Second.\n"
    )
    text, first, second = project.resolved().blocks[4:]
    assert text.text == "One two again."
    assert 'id="fnref-b-2"' in text.html
    assert [first.kind, first.text, second.text] == [
        "footnote",
        "Second.",
        "First note.",
    ]


def test_formulas_keep_their_tex(project: Project) -> None:
    project.chapter("Let $k < 60$.\n\n$$\n\\frac{1}{k}\n$$\n")
    inline, display = project.resolved().blocks[4:]
    assert inline.text == "Let k < 60."
    assert (display.kind, display.text) == ("formula", "\\frac{1}{k}")


@pytest.mark.parametrize("tex", ["\\nonsense x", "\\frac{1", "{a"])
def test_tex_that_is_not_known_is_an_error(project: Project, tex: str) -> None:
    project.chapter(f"$$\n{tex}\n$$\n")
    assert any("TeX" in f or "braces" in f for f in project.faults())


def test_emphasised_english_in_chinese_text_says_so(project: Project) -> None:
    project.chapter(
        "The *hotel* of *k = 1*.\n",
        "查 *hotel*，不是*旅馆*，*k = 1* 与 *12*。\n",
    )
    english = project.resolved("en").blocks[-1].html
    chinese = project.resolved("zh").blocks[-1].html
    assert "lang" not in english
    assert '<em lang="en">hotel</em>' in chinese
    assert "<em>旅馆</em>" in chinese
    assert '<em lang="en">k = 1</em>' in chinese
    assert "<em>12</em>" in chinese
