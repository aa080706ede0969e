"""Nothing axe-core can see keeps anyone from reading.

Every page of the site and every section of the offline file, by the full
rules once, and by the rules about colour and layout again in the dark and
at 320 px. What a page hides until asked, search and the chapter drawer, is
opened and judged too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from book.press.context import BuildContext
from book.press.gates import Gate, GateResult, judged, not_run
from book.press.gates.browser import (
    browser,
    missing_tools,
    served,
    site_pages,
)
from book.press.problems import Problem

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

VARIABLE: Final = "KEEPS_SECRETS_NODE"
_SCRIPT: Final = "axe-core/axe.min.js"

_TAGS: Final = (
    "wcag2a",
    "wcag2aa",
    "wcag21a",
    "wcag21aa",
    "wcag22aa",
    "best-practice",
)
# Rules whose answer depends on colours or on the width of the screen.
_LOOKS: Final = (
    "color-contrast",
    "link-in-text-block",
    "scrollable-region-focusable",
    "target-size",
)

# What is said of a view, whether only looks are judged, and the view.
_VIEWS: Final[tuple[tuple[str, bool, dict[str, Any]], ...]] = (
    ("", False, {"viewport": {"width": 1400, "height": 900}}),
    (" in the dark", True, {"color_scheme": "dark"}),
    (" at 320 px", True, {"viewport": {"width": 320, "height": 800}}),
)

_RUN: Final = """async ([only, options]) => {
  const result = await axe.run(only || document, options);
  return result.violations.flatMap(rule => rule.nodes.map(node => {
    let where = "";
    try {
      const found = document.querySelector(node.target[0]);
      where = found?.closest("[data-block]")?.dataset.block || "";
    } catch (e) { /* a target in a frame has no one selector */ }
    return {rule: rule.id, help: rule.help, where,
      target: node.target.join(" "), html: node.html.slice(0, 160),
      why: (node.any[0] || node.all[0] || node.none[0] || {}).message || ""};
  }));
}"""


def script_path(root: Path) -> Path | None:
    """Where axe-core is, in the order in which it is looked for."""
    named = os.environ.get(VARIABLE)
    folders = [
        *([Path(named)] if named else []),
        root / "node_modules",
        root / "locks/node/node_modules",
    ]
    found = (folder / _SCRIPT for folder in folders)
    return next((path for path in found if path.is_file()), None)


class Axe:
    """Judges pages by axe-core's rules and notes what it finds."""

    def __init__(self, script: str) -> None:
        self._script = script

    def judge(
        self,
        page: Page,
        place: str,
        when: str = "",
        *,
        looks: bool = False,
        only: str | None = None,
    ) -> Iterator[Problem]:
        """What is wrong on the page as it is now.

        ``looks`` asks only for what depends on colours and width, ``only``
        narrows it down to a part of the page.
        """
        if not page.evaluate("typeof axe !== 'undefined'"):
            page.evaluate(self._script)
        rules = (
            {"type": "rule", "values": list(_LOOKS)}
            if looks
            else {"type": "tag", "values": list(_TAGS)}
        )
        options: dict[str, Any] = {
            "runOnly": rules,
            "resultTypes": ["violations"],
            "preload": False,
        }
        found = page.evaluate(_RUN, [only, options])
        for one in found:
            block = f"{one['where']}: " if one["where"] else ""
            reason = " ".join(str(one["why"]).split())
            yield Problem(
                place,
                0,
                f"{block}{one['rule']}{when}: {one['help']}: {one['html']}",
                reason,
            )


def judge_site(opened: Browser, axe: Axe, staging: Path) -> Iterator[Problem]:
    """Every page of the site, in three looks."""
    pages = site_pages(staging)
    with served(staging / "site") as base:
        for when, looks, settings in _VIEWS:
            context = opened.new_context(bypass_csp=True, **settings)
            page = context.new_page()
            for name in pages:
                page.goto(f"{base}/{name}", wait_until="load")
                yield from axe.judge(page, f"site/{name}", when, looks=looks)
            context.close()
        for name in pages:
            if name.endswith("/index.html"):
                yield from _opened(opened, axe, base, name)


def _opened(
    opened: Browser, axe: Axe, base: str, name: str
) -> Iterator[Problem]:
    """What a page hides until it is asked for."""
    place = f"site/{name}"
    for scheme in ("light", "dark"):
        context = opened.new_context(
            bypass_csp=True,
            color_scheme="dark" if scheme == "dark" else "light",
            viewport={"width": 320, "height": 800},
        )
        page = context.new_page()
        page.goto(f"{base}/{name}")
        page.click(".ks-drawer")
        page.wait_for_timeout(400)
        when = f" with the drawer open, {scheme}"
        yield from axe.judge(page, place, when)
        page.keyboard.press("Escape")
        page.keyboard.press("/")
        page.fill("#ks-query", "a")
        page.locator("#ks-results a").first.wait_for()
        when = f" with search open, {scheme}"
        yield from axe.judge(page, place, when)
        context.close()


# All chapters share a page, and axe-core looks at a whole page to judge a
# part of it: each chapter in turn is the only one there. What is out of
# sight must be laid out, or its colours are not judged.
_APART: Final = """() => {
  window.ksApart = [...document.querySelectorAll("[data-chapter]")].map(
    chapter => {
      const mark = document.createComment("");
      chapter.replaceWith(mark);
      return {chapter, mark};
    });
  return ksApart.map(one => one.chapter.dataset.chapter);
}"""
_SHOW: Final = """index => {
  for (const {chapter, mark} of ksApart)
    if (chapter.isConnected) chapter.replaceWith(mark);
  ksApart[index].mark.replaceWith(ksApart[index].chapter);
}"""
_LAY_OUT: Final = "[data-chapter] { content-visibility: visible !important }"


def judge_offline(opened: Browser, axe: Axe, file: Path) -> Iterator[Problem]:
    """One offline file: its frame, then chapter by chapter."""
    for when, looks, settings in _VIEWS:
        context = opened.new_context(bypass_csp=True, **settings)
        page = context.new_page()
        page.goto(file.absolute().as_uri(), wait_until="load")
        page.add_style_tag(content=_LAY_OUT)
        slugs = page.evaluate(_APART)
        yield from axe.judge(page, file.name, when, looks=looks)
        for index, slug in enumerate(slugs):
            page.evaluate(_SHOW, index)
            place = f"{file.name}#{slug}"
            only = None if looks else f'[data-chapter="{slug}"]'
            yield from axe.judge(page, place, when, looks=looks, only=only)
        context.close()


def _judged(task: Callable[[Browser], Iterator[Problem]]) -> list[Problem]:
    with browser() as opened:
        return list(task(opened))


def run(staging: Path, context: BuildContext) -> GateResult:
    """The site and both offline files, whichever are there."""
    missing = missing_tools()
    if missing:
        return missing
    script = script_path(context.root)
    if script is None:
        return not_run(
            f"axe-core is not installed (set {VARIABLE} to a node_modules)",
            "npm ci --prefix locks/node",
        )
    axe = Axe(script.read_text("utf-8"))
    files = sorted(staging.glob("keeps-secrets-*.html"))
    tasks: list[Callable[[Browser], Iterator[Problem]]] = [
        lambda opened: judge_site(opened, axe, staging),
        *[
            lambda opened, file=file: judge_offline(opened, axe, file)
            for file in files
        ],
    ]
    # A browser each: they wait for it, so two at a time halve the time.
    with ThreadPoolExecutor(2) as pool:
        found = [one for part in pool.map(_judged, tasks) for one in part]
    reason = f"{len(site_pages(staging))} pages, {len(files)} offline files"
    return judged(found, reason)


GATE = Gate("axe-core", run, order=81)
