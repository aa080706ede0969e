"""The browser gate passes a good site, and sees each fault planted in it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from book.press import offline, site
from book.press.gates import Status, browser, browser_offline
from tests.press.printed import complete_editions, context

ROOT = Path(__file__).parents[2]
PAGE = "site/en/05-lexical-baseline.html"
CSS = "site/assets/book.css"
SCRIPT = "site/assets/site.js"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(
        browser.missing_tools() is not None, reason="no browser to drive"
    ),
]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    staging = tmp_path_factory.mktemp("good")
    offline.render(complete_editions(), staging, context(ROOT))
    site.render(complete_editions(), staging, context(ROOT))
    return staging


@pytest.fixture
def damaged(good: Path, tmp_path: Path) -> Path:
    """A copy of the good site, to be damaged."""
    copy = tmp_path / "staging"
    shutil.copytree(good, copy)
    return copy


def _damage(staging: Path, name: str, old: str, new: str) -> None:
    path = staging / name
    text = path.read_text("utf-8")
    assert old in text, f"nothing to damage in {name}"
    path.write_text(text.replace(old, new), "utf-8")


def test_a_good_site_passes_every_check(good: Path) -> None:
    result = browser.run(good, context(ROOT))
    assert not result.findings
    assert result.status is Status.PASS
    assert result.reason == "14 pages"


FAULTS = {
    "a page asks another host": (
        browser.every_page,
        PAGE,
        "</article>",
        '<img alt="" src="https://example.org/x.png"></article>',
        "https://example.org/x.png",
    ),
    "a page is too wide for a phone": (
        browser.every_page,
        PAGE,
        "</article>",
        '<div id="wide" style="width:500px">x</div></article>',
        "wide is wider than a screen of 320 px",
    ),
    "a script breaks": (
        browser.every_page,
        SCRIPT,
        '"use strict";',
        '"use strict"; gone();',
        "gone is not defined",
    ),
    "text waits for a script": (
        browser.without_javascript,
        CSS,
        "html:not(.js) .ks-script {",
        "html:not(.js) article, html:not(.js) .ks-script {",
        "without JavaScript the text is not shown",
    ),
    "a dead button is shown": (
        browser.without_javascript,
        CSS,
        "html:not(.js) .ks-script {",
        ".none {",
        "a button is shown that is dead",
    ),
    "the system's colours are ignored": (
        browser.colours,
        CSS,
        "@media (prefers-color-scheme: dark)",
        "@media (prefers-color-scheme: none)",
        "is not dark when the system is",
    ),
    "chosen colours are forgotten": (
        browser.colours,
        SCRIPT,
        'remember("theme", root.dataset.theme);',
        "",
        "forgets the chosen colours",
    ),
    "the size of text is forgotten": (
        browser.size_of_text,
        SCRIPT,
        'remember("size", sizes[next]);',
        "",
        "forgets the chosen size of text",
    ),
    "storage is trusted": (
        browser.storage_denied,
        SCRIPT,
        "try { localStorage.setItem(",
        "localStorage.getItem(key); try { localStorage.setItem(",
        "when storage throws",
    ),
    "a chapter is not indexed": (
        browser.search,
        "site/search/zh.js",
        '"url":"05-lexical-baseline.html"',
        '"url":"gone.html"',
        "finds zh/gone.html first",
    ),
    "the index cannot be loaded from a file": (
        browser.from_a_file,
        SCRIPT,
        "script.src = `${page.base}/search/",
        "script.src = `/search/",
        "from a file",
    ),
    "the keyboard is caught": (
        browser.keys,
        SCRIPT,
        '"use strict";',
        '"use strict"; addEventListener("keydown", (e) => {'
        ' if (e.key === "Tab" && document.activeElement.id === "ks-theme")'
        " e.preventDefault(); });",
        "Tab does not reach #ks-search-open",
    ),
    "the focus is hidden": (
        browser.keys,
        CSS,
        ":focus-visible { outline: .14em solid var(--accent);",
        ":focus-visible { outline: none;",
        "the focus cannot be seen on #ks-theme",
    ),
    "the dark is printed": (
        browser.on_paper,
        CSS,
        ":root:root:root {",
        ":root {",
        "prints pale text from the dark",
    ),
    "the language switch loses the place": (
        browser.way_around,
        SCRIPT,
        "if (location.hash) language.href",
        "if (false) language.href",
        "the language switch leads to",
    ),
    "the prompt is copied": (
        browser.copying,
        SCRIPT,
        "if (!prompted.length) return code.textContent;",
        "return code.textContent;",
        "copies '$ python -m lab demo",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_gate_sees_that(name: str, damaged: Path) -> None:
    check, file, old, new, said = FAULTS[name]
    _damage(damaged, file, old, new)
    found = browser.findings(damaged, (check,))
    assert any(said in one.message for one in found), found
    assert all(one.file.startswith("site") for one in found)


def test_the_gate_sees_colours_that_come_late(damaged: Path) -> None:
    _damage(damaged, SCRIPT, 'setItem("keeps-secrets."', 'setItem("late."')
    _damage(
        damaged,
        SCRIPT,
        '"use strict";',
        '"use strict"; { const late = localStorage.getItem("late.theme");'
        " if (late) document.documentElement.dataset.theme = late; }",
    )
    found = browser.findings(damaged, (browser.colours,))
    assert {one.message for one in found} == {
        "shows the other colours before the chosen ones"
    }


def test_a_check_that_breaks_off_is_a_finding(good: Path) -> None:
    def broken(_visit: browser.Visit) -> browser.Iterator[browser.Problem]:
        yield from ()
        raise RuntimeError("lost the page")

    found = browser.findings(good, (broken,))
    assert [one.message for one in found] == [
        "broken: RuntimeError: lost the page"
    ]


def test_without_a_browser_the_gate_is_not_run_and_says_how(
    monkeypatch: pytest.MonkeyPatch, good: Path
) -> None:
    monkeypatch.setattr(browser, "chromium", lambda: None)
    result = browser.run(good, context(ROOT))
    assert result.status is Status.NOT_RUN
    assert "apt-get install" in result.reason


def test_the_words_to_search_for_stand_in_one_chapter_only() -> None:
    text = "撤权之后旧答案不再可见"
    words = browser.words_to_find(text, "zh", "撤权 旧答案 之后旧")
    assert sorted(len(word) for word in words) == [2, 3, 4]
    assert all(word in text for word in words)
    assert not [word for word in words if word in "撤权 旧答案 之后旧"]
    assert browser.words_to_find("a tombstone here", "en", "") == ["tombstone"]


OFFLINE = "keeps-secrets-en.html"
OFFLINE_FAULTS = {
    "the file asks for another": (
        browser_offline.fits_a_phone,
        "</main>",
        '<img alt="" src="other.png"></main>',
        "other.png",
    ),
    "the file is too wide for a phone": (
        browser_offline.fits_a_phone,
        "</main>",
        '<div id="wide" style="width:500px">x</div></main>',
        "wide is wider than a screen of 320 px",
    ),
    "a chapter waits for a script": (
        browser_offline.without_javascript,
        'data-chapter="00-preface"',
        'data-chapter="00-preface" hidden',
        "without JavaScript 00-preface is not shown",
    ),
}


def test_good_offline_files_pass_every_check(good: Path) -> None:
    result = browser_offline.run(good, context(ROOT))
    assert not result.findings
    assert result.status is Status.PASS
    assert result.reason == "2 offline files"


@pytest.mark.parametrize("name", OFFLINE_FAULTS)
def test_the_gate_of_the_offline_file_sees_that(
    name: str, good: Path, tmp_path: Path
) -> None:
    check, old, new, said = OFFLINE_FAULTS[name]
    shutil.copyfile(good / OFFLINE, tmp_path / OFFLINE)
    _damage(tmp_path, OFFLINE, old, new)
    found = browser_offline.findings(tmp_path, (check,))
    assert any(said in one.message for one in found), found
    assert all(one.file.startswith(OFFLINE) for one in found)


OFFLINE_SCRIPT_FAULTS = {
    "search finds nothing": (
        browser_offline.search,
        "hit.section.blocks.forEach(function (entry) {\n          places =",
        "[].forEach(function (entry) {\n          places =",
        "leads to nothing",
    ),
    "the chosen colours are forgotten": (
        browser_offline.colours_and_size,
        'save("theme", root.dataset.theme);',
        "",
        "forgets the chosen colours",
    ),
    "storage is trusted": (
        browser_offline.storage_denied,
        "function save(name, value) {",
        "function save(name, value) { localStorage.setItem(name, value);",
        "when storage throws",
    ),
    "the dark is printed": (
        browser_offline.on_paper,
        "@media print",
        "@media none",
        "prints pale text from the dark",
    ),
}


@pytest.mark.parametrize("name", OFFLINE_SCRIPT_FAULTS)
def test_the_gate_of_the_offline_file_sees_in_its_code_that(
    name: str, good: Path, tmp_path: Path
) -> None:
    check, old, new, said = OFFLINE_SCRIPT_FAULTS[name]
    html = (good / OFFLINE).read_text("utf-8")
    assert old in html
    # The policy allows the good code only; these faults are made with it.
    start = html.index('<meta http-equiv="Content-Security-Policy"')
    html = html[:start] + html[html.index(">", start) + 1 :]
    (tmp_path / OFFLINE).write_text(html.replace(old, new), "utf-8")
    found = browser_offline.findings(tmp_path, (check,))
    assert any(said in one.message for one in found), found
