"""One mark per question: how much of its wording the answer has, and found."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from book.press.svg import Drawing

_EVIDENCE = Path(__file__).parents[2] / "lab/evidence/golden-sets.json"
_KINDS = ("lexical", "factual", "paraphrase", "cross-language")
_LEFT, _STEP, _PITCH, _ACROSS = 132.0, 40.0, 8.0, 3
_TOP, _GAP = 34.0, 18.0
_MARK = 6.0


@dataclass(frozen=True)
class Words:
    """What the figure says in one language."""

    title: str
    description: str
    row: str
    kinds: tuple[str, str, str, str]
    axis: str
    found: str
    missed: str


_WORDS = {
    "en": Words(
        title="Found by its words",
        description=(
            "A chart with one mark for each question, in a row for each kind,"
            " placed by the share of its terms that stand in the answer; full"
            " where the lexical channel found the answer, hollow where it did"
            " not. {rows}"
        ),
        row="{kind}: {found} of {n} found, mean share {mean:.2f}.",
        kinds=("own words", "factual", "paraphrase", "other language"),
        axis="share of the question's terms that stand in the answer",
        found="found",
        missed="missed",
    ),
    "zh": Words(
        title="凭用词找到",
        description=(
            "一张图，每个问题一个记号，每类一行，横向位置是问题的词项有多大"
            "比例出现在答案里；词法通道找到答案的为实心，没找到的为空心。"
            "{rows}"
        ),
        row="{kind}：{n} 个里找到 {found} 个，平均比例 {mean:.2f}。",
        kinds=("字面", "事实", "改写", "跨语言"),
        axis="问题的词项出现在答案里的比例",
        found="找到",
        missed="漏掉",
    ),
}


def draw(lang: str) -> str:
    """The figure in one language, as SVG."""
    words = _WORDS[lang]
    claims = json.loads(_EVIDENCE.read_text("utf-8"))["claims"]
    stacks = _stacks(claims["shares"]["rows"])
    tall = {
        kind: max(-(-len(some) // _ACROSS) for some in stacks[kind].values())
        for kind in _KINDS
    }
    height = _TOP + sum(tall.values()) * _PITCH + len(_KINDS) * _GAP + 50
    drawing = Drawing(
        _LEFT + 10 * _STEP + 40,
        height,
        words.title,
        words.description.format(rows=_described(words, stacks, lang)),
    )
    _legend(drawing, words)
    y = _TOP
    for kind, name in zip(_KINDS, words.kinds, strict=True):
        y += _GAP + tall[kind] * _PITCH
        drawing.label(
            _LEFT - 22, y - 2, name, room=_LEFT - 26, anchor="end", size=13
        )
        drawing.line(
            [(_LEFT - 14, y + 2), (_LEFT + 10 * _STEP + 14, y + 2)],
            colour="muted",
            thick=0.5,
        )
        for tenth, some in sorted(stacks[kind].items()):
            _stack(drawing, _LEFT + tenth * _STEP, y, some)
    for tenth in (0, 5, 10):
        drawing.label(
            _LEFT + tenth * _STEP, y + 20, f"{tenth / 10:g}", room=34, size=13
        )
    drawing.label(
        _LEFT + 5 * _STEP,
        y + 40,
        words.axis,
        room=12 * _STEP,
        size=13,
        colour="muted",
    )
    return drawing.svg()


def _stacks(rows: dict[str, Any]) -> dict[str, dict[int, list[bool]]]:
    """Whether found, found ones first, by kind and tenth of the share."""
    stacks: dict[str, dict[int, list[bool]]] = {
        kind: defaultdict(list) for kind in _KINDS
    }
    for row in rows.values():
        stacks[row["kind"]][int(row["share"] * 10 + 0.5)].append(row["found"])
    for kind in _KINDS:
        for some in stacks[kind].values():
            some.sort(reverse=True)
    return stacks


def _stack(drawing: Drawing, x: float, bottom: float, some: list[bool]) -> None:
    for place, found in enumerate(some):
        up, across = divmod(place, _ACROSS)
        wide = min(_ACROSS, len(some))
        left = x + (across - (wide - 1) / 2) * _PITCH - _MARK / 2
        _mark(drawing, left, bottom - (up + 1) * _PITCH + 1, found)


def _mark(drawing: Drawing, x: float, y: float, found: bool) -> None:
    if found:
        middle = y + _MARK / 2
        drawing.line(
            [(x, middle), (x + _MARK, middle)], colour="accent", thick=_MARK
        )
    else:
        drawing.box(x, y, _MARK, _MARK, colour="muted", thick=1)


def _legend(drawing: Drawing, words: Words) -> None:
    x = _LEFT
    for found, text in ((True, words.found), (False, words.missed)):
        _mark(drawing, x, 14, found)
        drawing.label(x + 14, 22, text, room=70, anchor="start", size=13)
        x += 90


def _described(
    words: Words, stacks: dict[str, dict[int, list[bool]]], lang: str
) -> str:
    claims = json.loads(_EVIDENCE.read_text("utf-8"))["claims"]
    rows = []
    for kind, name in zip(_KINDS, words.kinds, strict=True):
        every = [found for some in stacks[kind].values() for found in some]
        rows.append(
            words.row.format(
                kind=name,
                found=every.count(True),
                n=len(every),
                mean=claims["wording"][kind]["mean"],
            )
        )
    return (" " if lang == "en" else "").join(rows)
