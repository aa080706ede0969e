"""The offline file behaves, opened from the disk in a real browser.

The same things readers do with the site: with JavaScript off, with storage
denied, in the dark, on a phone, on paper, and searching for words that
stand in one chapter. The file must ask for nothing but itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from book.press.context import BuildContext
from book.press.gates import Gate, GateResult, judged
from book.press.gates.browser import (
    BACKGROUND,
    DENIALS,
    EARLY,
    WIDEST,
    Visit,
    browser,
    is_dark,
    missing_tools,
    prose,
    read_page,
    topics,
    words_to_find,
)
from book.press.problems import Problem

if TYPE_CHECKING:
    from playwright.sync_api import Page

Check = Callable[[Visit, Path], Iterator[Problem]]

# Chapters out of sight are not laid out; here every one must fit.
_LAY_OUT: Final = "article { content-visibility: visible !important }"
_SIZE: Final = (
    "() => parseFloat(getComputedStyle(document.documentElement).fontSize)"
)


def fits_a_phone(visit: Visit, file: Path) -> Iterator[Problem]:
    """Nothing is asked for, nothing breaks, nothing is wider than 320 px."""
    with visit.page(viewport={"width": 320, "height": 800}) as watched:
        asked: list[str] = []
        page = watched.page
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file.as_uri())
        for fault in watched.drain():
            yield Problem(file.name, 0, fault)
        for url in asked:
            if url != file.as_uri() and not url.startswith("data:"):
                yield Problem(file.name, 0, f"asks for {url}")
        page.add_style_tag(content=_LAY_OUT)
        widest = page.evaluate(WIDEST)
        if widest:
            message = f"{widest} is wider than a screen of 320 px"
            yield Problem(file.name, 0, message)


def without_javascript(visit: Visit, file: Path) -> Iterator[Problem]:
    """Every chapter and the contents are there to read."""
    with visit.page(java_script_enabled=False) as watched:
        page = watched.page
        page.goto(file.as_uri())
        for chapter in page.locator("[data-chapter]").all():
            if not chapter.locator("h1").first.is_visible():
                slug = chapter.get_attribute("data-chapter")
                message = f"without JavaScript {slug} is not shown"
                yield Problem(file.name, 0, message)
        if not page.locator("#contents a").first.is_visible():
            message = "without JavaScript the contents are not shown"
            yield Problem(file.name, 0, message)
        if page.locator("#theme").is_visible():
            message = "without JavaScript a button is shown that is dead"
            yield Problem(file.name, 0, message)


def colours_and_size(visit: Visit, file: Path) -> Iterator[Problem]:
    """The system decides, the buttons win and are remembered, no flash."""
    for system in ("light", "dark"):
        dark = system == "dark"
        with visit.page(EARLY, color_scheme=system) as watched:
            page = watched.page
            page.goto(file.as_uri())
            if is_dark(page.evaluate(BACKGROUND)) is not dark:
                message = f"is not {system} when the system is"
                yield Problem(file.name, 0, message)
            before = page.evaluate(_SIZE)
            page.click("#theme")
            page.click("#larger")
            larger = page.evaluate(_SIZE)
            if not larger > before:
                yield Problem(file.name, 0, "the text does not grow")
            page.reload()
            if is_dark(page.evaluate(BACKGROUND)) is dark:
                yield Problem(file.name, 0, "forgets the chosen colours")
            if is_dark(page.evaluate("window.ksEarly")) is dark:
                message = "shows the other colours before the chosen ones"
                yield Problem(file.name, 0, message)
            if page.evaluate(_SIZE) != larger:
                yield Problem(file.name, 0, "forgets the chosen size of text")


def storage_denied(visit: Visit, file: Path) -> Iterator[Problem]:
    """A browser that remembers nothing still shows and does everything."""
    for how, script in DENIALS.items():
        with visit.page(script, color_scheme="light") as watched:
            page = watched.page
            page.goto(file.as_uri())
            page.click("#theme")
            if not is_dark(page.evaluate(BACKGROUND)):
                message = f"when storage {how}, the colour button is dead"
                yield Problem(file.name, 0, message)
            page.keyboard.press("/")
            if not page.locator("#query").is_visible():
                message = f"when storage {how}, search does not open"
                yield Problem(file.name, 0, message)
            for fault in watched.drain():
                yield Problem(file.name, 0, f"when storage {how}: {fault}")


def search(visit: Visit, file: Path) -> Iterator[Problem]:
    """A word that one chapter alone has leads there, and so does a topic."""
    lang = file.stem.rpartition("-")[2]
    chapters = _chapters(file)
    with visit.page() as watched:
        page = watched.page
        page.goto(file.as_uri())
        page.keyboard.press("/")
        for slug, (text, _) in chapters.items():
            others = "\n".join(
                other for key, (_, other) in chapters.items() if key != slug
            )
            for word in [
                *words_to_find(text, lang, others),
                *topics(lang, slug),
            ]:
                found = _leads_to(page, word)
                if found != slug:
                    message = (
                        f"searching {word!r} leads to {found or 'nothing'}"
                    )
                    yield Problem(f"{file.name}#{slug}", 0, message)
        for fault in watched.drain():
            yield Problem(file.name, 0, f"searching: {fault}")


def _chapters(file: Path) -> dict[str, tuple[str, str]]:
    """The text of each chapter, in both readings, by slug."""
    return {
        slug: prose(element)
        for element in read_page(file).iter()
        if (slug := element.get("data-chapter")) is not None
    }


def _leads_to(page: Page, word: str) -> str:
    """The chapter the first result opens; ``""`` when there is none."""
    if not page.locator("#query").is_visible():
        page.keyboard.press("/")
    page.fill("#query", "")
    page.wait_for_function(
        "() => !document.querySelector('#search-status').textContent"
    )
    page.fill("#query", word)
    page.wait_for_function(
        "() => document.querySelector('#search-status').textContent"
    )
    if not page.locator("#results a").count():
        return ""
    page.locator("#results a").first.click()
    return str(
        page.evaluate(
            "() => document.activeElement.closest('[data-chapter]')"
            "?.dataset.chapter || ''"
        )
    )


def on_paper(visit: Visit, file: Path) -> Iterator[Problem]:
    """Printed from the dark, the book is black on white."""
    with visit.page(color_scheme="dark") as watched:
        page = watched.page
        page.goto(file.as_uri())
        page.emulate_media(media="print")
        ink = page.evaluate(
            "() => getComputedStyle(document.querySelector('article p')).color"
        )
        if not is_dark(ink):
            yield Problem(file.name, 0, "prints pale text from the dark")
        if is_dark(page.evaluate(BACKGROUND)):
            yield Problem(file.name, 0, "prints on a dark ground")


CHECKS: Final[tuple[Check, ...]] = (
    fits_a_phone,
    without_javascript,
    colours_and_size,
    storage_denied,
    search,
    on_paper,
)


def findings(staging: Path, checks: tuple[Check, ...]) -> list[Problem]:
    """What the checks find in the offline files of ``staging``.

    A check that breaks off is itself a finding.
    """
    found: list[Problem] = []
    with browser() as opened:
        visit = Visit(opened, staging, "")
        for file in _files(staging):
            for check in checks:
                try:
                    found += list(check(visit, file))
                except Exception as error:
                    said = (str(error).splitlines() or [""])[0]
                    kind = type(error).__name__
                    message = f"{check.__name__}: {kind}: {said}"
                    found.append(Problem(file.name, 0, message))
    return found


def _files(staging: Path) -> list[Path]:
    return sorted(staging.absolute().glob("keeps-secrets-*.html"))


def run(staging: Path, context: BuildContext) -> GateResult:
    """Every check on every offline file."""
    count = len(_files(staging))
    return missing_tools() or judged(
        findings(staging, CHECKS), f"{count} offline files"
    )


GATE = Gate("browser, offline file", run, order=82)
