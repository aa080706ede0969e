"""Where a Markdown text is code, and so neither prose nor a source marker.

Blocks come from the one scanner of blocks; code spans follow CommonMark: as
many backticks close one as opened it, within the same block. Offsets are
code points, half-open.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict

from lab.markdown import FENCE, INDENTED, Block, scan

Span = tuple[int, int]

_TICKS = re.compile(r"`+")


def is_code(block: Block) -> bool:
    """Say whether the whole block is code."""
    return block.kind in (FENCE, INDENTED)


def code_spans(text: str) -> list[Span]:
    """Return where ``text`` is code: blocks and spans, marks included."""
    found: list[Span] = []
    for block in scan(text):
        if is_code(block):
            found.append((block.start, block.end))
        else:
            found.extend(_paired(text, block.start, block.end))
    return found


def code_blocks(text: str) -> list[Span]:
    """Return where ``text`` is code by the block: fenced or indented."""
    return [(b.start, b.end) for b in scan(text) if is_code(b)]


def inside(spans: list[Span], position: int) -> bool:
    """Say whether ``position`` lies in one of the sorted ``spans``."""
    at = bisect_left(spans, (position + 1, -1)) - 1
    return at >= 0 and position < spans[at][1]


def _paired(text: str, low: int, high: int) -> list[Span]:
    runs = [m.span() for m in _TICKS.finditer(text, low, high)]
    by_length: dict[int, list[int]] = defaultdict(list)
    for start, end in runs:
        by_length[end - start].append(start)
    found = []
    at = low
    for start, end in runs:
        if start < at:
            continue
        # A backslash takes the first backtick out of an opening run; inside
        # code it is a character like any other, so closing runs keep theirs.
        first = start + _escaped(text, low, start)
        same = by_length.get(end - first, [])
        after = bisect_right(same, start)
        if first < end and after < len(same):
            at = same[after] + end - first
            found.append((first, at))
    return found


def _escaped(text: str, low: int, at: int) -> bool:
    slashes = at
    while slashes > low and text[slashes - 1] == "\\":
        slashes -= 1
    return (at - slashes) % 2 == 1
