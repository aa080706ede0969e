"""The chain from a source to checked evidence, and what each link adds."""

from __future__ import annotations

from dataclasses import dataclass

from book.press.svg import Drawing


@dataclass(frozen=True)
class Words:
    """What the figure says in one language."""

    title: str
    description: str
    steps: tuple[str, ...]
    boxes: tuple[tuple[str, str, str], ...]
    back: tuple[str, ...]


_WORDS = {
    "en": Words(
        title="From source to evidence",
        description=(
            "Five boxes from top to bottom, joined by arrows: source,"
            " projection, chunk, hit, evidence. Beside each arrow stands what"
            " the step does, beside each box what identifies it. A dashed"
            " arrow leads from evidence back to the projection: before it is"
            " used, the quote is compared with the stored text again, and"
            " when it fails, the answer abstains."
        ),
        steps=("normalise", "cut", "rank the readable", "check again"),
        boxes=(
            ("source", "tenant, id, revision", "policy, policy revision"),
            ("projection", "text all coordinates", "refer to; its SHA-256"),
            ("chunk", "[start, end)", "of the projection"),
            ("hit", "chunk, reader, score,", "what to check"),
            ("evidence", "text from the store,", "never from the hit"),
        ),
        back=("compared again:", "gone, changed or", "revoked: abstain"),
    ),
    "zh": Words(
        title="从来源到证据",
        description=(
            "五个方框自上而下，用箭头相连：来源、投影、片段、命中、证据。每个"
            "箭头旁写着这一步做什么，每个方框里写着靠什么识别它。一条虚线箭头"
            "从证据回到投影：使用之前，引文要与库中文本再比对一次，对不上就弃答。"
        ),
        steps=("归一化", "切分", "只给可读的排名", "再核对"),
        boxes=(
            ("来源", "租户、文档 id、修订号", "策略、策略修订号"),
            ("投影", "一切坐标所指的文本", "及其 SHA-256"),
            ("片段", "[start, end)", "投影中的一段"),
            ("命中", "片段、读者、分数", "以及要核对什么"),
            ("证据", "文本取自库中", "从不取自命中"),
        ),
        back=("再比对：", "已删除、已改动、", "已撤权，就弃答"),
    ),
}


def draw(lang: str) -> str:
    """The figure in one language, as SVG."""
    words = _WORDS[lang]
    drawing = Drawing(480, 566, words.title, words.description)
    width, height, gap = 250.0, 74.0, 44.0
    boxes = [
        drawing.box(
            8,
            8 + number * (height + gap),
            width,
            height,
            lines,
            colour="accent" if number == 4 else "ink",
            size=14,
            bold_first=True,
            thick=2.5 if number == 4 else 1.5,
        )
        for number, lines in enumerate(words.boxes)
    ]
    # Back from the evidence to the projection it is compared with.
    start_x, start_y = boxes[4].right
    end_x, end_y = boxes[1].right
    turn = end_x + 40
    drawing.arrow(
        [(start_x, start_y), (turn, start_y), (turn, end_y), (end_x, end_y)],
        colour="accent",
        dashed=True,
    )
    for above, below, step in zip(boxes, boxes[1:], words.steps, strict=False):
        drawing.arrow([above.bottom, below.top])
        x, y = above.bottom
        drawing.label(
            x + 12,
            y + gap / 2 + 4,
            step,
            room=turn - x - 20,
            anchor="start",
            size=13,
            colour="muted",
        )
    for number, line in enumerate(words.back):
        drawing.label(
            turn + 10,
            (start_y + end_y) / 2 - 16 + number * 20,
            line,
            room=drawing.width - turn - 14,
            anchor="start",
            size=13,
        )
    return drawing.svg()
