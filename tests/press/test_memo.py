"""What is resolved again when a file is saved, and what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from book.press.memo import Memo
from book.press.resolve import Loaded, Resolved, load, load_editions
from tests.press.project import Project, make_project


class Watched:
    """A project that is loaded again and again with one memo."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.memo: Memo[Resolved] = Memo()

    def load(self, stamp: str = "same") -> Loaded:
        loaded = load(self.project.root, memo=self.memo, stamp=stamp)
        assert loaded == load(self.project.root)
        return loaded


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    made = Watched(make_project(tmp_path))
    made.load()
    return made


def test_an_unchanged_book_is_resolved_once(watched: Watched) -> None:
    watched.load()
    assert watched.memo.hits == 4


def test_a_saved_page_is_resolved_again_and_the_others_are_not(
    watched: Watched,
) -> None:
    watched.project.chapter("New words.\n", "新的字。\n")
    loaded = watched.load()
    assert watched.memo.hits == 2
    chapter = loaded.editions["en"].chapter("05-lexical-baseline")
    assert chapter.blocks[-1].text == "New words."


def test_a_new_heading_is_seen_by_every_page(watched: Watched) -> None:
    watched.project.chapter("## More {#more}\n", "## 更多 {#more}\n")
    watched.load()
    assert watched.memo.hits == 0


def test_a_change_outside_the_pages_is_seen_by_every_page(
    watched: Watched,
) -> None:
    watched.project.chapter('{{ listing("lab/index.py", "LIMIT") }}\n')
    watched.load("before")
    code = watched.project.root / "lab/index.py"
    code.write_text(code.read_text("utf-8").replace("LIMIT = 5", "LIMIT = 6"))
    loaded = watched.load("after")
    assert watched.memo.hits == 0
    assert (
        "6"
        in loaded.editions["en"].chapter("05-lexical-baseline").blocks[-1].text
    )


def test_a_second_build_takes_chapters_from_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_project(tmp_path)
    kept = tmp_path / "kept" / "chapters.pickle"
    first = load_editions(project.root, kept)

    def resolve(*_: object) -> None:
        raise AssertionError("a chapter was resolved again")

    monkeypatch.setattr("book.press.resolve._chapter", resolve)
    assert load_editions(project.root, kept) == first
    code = project.root / "lab/index.py"
    code.write_text(code.read_text("utf-8") + "# one more\n", "utf-8")
    with pytest.raises(AssertionError, match="resolved again"):
        load_editions(project.root, kept)


def test_a_torn_file_of_chapters_costs_only_time(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    kept = tmp_path / "chapters.pickle"
    first = load_editions(project.root, kept)
    kept.write_bytes(kept.read_bytes()[:40])
    assert load_editions(project.root, kept) == first
