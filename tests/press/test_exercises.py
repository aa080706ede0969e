"""The macro that prints a stage of the workbook."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from book.press.blocks import visible_text
from book.press.exercises import exercise
from book.press.faults import MacroError
from book.press.library import Library, open_library
from book.press.macros import Call
from book.press.manuscript import LANGUAGES, Page, read_plan
from lab.workbook.manifest import track, track_ids

ROOT = Path(__file__).resolve().parents[2]
TRACK = track("authorized-retrieval")


@pytest.fixture(scope="module")
def library() -> Library:
    made, problems = open_library(ROOT, read_plan(ROOT), {})
    assert problems == []
    return made


def call(library: Library, lang: str) -> Call:
    page = Page("w", lang, "w.md", "W", "W", (), "", "", 1, {})
    return Call(library, page, 1)


def test_a_stage_is_printed_as_its_manifest_has_it(library: Library) -> None:
    made = exercise(call(library, "en"), TRACK.id, "05-bm25")
    assert made.kind == "exercise"
    assert visible_text(made.html).split("\n") == [
        "Stage 5: BM25 per namespace",
        TRACK.stage("5").about["en"],
        "Read first: chapter 5",
        "Requires: Python and pytest.",
        "Not live: nothing leaves this machine.",
        "15 tests, and 3 hints if you get stuck.",
        "python3 -m lab.workbook check authorized-retrieval --stage 05",
    ]
    assert '<a href="ks:05-lexical-baseline">chapter 5</a>' in made.html


def test_every_stage_can_be_printed_in_both_languages(
    library: Library,
) -> None:
    for name in track_ids():
        for stage in track(name).stages:
            seen = [
                exercise(call(library, lang), name, stage.id).html
                for lang in LANGUAGES
            ]
            assert stage.title["zh"] in seen[1]
            for html in seen:
                assert f'data-exercise="{name}:{stage.id}"' in html
                assert f"--stage {stage.number}<" in html


def test_an_unknown_track_or_stage_is_an_error(library: Library) -> None:
    with pytest.raises(MacroError, match="no such file: lab/workbook/tracks"):
        exercise(call(library, "en"), "authorised-retrieval", "05-bm25")
    with pytest.raises(MacroError, match="did you mean 05-bm25"):
        exercise(call(library, "en"), TRACK.id, "05-bm52")


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_pages_print_every_stage_of_a_track_in_order(lang: str) -> None:
    for page, name in (
        ("w1-prototype", "prototype"),
        ("w2-authorized-retrieval", "authorized-retrieval"),
    ):
        text = (ROOT / "book" / lang / f"{page}.md").read_text("utf-8")
        found = re.findall(r'exercise\("([^"]+)", "([^"]+)"\)', text)
        assert found == [(name, stage.id) for stage in track(name).stages]
