"""The assembled context: what stays the same, and what is dropped first."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from book.press.svg import Drawing

_EVIDENCE = (
    Path(__file__).parents[2] / "lab" / "evidence" / "context-budget.json"
)


@dataclass(frozen=True)
class Words:
    """What the figure says in one language."""

    title: str
    description: str
    stable: tuple[str, ...]
    beside_stable: tuple[str, ...]
    moving: tuple[str, ...]
    beside_moving: tuple[str, ...]
    passages: tuple[str, ...]
    beside_passages: tuple[str, ...]
    question: str
    beside_question: tuple[str, ...]


_WORDS = {
    "en": Words(
        title="One context, from top to bottom",
        description=(
            "A column of segments as they are sent. Instructions, tools and"
            " policy come first: the stable prefix, {stable} of {tokens} units"
            " here, the same bytes for every question. Then the note on the"
            " mark and the memory. Then the passages, best first; the last is"
            " dropped first. The question stands at the end and is never"
            " dropped."
        ),
        stable=("instructions", "tools", "policy"),
        beside_stable=("stable prefix", "{stable} of {tokens}", "same bytes"),
        moving=("note on the mark", "memory"),
        beside_moving=("new with each", "question"),
        passages=("passage 1", "passage 2", "passage 3"),
        beside_passages=("the last one", "is dropped first"),
        question="question",
        beside_question=("never dropped",),
    ),
    "zh": Words(
        title="一份上下文，自上而下",
        description=(
            "按发送次序排列的各段。最前面是指示、工具和准则，即稳定前缀，此处占"
            " {tokens} 中的 {stable}，每次提问都是同样的字节。然后是关于标记的"
            "说明和记忆。再后是段落，最好的在前，最后一个最先被丢弃。问题在末尾，"
            "绝不丢弃。"
        ),
        stable=("指示", "工具", "准则"),
        beside_stable=("稳定前缀", "{tokens} 中的 {stable}", "字节不变"),
        moving=("关于标记的说明", "记忆"),
        beside_moving=("每次提问", "都不同"),
        passages=("段落 1", "段落 2", "段落 3"),
        beside_passages=("最后一个", "最先丢弃"),
        question="问题",
        beside_question=("绝不丢弃",),
    ),
}


def draw(lang: str) -> str:
    """The figure in one language, as SVG."""
    words, numbers = _WORDS[lang], _numbers()
    drawing = Drawing(
        480, 452, words.title, words.description.format_map(numbers)
    )
    y = 8.0
    for lines, beside, colour in (
        (words.stable, words.beside_stable, "accent"),
        (words.moving, words.beside_moving, "muted"),
        (words.passages, words.beside_passages, "ink"),
        ((words.question,), words.beside_question, "ink"),
    ):
        top = y
        for number, line in enumerate(lines):
            last = lines is words.passages and number == len(lines) - 1
            drawing.box(
                8,
                y,
                220,
                38,
                (line,),
                colour="warn" if last else colour,
                size=14,
                dashed=last,
                thick=2.5 if colour == "accent" else 1.5,
            )
            y += 42
        bottom = y - 4
        drawing.line(
            [(240, top), (252, top), (252, bottom), (240, bottom)],
            colour=colour,
            thick=2,
        )
        middle = (top + bottom) / 2 - (len(beside) - 1) * 10 + 5
        for number, text in enumerate(beside):
            drawing.label(
                266,
                middle + number * 20,
                text.format_map(numbers),
                room=206,
                anchor="start",
                size=14,
                colour=colour,
                bold=number == 0 and colour == "accent",
            )
        y += 18
    return drawing.svg()


def _numbers() -> dict[str, int]:
    prefix = json.loads(_EVIDENCE.read_text("utf-8"))["claims"]["prefix"]
    return {"stable": prefix["stable"], "tokens": prefix["tokens"]}
