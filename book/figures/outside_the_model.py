"""What decides when a document gives orders: nothing inside the model."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from book.press.svg import Drawing


@dataclass(frozen=True)
class Words:
    """What the figure says in one language."""

    title: str
    description: str
    heads: tuple[str, str]
    before: tuple[tuple[str, ...], ...]
    model: tuple[str, ...]
    after: tuple[tuple[str, ...], ...]


_WORDS = {
    "en": Words(
        title="Around the model",
        description=(
            "Three boxes lead to the model: the decision who may read, which"
            " no text can change; the screening, which lets rephrased orders"
            " through; and the fence, which no passage can close. The model"
            " itself, dashed, may obey anything it reads and has no tools."
            " Three boxes lead from it: every sentence has to cite, no address"
            " may be made up, and the sources are checked again for the"
            " reader."
        ),
        heads=("what reaches it", "what leaves it"),
        before=(
            ("may they read it?", "decided, not asked"),
            ("known phrases?", "a sieve, with holes"),
            ("fenced as data", "cannot be closed"),
        ),
        model=("the model", "may obey what it reads", "no tools, one turn"),
        after=(
            ("sources still readable?", "checked again"),
            ("an address made up?", "then not shown"),
            ("every sentence cites?", "else not shown"),
        ),
    ),
    "zh": Words(
        title="模型的四周",
        description=(
            "三个方框通向模型：谁可以读的判定，任何文字都改变不了它；筛查，换个"
            "说法的命令会漏过去；围栏，任何段落都关不上。模型本身以虚线画出，可"
            "能听从所读的任何内容，但没有工具。三个方框由它引出：每一句都须引用，"
            "地址不得编造，来源为读者再复核一遍。"
        ),
        heads=("到达它的", "离开它的"),
        before=(
            ("这位读者可读吗？", "是判定，不是请求"),
            ("有已知的短语吗？", "一张有洞的筛子"),
            ("作为数据围起来", "段落关不上围栏"),
        ),
        model=("模型", "可能听从所读内容", "没有工具，只答一轮"),
        after=(
            ("来源仍然可读吗？", "再复核一遍"),
            ("有编造的地址吗？", "有就不展示"),
            ("每一句都有引用吗？", "没有就不展示"),
        ),
    ),
}


def draw(lang: str) -> str:
    """The figure in one language, as SVG."""
    words = _WORDS[lang]
    drawing = Drawing(480, 418, words.title, words.description)
    width, height, step = 218.0, 58.0, 78.0
    boxes = []
    for x, head, steps, colour in (
        (8.0, words.heads[0], words.before, "ink"),
        (254.0, words.heads[1], words.after, "accent"),
    ):
        drawing.label(x + width / 2, 24, head, room=width, bold=True)
        column = [
            drawing.box(
                x,
                40 + number * step,
                width,
                height,
                lines,
                colour="accent" if number == 0 or colour == "accent" else "ink",
                size=14,
                bold_first=True,
                thick=2.5 if number == 0 and colour == "ink" else 1.5,
            )
            for number, lines in enumerate(steps)
        ]
        boxes.append(column)
    left, right = boxes
    for above, below in pairwise(left):
        drawing.arrow([above.bottom, below.top])
    for above, below in pairwise(right):
        drawing.arrow([below.top, above.bottom])
    model = drawing.box(
        90,
        322,
        300,
        84,
        words.model,
        colour="warn",
        size=14,
        bold_first=True,
        dashed=True,
    )
    drawing.arrow([left[-1].bottom, (left[-1].bottom[0], model.y)])
    start = right[-1].bottom[0]
    drawing.arrow([(start, model.y), right[-1].bottom])
    return drawing.svg()
