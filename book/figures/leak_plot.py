"""The score of one visible note, as hidden documents with its word come."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from book.press.svg import Drawing

_EVIDENCE = Path(__file__).parents[2] / "lab/evidence/leak.json"
_UNIT = 10**9


@dataclass(frozen=True)
class Words:
    """What the figure says in one language."""

    title: str
    description: str
    score: str
    hidden: str
    naive: str
    lab: str


_WORDS = {
    "en": Words(
        title="One visible score, more and more hidden documents",
        description=(
            "A chart. From left to right, {last} documents that Bob may not"
            " read are added, each holding the word layoffs. The score of"
            " Bob's own note under bm25() falls with every one of them, from"
            " {first:.2f} to {end:.2f}. Its score in the lab is {lab:.2f}"
            " throughout, a level line."
        ),
        score="score of Bob's note",
        hidden="hidden documents with the word",
        naive="bm25() under a filter",
        lab="the lab",
    ),
    "zh": Words(
        title="一个看得见的分数，越来越多看不见的文档",
        description=(
            "一张折线图。自左至右陆续加入 {last} 份 Bob 不可读、含有 layoffs "
            "一词的文档。在 bm25() 之下，Bob 自己那条笔记的分数随每一份下降，"
            "从 {first:.2f} 降到 {end:.2f}。在实验室里，分数始终是 {lab:.2f}"
            "，一条水平线。"
        ),
        score="Bob 的笔记得分",
        hidden="含有该词的不可读文档数",
        naive="bm25() 加过滤",
        lab="实验室",
    ),
}


def draw(lang: str) -> str:
    """The figure in one language, as SVG."""
    words = _WORDS[lang]
    rows = json.loads(_EVIDENCE.read_text("utf-8"))["claims"]["series"]
    naive = [row["naive"] / _UNIT for row in rows]
    lab = [row["lab"] / _UNIT for row in rows]
    last, top = rows[-1]["hidden"], 8
    drawing = Drawing(
        480,
        320,
        words.title,
        words.description.format(
            last=last, first=naive[0], end=naive[-1], lab=lab[0]
        ),
    )
    left, right, high, low = 46.0, 462.0, 40.0, 258.0

    def place(hidden: float, score: float) -> tuple[float, float]:
        x = left + (right - left) * hidden / last
        return x, low - (low - high) * score / top

    for tick in range(0, top + 1, 2):
        x, y = place(0, tick)
        drawing.line([(x, y), (right, y)], colour="muted", thick=0.5)
        drawing.label(x - 8, y + 5, str(tick), room=30, anchor="end", size=13)
    for tick in range(0, last + 1, 4):
        x, y = place(tick, 0)
        drawing.line([(x, y), (x, y + 5)], colour="muted", thick=1)
        drawing.label(x, y + 22, str(tick), room=40, size=13)
    drawing.label(
        8, 22, words.score, room=300, anchor="start", size=13, colour="muted"
    )
    drawing.label(
        (left + right) / 2, 306, words.hidden, room=400, size=13, colour="muted"
    )
    drawing.line(
        [place(n, score) for n, score in enumerate(lab)],
        colour="accent",
        thick=2.5,
    )
    drawing.line(
        [place(n, score) for n, score in enumerate(naive)],
        colour="warn",
        dashed=True,
        thick=2.5,
    )
    x, y = place(last, lab[-1])
    drawing.label(
        x, y - 9, words.lab, room=200, anchor="end", colour="accent", bold=True
    )
    x, y = place(last, naive[-1])
    drawing.label(
        x, y + 26, words.naive, room=280, anchor="end", colour="warn", bold=True
    )
    return drawing.svg()
