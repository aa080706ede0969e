"""Where an answer cache stands: before the decision, or behind it."""

from __future__ import annotations

from dataclasses import dataclass

from book.press.svg import Drawing


@dataclass(frozen=True)
class Words:
    """What the figure says in one language."""

    title: str
    description: str
    heads: tuple[str, str]
    asked: tuple[str, ...]
    naive: tuple[tuple[str, ...], ...]
    checked: tuple[tuple[str, ...], ...]


_WORDS = {
    "en": Words(
        title="A cache before the decision, and behind it",
        description=(
            "Two columns. On the left a question finds an entry by its words"
            " and the text goes out; who may read it was decided when somebody"
            " else asked, and the decision about this reader is passed by. On"
            " the right an entry is found by question and reader, the"
            " citations of everything it was made from are checked for this"
            " reader now, and only if every one is valid does the text go out;"
            " otherwise the question is asked afresh."
        ),
        heads=("found is shown", "found is checked"),
        asked=("a question, a reader",),
        naive=(
            ("look up", "by the question"),
            ("text of whoever", "asked first"),
        ),
        checked=(
            ("look up", "by question and reader"),
            ("check every source", "for this reader, now"),
            ("all valid: the text", "else: ask afresh"),
        ),
    ),
    "zh": Words(
        title="缓存在判定之前，还是在判定之后",
        description=(
            "两列。左列：问题按字面找到条目，文字随即送出；谁可以读，是别人提"
            "问时判定的，对这位读者的判定被绕了过去。右列：按问题与读者找到条"
            "目，对生成它所用的全部引用，此刻为这位读者逐一复核；全部有效才送"
            "出文字，否则重新提问。"
        ),
        heads=("找到即展示", "找到再复核"),
        asked=("一个问题，一位读者",),
        naive=(
            ("查缓存", "只凭问题"),
            ("先问的人", "得到的文字"),
        ),
        checked=(
            ("查缓存", "凭问题与读者"),
            ("逐一复核来源", "为这位读者，此刻"),
            ("全部有效：给出文字", "否则：重新提问"),
        ),
    ),
}


def draw(lang: str) -> str:
    """The figure in one language, as SVG."""
    words = _WORDS[lang]
    drawing = Drawing(480, 352, words.title, words.description)
    width, height, step = 216.0, 60.0, 84.0
    for x, head, steps in (
        (8.0, words.heads[0], words.naive),
        (256.0, words.heads[1], words.checked),
    ):
        good = steps is words.checked
        drawing.label(x + width / 2, 24, head, room=width, bold=True)
        above = drawing.box(x, 40, width, 44, words.asked, size=14)
        for number, lines in enumerate(steps):
            last = number == len(steps) - 1
            deciding = good and number == 1
            colour = "ink"
            if deciding:
                colour = "accent"
            elif last and not good:
                colour = "warn"
            # The left column skips the row in which the right one decides.
            row = number + (1 if last and not good else 0)
            box = drawing.box(
                x,
                114 + row * step,
                width,
                height,
                lines,
                colour=colour,
                size=14,
                bold_first=True,
                dashed=last and not good,
                thick=2.5 if deciding else 1.5,
            )
            drawing.arrow([above.bottom, box.top])
            above = box
    return drawing.svg()
