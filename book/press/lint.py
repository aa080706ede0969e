"""Lint: what a chapter must not contain, as a list of named passes.

Each pass looks at the tokens of one chapter, in one language, and yields
every fault with its line. It does not judge what macros name (they do),
links inside the book (checked once all chapters are known), or whether the
languages agree (parity).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from markdown_it.token import Token

from book.press.glossary import Term
from book.press.highlighting import MAX_COLUMNS, columns, knows
from book.press.macros import PLACEHOLDER, Expanded
from book.press.manuscript import Page
from book.press.markup import HEADING_ID, book_link, tokens_with_lines
from book.press.problems import Problem

# Fences in these languages need no reason: they are data, or commands.
FREE_LANGUAGES: Final = frozenset(
    "text sh json jsonl toml ini markdown html http yaml".split()
)
_UNWOVEN = re.compile(r'(\S+)(?:\s+unwoven="([^"]+)")?')
_ANCHOR = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_FOOTNOTE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
# Stands for code, formulas and placeholders where prose is judged.
_HOLE = "\N{OBJECT REPLACEMENT CHARACTER}"

_NUMBER = re.compile(
    r"(?<![\w.,])(?:"
    r"\d+(?:\.\d+)?\s?(?:%|‰|percent\b|个百分点)"
    r"|\d+(?:[.,]\d+)?\s?(?:ms|µs|μs|milliseconds?|microseconds?|seconds?"
    r"|minutes?|[KMG]i?B|qps)\b"
    r"|\d+(?:\.\d+)?\s?(?:毫秒|微秒|秒|分钟|倍)"
    r"|\d+(?:\.\d+)?\s(?:times|x)\s(?:faster|slower|more|less|as)\b"
    r"|\d*\.\d+(?![\w.])"
    r")"
)
_METRIC = re.compile(
    r"\b(?:recall|precision|MRR|nDCG|R@\d+|F1|accurac\w+|latenc\w+"
    r"|throughput|p50|p95|p99|median|mean|averag\w+|hit rate|faster|slower"
    r"|speed\w*|takes|took|measur\w+|score[sd]?)\b"
    r"|召回|精确率|准确率|命中率|延迟|时延|吞吐|中位|平均|得分|更快|更慢"
    r"|耗时|测得|花了"
    r"|MRR|nDCG",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|[。！？；]")


@dataclass(frozen=True)
class Allowance:
    """A fence or number let through for a stated reason."""

    file: str
    line: int
    what: str
    reason: str


@dataclass(frozen=True)
class Text:
    """A chapter after its macros, parsed; what every pass looks at."""

    page: Page
    expanded: Expanded
    tokens: Sequence[Token]
    terms: Mapping[str, Term]

    def problem(self, line: int, message: str, hint: str = "") -> Problem:
        """A fault at a line of the expanded text, from 0."""
        place = self.expanded.line(line)
        return Problem(self.page.file, place, message, hint)


def lint(text: Text) -> list[Problem]:
    """Every fault of one chapter."""
    return [problem for check in CHECKS for problem in check(text)]


def allowances(text: Text) -> list[Allowance]:
    """The fences that are not woven, with the reasons given."""
    found: list[Allowance] = []
    for token in text.tokens:
        if token.type == "fence" and token.map is not None:
            language, reason = fence_language(token)
            if reason:
                line = text.expanded.line(token.map[0])
                found.append(
                    Allowance(text.page.file, line, f"{language} fence", reason)
                )
    return found


def fence_language(token: Token) -> tuple[str, str]:
    """A fence's language, and why it is not woven; ``""`` for neither."""
    found = _UNWOVEN.fullmatch(token.info.strip())
    return (found[1], found[2] or "") if found else ("", "")


def check_headings(text: Text) -> Iterator[Problem]:
    """Levels 2 to 4, none skipped, each with an ASCII id of its own."""
    level = 1
    seen: dict[str, int] = {}
    for token, inner in zip(text.tokens, text.tokens[1:], strict=False):
        if token.type != "heading_open" or token.map is None:
            continue
        line = token.map[0]
        depth = int(token.tag[1])
        if token.level:
            yield text.problem(
                line, "a heading inside a list, quote or note", "take it out"
            )
        if depth == 1 or depth > 4:
            yield text.problem(
                line,
                f"a heading of level {depth}",
                "the title is in the front matter; use ## to ####",
            )
        elif depth > level + 1:
            yield text.problem(
                line, f"a heading of level {depth} follows one of {level}"
            )
        level = depth
        found = HEADING_ID.search(inner.content)
        if found is None:
            yield text.problem(
                line,
                f"heading without an id: {inner.content!r}",
                "end it with {#short-ascii-id}",
            )
            continue
        name = found[1]
        if not _ANCHOR.fullmatch(name) or name.startswith(("fn-", "fnref-")):
            yield text.problem(
                line,
                f"heading id {name!r}",
                "lower-case ASCII words joined by hyphens, not fn-…",
            )
        if name in seen or name == text.page.slug:
            yield text.problem(line, f"heading id {name!r} stands twice")
        seen[name] = line


def check_raw_html(text: Text) -> Iterator[Problem]:
    """No raw HTML, in blocks or in lines."""
    hint = "write it in Markdown, or as code"
    for token in text.tokens:
        if token.type == "html_block" and token.map is not None:
            shown = token.content.strip().split("\n")[0]
            yield text.problem(token.map[0], f"raw HTML: {shown}", hint)
    for token, line in tokens_with_lines(text.tokens):
        if token.type == "html_inline":
            yield text.problem(line, f"raw HTML: {token.content}", hint)


def check_rules(text: Text) -> Iterator[Problem]:
    """No horizontal rules: headings part a chapter."""
    for token in text.tokens:
        if token.type == "hr" and token.map is not None:
            yield text.problem(
                token.map[0], "a horizontal rule", "use a heading"
            )


def check_images(text: Text) -> Iterator[Problem]:
    """No images in Markdown, remote ones least of all."""
    for token, line in tokens_with_lines(text.tokens):
        if token.type == "image":
            source = str(token.attrGet("src") or "")
            remote = "remote " if re.match(r"(https?:)?//", source) else ""
            yield text.problem(
                line, f"an image: {remote}{source}", "draw it: figure(…)"
            )


def check_links(text: Text) -> Iterator[Problem]:
    """Links lead into the book; sources go through ``source``."""
    for token, line in tokens_with_lines(text.tokens):
        if token.type != "link_open":
            continue
        href = book_link(str(token.attrGet("href") or ""))
        if not href.startswith("ks"):
            yield text.problem(
                line,
                f"a link to {href or 'nothing'}",
                'cite the outside by source("…"), link by chapter("…")',
            )


def check_fences(text: Text) -> Iterator[Problem]:
    """Fences name a language, are woven or say why not, and fit."""
    for token in text.tokens:
        if token.type not in ("fence", "code_block") or token.map is None:
            continue
        line = token.map[0]
        language, reason = fence_language(token)
        if not language:
            yield text.problem(
                line,
                "code without a language, or an info string not understood",
                'use ```text, or ```python unwoven="why it is typed"',
            )
        elif not knows(language):
            yield text.problem(line, f"unknown language {language!r}")
        elif language not in FREE_LANGUAGES and not reason:
            yield text.problem(
                line,
                f"a {language} fence that is not woven",
                'use listing(…) or transcript(…), or say unwoven="why"',
            )
        if token.content.startswith("\n"):
            yield text.problem(line, "a fence begins with an empty line")
        for number, code in enumerate(token.content.split("\n"), 1):
            if columns(code) > MAX_COLUMNS:
                yield text.problem(
                    line + number,
                    f"a code line of {columns(code)} columns",
                    f"at most {MAX_COLUMNS} fit an e-reader",
                )


def check_emphasis(text: Text) -> Iterator[Problem]:
    """No mark of emphasis that stays literal, as next to ``，``."""
    for token, line in tokens_with_lines(text.tokens):
        if token.type != "text":
            continue
        stray = re.search(
            r"\*+|(?<![^\W_])_+(?=\S)|(?<=\S)_+(?![^\W_])", token.content
        )
        if stray:
            start = max(0, stray.start() - 8)
            shown = token.content[start : stray.end() + 8]
            yield text.problem(
                line,
                f"emphasis that does not work: …{shown}…",
                "set the marks next to letters, punctuation outside;"
                " a literal mark is code",
            )


def check_soft_breaks(text: Text) -> Iterator[Problem]:
    """No line break next to wide characters: it would print a space."""
    for inline in text.tokens:
        if inline.type != "inline" or inline.map is None:
            continue
        children = inline.children or []
        line = inline.map[0]
        for number, token in enumerate(children):
            if token.type != "softbreak":
                line += token.content.count("\n")
                continue
            before = _edge(children[:number][::-1], -1)
            after = _edge(children[number + 1 :], 0)
            wide = _is_wide(before) and _is_wide(after)
            marks = _is_wide_mark(before) or _is_wide_mark(after)
            if wide or marks:
                yield text.problem(
                    line,
                    f"a line break between {before!r} and {after!r}",
                    "keep a Chinese paragraph on one line",
                )
            line += 1


def check_leftovers(text: Text) -> Iterator[Problem]:
    """No directive, reference or attribute that was not understood."""
    patterns = [
        (r"^\s*:::+.*", "a note that is not understood"),
        (r"\{[{%]|[}%]\}", "a macro that is not understood"),
        (r"\[\^[^\]]*\]", "a footnote that is not defined"),
        (r"\]\[[^\]]*\]|\]\([^)]*\)", "a link that is not understood"),
        (r"\{[#.][^}]*\}", "attributes that attach to nothing"),
        (r"\$\S[^$]*\$", "a formula that is not understood"),
    ]
    for token, line in tokens_with_lines(text.tokens):
        if token.type != "text":
            continue
        content = HEADING_ID.sub("", token.content)
        for pattern, what in patterns:
            found = re.search(pattern, content)
            if found:
                yield text.problem(line, f"{what}: {found.group()}")


def check_notes(text: Text) -> Iterator[Problem]:
    """Every note is closed: an open one would take the rest along."""
    opened: list[Token] = []
    for token in text.tokens:
        if token.type == "container_note_open" and token.map is not None:
            opened.append(token)
            lines = text.expanded.text.split("\n")
            end = min(token.map[1], len(lines) - 1)
            closing = [line.strip() for line in lines[end - 1 : end + 1]]
            if not any(re.fullmatch(r":::+", line) for line in closing):
                yield text.problem(
                    token.map[0], "a note without its closing :::"
                )


def check_footnotes(text: Text) -> Iterator[Problem]:
    """Footnotes have ASCII names, are used, and hold text only."""
    used: set[str] = set()
    inside = ""
    for token in text.tokens:
        if token.type == "footnote_open":
            inside = str(token.meta["label"])
            used.add(inside)
        elif token.type == "footnote_close":
            inside = ""
        elif inside and token.map is not None and token.level <= 2:
            simple = ("paragraph_open", "inline")
            if token.type not in simple:
                yield text.problem(
                    token.map[0],
                    f"footnote {inside} holds more than text",
                    "move it into the chapter",
                )
    for number, line in enumerate(text.expanded.text.split("\n")):
        found = re.match(r" {0,3}\[\^([^\]]+)\]:", line)
        if found is None:
            continue
        if not _FOOTNOTE.fullmatch(found[1]):
            yield text.problem(
                number, f"footnote {found[1]!r}", "name it in ASCII, a-z 0-9 -"
            )
        elif found[1] not in used and not _in_fence(text, number):
            yield text.problem(number, f"footnote {found[1]} is never used")


def check_typed_numbers(text: Text) -> Iterator[Problem]:
    """No measured-looking number that was typed by hand."""
    for sentence, line in _sentences(text):
        for number in _NUMBER.finditer(sentence):
            start = max(0, number.start() - 60)
            around = sentence[start : number.end() + 60]
            metric = _METRIC.search(around)
            if metric:
                yield text.problem(
                    line,
                    f"{number.group()!r} next to {metric.group()!r} is typed"
                    " by hand",
                    "use value(…), or typed(…) with the reason",
                )
                break


def check_terms(text: Text) -> Iterator[Problem]:
    """No word the glossary says to avoid."""
    patterns = [
        (term, word, _word_pattern(word, text.page.lang))
        for term in text.terms.values()
        for word in term.avoid.get(text.page.lang, ())
    ]
    if not patterns:
        return
    for sentence, line in _sentences(text):
        for term, word, pattern in patterns:
            if pattern.search(sentence):
                wanted = term.word[text.page.lang]
                yield text.problem(
                    line, f"{word!r} is not our word", f"write {wanted!r}"
                )


CHECKS: Final = (
    check_headings,
    check_raw_html,
    check_rules,
    check_images,
    check_links,
    check_fences,
    check_emphasis,
    check_soft_breaks,
    check_leftovers,
    check_notes,
    check_footnotes,
    check_typed_numbers,
    check_terms,
)


def _sentences(text: Text) -> Iterator[tuple[str, int]]:
    """Prose, sentence by sentence, with the line each begins on."""
    for inline in text.tokens:
        if inline.type != "inline" or inline.map is None:
            continue
        prose = ""
        for token in inline.children or []:
            if token.type in ("softbreak", "hardbreak"):
                prose += "\n"
            elif token.type in ("text", "text_special"):
                prose += PLACEHOLDER.sub(_HOLE, token.content)
            elif token.type in ("code_inline", "math_inline"):
                prose += _HOLE + "\n" * token.content.count("\n")
        begin = 0
        ends = [found.end() for found in _SENTENCE_END.finditer(prose)]
        for end in [*ends, len(prose)]:
            sentence = prose[begin:end]
            if sentence.strip():
                line = inline.map[0] + prose.count("\n", 0, begin)
                yield sentence.replace("\n", " "), line
            begin = end


def _word_pattern(word: str, lang: str) -> re.Pattern[str]:
    if lang == "en":
        return re.compile(rf"\b{re.escape(word)}\b", re.IGNORECASE)
    return re.compile(re.escape(word))


def _edge(tokens: Sequence[Token], side: int) -> str:
    """The first (or last) visible character of a run of tokens."""
    for token in tokens:
        if token.type in ("softbreak", "hardbreak"):
            return " "
        shown = PLACEHOLDER.sub(_HOLE, token.content).strip()
        if shown:
            return shown[side]
    return " "


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"


def _is_wide_mark(character: str) -> bool:
    """Full-width punctuation, and the dashes and quotes of Chinese."""
    return _is_wide(character) and not unicodedata.category(
        character
    ).startswith(("L", "N"))


def _in_fence(text: Text, line: int) -> bool:
    return any(
        token.map is not None and token.map[0] <= line < token.map[1]
        for token in text.tokens
        if token.type in ("fence", "code_block")
    )
