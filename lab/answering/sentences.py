"""Sentences of English and Chinese text, by rules one can read.

A sentence ends at a terminator together with the closing quotes and
brackets that follow it, and the source markers (``[1]``) after those. What
is code never ends one. A dot ends one unless it stands inside a number, a
name or an address, or closes an abbreviation. A blank line, a list item, a
heading, a table row and a fence end one too; a single line feed does not.
"""

from __future__ import annotations

import re

from lab.answering.code import Span, code_spans, inside, is_code
from lab.markdown import TABLE, Block, scan

# Always an end, whatever follows.
_STRONG = "。｡！？।؟"
# An end when white space, the end or an East Asian character follows.
_WEAK = ".!?"
_ELLIPSIS = "…"
_RUN = re.compile(rf"[{_STRONG}{_WEAK}{_ELLIPSIS}．]+")

_CLOSERS = frozenset("”’»」』】）〉》〕］｝〗〞＂)]}")
_TWO_WAY = "\"'*"

_CJK = "\u2e80-\u303f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_CJK += "\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
_EAST_ASIAN = re.compile(rf"[{_CJK}“‘]")

# Source numbers in brackets, but no link and no definition of a link.
MARKER = r"\[[0-9]+(?: *[,，、] *[0-9]+)*\](?!\(|:[ \t]*[^\s]{0,16}//)"
_MARKERS = re.compile(rf"(?:[ \t]*(?:\n[ \t]*)?{MARKER})+")
_NO_WORDS = re.compile(rf"(?:{MARKER}|[\W_])*")

# Never the end of a sentence: something always follows.
_OPENING = frozenset(
    """mr mrs ms dr prof st mt ft gen col capt lt sgt rep sen gov rev hon
    messrs mx e.g i.e eg ie cf vs viz approx ca al resp incl excl esp
    dept univ est""".split()
)
# Followed by a number, an abbreviation; otherwise a word.
_BEFORE_NUMBER = frozenset(
    """no nos fig figs eq sec sect ch chap vol vols p pp art para ed nr ref
    tab app ver v jan feb mar apr jun jul aug sep sept oct nov dec""".split()
)
# May close a sentence: it does when the next word is one of _STARTERS.
_EITHER = frozenset(
    """etc inc ltd co corp plc bros jr sr a.m p.m am pm u.s u.k e.u u.n
    ph.d b.sc m.sc hrs mins min max""".split()
)
_STARTERS = frozenset(
    """The This That These Those It He She They We You I A An But And Or So
    However If When While Since Because Although In On At For To From By
    As After Before There Here Then Next Also Its His Her Their Our Your
    My Please No Not All Any Each Every Some What Who Why How Where Is Are
    Was Were Do Does Did""".split()
)

_WORD_BEFORE = re.compile(
    r"[^\s()\[\]{}<>“”‘’\"'「」『』（）《》,;:，；：。]+\Z"
)
_NEXT_WORD = re.compile(r"[\s“‘\"'(\[（「『*]*([^\W_]+(?:'[^\W_]+)?)?")
_LIST_NUMBER = re.compile(r"[\s>*+•-]*[0-9]{1,9}\Z")

# What begins a line of its own in prose, though CommonMark has no such list.
_ITEM = re.compile(
    rf"[ \t]*(?:[•·][ \t]|[0-9]{{1,9}}(?:[.)](?=[\s{_CJK}])|[．、])"
    r"|[（(][一二三四五六七八九十0-9]{1,4}[)）]|[一二三四五六七八九十]{1,3}、)"
)
_WORD = re.compile(r"[^\W_]")


def sentences(text: str) -> list[str]:
    """Return the sentences of ``text`` in order, without outer blanks.

    Every letter and digit of ``text`` lies in exactly one of them; a piece
    without any (a rule, a lone ellipsis) is none. A fence is one piece.
    """
    return [text[start:end] for start, end in sentence_spans(text)]


def sentence_spans(text: str) -> list[Span]:
    """Return where the sentences stand, in code points, half-open."""
    code = code_spans(text)
    pieces: list[Span] = []
    for block in scan(text):
        if is_code(block):
            pieces.append((block.start, block.end))
            continue
        for low, high in _cut(text, block):
            pieces.extend(_split(text, low, high, code))
    trimmed = (_trim(text, start, end) for start, end in pieces)
    return [span for span in trimmed if _WORD.search(text[slice(*span)])]


def _trim(text: str, start: int, end: int) -> Span:
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    return start, max(start, start + len(piece.strip()))


def _cut(text: str, block: Block) -> list[Span]:
    """Cut a block where a line begins something of its own."""
    cuts = [block.start]
    at = block.start
    while 0 < (at := text.find("\n", at, block.end) + 1) < block.end:
        if block.kind == TABLE or _ITEM.match(text, at, block.end):
            cuts.append(at)
    return list(zip(cuts, [*cuts[1:], block.end], strict=True))


def _split(text: str, low: int, high: int, code: list[Span]) -> list[Span]:
    block = text[low:high]
    found: list[Span] = []
    start = counted = 0
    word = _next_word(block, start)
    open_marks = dict.fromkeys(_TWO_WAY, False)
    for match in _RUN.finditer(block):
        if match.start() < start or inside(code, low + match.start()):
            continue
        _count(block, counted, match.start(), open_marks, low, code)
        counted = match.start()
        end = _close(block, match.end(), open_marks)
        if not _ends(block, match, end, start):
            continue
        markers = _MARKERS.match(block, end)
        if markers:
            end = markers.end()
        if word < end:
            found.append((low + start, low + end))
            start = end
            word = _next_word(block, start)
    found.append((low + start, high))
    return found


def _next_word(block: str, start: int) -> int:
    """Return where the first letter or digit outside markers stands."""
    found = _NO_WORDS.match(block, start)
    return found.end() if found else start


def _count(
    block: str,
    start: int,
    end: int,
    open_marks: dict[str, bool],
    low: int,
    code: list[Span],
) -> None:
    """Track which straight quotes and emphasis marks stand open.

    A straight quote after a terminator closes a quotation when one is
    open and opens the next sentence when none is.
    """
    at = start
    while at < end:
        mark = block[at]
        stop = at + 1
        if mark in open_marks and not inside(code, low + at):
            while stop < end and block[stop] == mark:
                stop += 1
            if not _neither(block, at):
                open_marks[mark] = not open_marks[mark]
        at = stop


def _neither(block: str, at: int) -> bool:
    """Say whether the mark is an apostrophe, a bullet or a sign."""
    before, after = block[at - 1 : at], block[at + 1 : at + 2]
    if block[at] == "'":
        return before.isalnum() and after.isalnum()
    return block[at] == "*" and not before.strip() and after.isspace()


def _close(block: str, end: int, open_marks: dict[str, bool]) -> int:
    """Return where the closing marks after a terminator end."""
    is_open = dict(open_marks)
    while end < len(block):
        mark = block[end]
        if mark in _CLOSERS:
            end += 1
        elif is_open.get(mark):
            is_open[mark] = False
            while end < len(block) and block[end] == mark:
                end += 1
        else:
            break
    return end


def _ends(block: str, match: re.Match[str], end: int, start: int) -> bool:
    run = match[0]
    closed = end > match.end()
    if any(mark in _STRONG for mark in run):
        return True
    after = block[end : end + 1]
    if "．" in run:
        before = block[match.start() - 1 : match.start()]
        return not (_spaced(before) and _spaced(after))
    if not (
        not after
        or after.isspace()
        or _EAST_ASIAN.match(after)
        or _MARKERS.match(block, end)
    ):
        return False
    skipped = _MARKERS.match(block, end)
    found = _NEXT_WORD.match(block, skipped.end() if skipped else end)
    word = (found[1] if found else None) or ""
    if run[0] == _ELLIPSIS or (run == "." * len(run) and len(run) > 1):
        # An ellipsis is a pause unless something plainly new begins.
        return not after or (after.isspace() and not word[:1].islower())
    if closed and word[:1].islower():
        return False  # "Stop!" he said.
    if run == ".":
        return not _abbreviates(block, match.start(), start, word)
    return True


def _spaced(character: str) -> bool:
    """Say whether it is a letter or digit, full-width ones included."""
    return character.isalnum() and not (
        "\u2e80" <= character <= "\uff0f" or character >= "\uff66"
    )


def _abbreviates(block: str, dot: int, start: int, word: str) -> bool:
    if start == 0 and dot < 40 and _LIST_NUMBER.match(block[:dot]):
        return True
    found = _WORD_BEFORE.search(block[max(0, dot - 40) : dot])
    before = found[0] if found else ""
    lowered = before.lower()
    if lowered in _OPENING:
        return True
    if lowered in _BEFORE_NUMBER and word[:1].isdigit():
        return True
    if lowered in _EITHER:
        return word not in _STARTERS and bool(word)
    initials = [part for part in before.split(".") if part]
    if initials and all(len(p) == 1 and p.isalpha() for p in initials):
        if len(initials) == 1 and not before.isupper():
            return False
        return word not in _STARTERS and bool(word) and before.isascii()
    return False
