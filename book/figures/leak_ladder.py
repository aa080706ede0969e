"""Bob's yardstick: which words score like a word of his in k chunks."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from book.press.svg import Drawing, text_width

_EVIDENCE = Path(__file__).parents[2] / "lab/evidence/leak.json"
_UNIT = 10**9


@dataclass(frozen=True)
class Words:
    """What the figure says in one language."""

    title: str
    description: str
    rung: tuple[str, str]
    heads: tuple[str, str]


_WORDS = {
    "en": Words(
        title="A yardstick of nonsense words",
        description=(
            "Three rungs from top to bottom: words that score like a nonsense"
            " word which Bob wrote into one, two or three chunks. Under"
            " bm25() the words he asks about are spread over all three, by"
            " how many chunks hold them, hidden ones counted. In the lab all"
            " stand on the first rung except layoffs, which also stands in a"
            " note that Bob may read, and so is on the second."
        ),
        rung=("like zq{k}", "{k} in all"),
        heads=("bm25(), filtered", "the lab"),
    ),
    "zh": Words(
        title="用生造词做的尺子",
        description=(
            "自上而下三级：得分与 Bob 写进一个、两个、三个片段的生造词相同的"
            "词。在 bm25() 之下，他打听的词按含有它们的片段数（看不见的也算在"
            "内）散布在三级上。在实验室里，所有的词都在第一级，只有 layoffs "
            "在第二级，因为它也出现在 Bob 可读的一份纪要里。"
        ),
        rung=("同 zq{k}", "共 {k} 个"),
        heads=("bm25() 加过滤", "实验室"),
    ),
}


def draw(lang: str) -> str:
    """The figure in one language, as SVG."""
    words = _WORDS[lang]
    claims = json.loads(_EVIDENCE.read_text("utf-8"))["claims"]["words"]
    engines = [claims[key]["guesses"] for key in ("naive", "lab")]
    rungs = sorted(
        {guess["chunks"] for found in engines for guess in found.values()}
    )
    size, line, room = 13.0, 19.0, 176.0
    cells = {
        (k, column): _cell(found, k, size, room)
        for k in rungs
        for column, found in enumerate(engines)
    }
    tall = {
        k: 16 + line * max(2, *(len(cells[k, c]) for c in (0, 1)))
        for k in rungs
    }
    drawing = Drawing(
        480, 52 + sum(tall.values()), words.title, words.description
    )
    starts = (104.0, 298.0)
    for x, head in zip(starts, words.heads, strict=True):
        drawing.label(
            x, 24, head, room=room, anchor="start", size=14, bold=True
        )
    y = 40.0
    for k in rungs:
        drawing.line([(8, y), (472, y)], colour="muted", thick=1)
        for number, text in enumerate(words.rung):
            drawing.label(
                8,
                y + 22 + number * line,
                text.format(k=k),
                room=90,
                anchor="start",
                size=size,
                bold=number == 0,
                colour="muted" if number else "ink",
            )
        for column, x in enumerate(starts):
            for number, text in enumerate(cells[k, column]):
                colour = "warn" if column == 0 and k > 1 else "ink"
                drawing.label(
                    x,
                    y + 22 + number * line,
                    text,
                    room=room,
                    anchor="start",
                    size=size,
                    colour="muted" if number == 0 else colour,
                )
        y += tall[k]
    drawing.line([(8, y), (472, y)], colour="muted", thick=1)
    return drawing.svg()


def _cell(found: dict[str, Any], k: int, size: float, room: float) -> list[str]:
    """The score of a rung, then the words on it, in lines that fit."""
    words = [word for word, guess in found.items() if guess["chunks"] == k]
    if not words:
        return []
    lines = [f"{found[words[0]]['score'] / _UNIT:.3f}", ""]
    for word in words:
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and text_width(longer, size) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
