"""From manuscript to resolved edition: every chapter as blocks.

``load_editions`` is the one way in. It reads and judges the whole book and
raises every fault it found at once; what it returns is complete, and no
renderer looks at the manuscript again.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from book.press import appendices, ledger, parity, sources
from book.press.blocks import (
    EXACT_KINDS,
    Block,
    Chapter,
    Edition,
    Heading,
    Part,
    make_block,
)
from book.press.chapters import Fragment, assemble
from book.press.faults import MacroError, nearest
from book.press.library import Library, open_library
from book.press.lint import Allowance, Text, allowances, lint
from book.press.macros import Captioned, Expanded, Macro, expand
from book.press.manuscript import (
    LANGUAGES,
    Page,
    Plan,
    read_page,
    read_plan,
    read_toml,
    stray_files,
)
from book.press.markup import parser
from book.press.memo import WATCHED, Memo, digest
from book.press.problems import Problem, Problems
from book.press.registry import MACROS

_HREF = re.compile(r'\shref="([^"]*)"')
_ID = re.compile(r'\sid="([^"]*)"')
_TYPED = re.compile(r'data-typed="([^"]*)">([^<]*)<')
_HAN = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af]"
)
_EMPHASIS = re.compile("<em>([^<]*)</em>")
_UNCOUNTED = EXACT_KINDS | {"figure", "formula"}


@dataclass(frozen=True)
class Loaded:
    """The editions, what was let through for a reason, what is wrong.

    With problems, editions may lack chapters and blocks.
    """

    editions: Mapping[str, Edition]
    allowances: tuple[Allowance, ...]
    problems: tuple[Problem, ...]


# What a resolved chapter depends on besides the pages.
_AROUND = (*WATCHED, "locks", "pyproject.toml")

# One written chapter, with its faults and allowances.
Resolved = tuple[Chapter, list[Problem], list[Allowance]]


def load_editions(root: Path, kept: Path | None = None) -> dict[str, Edition]:
    """Both languages, resolved; raises ``Problems`` with every fault.

    With ``kept``, chapters that were resolved before, of the same text and
    the same surroundings, come from that file, and it is written anew.
    """
    if kept is None:
        loaded = load(root)
    else:
        memo = Memo[Resolved].read(kept)
        loaded = load(root, memo=memo, stamp=digest(root, _AROUND))
        memo.write(kept)
    if loaded.problems:
        raise Problems(loaded.problems)
    return dict(loaded.editions)


def load(
    root: Path,
    macros: Mapping[str, Macro] = MACROS,
    memo: Memo[Resolved] | None = None,
    stamp: str = "",
) -> Loaded:
    """The book and everything that is wrong with it.

    ``memo`` keeps chapters between calls; ``stamp`` must then change when
    anything outside the pages does. Raises ``Problems`` only when
    ``book/book.toml`` itself is faulty.
    """
    kept: Memo[Resolved] = Memo() if memo is None else memo
    plan = read_plan(root)
    problems = stray_files(root, plan, appendices.SLUGS)
    pages: dict[tuple[str, str], Page] = {}
    unreadable: set[tuple[str, str]] = set()
    for lang in LANGUAGES:
        for slug in plan.slugs():
            if slug in appendices.SLUGS:
                continue
            try:
                pages[lang, slug] = read_page(root, lang, slug)
            except Problems as error:
                problems.extend(error.problems)
                unreadable.add((lang, slug))
    problems.extend(_version_problems(root, plan))
    library, faults = open_library(root, plan, pages)
    problems.extend(faults)
    allowed: list[Allowance] = []
    chapters: dict[tuple[str, str], Chapter] = {}
    kept.surround(stamp, pages.values())
    for (lang, slug), page in pages.items():
        chapter, found, let_through = kept.get(
            page, lambda page: _chapter(page, plan, library, macros)
        )
        chapters[lang, slug] = chapter
        problems.extend(found)
        allowed.extend(let_through)
    for lang in LANGUAGES:
        written = [
            chapters[lang, slug]
            for slug in plan.slugs()
            if (lang, slug) in chapters
        ]
        for slug in plan.slugs():
            if slug in appendices.SLUGS:
                try:
                    chapters[lang, slug] = _generated(
                        slug, lang, plan, library, written
                    )
                except MacroError as error:
                    where = f"appendix {slug} ({lang})"
                    problems.append(
                        Problem(where, 0, error.message, error.hint)
                    )
                    unreadable.add((lang, slug))
                except Problems as error:
                    problems.extend(error.problems)
                    unreadable.add((lang, slug))
    editions = {lang: _edition(lang, plan, chapters) for lang in LANGUAGES}
    problems.extend(_register_problems(library, pages, editions))
    if not unreadable:
        problems.extend(_link_problems(library, editions))
        problems.extend(parity.differences(editions).problems)
    return Loaded(editions, tuple(allowed), tuple(sorted(set(problems))))


def _chapter(
    page: Page, plan: Plan, library: Library, macros: Mapping[str, Macro]
) -> Resolved:
    """One written chapter, with its faults and allowances."""
    expanded = expand(page, library, macros)
    markdown = parser()
    tokens = markdown.parse(expanded.text)
    judged = [*tokens, *_captions(expanded, markdown)]
    text = Text(page, expanded, judged, library.terms or {})
    problems = [*expanded.problems, *lint(text)]
    problems.extend(_front_matter_problems(page, library))
    allowed = allowances(text)
    number = plan.number(page.slug)
    assembled = assemble(page, number, expanded, tokens, markdown)
    problems.extend(assembled.problems)
    blocks: list[Block] = []
    for fragment in assembled.fragments:
        try:
            ordinal = len(blocks) + 1
            blocks.append(_block(page.slug, ordinal, fragment, page.lang))
        except ValueError as error:
            problems.append(Problem(page.file, fragment.line, str(error)))
    for block in blocks:
        for reason, number_text in _TYPED.findall(block.html):
            allowed.append(
                Allowance(
                    page.file,
                    block.line,
                    f"typed {unescape(number_text)}",
                    unescape(reason),
                )
            )
    problems.extend(_duplicate_ids(page, blocks))
    chapter = _made(
        page.slug,
        page.lang,
        plan,
        (page.title, page.summary),
        blocks,
        page.contracts,
        page.experiment,
    )
    return chapter, problems, allowed


def _captions(expanded: Expanded, markdown: MarkdownIt) -> list[Token]:
    """Captions as inline tokens at their lines, for lint to judge."""
    found: list[Token] = []
    for result, line in expanded.results:
        if isinstance(result, Captioned) and result.caption:
            index = bisect.bisect_right(expanded.lines, line) - 1
            for token in markdown.parseInline(result.caption):
                token.map = [index, index + 1]
                found.append(token)
    return found


def _generated(
    slug: str,
    lang: str,
    plan: Plan,
    library: Library,
    written: Sequence[Chapter],
) -> Chapter:
    """One generated appendix."""
    made = appendices.generate(slug, lang, library, written)
    fragments = [
        Fragment("heading", f'<h1 id="{slug}">{made.title}</h1>', 0),
        *made.fragments,
    ]
    blocks = [
        _block(slug, ordinal, fragment, lang)
        for ordinal, fragment in enumerate(fragments, 1)
    ]
    return _made(slug, lang, plan, (made.title, made.summary), blocks)


def _block(slug: str, ordinal: int, fragment: Fragment, lang: str) -> Block:
    html = fragment.html
    if lang == "zh":
        html = _EMPHASIS.sub(_foreign, html)
    return make_block(slug, ordinal, fragment.kind, html, fragment.line)


def _foreign(found: re.Match[str]) -> str:
    """Emphasised words of English in Chinese text say what they are.

    They are then slanted, and not dotted below as Chinese is.
    """
    words = found[1]
    if _HAN.search(words) or not re.search("[A-Za-z]", words):
        return found[0]
    return f'<em lang="en">{words}</em>'


def _made(
    slug: str,
    lang: str,
    plan: Plan,
    words: tuple[str, str],
    blocks: Sequence[Block],
    contracts: tuple[str, ...] = (),
    experiment: str = "",
) -> Chapter:
    headings = tuple(
        Heading(int(block.html[2]), anchor[1], block.text, block.id)
        for block in blocks
        if block.kind == "heading" and (anchor := _ID.search(block.html))
    )
    prose = "\n".join(
        block.text for block in blocks if block.kind not in _UNCOUNTED
    )
    return Chapter(
        slug=slug,
        lang=lang,
        number=plan.number(slug),
        part=plan.part_of(slug).id,
        title=words[0],
        summary=words[1],
        contracts=contracts,
        experiment=experiment,
        blocks=tuple(blocks),
        headings=headings,
        words=count_words(prose),
    )


def count_words(prose: str) -> int:
    """Characters of Han, and words of everything else."""
    spaced = _HAN.sub(" ", prose)
    return len(_HAN.findall(prose)) + len(re.findall(r"\w+", spaced))


def _edition(
    lang: str, plan: Plan, chapters: Mapping[tuple[str, str], Chapter]
) -> Edition:
    metadata = plan.metadata[lang]
    parts = tuple(
        Part(
            part.id,
            part.titles[lang],
            tuple(slug for slug in part.slugs if (lang, slug) in chapters),
        )
        for part in plan.parts
        if part.slugs
    )
    return Edition(
        lang=lang,
        title=metadata["title"],
        subtitle=metadata["subtitle"],
        parts=parts,
        chapters=tuple(
            chapters[lang, slug]
            for slug in plan.slugs()
            if (lang, slug) in chapters
        ),
        metadata={
            key: value
            for key, value in metadata.items()
            if key not in ("title", "subtitle")
        },
    )


def _version_problems(root: Path, plan: Plan) -> list[Problem]:
    """The title page names the version of the project, and no other."""
    if not (root / "pyproject.toml").is_file():
        return []
    project = read_toml(root, "pyproject.toml").get("project", {})
    version = project.get("version", "")
    printed = plan.metadata[LANGUAGES[0]]["version"]
    if not version or version == printed:
        return []
    message = f"version {printed}, but pyproject.toml has {version}"
    return [Problem("book/book.toml", 0, message, "make them the same")]


def _front_matter_problems(page: Page, library: Library) -> list[Problem]:
    if not page.experiment:
        return []
    try:
        library.evidence(page.experiment)
    except MacroError as error:
        line = page.lines["experiment"]
        message = f"experiment {page.experiment}: {error.message}"
        return [Problem(page.file, line, message, error.hint)]
    return []


def _duplicate_ids(page: Page, blocks: Sequence[Block]) -> list[Problem]:
    problems: list[Problem] = []
    seen: set[str] = set()
    for block in blocks:
        for name in _ID.findall(block.html):
            if name in seen:
                message = f"the id {name!r} stands twice in this chapter"
                problems.append(Problem(page.file, block.line, message))
            seen.add(name)
    return problems


def _register_problems(
    library: Library,
    pages: Mapping[tuple[str, str], Page],
    editions: Mapping[str, Edition],
) -> list[Problem]:
    """Ledger and sources, against the chapters that use them."""
    problems: list[Problem] = []
    if library.contracts is not None:
        problems.extend(
            ledger.ledger_problems(
                library.root, library.contracts, pages.values()
            )
        )
    if library.sources is not None:
        used: dict[str, set[str]] = {}
        for edition in editions.values():
            for chapter in edition.chapters:
                if chapter.slug in appendices.SLUGS:
                    continue
                for _, href in _hrefs(chapter):
                    scheme, _, name = href.partition(":")
                    if scheme == "ks-source":
                        used.setdefault(name, set()).add(chapter.slug)
        problems.extend(sources.use_problems(library.sources, used))
    return problems


def _hrefs(chapter: Chapter) -> list[tuple[Block, str]]:
    return [
        (block, unescape(href))
        for block in chapter.blocks
        for href in _HREF.findall(block.html)
    ]


def _link_problems(
    library: Library, editions: Mapping[str, Edition]
) -> list[Problem]:
    """Every link of the book that leads to nothing."""
    problems: list[Problem] = []
    for lang, edition in editions.items():
        anchors = {
            chapter.slug: {
                name
                for block in chapter.blocks
                for name in _ID.findall(block.html)
            }
            for chapter in edition.chapters
        }
        for chapter in edition.chapters:
            generated = chapter.slug in appendices.SLUGS
            file = (
                f"appendix {chapter.slug} ({lang})"
                if generated
                else f"book/{lang}/{chapter.slug}.md"
            )
            for block, href in _hrefs(chapter):
                fault = _link_fault(href, chapter.slug, anchors, library)
                if fault:
                    message, hint = fault
                    problems.append(Problem(file, block.line, message, hint))
    return problems


def _link_fault(
    href: str,
    slug: str,
    anchors: Mapping[str, set[str]],
    library: Library,
) -> tuple[str, str] | None:
    scheme, _, rest = href.partition(":")
    if scheme == "ks":
        target, _, anchor = rest.partition("#")
        target = target or slug
        if target not in anchors:
            hint = nearest(target, sorted(anchors))
            return f"a link to {target}, which the book has not", hint
        if anchor and anchor not in anchors[target]:
            hint = nearest(anchor, sorted(anchors[target]))
            return f"a link to {target}#{anchor}, which is not there", hint
    elif scheme in appendices.HOMES and _readable(scheme, library):
        home = appendices.HOMES[scheme]
        name = rest.partition("::")[0]
        if scheme == "ks-lab" and not (library.root / name).is_file():
            return f"a link to {name}, which does not exist", ""
        if scheme == "ks-lab" and home not in anchors:
            return None
        anchor = appendices.anchor(scheme, name)
        if home not in anchors:
            message = f"a link to {rest} needs the appendix {home}"
            return message, "list it in book/book.toml"
        if anchor not in anchors[home]:
            return f"a link to {rest}, which {home} does not list", ""
    return None


def _readable(scheme: str, library: Library) -> bool:
    """Whether the register behind a scheme could be read at all."""
    registers = {
        "ks-contract": library.contracts,
        "ks-source": library.sources,
    }
    return registers.get(scheme, {}) is not None
