"""The online book: our pages in MkDocs Material's frame.

Chapters become finished HTML here; MkDocs puts its frame around them in a
process of its own; then the site gets what MkDocs knows nothing of: the
root page, the search index, the lab's files, the downloads, and a content
security policy that names each inline script by its hash.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata as installed
from pathlib import Path
from typing import Any, Final

import jinja2
from lxml import etree
from markupsafe import Markup

from book.press import site_config, site_search
from book.press.blocks import Chapter, Edition
from book.press.context import BuildContext
from book.press.landing import (
    Download,
    downloads,
    landing_html,
    landing_words,
)
from book.press.links import SITE, LinkError, Resolver, localise
from book.press.problems import Problem, Problems
from book.press.scripts import with_ranking
from book.press.site_config import Frame
from book.press.xhtml import (
    escape,
    escape_attribute,
    mark_lines,
    serialise,
    text_of,
)

START: Final = "<!-- blocks:start -->"
END: Final = "<!-- blocks:end -->"

_TEMPLATES: Final = Path("site_templates/site")
_POLICY: Final = "@@CSP@@"
_INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
_INLINE_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)

# A figure or a table from evidence says so: NAME, or NAME:where in it.
_EVIDENCE = re.compile(r'data-(?:evidence|value)="([^":]+)[":]')

# Characters two columns wide; columns of text with them line up only in a
# font made for both.
_WIDE = re.compile(r"[\u3000-\u30ff\u3400-\u9fff\uac00-\ud7a3\uff00-\uffef]")

# Punctuation no line may begin with.
_STOPS = re.compile(r"[,.;:!?)\]}\u2019\u201d，。；：！？、）】》」』]+")

# Words (characters, in Chinese) read in a minute, code read more slowly.
_PACE: Final = {"en": 220, "zh": 400}

# What MkDocs and Material ship that no page of ours loads.
_UNUSED: Final = (
    "assets/javascripts",
    "assets/images",
    "sitemap.xml",
    "sitemap.xml.gz",
)


def render(
    editions: Mapping[str, Edition], staging: Path, context: BuildContext
) -> None:
    """Write the site of all editions into ``staging/site``.

    Comes after every other output: their files in ``staging`` are offered
    for download. Raises ``Problems`` for links that lead nowhere and for
    whatever MkDocs complains of.
    """
    site = staging / "site"
    if site.exists():
        shutil.rmtree(site)
    templates = context.root / _TEMPLATES
    words = tomllib.loads((templates / "words.toml").read_text("utf-8"))
    frames = [Frame(edition, words[lang]) for lang, edition in editions.items()]
    site_url = frames[0].edition.metadata.get("site_url", "")
    pages = _Pages(frames, templates, downloads(staging), _lab_folder(context))
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        pages.write(work)
        config = site_config.mkdocs_config(
            frames,
            theme_dir=templates / "theme",
            hook=Path(__file__).with_name("site_hook.py"),
            docs_dir=work / "docs",
            site_dir=site,
            site_url=site_url,
        )
        context.progress("site: MkDocs")
        _mkdocs(config, work, context)
    _trim(site)
    _assets(site, templates)
    (site / "index.html").write_text(pages.root(site_url), "utf-8")
    site_search.write_indexes(site / "search", editions)
    _lab_files(site / "lab", staging, context)
    folder = site / "downloads"
    for file in pages.files:
        folder.mkdir(exist_ok=True)
        shutil.copyfile(file.path, folder / file.path.name)
    if site_url:
        (site / "sitemap.xml").write_text(_sitemap(site, site_url), "utf-8")
    for page in sorted(site.rglob("*.html")):
        if "downloads" not in page.relative_to(site).parts:
            _protect(page)


@dataclass(frozen=True)
class Fact:
    """One line of what holds a chapter up: a label and its links."""

    label: str
    links: tuple[tuple[str, str], ...]


class _Pages:
    """Our own HTML: chapters, title pages, the root page."""

    def __init__(
        self,
        frames: Sequence[Frame],
        templates: Path,
        files: Sequence[Download],
        lab_folder: str,
    ) -> None:
        self.frames = frames
        self.files = files
        self._templates = templates
        self._lab_folder = lab_folder
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(templates / "pages"),
            undefined=jinja2.StrictUndefined,
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._landing = landing_words(templates)

    def write(self, work: Path) -> None:
        """Stubs for MkDocs, and the finished pages the hook answers with."""
        problems: list[Problem] = []
        for frame in self.frames:
            edition = frame.edition
            resolver = Resolver(edition, SITE)
            self._page(
                work,
                frame,
                "index",
                edition.title,
                edition.metadata["description"],
                landing_html(
                    self._environment,
                    edition,
                    frame.words,
                    self._landing[frame.lang],
                    self.files,
                    self._lab_folder,
                ),
                [],
            )
            for chapter in edition.chapters:
                try:
                    html = self._chapter(frame, chapter, resolver)
                except LinkError as error:
                    problems.append(
                        Problem(f"{frame.lang}/{chapter.slug}", 0, str(error))
                    )
                    continue
                self._page(
                    work,
                    frame,
                    chapter.slug,
                    site_config.printed_title(chapter),
                    chapter.summary,
                    html,
                    [(one.level, one.id, one.text) for one in chapter.headings],
                )
        if problems:
            raise Problems(problems)

    def _page(
        self,
        work: Path,
        frame: Frame,
        slug: str,
        title: str,
        description: str,
        html: str,
        headings: list[tuple[int, str, str]],
    ) -> None:
        stub = work / "docs" / site_config.source_path(frame.lang, slug)
        stub.parent.mkdir(parents=True, exist_ok=True)
        stub.write_text(
            site_config.stub(frame.lang, slug, title, description), "utf-8"
        )
        fragment = work / "fragments" / frame.lang / slug
        fragment.parent.mkdir(parents=True, exist_ok=True)
        fragment.with_name(f"{slug}.html").write_text(html, "utf-8")
        fragment.with_name(f"{slug}.json").write_text(
            json.dumps(headings, ensure_ascii=False), "utf-8"
        )

    def _chapter(
        self, frame: Frame, chapter: Chapter, resolver: Resolver
    ) -> str:
        blocks = [
            _block_html(block.html, chapter.slug, resolver, frame.words)
            for block in chapter.blocks
        ]
        minutes = max(1, round(chapter.words / _PACE[frame.lang]))
        part = next(
            part for part in frame.edition.parts if part.id == chapter.part
        )
        facts = [
            {
                "label": fact.label,
                "links": [
                    {"href": resolver(href, chapter.slug), "text": text}
                    for href, text in fact.links
                ],
            }
            for fact in chapter_facts(chapter, frame.words)
        ]
        return self._environment.get_template("chapter.html").render(
            blocks=Markup("\n".join(blocks)),
            number=chapter.number,
            part=part.title,
            minutes=frame.words["minutes"].format(n=minutes),
            facts=facts,
            words=frame.words,
        )

    def root(self, site_url: str) -> str:
        """The page at the top, which offers the languages."""
        early = self._templates / "theme/partials/javascripts/base.html"
        script = _INLINE_SCRIPT.search(early.read_text("utf-8"))
        assert script is not None
        return self._environment.get_template("root.html").render(
            editions=[
                {
                    "lang": frame.lang,
                    "hreflang": frame.hreflang,
                    "title": frame.edition.title,
                    "subtitle": frame.edition.subtitle,
                    "description": frame.edition.metadata["description"],
                    "enter": self._landing[frame.lang]["enter"],
                }
                for frame in self.frames
            ],
            site_url=site_url,
            early_script=Markup(script[0]),
        )


def chapter_facts(chapter: Chapter, words: Mapping[str, str]) -> list[Fact]:
    """What holds a chapter up: its contracts, evidence and tests.

    Taken from its front matter and from every reference in its text, each
    once, in the order of first mention.
    """
    contracts = dict.fromkeys(f"ks-contract:{one}" for one in chapter.contracts)
    evidence: dict[str, None] = {}
    tests: dict[str, None] = {}
    if chapter.experiment:
        evidence[f"ks-evidence:{chapter.experiment}"] = None
    if not chapter.number.isalpha():
        for block in chapter.blocks:
            for name in _EVIDENCE.findall(block.html):
                evidence[f"ks-evidence:{name}"] = None
            for href in re.findall(r'href="(ks-[^"]+)"', block.html):
                if href.startswith("ks-evidence:"):
                    evidence[href] = None
                elif href.startswith("ks-lab:tests/"):
                    tests[href] = None
    found = (
        (words["contracts"], contracts),
        (words["evidence"], evidence),
        (words["tests"], tests),
    )
    return [
        Fact(
            label,
            tuple((href, href.partition(":")[2]) for href in references),
        )
        for label, references in found
        if references
    ]


def _block_html(
    html: str, slug: str, resolver: Resolver, words: Mapping[str, str]
) -> str:
    root = localise(html, slug, resolver)
    mark_lines(root)
    if root.tag in ("h2", "h3", "h4"):
        _add_anchor(root, words["link_here"])
    # What scrolls sideways must be reachable by keyboard, with a name.
    for element in root.iter("pre"):
        _scrolls(element, words["scroll_code"])
        if _WIDE.search(text_of(element)):
            element.set("class", "ks-wide")
    for element in list(root.iter("table")):
        box = etree.Element("div", {"class": "ks-scroll"})
        _scrolls(box, words["scroll_label"])
        element.addprevious(box)
        box.append(element)
    for math in list(root.iter("{*}math")):
        _keep_with_stop(math)
    if root.get("class") == "formula":
        _scrolls(root, words["scroll_formula"])
    return serialise(root)


def _add_anchor(heading: etree._Element, label: str) -> None:
    etree.SubElement(
        heading,
        "a",
        {
            "class": "headerlink",
            "href": f"#{heading.get('id')}",
            "data-chrome": "1",
            "aria-label": label,
        },
    ).text = "#"


def _keep_with_stop(math: etree._Element) -> None:
    """Let no line begin with the punctuation that follows a formula.

    A formula is an object to the line breaker, which breaks on both sides.
    """
    stop = _STOPS.match(math.tail or "")
    parent = math.getparent()
    if stop is None or parent is None:
        return
    rest = (math.tail or "")[stop.end() :]
    box = etree.Element("span", {"class": "ks-keep"})
    math.addprevious(box)
    box.append(math)
    math.tail = stop[0]
    box.tail = rest


def _scrolls(element: etree._Element, label: str) -> None:
    element.set("tabindex", "0")
    element.set("role", "group")
    element.set("aria-label", label)


def _mkdocs(
    config: Mapping[str, Any], work: Path, context: BuildContext
) -> None:
    # JSON is YAML, and needs no care about quoting.
    file = work / "mkdocs.yml"
    file.write_text(json.dumps(config, ensure_ascii=False), "utf-8")
    environment = {
        **os.environ,
        "SOURCE_DATE_EPOCH": str(context.source_date_epoch),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUTF8": "1",
    }
    ran = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(file)],
        cwd=work,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode:
        said = [
            line
            for line in ran.stderr.splitlines()
            if line.startswith(("WARNING", "ERROR")) or "Error" in line
        ]
        message = "MkDocs stopped: " + "; ".join(said or [ran.stderr[-2000:]])
        raise Problems([Problem("site", 0, message)])


def _trim(site: Path) -> None:
    """Drop what no page of ours loads."""
    for name in _UNUSED:
        path = site / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    styles = site / "assets/stylesheets"
    for path in sorted(styles.iterdir()):
        if path.suffix == ".map" or path.name.startswith("palette."):
            path.unlink()
            continue
        text = path.read_text("utf-8")
        text = re.sub(r"/\*# sourceMappingURL=\S+ \*/\n?|/\*# .*?\*/", "", text)
        path.write_text(text, "utf-8")


def _assets(site: Path, templates: Path) -> None:
    """Our styles, script and icon, and the licence of Material's styles."""
    folder = site / "assets"
    shutil.copyfile(templates / "assets/favicon.svg", folder / "favicon.svg")
    script = (templates / "assets/site.js").read_text("utf-8")
    (folder / "site.js").write_text(
        with_ranking(script, templates.parent), "utf-8", newline="\n"
    )
    (folder / "book.css").write_text(stylesheet(templates), "utf-8")
    licence = installed.distribution("mkdocs-material").read_text(
        "licenses/LICENSE"
    )
    (folder / "stylesheets/LICENSE.txt").write_text(licence or "", "utf-8")


def stylesheet(templates: Path) -> str:
    """The book's styles; the dark colours stand in them twice.

    Once for readers whose system is dark and who have not pressed the
    button, once for those who have.
    """
    text = (templates / "assets/book.css").read_text("utf-8")
    dark = (templates / "assets/dark.css").read_text("utf-8")
    return text.replace("/* dark.css */", dark.strip())


def _lab_folder(context: BuildContext) -> str:
    name = context.lab_zip.name if context.lab_zip else "keeps-secrets-lab.zip"
    return name.removesuffix(".zip")


def _lab_files(folder: Path, staging: Path, context: BuildContext) -> None:
    """Copies of the lab's text files, for reading in the browser."""
    if context.lab_zip is None:
        return
    with zipfile.ZipFile(staging / context.lab_zip.name) as archive:
        for member in archive.infolist():
            path = member.filename.partition("/")[2]
            if member.is_dir() or not path:
                continue
            try:
                text = archive.read(member).decode("utf-8")
            except UnicodeDecodeError:
                continue
            if "\0" in text:
                continue
            copy = folder / f"{path}.txt"
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(text.encode("utf-8"))


def _sitemap(site: Path, site_url: str) -> str:
    pages = sorted(
        path.relative_to(site).as_posix()
        for path in site.rglob("*.html")
        if path.name != "404.html" and "downloads" not in path.parts
    )
    urls = "".join(
        f"<url><loc>{escape(site_url + page)}</loc></url>\n" for page in pages
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        f"{urls}</urlset>\n"
    )


def _protect(page: Path) -> None:
    """Put the content security policy where the page has a place for it."""
    html = page.read_text("utf-8")
    if html.count(_POLICY) != 1:
        raise Problems(
            [Problem(f"site/{page.name}", 0, "has no place for its policy")]
        )
    policy = escape_attribute(content_policy(html))
    page.write_text(html.replace(_POLICY, policy), "utf-8")


def content_policy(html: str) -> str:
    """A policy that lets this page run its own scripts, and nothing else.

    Drawings carry style attributes; no style element may be added.
    """
    scripts = ["'self'", *_hashes(_INLINE_SCRIPT, html)]
    styles = ["'self'", *_hashes(_INLINE_STYLE, html)]
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {' '.join(scripts)}",
            f"style-src {' '.join(styles)}",
            "style-src-attr 'unsafe-inline'",
            "img-src 'self' data:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _hashes(pattern: re.Pattern[str], html: str) -> list[str]:
    found = dict.fromkeys(match[1] for match in pattern.finditer(html))
    return [
        "'sha256-"
        + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        + "'"
        for text in found
    ]
