"""The steps of an update, and what others may do and see meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from book.press.svg import Drawing


@dataclass(frozen=True)
class Words:
    """What the figure says in one language."""

    title: str
    description: str
    heads: tuple[str, str, str]
    steps: tuple[str, ...]
    free: str
    waits: str
    sees: tuple[str, str]


# Steps of which the write lock is held: from the third to the fifth.
LOCKED: Final = (2, 3, 4)

_WORDS = {
    "en": Words(
        title="The steps of an update",
        description=(
            "Six steps from top to bottom: look whether the event is stale;"
            " parse, chunk and encode; begin immediate; look again and"
            " decide; write the rows; commit. Another writer may write during"
            " the first two and after the last, and waits from begin"
            " immediate until the commit. Readers see revision 1 whole until"
            " the commit, and revision 2 whole after it."
        ),
        heads=("this writer", "another writer", "readers see"),
        steps=(
            "look: is it stale?",
            "parse, chunk, encode",
            "BEGIN IMMEDIATE",
            "look again, decide",
            "write the rows",
            "COMMIT",
        ),
        free="may write",
        waits="waits",
        sees=("revision 1", "revision 2"),
    ),
    "zh": Words(
        title="一次更新的步骤",
        description=(
            "从上到下六步：看事件是否过期；解析、切分、编码；"
            "BEGIN IMMEDIATE；再看一遍并决定；写入数据行；COMMIT。"
            "另一个写入方在前两步和最后一步之后可以写，"
            "从 BEGIN IMMEDIATE 到 COMMIT 之间等待。"
            "读者在提交之前看到完整的修订号 1，之后看到完整的修订号 2。"
        ),
        heads=("这个写入方", "另一个写入方", "读者看到"),
        steps=(
            "看一眼：过期了吗？",
            "解析、切分、编码",
            "BEGIN IMMEDIATE",
            "再看一遍，作决定",
            "写入数据行",
            "COMMIT",
        ),
        free="可以写",
        waits="等待",
        sees=("修订号 1", "修订号 2"),
    ),
}


def draw(lang: str) -> str:
    """The figure in one language, as SVG."""
    words = _WORDS[lang]
    row, gap, top = 40.0, 16.0, 34.0
    height = top + len(words.steps) * (row + gap)
    drawing = Drawing(480, height, words.title, words.description)
    columns = ((8.0, 192.0), (224.0, 112.0), (360.0, 112.0))
    for (x, width), head in zip(columns, words.heads, strict=True):
        drawing.label(
            x + width / 2, 20, head, room=width + 12, size=13, colour="muted"
        )
    before = None
    last = len(words.steps) - 1
    for number, step in enumerate(words.steps):
        y = top + number * (row + gap)
        (x, width), (ox, other), (rx, reader) = columns
        locked = number in LOCKED
        box = drawing.box(
            x,
            y,
            width,
            row,
            (step,),
            colour="accent" if locked else "ink",
            size=13,
            thick=2.5 if locked else 1.5,
        )
        drawing.box(
            ox,
            y,
            other,
            row,
            (words.waits if locked else words.free,),
            colour="muted" if locked else "ink",
            size=13,
            dashed=locked,
        )
        new = number == last
        drawing.box(
            rx,
            y,
            reader,
            row,
            (words.sees[new],),
            colour="accent" if new else "ink",
            size=13,
            thick=2.5 if new else 1.5,
        )
        if before is not None:
            drawing.arrow([before.bottom, box.top])
        before = box
    return drawing.svg()
