"""One question's fused order, worked out rank by rank."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from book.press.svg import Drawing

_EVIDENCE = Path(__file__).parents[2] / "lab/evidence/fusion-probes.json"
_ROWS = 4


@dataclass(frozen=True)
class Words:
    """What the figure says in one language."""

    title: str
    description: str
    heads: tuple[str, str, str, str]
    rank: str
    row: str
    none: str


_WORDS = {
    "en": Words(
        title="Reciprocal rank fusion, one question",
        description=(
            "A table of four chunks in fused order. {rows} The framed row is"
            " the one that answers the question: the lexical channel had it"
            " first, fusion has it second."
        ),
        heads=("chunk", "lexical", "vector", "sum"),
        rank="rank {rank}: 1/{part}",
        row="{chunk}: lexical rank {lexical}, vector rank {vector}, sum {sum}.",
        none="none",
    ),
    "zh": Words(
        title="一个问题的倒数名次融合",
        description=(
            "四个片段按融合后的次序列出。{rows}加框的一行才是问题的答案："
            "词法通道把它排在第一，融合之后是第二。"
        ),
        heads=("片段", "词法", "向量", "和"),
        rank="第 {rank} 名：1/{part}",
        row="{chunk}：词法第 {lexical} 名，向量第 {vector} 名，和为 {sum}。",
        none="无",
    ),
}


def draw(lang: str) -> str:
    """The figure in one language, as SVG."""
    words = _WORDS[lang]
    rows = _rows()
    described = [
        words.row.format(
            chunk=row["chunk"],
            lexical=row["lexical"] or words.none,
            vector=row["vector"] or words.none,
            sum=f"{row['fused']:.5f}",
        )
        for row in rows
    ]
    separator = " " if lang == "en" else ""
    drawing = Drawing(
        560,
        40 + len(rows) * 58,
        words.title,
        words.description.format(rows=separator.join(described)),
    )
    columns = ((8.0, 172.0), (196.0, 122.0), (334.0, 122.0), (472.0, 80.0))
    for (x, width), head in zip(columns, words.heads, strict=True):
        drawing.label(
            x + width / 2, 22, head, room=width, size=13, colour="muted"
        )
    for number, row in enumerate(rows):
        y = 36 + number * 58
        colour = "accent" if row["relevant"] else "ink"
        thick = 2.5 if row["relevant"] else 1.5
        texts = (
            row["chunk"],
            _share(words, row["lexical"]),
            _share(words, row["vector"]),
            f"{row['fused']:.5f}",
        )
        for place, ((x, width), text) in enumerate(
            zip(columns, texts, strict=True)
        ):
            drawing.box(
                x,
                y,
                width,
                40,
                (text,),
                colour=colour,
                size=13 if place else 12,
                thick=thick,
            )
        for (x, width), sign in zip(columns[1:3], "+=", strict=True):
            drawing.label(x + width + 8, y + 25, sign, room=16, size=14)
    return drawing.svg()


def _share(words: Words, rank: int | None) -> str:
    if rank is None:
        return words.none
    return words.rank.format(rank=rank, part=60 + rank)


def _rows() -> list[dict[str, Any]]:
    claims = json.loads(_EVIDENCE.read_text("utf-8"))["claims"]
    rows: list[dict[str, Any]] = claims["example"]["rows"]
    return rows[:_ROWS]
