"""What a citation is worth after each event in a document's life."""

from __future__ import annotations

from dataclasses import dataclass

from book.press.svg import Drawing


@dataclass(frozen=True)
class Words:
    """What the figure says in one language."""

    title: str
    description: str
    valid: str
    unavailable: str
    events: tuple[tuple[str, bool], ...]


_WORDS = {
    "en": Words(
        title="The life of one citation",
        description=(
            "A column of seven events with a lane beside each. The citation is"
            " valid when found, and stays so while Bob is given access. It is"
            " unavailable while Alice has lost access, valid when she has it"
            " again, and unavailable for good from the next revision on: after"
            " the update, after the deletion, and after a restore with the"
            " old text."
        ),
        valid="valid",
        unavailable="unavailable",
        events=(
            ("found at revision 1", True),
            ("Bob is given access", True),
            ("Alice loses access", False),
            ("Alice has access again", True),
            ("revision 2 is published", False),
            ("the document is deleted", False),
            ("restored, the old text", False),
        ),
    ),
    "zh": Words(
        title="一条引用的一生",
        description=(
            "七个事件自上而下，每个旁边标着引用此时的状态。找到时有效，Bob 获得"
            "权限时仍然有效。Alice 失去权限期间不可用，重新获得后又有效；从下一"
            "个修订号起就永远不可用：更新之后、删除之后、以旧文字恢复之后都是如此。"
        ),
        valid="有效",
        unavailable="不可用",
        events=(
            ("在修订号 1 找到", True),
            ("Bob 获得权限", True),
            ("Alice 失去权限", False),
            ("Alice 重新获得权限", True),
            ("发布修订号 2", False),
            ("文档被删除", False),
            ("以旧文字恢复", False),
        ),
    ),
}


def draw(lang: str) -> str:
    """The figure in one language, as SVG."""
    words = _WORDS[lang]
    width, row, gap = 480.0, 40.0, 16.0
    height = 16 + len(words.events) * (row + gap)
    drawing = Drawing(width, height, words.title, words.description)
    before = None
    for number, (event, valid) in enumerate(words.events):
        y = 8 + number * (row + gap)
        left = drawing.box(8, y, 230, row, (event,), size=14)
        drawing.box(
            300,
            y,
            150,
            row,
            (words.valid if valid else words.unavailable,),
            colour="accent" if valid else "warn",
            size=14,
            bold_first=True,
            thick=2.5 if valid else 1.5,
        )
        drawing.arrow([left.right, (300, y + row / 2)], colour="muted")
        if before is not None:
            drawing.arrow([before.bottom, left.top])
        before = left
    return drawing.svg()
