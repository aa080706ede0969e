"""What each event does to the three version numbers of one document."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from book.press.svg import Drawing

EVIDENCE = Path(__file__).parents[2] / "lab" / "evidence" / "versions.json"


@dataclass(frozen=True)
class Words:
    """What the figure says in one language."""

    title: str
    description: str
    columns: tuple[str, str, str]
    none: str
    events: dict[str, str]


_WORDS = {
    "en": Words(
        title="Three version numbers on one document",
        description=(
            "Eight events from top to bottom, and after each the document's"
            " revision, policy revision and digest; a number that the event"
            " moved stands in a heavy frame. Content moves the revision, and"
            " the digest where the text is another. A change of policy moves"
            " the policy revision alone, a change in the directory none of"
            " the three. Content with the old text has a new revision and the"
            " old digest. A deletion moves both revisions and leaves no"
            " digest; a restore moves all three."
        ),
        columns=("revision", "policy rev.", "digest"),
        none="none",
        events={
            "created": "content 1 arrives",
            "resaved": "the same, resaved",
            "granted": "access is changed",
            "joined": "bob joins a group",
            "updated": "content 2 arrives",
            "reverted": "content 3: old text",
            "deleted": "delete 4",
            "restored": "content 5, restored",
        },
    ),
    "zh": Words(
        title="一份文档上的三个版本号",
        description=(
            "八个事件自上而下，每个之后列出文档的修订号、策略修订号和摘要值；"
            "被这个事件改动的数字用粗框标出。内容事件改动修订号，文字不同时也"
            "改动摘要值。更改策略只改动策略修订号，更改目录三者都不动。内容改"
            "回旧文字时，修订号是新的，摘要值是旧的。删除改动两个修订号，不留"
            "摘要值；恢复则三者都改动。"
        ),
        columns=("修订号", "策略修订号", "摘要值"),
        none="无",
        events={
            "created": "内容 1 到达",
            "resaved": "同样内容，另存一次",
            "granted": "更改权限",
            "joined": "bob 加入一个组",
            "updated": "内容 2 到达",
            "reverted": "内容 3：改回旧文字",
            "deleted": "删除 4",
            "restored": "内容 5，恢复",
        },
    ),
}


def draw(lang: str) -> str:
    """The figure in one language, as SVG."""
    words = _WORDS[lang]
    record = json.loads(EVIDENCE.read_text(encoding="utf-8"))
    rows = {row["event"]: row for row in record["claims"]["events"]}
    head, row_height, gap = 34.0, 36.0, 10.0
    lefts, widths = (186.0, 282.0, 378.0), (86.0, 86.0, 94.0)
    height = head + len(words.events) * (row_height + gap) + 4
    drawing = Drawing(480, height, words.title, words.description)
    for left, width, column in zip(lefts, widths, words.columns, strict=True):
        drawing.label(
            left + width / 2,
            22,
            column,
            room=width + 8,
            size=13,
            colour="muted",
        )
    before: list[str] | None = None
    for number, (name, label) in enumerate(words.events.items()):
        y = head + number * (row_height + gap)
        row = rows[name]
        cells = [
            str(row["revision"]),
            str(row["policy_revision"]),
            row["digest"] or words.none,
        ]
        drawing.label(
            4,
            y + row_height / 2 + 5,
            label,
            room=lefts[0] - 8,
            anchor="start",
            size=14,
        )
        for at, cell in enumerate(cells):
            moved = before is None or before[at] != cell
            drawing.box(
                lefts[at],
                y,
                widths[at],
                row_height,
                (cell,),
                size=14,
                mono=at == 2 and row["digest"] is not None,
                colour="accent" if moved else "muted",
                bold_first=moved and at < 2,
                thick=2.5 if moved else 1.0,
                dashed=not moved,
            )
        before = cells
    return drawing.svg()
