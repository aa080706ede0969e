"""Recall and MRR by channel and kind of question, with their intervals."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from book.press.svg import Drawing

_EVIDENCE = Path(__file__).parents[2] / "lab/evidence/model-fixture.json"
_KINDS = ("lexical", "factual", "paraphrase", "cross-language")
_REPORTS = ("lexical", "counts_vector", "shipped_vector", "shipped_hybrid")
_COLOURS = ("ink", "muted", "accent", "warn")
_MEASURES = ("recall_at_10", "mrr_at_10")
_LEFT, _PANEL, _GAP = 112.0, 190.0, 36.0
_ROW, _HEAD, _TOP = 19.0, 25.0, 40.0


@dataclass(frozen=True)
class Words:
    """What the figure says in one language."""

    title: str
    description: str
    row: str
    measures: tuple[str, str]
    kinds: tuple[str, str, str, str]
    channels: tuple[str, str, str, str]
    questions: str


_WORDS = {
    "en": Words(
        title="Four channels, four kinds of question",
        description=(
            "A chart with two panels, recall at 10 and MRR at 10. For each"
            " kind of question four rows: a thick mark at the mean and a line"
            " over its 95 % interval. {rows}"
        ),
        row="{kind}, {channel}: MRR {mrr:.2f}, from {low:.2f} to {high:.2f}.",
        measures=("recall@10", "MRR@10"),
        kinds=("own words", "factual", "paraphrase", "other language"),
        channels=("BM25", "counts", "model", "by rank"),
        questions="{kind}, {n} questions",
    ),
    "zh": Words(
        title="四个通道，四类问题",
        description=(
            "一张图，左右两栏，分别是前 10 个的召回率与 MRR。每类问题四行："
            "粗竖线是平均值，横线是它的 95% 区间。{rows}"
        ),
        row="{kind}，{channel}：MRR {mrr:.2f}，从 {low:.2f} 到 {high:.2f}。",
        measures=("recall@10", "MRR@10"),
        kinds=("字面", "事实", "改写", "跨语言"),
        channels=("BM25", "计数", "模型", "按名次融合"),
        questions="{kind}，{n} 个问题",
    ),
}


def draw(lang: str) -> str:
    """The figure in one language, as SVG."""
    words = _WORDS[lang]
    reports = json.loads(_EVIDENCE.read_text("utf-8"))["claims"]["reports"]
    found = {
        kind: [reports[name]["by_kind"][kind] for name in _REPORTS]
        for kind in _KINDS
    }
    height = _TOP + len(_KINDS) * (_HEAD + len(_REPORTS) * _ROW) + 34
    drawing = Drawing(
        _LEFT + 2 * _PANEL + _GAP + 14,
        height,
        words.title,
        words.description.format(rows=_described(words, found, lang)),
    )
    bottom = height - 28
    for panel, heading in enumerate(words.measures):
        _axis(drawing, _start(panel), bottom, heading)
    y = _TOP
    for kind, name in zip(_KINDS, words.kinds, strict=True):
        drawing.label(
            8,
            y + 17,
            words.questions.format(kind=name, n=found[kind][0]["n"]),
            room=260,
            anchor="start",
            size=13,
            bold=True,
        )
        y += _HEAD
        for channel, colour, values in zip(
            words.channels, _COLOURS, found[kind], strict=True
        ):
            middle = y + _ROW / 2
            drawing.label(
                _LEFT - 12,
                middle + 4.5,
                channel,
                room=_LEFT - 20,
                anchor="end",
                size=13,
                colour=colour,
            )
            for panel, measure in enumerate(_MEASURES):
                _mark(drawing, _start(panel), middle, values, measure, colour)
            y += _ROW
    return drawing.svg()


def _start(panel: int) -> float:
    return _LEFT + panel * (_PANEL + _GAP)


def _axis(drawing: Drawing, x: float, bottom: float, heading: str) -> None:
    drawing.label(
        x + _PANEL / 2, 22, heading, room=_PANEL, size=13, colour="muted"
    )
    for tenths in (0, 5, 10):
        at = x + _PANEL * tenths / 10
        for kind in range(len(_KINDS)):
            # Not through the line that names the kind.
            end = _TOP + (kind + 1) * (_HEAD + len(_REPORTS) * _ROW)
            drawing.line(
                [(at, end - len(_REPORTS) * _ROW), (at, end)],
                colour="muted",
                thick=0.5,
            )
        drawing.label(at, bottom + 19, f"{tenths / 10:g}", room=34, size=13)


def _mark(
    drawing: Drawing,
    x: float,
    y: float,
    values: dict[str, Any],
    measure: str,
    colour: str,
) -> None:
    """A line over the interval with ends, and a thick mark at the mean."""
    interval = values["intervals"][measure]
    low, mean, high = (
        x + _PANEL * part
        for part in (interval["low"], values[measure], interval["high"])
    )
    drawing.line([(low, y), (high, y)], colour=colour, thick=1.5)
    for end in (low, high):
        drawing.line([(end, y - 4), (end, y + 4)], colour=colour, thick=1.5)
    drawing.line([(mean, y - 4), (mean, y + 4)], colour=colour, thick=6)


def _described(
    words: Words, found: dict[str, list[dict[str, Any]]], lang: str
) -> str:
    rows = [
        words.row.format(
            kind=name,
            channel=channel,
            mrr=values["mrr_at_10"],
            low=values["intervals"]["mrr_at_10"]["low"],
            high=values["intervals"]["mrr_at_10"]["high"],
        )
        for kind, name in zip(_KINDS, words.kinds, strict=True)
        for channel, values in zip(words.channels, found[kind], strict=True)
    ]
    return (" " if lang == "en" else "").join(rows)
