"""The gates a generated answer passes, before the call and after it."""

from __future__ import annotations

from dataclasses import dataclass

from book.press.svg import Drawing


@dataclass(frozen=True)
class Words:
    """What the figure says in one language."""

    title: str
    description: str
    gates: tuple[tuple[tuple[str, ...], str], ...]
    call: tuple[str, ...]
    shown: tuple[str, ...]


_WORDS = {
    "en": Words(
        title="Gates before and after one call",
        description=(
            "A column. First, is there evidence after screening; if not, the"
            " refusal sentence, and nobody is asked. Then, could the call cost"
            " more than the ceiling; then it is not made. Then one call."
            " After it: did the text end by itself, does every sentence cite a"
            " source that exists, is no address made up; each failure shows"
            " the refusal sentence instead of the text. Last, the text, bound"
            " to every passage the model was given."
        ),
        gates=(
            (("evidence left?",), "refusal sentence"),
            (("bound within ceiling?",), "no call is made"),
            (("ended by itself?",), "not shown"),
            (("every sentence cites?",), "not shown"),
            (("no address made up?",), "not shown"),
        ),
        call=("one call, no tools",),
        shown=("shown, bound to", "all its passages"),
    ),
    "zh": Words(
        title="一次调用前后的关口",
        description=(
            "一列。先看筛查之后是否还有证据；没有就给出固定的那句话，谁也不问。"
            "再看这次调用的花费会不会超过上限；会就不调用。然后调用一次。之后："
            "文字是否自行结束，每一句是否都引用了存在的来源，有没有编造的地址；"
            "任何一关不过，展示的都是固定的那句话，而不是这段文字。最后才是文字"
            "本身，与交给模型的每个段落绑定。"
        ),
        gates=(
            (("还有证据吗？",), "固定的那句话"),
            (("上界不超上限吗？",), "不调用"),
            (("是自行结束的吗？",), "不展示"),
            (("每句都有引用吗？",), "不展示"),
            (("没有编造的地址吗？",), "不展示"),
        ),
        call=("调用一次，没有工具",),
        shown=("展示，并与", "全部段落绑定"),
    ),
}


def draw(lang: str) -> str:
    """The figure in one language, as SVG."""
    words = _WORDS[lang]
    drawing = Drawing(480, 452, words.title, words.description)
    width, height, gap = 230.0, 42.0, 22.0
    y, above = 8.0, None
    for number, (lines, exit_) in enumerate(words.gates):
        if number == 2:
            call = drawing.box(
                8,
                y,
                width,
                height,
                words.call,
                colour="warn",
                size=14,
                bold_first=True,
                dashed=True,
            )
            if above is not None:
                drawing.arrow([above.bottom, call.top])
            above, y = call, y + height + gap
        box = drawing.box(8, y, width, height, lines, size=14)
        drawing.arrow([box.right, (296, box.right[1])], colour="muted")
        drawing.box(296, y, 176, height, (exit_,), colour="muted", size=14)
        if above is not None:
            drawing.arrow([above.bottom, box.top])
        above, y = box, y + height + gap
    end = drawing.box(
        8,
        y,
        width,
        52,
        words.shown,
        colour="accent",
        size=14,
        thick=2.5,
    )
    if above is not None:
        drawing.arrow([above.bottom, end.top])
    return drawing.svg()
