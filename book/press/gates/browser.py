"""The pages behave, in a real browser.

Every page: nothing asked of another host, no error, nothing wider than a
screen of 320 px. Then what readers do: with JavaScript off, with storage
denied, from a file, in the dark, with keys, on paper, and searching for
words that stand in the book.
"""

from __future__ import annotations

import contextlib
import functools
import http.server
import importlib.util
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lxml import html as lxml_html

from book.press.context import BuildContext
from book.press.gates import Gate, GateResult, judged, not_run
from book.press.problems import Problem

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

VARIABLE: Final = "KEEPS_SECRETS_CHROMIUM"
_NAMES: Final = (
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
)
_ARGUMENTS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

# Each way in which a browser may refuse to remember anything.
DENIALS: Final = {
    "throws": "Object.defineProperty(window,'localStorage',"
    "{get(){throw new DOMException('denied','SecurityError')}})",
    "is null": "Object.defineProperty(window,'localStorage',"
    "{get(){return null}})",
    "is full": "Storage.prototype.setItem=function(){"
    "throw new DOMException('full','QuotaExceededError')}",
}

# Seconds after which a page that does not answer is at fault, in ms.
_PATIENCE: Final = 15_000


def missing_tools() -> GateResult | None:
    """NOT RUN, with what to install, when there is no browser to drive."""
    if importlib.util.find_spec("playwright") is None:
        return not_run("playwright is not installed", "python3 build.py test")
    if chromium() is None:
        return not_run(
            f"no Chromium found (set {VARIABLE} to use one elsewhere)",
            "sudo apt-get install -y chromium fonts-noto-cjk",
        )
    return None


def chromium() -> str | None:
    """The browser to drive: the one named by the variable, else a found one."""
    named = os.environ.get(VARIABLE)
    if named:
        return named
    found = (shutil.which(name) for name in _NAMES)
    return next((path for path in found if path), None)


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """A headless Chromium that asks nobody for anything."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=chromium(), args=list(_ARGUMENTS)
        )
        try:
            yield opened
        finally:
            opened.close()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves a folder and says nothing about it."""

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """The folder on a port of this machine; gives its address."""
    handler = functools.partial(_Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def site_pages(staging: Path) -> list[str]:
    """Every page of the site, as a path below it; downloads are no pages."""
    site = staging / "site"
    return [
        path.relative_to(site).as_posix()
        for path in sorted(site.rglob("*.html"))
        if "downloads" not in path.relative_to(site).parts
    ]


@dataclass(frozen=True)
class Visit:
    """A browser, and where the site is."""

    browser: Browser
    staging: Path
    base: str

    @property
    def file_base(self) -> str:
        """The site's address when it is opened from the disk."""
        return (self.staging / "site").absolute().as_uri()

    @contextlib.contextmanager
    def page(self, script: str = "", **settings: Any) -> Iterator[Watched]:
        """A page in a fresh context; ``script`` runs before any other."""
        context = self.browser.new_context(**settings)
        try:
            if script:
                context.add_init_script(script)
            opened = context.new_page()
            opened.set_default_timeout(_PATIENCE)
            yield Watched(opened)
        finally:
            context.close()


class Watched:
    """A page that notes what goes wrong on it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.faults: list[str] = []
        page.on("pageerror", lambda error: self._note(f"error: {error}"))
        page.on("console", self._console)
        page.on("request", self._request)
        page.on("response", self._response)

    def _note(self, text: str) -> None:
        self.faults.append(" ".join(text.split())[:300])

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self._note(f"the console says: {message.text}")

    def _request(self, request: Any) -> None:
        inside = ("http://127.0.0.1:", "file:", "data:", "about:", "blob:")
        if not request.url.startswith(inside):
            self._note(f"asks another host: {request.url}")

    def _response(self, response: Any) -> None:
        if response.status >= 400:
            self._note(f"gets {response.status} for {response.url}")

    def drain(self) -> list[str]:
        """What went wrong since the last call."""
        faults, self.faults = self.faults, []
        return faults


Check = Callable[[Visit], Iterator[Problem]]


def _chapters(visit: Visit) -> list[str]:
    """The pages that hold blocks, ``en/05-lexical-baseline.html`` first."""
    return [
        page
        for page in site_pages(visit.staging)
        if "<!-- blocks:start -->"
        in (visit.staging / "site" / page).read_text("utf-8")
    ]


def _samples(visit: Visit) -> list[str]:
    """One chapter of each language: the one with the most kinds of block."""
    best: dict[str, tuple[int, str]] = {}
    for page in _chapters(visit):
        text = (visit.staging / "site" / page).read_text("utf-8")
        kinds = len(set(re.findall(r'data-kind="(\w+)"', text)))
        lang = page.partition("/")[0]
        if lang not in best or kinds > best[lang][0]:
            best[lang] = (kinds, page)
    return [page for _, page in best.values()]


WIDEST: Final = """() => {
  const room = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= room) return "";
  for (const e of document.body.querySelectorAll("*")) {
    const box = e.getBoundingClientRect();
    const clipped = e.closest(".ks-scroll, pre, .formula, .md-sidebar, svg");
    if (box.right > room + 1 && (!clipped || clipped === e))
      return (e.dataset.block || e.id || e.className || e.tagName) + "";
  }
  return "the page";
}"""


def every_page(visit: Visit) -> Iterator[Problem]:
    """No other host, no error, and no page wider than 320 px."""
    size = {"width": 320, "height": 800}
    with visit.page(viewport=size) as watched:
        for name in site_pages(visit.staging):
            watched.page.goto(f"{visit.base}/{name}", wait_until="load")
            place = f"site/{name}"
            for fault in watched.drain():
                yield Problem(place, 0, fault)
            widest = watched.page.evaluate(WIDEST)
            if widest:
                message = f"{widest} is wider than a screen of 320 px"
                yield Problem(place, 0, message)


def without_javascript(visit: Visit) -> Iterator[Problem]:
    """The text and the way on are there; buttons that would be dead are not."""
    with visit.page(java_script_enabled=False) as watched:
        page = watched.page
        for name in [*_samples(visit), "en/index.html", "zh/index.html"]:
            page.goto(f"{visit.base}/{name}")
            place = f"site/{name}"
            for what, selector in (
                ("text", "article p >> nth=0"),
                ("title", "article h1"),
                ("way to the other language", ".ks-language"),
                ("way on", "a[rel=next], a[rel=prev] >> nth=0"),
            ):
                if not page.locator(selector).first.is_visible():
                    message = f"without JavaScript the {what} is not shown"
                    yield Problem(place, 0, message)
            if page.locator("#ks-theme").is_visible():
                message = "without JavaScript a button is shown that is dead"
                yield Problem(place, 0, message)
        page.goto(f"{visit.base}/index.html")
        for lang in ("en", "zh"):
            if not page.locator(
                f'a[href="{lang}/index.html"]'
            ).first.is_visible():
                message = f"without JavaScript there is no way to {lang}/"
                yield Problem("site/index.html", 0, message)


BACKGROUND: Final = (
    "() => getComputedStyle(document.documentElement).backgroundColor"
)
# Notes the colours in force when the body appears, before it is painted.
EARLY: Final = """
new MutationObserver((_, self) => {
  if (!document.body) return;
  window.ksEarly = getComputedStyle(document.documentElement).backgroundColor;
  self.disconnect();
}).observe(document, {childList: true, subtree: true});
"""


def is_dark(colour: str) -> bool:
    """Whether a colour, as a browser computes it, is nearer to black."""
    channels = [int(part) for part in re.findall(r"\d+", colour)[:3]]
    return sum(channels) < 3 * 128


def colours(visit: Visit) -> Iterator[Problem]:
    """The system decides, the button wins and is remembered, no flash."""
    for name in _samples(visit):
        place = f"site/{name}"
        url = f"{visit.base}/{name}"
        for system in ("light", "dark"):
            with visit.page(EARLY, color_scheme=system) as watched:
                page = watched.page
                page.goto(url)
                dark = system == "dark"
                if is_dark(page.evaluate(BACKGROUND)) is not dark:
                    message = f"is not {system} when the system is"
                    yield Problem(place, 0, message)
                page.click("#ks-theme")
                if is_dark(page.evaluate(BACKGROUND)) is dark:
                    yield Problem(place, 0, "the button changes no colours")
                page.reload()
                if is_dark(page.evaluate(BACKGROUND)) is dark:
                    yield Problem(place, 0, "forgets the chosen colours")
                if is_dark(page.evaluate("window.ksEarly")) is dark:
                    message = "shows the other colours before the chosen ones"
                    yield Problem(place, 0, message)


_SIZE: Final = (
    "() => parseFloat(getComputedStyle("
    "document.querySelector('article p')).fontSize)"
)


def size_of_text(visit: Visit) -> Iterator[Problem]:
    """Text grows and shrinks, and is found so again."""
    for name in _samples(visit):
        place = f"site/{name}"
        with visit.page() as watched:
            page = watched.page
            page.goto(f"{visit.base}/{name}")
            before = page.evaluate(_SIZE)
            page.click("#ks-larger")
            larger = page.evaluate(_SIZE)
            if not larger > before:
                yield Problem(place, 0, "the text does not grow")
            page.reload()
            if page.evaluate(_SIZE) != larger:
                yield Problem(place, 0, "forgets the chosen size of text")
            page.click("#ks-smaller")
            if page.evaluate(_SIZE) != before:
                yield Problem(place, 0, "the text does not shrink again")


def storage_denied(visit: Visit) -> Iterator[Problem]:
    """A browser that remembers nothing still shows and does everything."""
    for name in _samples(visit):
        for how, script in DENIALS.items():
            place = f"site/{name}"
            with visit.page(script, color_scheme="light") as watched:
                page = watched.page
                page.goto(f"{visit.base}/{name}")
                page.click("#ks-theme")
                if not is_dark(page.evaluate(BACKGROUND)):
                    message = f"when storage {how}, the colour button is dead"
                    yield Problem(place, 0, message)
                page.keyboard.press("/")
                if not page.locator("#ks-query").is_visible():
                    message = f"when storage {how}, search does not open"
                    yield Problem(place, 0, message)
                for fault in watched.drain():
                    yield Problem(place, 0, f"when storage {how}: {fault}")


def words_to_find(text: str, lang: str, others: str) -> list[str]:
    """Up to three words, from the middle on, that no other text has.

    In Chinese, two to four characters in a row; in English, a long word.
    ``others`` is all the other text of that language.
    """
    if lang == "zh":
        runs = re.findall(r"[\u4e00-\u9fff]{4,}", text)
        pieces = [
            run[at : at + size]
            for size in (2, 3, 4)
            for run in runs
            for at in range(len(run) - size + 1)
        ]
    else:
        pieces = re.findall(r"\b[a-z]{7,}\b", text)
    half = len(pieces) // 2
    pieces = pieces[half:] + pieces[:half]
    chosen: list[str] = []
    for piece in dict.fromkeys(pieces):
        size = len(piece) if lang == "zh" else 0
        if piece in others or (size and size in map(len, chosen)):
            continue
        chosen.append(piece)
        if len(chosen) == 3:
            break
    return chosen


# What a reader would type, and the chapter that is about it. The Chinese of
# the last stands in its title, but not in a row.
TOPICS: Final = {
    ("en", "11-revocation-and-caches"): "revocation",
    ("en", "12-a-citation-is-re-checked"): "citation",
    ("en", "14-deletion"): "tombstone",
    ("zh", "11-revocation-and-caches"): "撤权",
    ("zh", "12-a-citation-is-re-checked"): "引用复核",
    ("zh", "14-deletion"): "墓碑",
}


def topics(lang: str, slug: str) -> list[str]:
    """What must find this chapter first."""
    topic = TOPICS.get((lang, slug))
    return [topic] if topic else []


def read_page(file: Path) -> lxml_html.HtmlElement:
    """A page without what is not content."""
    parser = lxml_html.HTMLParser(encoding="utf-8")
    root = lxml_html.document_fromstring(file.read_bytes(), parser=parser)
    for element in list(root.iter()):
        if (
            isinstance(element, lxml_html.HtmlElement)
            and element.get("data-chrome") is not None
        ):
            element.drop_tree()
    return root


def prose(root: lxml_html.HtmlElement) -> tuple[str, str]:
    """The text of all blocks below ``root``, lower-cased, in two readings.

    The first has every piece of text on a line of its own and no formula or
    drawing, so that what is picked from it stands in the page as it is; the
    second runs together all there is.
    """
    apart: list[str] = []
    together: list[str] = []
    for block in root.iter():
        if block.get("data-block") is None:
            continue
        together.append("".join(block.itertext()))
        for element in block.iter():
            inside = {one.tag for one in element.iterancestors()}
            if {"svg", "math"} & {element.tag, *inside}:
                continue
            apart.append(element.text or "")
            apart += [child.tail or "" for child in element]
    return "\n".join(apart).lower(), "\n".join(together).lower()


def _title(root: lxml_html.HtmlElement) -> str:
    heading = next(root.iter("h1"))
    return "".join(heading.itertext()).strip().lower()


def _first_hit(page: Page, query: str) -> str:
    """The page a search puts first, ``en/05-lexical-baseline.html``."""
    page.fill("#ks-query", query)
    page.wait_for_function(
        "query => document.getElementById('ks-results').dataset.query"
        " === query",
        arg=query,
    )
    first = page.locator("#ks-results a").first
    if not first.count():
        return ""
    href = str(first.evaluate("a => a.href"))
    return "/".join(href.partition("#")[0].rsplit("/", 2)[1:])


def _search_from(
    visit: Visit, base: str, how: str, limit: int | None
) -> Iterator[Problem]:
    pages = {
        name: read_page(visit.staging / "site" / name)
        for name in _chapters(visit)
    }
    for start in _samples(visit):
        lang = start.partition("/")[0]
        mine = {
            name: (_title(root), *prose(root))
            for name, root in pages.items()
            if name.startswith(f"{lang}/")
        }
        with visit.page() as watched:
            page = watched.page
            page.goto(f"{base}/{start}")
            page.keyboard.press("/")
            for name, (title, text, _) in list(mine.items())[:limit]:
                others = "\n".join(
                    other for key, (*_, other) in mine.items() if key != name
                )
                queries = words_to_find(text, lang, others)
                if [one for one, *_ in mine.values()].count(title) == 1:
                    queries.append(title)
                queries += topics(lang, Path(name).stem)
                for query in queries:
                    first = _first_hit(page, query)
                    if first != name:
                        message = (
                            f"searching {query!r}{how} finds "
                            f"{first or 'nothing'} first"
                        )
                        yield Problem(f"site/{name}", 0, message)
            for fault in watched.drain():
                yield Problem(f"site/{start}", 0, f"searching{how}: {fault}")


def search(visit: Visit) -> Iterator[Problem]:
    """A word only one chapter has finds it first; so do title and topic."""
    return _search_from(visit, visit.base, "", None)


def from_a_file(visit: Visit) -> Iterator[Problem]:
    """Opened from the disk, pages work, search included."""
    return _search_from(visit, visit.file_base, " from a file", 4)


def keys(visit: Visit) -> Iterator[Problem]:
    """Everything can be reached by keys, and seen to be."""
    for name in _samples(visit):
        place = f"site/{name}"
        with visit.page(viewport={"width": 1400, "height": 900}) as watched:
            page = watched.page
            page.goto(f"{visit.base}/{name}")
            reached: list[dict[str, Any]] = []
            for _ in range(600):
                page.keyboard.press("Tab")
                at = page.evaluate(_FOCUS)
                if at is None or (reached and at["key"] == reached[0]["key"]):
                    break
                reached.append(at)
            names = {one["key"] for one in reached}
            for wanted in page.evaluate(_REACHABLE):
                if wanted not in names:
                    message = f"Tab does not reach {wanted}"
                    yield Problem(place, 0, message)
            for one in reached:
                if not one["seen"]:
                    message = f"the focus cannot be seen on {one['key']}"
                    yield Problem(place, 0, message)
            page.keyboard.press("/")
            if not page.locator("#ks-query").is_visible():
                yield Problem(place, 0, "the key / does not open search")
            page.keyboard.press("Escape")
            if page.locator("#ks-query").is_visible():
                yield Problem(place, 0, "Escape does not close search")
            following = page.locator("link[rel=next]")
            if following.count():
                wanted_url = following.evaluate("link => link.href")
                page.keyboard.press("n")
                if not _arrives(page, str(wanted_url)):
                    yield Problem(place, 0, "the key n does not turn the page")


def _arrives(page: Page, url: str) -> bool:
    """Whether the page goes to this address within a few seconds."""
    from playwright.sync_api import TimeoutError as Late

    try:
        page.wait_for_url(url, timeout=3_000)
    except Late:
        return False
    return True


_KEY: Final = """
const keyOf = e => e.id ? '#' + e.id : e.tagName.toLowerCase() + ' '
  + (e.getAttribute('href') || e.closest('[data-block]')?.dataset.block
  || e.textContent.trim().slice(0, 40));
"""
_FOCUS: Final = (
    "() => {"
    + _KEY
    + """
  const e = document.activeElement;
  if (!e || e === document.body) return null;
  const style = getComputedStyle(e);
  const box = e.getBoundingClientRect();
  const stand = e.id === 'ks-drawer';
  return {key: keyOf(e), seen: stand ||
    (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0
     && box.width > 0 && box.height > 0)};
}"""
)
_REACHABLE: Final = (
    "() => {"
    + _KEY
    + """
  const all = document.querySelectorAll(
    'a[href], button, [tabindex="0"], summary');
  return [...all].filter(e => e.checkVisibility({visibilityProperty: true})
    && !e.disabled && e.tabIndex >= 0 && !e.closest('dialog')).map(keyOf);
}"""
)


def on_paper(visit: Visit) -> Iterator[Problem]:
    """Printed from the dark, a page is black on white, without its frame."""
    for name in _samples(visit):
        place = f"site/{name}"
        with visit.page(color_scheme="dark") as watched:
            page = watched.page
            page.goto(f"{visit.base}/{name}")
            page.emulate_media(media="print")
            ink = page.evaluate(
                "() => getComputedStyle("
                "document.querySelector('article p')).color"
            )
            if not is_dark(ink):
                yield Problem(place, 0, "prints pale text from the dark")
            if is_dark(page.evaluate(BACKGROUND)):
                yield Problem(place, 0, "prints on a dark ground")
            for frame in (".md-header", ".md-sidebar", ".ks-footer"):
                if page.locator(frame).first.is_visible():
                    yield Problem(place, 0, f"prints {frame}")


def way_around(visit: Visit) -> Iterator[Problem]:
    """Contents lead to their headings; the other language keeps the place."""
    for name in _samples(visit):
        place = f"site/{name}"
        with visit.page(viewport={"width": 1400, "height": 900}) as watched:
            page = watched.page
            page.goto(f"{visit.base}/{name}")
            links = page.locator("nav.ks-toc a")
            if not links.count():
                yield Problem(place, 0, "shows no contents")
                continue
            links.last.click()
            anchor = page.evaluate("location.hash.slice(1)")
            if not page.locator(f'[id="{anchor}"]').is_visible():
                yield Problem(place, 0, f"contents do not show #{anchor}")
            page.click("#ks-language")
            lang, _, rest = name.partition("/")
            other = "zh" if lang == "en" else "en"
            if not _arrives(page, f"{visit.base}/{other}/{rest}#{anchor}"):
                message = f"the language switch leads to {page.url}"
                yield Problem(place, 0, message)


def copying(visit: Visit) -> Iterator[Problem]:
    """What is copied is what one would type: no prompt, no output."""
    for name in _samples(visit):
        place = f"site/{name}"
        allowed = ["clipboard-read", "clipboard-write"]
        with visit.page(permissions=allowed) as watched:
            page = watched.page
            page.goto(f"{visit.base}/{name}")
            figures = page.locator("figure:has(> .ks-copy)")
            if not figures.count():
                yield Problem(place, 0, "has code and no button to copy it")
            for index in range(min(figures.count(), 6)):
                figure = figures.nth(index)
                figure.hover()
                figure.locator(".ks-copy").click()
                figure.locator(".ks-copy[data-said]").wait_for()
                got = page.evaluate("navigator.clipboard.readText()")
                wanted = figure.evaluate(_TYPED)
                if got != wanted:
                    block = figure.get_attribute("data-block")
                    message = f"copies {got[:60]!r}, not {wanted[:60]!r}"
                    yield Problem(place, 0, f"{block}: {message}")


# An independent reading of what a transcript's commands are.
_TYPED: Final = r"""figure => {
  const code = figure.querySelector("pre code").textContent;
  if (!figure.querySelector(".gp")) return code;
  return code.split("\n").filter(line => /^(\$|>>>|\.\.\.|>) ?/.test(line))
    .map(line => line.replace(/^(\$|>>>|\.\.\.|>) ?/, "")).join("\n");
}"""


CHECKS: Final[tuple[Check, ...]] = (
    every_page,
    without_javascript,
    colours,
    size_of_text,
    storage_denied,
    search,
    from_a_file,
    keys,
    on_paper,
    way_around,
    copying,
)


def findings(staging: Path, checks: tuple[Check, ...]) -> list[Problem]:
    """What the checks find on the site in ``staging``.

    A check that breaks off is itself a finding.
    """
    found: list[Problem] = []
    with served(staging / "site") as base, browser() as opened:
        visit = Visit(opened, staging, base)
        for check in checks:
            try:
                found += list(check(visit))
            except Exception as error:
                said = str(error).splitlines()[0] if str(error) else ""
                message = f"{check.__name__}: {type(error).__name__}: {said}"
                found.append(Problem("site", 0, message))
    return found


def run(staging: Path, context: BuildContext) -> GateResult:
    """Every check, on every page or on one chapter of each language."""
    return missing_tools() or judged(
        findings(staging, CHECKS), f"{len(site_pages(staging))} pages"
    )


GATE = Gate("browser", run, order=80)
