"""The filter before the search and after it, step by step."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from book.press.svg import Drawing

_EVIDENCE = Path(__file__).parents[2] / "lab/evidence/count-oracle.json"


@dataclass(frozen=True)
class Words:
    """What the figure says in one language."""

    title: str
    description: str
    heads: tuple[str, str]
    after: tuple[tuple[str, str], ...]
    before: tuple[tuple[str, str], ...]


_WORDS = {
    "en": Words(
        title="Filter after, filter before",
        description=(
            "Two columns of five boxes, one question: layoffs, asked by Bob."
            " On the left the filter comes last: all chunks are searched,"
            " {late_total} match, they are scored by statistics of everything,"
            " and the page is cut before the filter takes rows away; the page"
            " shows {late_shown} row and a total of {late_total}. On the right"
            " the filter comes first, and everything after it, count, score"
            " and cut, knows only what Bob may read: {lab_shown} row, total"
            " {lab_total}."
        ),
        heads=("filter after", "filter before"),
        after=(
            ("search everything", "all chunks"),
            ("count", "matches: {late_total}"),
            ("score", "statistics of all"),
            ("cut to a page", "best five of all"),
            ("filter", "{late_shown} row, total {late_total}"),
        ),
        before=(
            ("filter", "what Bob may read"),
            ("search that", "readable chunks"),
            ("count", "matches: {lab_total}"),
            ("score", "statistics of these"),
            ("cut to a page", "{lab_shown} row, total {lab_total}"),
        ),
    ),
    "zh": Words(
        title="后过滤与先过滤",
        description=(
            "两列各五个方框，同一个问题：Bob 搜索 layoffs。左列过滤在最后：检"
            "索全部片段，{late_total} 个匹配，用全体的统计量打分，先截成一页"
            "再过滤；页面显示 {late_shown} 行，总数却是 {late_total}。右列过"
            "滤在最前，其后的计数、打分与截断只知道 Bob 可读的内容："
            "{lab_shown} 行，总数 {lab_total}。"
        ),
        heads=("后过滤", "先过滤"),
        after=(
            ("检索全部", "所有片段"),
            ("计数", "{late_total} 个匹配"),
            ("打分", "全体的统计量"),
            ("截成一页", "全体中的前五"),
            ("过滤", "{late_shown} 行，总数 {late_total}"),
        ),
        before=(
            ("过滤", "Bob 可读的内容"),
            ("在其中检索", "可读的片段"),
            ("计数", "{lab_total} 个匹配"),
            ("打分", "这些片段的统计量"),
            ("截成一页", "{lab_shown} 行，总数 {lab_total}"),
        ),
    ),
}


def draw(lang: str) -> str:
    """The figure in one language, as SVG."""
    words, numbers = _WORDS[lang], _numbers()
    drawing = Drawing(
        480, 450, words.title, words.description.format_map(numbers)
    )
    width, height, gap = 210.0, 62.0, 22.0
    columns = ((8.0, words.after, 4), (262.0, words.before, 0))
    for head, (x, steps, filtering) in zip(words.heads, columns, strict=True):
        drawing.label(x + width / 2, 24, head, room=width, bold=True)
        above = None
        for number, lines in enumerate(steps):
            # Red is what has looked at more than the reader may.
            seen_all = steps is words.after and number < filtering
            box = drawing.box(
                x,
                40 + number * (height + gap),
                width,
                height,
                [line.format_map(numbers) for line in lines],
                colour="accent"
                if number == filtering
                else ("warn" if seen_all else "ink"),
                size=14,
                bold_first=True,
                dashed=seen_all,
                thick=2.5 if number == filtering else 1.5,
            )
            if above is not None:
                drawing.arrow([above.bottom, box.top])
            above = box
    return drawing.svg()


def _numbers() -> dict[str, int]:
    words = json.loads(_EVIDENCE.read_text("utf-8"))["claims"]["words"]
    (row,) = (row for row in words if row["word"] == "layoffs")
    return {
        f"{engine}_{part}": row[engine][part]
        for engine in ("late", "lab")
        for part in ("shown", "total")
    }
