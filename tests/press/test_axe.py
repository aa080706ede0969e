"""The accessibility gate passes a good site and names what it finds."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from book.press import offline, site
from book.press.gates import Status, axe, browser
from tests.press.printed import complete_editions, context

ROOT = Path(__file__).parents[2]
PAGE = "site/en/05-lexical-baseline.html"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(
        browser.missing_tools() is not None or axe.script_path(ROOT) is None,
        reason="no browser to drive, or no axe-core",
    ),
]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    staging = tmp_path_factory.mktemp("good")
    offline.render(complete_editions(), staging, context(ROOT))
    site.render(complete_editions(), staging, context(ROOT))
    return staging


def test_a_good_book_has_no_violation(good: Path) -> None:
    result = axe.run(good, context(ROOT))
    assert not result.findings
    assert result.status is Status.PASS
    assert result.reason == "14 pages, 2 offline files"


@pytest.fixture
def damaged(good: Path, tmp_path: Path) -> Path:
    """A copy with the pages of one chapter only, to be damaged."""
    shutil.copytree(good / "site/assets", tmp_path / "site/assets")
    (tmp_path / "site/en").mkdir()
    shutil.copyfile(good / PAGE, tmp_path / PAGE)
    return tmp_path


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "<article ",
            '<img src="x.png"><article ',
            "image-alt",
        ),
        (
            'data-block="05-lexical-baseline-0002"',
            'data-block="05-lexical-baseline-0002" style="color:#999"',
            "05-lexical-baseline-0002: color-contrast",
        ),
        ('<html lang="en"', '<html lang=""', "html-has-lang"),
        ("<h1 ", "<h6 ", "page-has-heading-one"),
    ],
)
def test_a_planted_fault_is_named_with_its_page(
    old: str, new: str, said: str, damaged: Path
) -> None:
    page = damaged / PAGE
    html = page.read_text("utf-8")
    assert old in html
    page.write_text(html.replace(old, new), "utf-8")
    result = axe.run(damaged, context(ROOT))
    assert result.status is Status.FAIL
    assert any(said in one.message for one in result.findings), result.findings
    assert {one.file for one in result.findings} == {PAGE}


def test_what_is_pale_only_in_the_dark_is_found_there(damaged: Path) -> None:
    css = damaged / "site/assets/book.css"
    text = css.read_text("utf-8")
    css.write_text(text.replace("--soft: #aeaba4", "--soft: #444444"), "utf-8")
    found = axe.run(damaged, context(ROOT)).findings
    assert found
    assert all("color-contrast in the dark" in one.message for one in found)


def test_without_axe_the_gate_is_not_run_and_says_how(
    monkeypatch: pytest.MonkeyPatch, good: Path
) -> None:
    monkeypatch.setattr(axe, "script_path", lambda _root: None)
    result = axe.run(good, context(ROOT))
    assert result.status is Status.NOT_RUN
    assert "npm ci --prefix locks/node" in result.reason
