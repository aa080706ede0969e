"""A saved line, its projection, and one span on three rulers."""

from __future__ import annotations

from dataclasses import dataclass

from book.press.svg import Drawing
from lab.text import project, to_utf16

# As an editor saved it: a mark in front, the accent apart, CRLF at the end.
SAVED = "\ufeffCafe\u0301 𠮷野: 210\r\n"
QUOTE = "210"
HEIGHT = 34.0
_NAMED = {
    "\ufeff": "BOM",
    "\u0301": "◌\u0301",
    " ": "␣",
    "\r": "CR",
    "\n": "LF",
}


@dataclass(frozen=True)
class Words:
    """What the figure says in one language."""

    title: str
    description: str
    saved: str
    projection: str
    rulers: tuple[str, str, str]
    span: str


_WORDS = {
    "en": Words(
        title="A projection and its coordinates",
        description=(
            "Above, a line as it was saved, one box for each code point: a"
            " byte order mark, Cafe with the accent as a code point of its"
            " own, the name 𠮷野, a colon, 210, a carriage return and a line"
            " feed. Below, its projection: the mark is gone, the accent has"
            " joined its letter, and one line feed ends the line. Under the"
            " projection stand three rulers that count code points, UTF-16"
            " units and UTF-8 bytes. They part at the accent and at 𠮷. The"
            " span of 210 has three different pairs of numbers."
        ),
        saved="as saved",
        projection="projection",
        rulers=("code points", "UTF-16 units", "UTF-8 bytes"),
        span="the span of 210",
    ),
    "zh": Words(
        title="投影与坐标",
        description=(
            "上方是保存下来的一行，每个码点一个方框：字节序标记、Cafe、单独成为"
            "一个码点的重音符、姓氏“𠮷野”、冒号、210、回车和换行。下方是它的投影："
            "标记没有了，重音与字母合为一体，行末只剩一个换行。投影下面有三把尺，"
            "分别数码点、UTF-16 单元和 UTF-8 字节。它们过了重音和“𠮷”便对不上，"
            "210 的区间因此有三对不同的数字。"
        ),
        saved="保存的原样",
        projection="投影",
        rulers=("码点", "UTF-16 单元", "UTF-8 字节"),
        span="210 的区间",
    ),
}


def draw(lang: str) -> str:
    """The figure in one language, as SVG."""
    words = _WORDS[lang]
    body = project("text", SAVED).body
    start = body.index(QUOTE)
    end = start + len(QUOTE)
    drawing = Drawing(480, 312, words.title, words.description)
    left, width = 4.0, 28.0
    top, below = 26.0, 110.0
    drawing.label(
        left, 16, words.saved, room=300, anchor="start", size=13, colour="muted"
    )
    for number, character in enumerate(SAVED):
        _cell(
            drawing,
            character,
            left + number * width,
            top,
            width,
            "warn" if character in "\ufeff\u0301\r" else "muted",
        )
    drawing.label(
        left,
        below - 10,
        words.projection,
        room=200,
        anchor="start",
        size=13,
        colour="muted",
    )
    cell = 34.0
    for number, character in enumerate(body):
        _cell(
            drawing,
            character,
            left + number * cell,
            below,
            cell,
            "accent" if start <= number < end else "ink",
        )
    spans = _spans(body, start, end)
    for row, (name, marks, span) in enumerate(
        zip(words.rulers, _marks(body), spans, strict=True)
    ):
        y = below + HEIGHT + 34 + row * 46
        drawing.label(
            left, y - 8, name, room=150, anchor="start", size=12, colour="muted"
        )
        drawing.label(
            left + start * cell,
            y - 8,
            f"[{span[0]}, {span[1]})",
            room=90,
            anchor="start",
            size=12,
            colour="accent",
            bold=True,
        )
        drawing.line([(left, y), (left + len(body) * cell, y)], colour="muted")
        drawing.line(
            [(left + start * cell, y), (left + end * cell, y)],
            colour="accent",
            thick=3.5,
        )
        for number, mark in enumerate(marks):
            drawing.label(
                left + number * cell + 3,
                y + 14,
                str(mark),
                room=cell,
                anchor="start",
                size=11,
                colour="ink",
            )
    return drawing.svg()


def _cell(
    drawing: Drawing,
    character: str,
    x: float,
    y: float,
    width: float,
    colour: str,
) -> None:
    drawing.box(
        x,
        y,
        width,
        HEIGHT,
        colour=colour,
        thick=2.5 if colour in ("accent", "warn") else 1.2,
    )
    drawing.label(
        x + width / 2,
        y + HEIGHT / 2 + 5,
        _NAMED.get(character, character),
        room=width,
        size=10 if character in "\ufeff\r\n" else 15,
    )


def _marks(body: str) -> tuple[list[int], list[int], list[int]]:
    """Where each code point begins, in each of the three units."""
    places = range(len(body))
    return (
        list(places),
        [to_utf16(body, at, at).start for at in places],
        [len(body[:at].encode()) for at in places],
    )


def _spans(body: str, start: int, end: int) -> list[tuple[int, int]]:
    units = to_utf16(body, start, end)
    before = len(body[:start].encode())
    return [
        (start, end),
        (units.start, units.end),
        (before, before + len(body[start:end].encode())),
    ]
