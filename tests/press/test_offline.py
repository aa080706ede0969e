"""One file that asks for nothing, reads without a script, finds and resumes."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from book.press import offline, readback
from book.press.contentmap import blocks_of
from book.press.gates import NODE_MODULES
from book.press.gates.browser import DENIALS, browser, missing_tools
from book.press.offline import edition_html
from tests.press.printed import complete_edition, complete_editions, context

ROOT = Path(__file__).resolve().parents[2]
CHAPTER = "05-lexical-baseline"
FACTS = context(ROOT)


@pytest.fixture(scope="module")
def staging(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("offline")
    offline.render(complete_editions(), folder, FACTS)
    return folder


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_block_reads_back_with_the_digest_of_the_edition(
    staging: Path, lang: str
) -> None:
    wanted = blocks_of(complete_editions())[lang]
    pages = readback.read_offline(staging, lang)
    assert list(pages) == list(wanted)
    assert readback.compare(wanted, f"html/{lang}", pages) == []


def test_ids_are_unique_and_every_link_has_its_target(staging: Path) -> None:
    for lang in ("en", "zh"):
        text = (staging / offline.file_name(lang)).read_text("utf-8")
        ids = re.findall(r'\sid="([^"]+)"', text)
        assert len(ids) == len(set(ids))
        links = re.findall(r'href="#([^"]*)"', text)
        assert set(links) <= set(ids)
        assert f"{CHAPTER}--candidates-first" in links
        assert not re.findall(r'href="ks', text)


def test_nothing_in_the_file_is_loaded_from_outside(staging: Path) -> None:
    text = (staging / offline.file_name("en")).read_text("utf-8")
    assert not re.findall(r'<(?:link|img|iframe|object)\b|\ssrc="', text)
    assert "@import" not in text
    assert "default-src 'none'" in html.unescape(text)


def test_the_same_edition_gives_the_same_bytes() -> None:
    edition = complete_edition("zh")
    assert edition_html(edition, FACTS) == edition_html(edition, FACTS)


def test_text_that_looks_like_markup_stays_text() -> None:
    text = edition_html(complete_edition("en"), FACTS)
    assert "&lt;b&gt;not bold&lt;/b&gt; &amp;amp; &amp;#65; a &lt; b" in text


# --- in a browser -----------------------------------------------------------


@dataclass
class Reader:
    """A page with the file open, and all that it asked for or complained of."""

    page: Any
    requests: list[str]
    complaints: list[str]

    def open(self, path: Path, fragment: str = "") -> None:
        self.page.goto(path.as_uri() + fragment)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    missing = missing_tools()
    if missing:
        pytest.skip(missing.reason)
    with browser() as opened:
        yield opened


def reader(chromium: Any, **settings: Any) -> Reader:
    settings.setdefault("viewport", {"width": 1280, "height": 900})
    page = chromium.new_context(**settings).new_page()
    made = Reader(page, [], [])
    page.on("request", lambda request: made.requests.append(request.url))
    page.on("pageerror", lambda error: made.complaints.append(str(error)))
    page.on(
        "console",
        lambda said: (
            said.type in ("error", "warning")
            and made.complaints.append(said.text)
        ),
    )
    return made


def results(page: Any, query: str) -> list[str]:
    page.locator("#query").fill(query)
    page.wait_for_timeout(150)
    return page.locator("#results a").all_text_contents()


@pytest.mark.browser
@pytest.mark.parametrize(
    ("lang", "query", "found"),
    [
        ("en", "CANDIDATES COME", "candidates come"),
        ("en", "ｄｅｆ ｃｕｔ", "def cut"),
        ("zh", "候选", "候选"),
        ("zh", "字加粗", None),
        ("zh", "可以被找到", "可以被找到"),
        ("zh", "守", "守"),
        ("zh", "候选为什么", "候选"),  # nowhere in a row
        ("en", "k = 60 nowhere", None),
        ("en", "not bold</b>", "not bold</b>"),
    ],
)
def test_search_finds_exactly_what_is_written(
    chromium: Any, staging: Path, lang: str, query: str, found: str | None
) -> None:
    seen = reader(chromium)
    seen.open(staging / offline.file_name(lang))
    seen.page.keyboard.press("/")
    assert seen.page.evaluate("document.activeElement.id") == "query"
    lines = results(seen.page, query)
    marked = seen.page.locator("#results mark").all_text_contents()
    if found is None:
        assert lines == []
        assert seen.page.locator("#search-status").inner_text() != ""
    else:
        assert found in marked
    assert seen.complaints == []


@pytest.mark.browser
def test_a_result_leads_to_its_place(chromium: Any, staging: Path) -> None:
    seen = reader(chromium)
    seen.open(staging / offline.file_name("en"))
    seen.page.locator("#open-search").click()
    results(seen.page, "line 'never'")
    assert seen.page.locator("#results a").count() == 0
    results(seen.page, "not a witness")
    seen.page.keyboard.press("Enter")
    box = seen.page.locator(f'[data-block="{CHAPTER}-0014"]').bounding_box()
    assert not seen.page.locator("#search").is_visible()
    assert 0 < box["y"] < 450
    assert seen.page.evaluate("CSS.highlights.has('found')")


def until(page: Any, expression: str) -> None:
    """Wait for something to be true, under the page's own policy."""
    for _ in range(200):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"never came true: {expression}")


@pytest.mark.browser
def test_colours_size_and_place_are_remembered(
    chromium: Any, staging: Path
) -> None:
    seen = reader(chromium, color_scheme="light")
    path = staging / offline.file_name("en")
    seen.open(path)
    page = seen.page
    plain = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert page.locator("#theme").get_attribute("aria-label") == "Dark colours"
    page.locator("#theme").click()
    page.locator("#larger").click()
    saved = "'keeps-secrets-place-en'"
    page.evaluate(f"localStorage.removeItem({saved})")
    # A hand on the wheel ends the holding of the place after a change of
    # size; a script that scrolls has none.
    page.evaluate(
        f"""window.dispatchEvent(new Event("wheel"));
        document.querySelector('[data-block="{CHAPTER}-0011"]')
        .scrollIntoView()"""
    )
    until(page, f"localStorage.getItem({saved})")
    page.wait_for_timeout(500)
    place = page.evaluate("scrollY")
    page.reload()
    page.locator("#resumed").wait_for()
    until(page, f"Math.abs(scrollY - {place}) < 4")
    style = "getComputedStyle(document.documentElement)"
    assert page.evaluate(f"{style}.backgroundColor") != plain
    assert page.evaluate(f"{style}.colorScheme") == "dark"
    assert float(page.evaluate(f"{style}.fontSize")[:-2]) == pytest.approx(17.6)
    assert place > 1000


@pytest.mark.browser
@pytest.mark.parametrize("denial", DENIALS)
def test_the_book_works_where_storage_is_denied(
    chromium: Any, staging: Path, denial: str
) -> None:
    seen = reader(chromium, color_scheme="light")
    seen.page.add_init_script(DENIALS[denial])
    seen.open(staging / offline.file_name("zh"))
    seen.page.locator("#theme").click()
    seen.page.locator("#larger").click()
    seen.page.keyboard.press("/")
    assert results(seen.page, "窗口不是证人")
    scheme = "getComputedStyle(document.documentElement).colorScheme"
    assert seen.page.evaluate(scheme) == "dark"
    assert seen.complaints == []


@pytest.mark.browser
def test_without_a_script_all_of_it_can_be_read_and_reached(
    chromium: Any, staging: Path
) -> None:
    seen = reader(
        chromium,
        java_script_enabled=False,
        viewport={"width": 320, "height": 640},
    )
    seen.open(staging / offline.file_name("en"))
    page = seen.page
    assert page.locator("#contents a").last.is_visible()
    assert not page.locator("#open-search").is_visible()
    page.locator("#contents").get_by_text("Why candidates").click()
    assert page.url.endswith(f"#{CHAPTER}--candidates-first")
    assert page.get_by_text("A window is not a witness.").is_visible()


@pytest.mark.browser
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_nothing_is_asked_for_and_nothing_is_wider_than_a_phone(
    chromium: Any, staging: Path, lang: str
) -> None:
    seen = reader(chromium, viewport={"width": 320, "height": 640})
    path = staging / offline.file_name(lang)
    seen.open(path)
    page = seen.page
    page.add_style_tag(content="article{content-visibility:visible!important}")
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.keyboard.press("/")
    results(page, "a")
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    assert seen.requests == [path.as_uri()]


@pytest.mark.browser
def test_on_a_phone_the_contents_open_and_close_by_keyboard(
    chromium: Any, staging: Path
) -> None:
    seen = reader(chromium, viewport={"width": 390, "height": 800})
    seen.open(staging / offline.file_name("en"))
    page = seen.page
    contents = page.locator("#contents")
    assert not contents.is_visible()
    page.locator("#open-contents").focus()
    page.keyboard.press("Enter")
    assert contents.is_visible()
    page.keyboard.press("Escape")
    assert not contents.is_visible()
    assert page.evaluate("document.activeElement.id") == "open-contents"


@pytest.mark.browser
def test_a_listing_is_copied_as_it_is_and_a_session_without_its_prompts(
    chromium: Any, staging: Path
) -> None:
    seen = reader(chromium, permissions=["clipboard-read", "clipboard-write"])
    seen.open(staging / offline.file_name("en"))
    page = seen.page

    def copied(block: str) -> str:
        figure = page.locator(f'[data-block="{CHAPTER}-{block}"]')
        figure.hover()
        figure.locator(".copy").click()
        page.wait_for_timeout(100)
        return str(page.evaluate("navigator.clipboard.readText()"))

    assert copied("0008") == 'def cut(a):\n\n    return a < "&\t守"'
    assert copied("0009") == "python -m lab demo"


@pytest.mark.browser
def test_print_is_black_on_white_even_from_dark_colours(
    chromium: Any, staging: Path
) -> None:
    seen = reader(chromium, color_scheme="dark")
    seen.open(staging / offline.file_name("en"))
    seen.page.emulate_media(media="print", color_scheme="dark")
    style = "getComputedStyle(document.documentElement)"
    assert (
        seen.page.evaluate(f"{style}.backgroundColor") == "rgb(255, 255, 255)"
    )
    assert seen.page.evaluate(f"{style}.color") == "rgb(0, 0, 0)"
    assert not seen.page.locator(".bar").is_visible()
    assert seen.page.locator(".copy").first.is_hidden()


@pytest.mark.browser
@pytest.mark.parametrize(
    ("lang", "scheme", "width"),
    [("en", "light", 1280), ("en", "dark", 320), ("zh", "dark", 1280)],
)
def test_axe_finds_no_violation(
    chromium: Any, staging: Path, lang: str, scheme: str, width: int
) -> None:
    axe = ROOT / NODE_MODULES / "axe-core" / "axe.min.js"
    if not axe.is_file():
        pytest.skip("axe-core is not installed")
    seen = reader(
        chromium,
        bypass_csp=True,
        color_scheme=scheme,
        viewport={"width": width, "height": 900},
    )
    seen.open(staging / offline.file_name(lang))
    page = seen.page
    page.add_style_tag(content="article{content-visibility:visible!important}")
    page.evaluate(axe.read_text("utf-8"))

    def violations() -> list[str]:
        found = page.evaluate("axe.run()")["violations"]
        return [
            f"{one['id']}: {node['html'][:120]}"
            for one in found
            for node in one["nodes"]
        ]

    assert violations() == []
    page.keyboard.press("/")
    results(page, "a")
    assert violations() == []
