"""Events that arrive late, against a tombstone and against none."""

from __future__ import annotations

from dataclasses import dataclass

from book.press.svg import Drawing


@dataclass(frozen=True)
class Words:
    """What the figure says in one language."""

    title: str
    description: str
    heads: tuple[str, str, str]
    rows: tuple[tuple[str, str, str], ...]


_WORDS = {
    "en": Words(
        title="Late events against a tombstone",
        description=(
            "Four events in the order in which they arrive: create at"
            " revision 1, delete at revision 3, update at revision 2, create"
            " at revision 1 again. With a row and nothing else, the update"
            " that arrives late makes the document live again. With a"
            " tombstone at revision 3, both late events are refused and the"
            " document stays deleted."
        ),
        heads=("arrives", "only a row", "with a tombstone"),
        rows=(
            ("create, revision 1", "alive", "alive"),
            ("delete, revision 3", "gone", "deleted at 3"),
            ("update, revision 2", "alive", "deleted at 3"),
            ("create, revision 1", "alive", "deleted at 3"),
        ),
    ),
    "zh": Words(
        title="迟到的事件遇上墓碑",
        description=(
            "四个事件按到达次序排列：以修订号 1 创建、以修订号 3 删除、"
            "以修订号 2 更新、再次以修订号 1 创建。只有一行数据时，"
            "迟到的更新使文档复活。有了修订号 3 的墓碑，"
            "两个迟到的事件都被拒绝，文档保持已删除。"
        ),
        heads=("到达", "只有一行数据", "有墓碑"),
        rows=(
            ("创建，修订号 1", "在用", "在用"),
            ("删除，修订号 3", "没有了", "已删于 3"),
            ("更新，修订号 2", "在用", "已删于 3"),
            ("创建，修订号 1", "在用", "已删于 3"),
        ),
    ),
}


def draw(lang: str) -> str:
    """The figure in one language, as SVG."""
    words = _WORDS[lang]
    row, gap, top = 40.0, 16.0, 34.0
    height = top + len(words.rows) * (row + gap)
    drawing = Drawing(480, height, words.title, words.description)
    columns = ((8.0, 172.0), (204.0, 120.0), (344.0, 128.0))
    for (x, width), head in zip(columns, words.heads, strict=True):
        drawing.label(
            x + width / 2, 20, head, room=width + 12, size=13, colour="muted"
        )
    before = None
    for number, (event, plain, kept) in enumerate(words.rows):
        y = top + number * (row + gap)
        (x, width), (px, plain_width), (kx, kept_width) = columns
        box = drawing.box(x, y, width, row, (event,), size=13)
        # The wrong state: alive although a newer delete was seen.
        wrong = number >= 2
        drawing.box(
            px,
            y,
            plain_width,
            row,
            (plain,),
            colour="warn" if wrong else "ink",
            size=13,
            thick=2.5 if wrong else 1.5,
        )
        drawing.box(
            kx,
            y,
            kept_width,
            row,
            (kept,),
            colour="accent" if number else "ink",
            size=13,
            thick=2.5 if number else 1.5,
        )
        if before is not None:
            drawing.arrow([before.bottom, box.top])
        before = box
    return drawing.svg()
