"""One page of the fixture, cut by each of the three chunkers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from book.press.svg import Drawing
from lab import markdown
from lab.chunking import BlockChunker, SectionChunker, WindowChunker
from lab.fixture import load_fixture
from lab.text import Projection, project

# Of a code point, in user units.
SCALE = 0.37


@dataclass(frozen=True)
class Words:
    """What the figure says in one language."""

    title: str
    description: str
    page: str
    front_matter: str
    table: str
    chunkers: tuple[str, str, str]
    repeated: str


_WORDS = {
    "en": Words(
        title="Three chunkers on one page",
        description=(
            "Four columns side by side, all to one scale from the top of the"
            " page to its end. The first shows the travel policy: front"
            " matter, a title, four sections, one of them with a table. The"
            " second shows ten windows, each overlapping the one before; one"
            " ends and the next begins inside the table. The third shows seven"
            " chunks, none of which crosses a heading; the Hotels section is"
            " two of them, which overlap at the end of the table. The fourth"
            " shows six chunks of whole blocks; Hotels is one of them, the"
            " largest of all, and none overlaps."
        ),
        page="travel-policy",
        front_matter="front matter",
        table="table",
        chunkers=("window", "section", "block"),
        repeated="repeated",
    ),
    "zh": Words(
        title="三种切分器切同一页",
        description=(
            "四列并排，从页首到页末用同一比例。第一列是差旅制度：开头的元数据、"
            "标题和四节，其中一节有表格。第二列是十个窗口，每个都与前一个重叠；其"
            "中一个在表格里结束，下一个在表格里开始。第三列是七个片段，没有一个跨"
            "过标题；Hotels 一节分成两个，在表格末尾重叠。第四列是六个由整块"
            "组成的片段；Hotels 一节只有一个，也是最大的一个；彼此都不重叠。"
        ),
        page="travel-policy",
        front_matter="元数据",
        table="表格",
        chunkers=("窗口", "分节", "整块"),
        repeated="重复",
    ),
}


def draw(lang: str) -> str:
    """The figure in one language, as SVG."""
    words = _WORDS[lang]
    document = load_fixture().document("larkspur", "travel-policy")
    projection = project(document.format, document.source)
    top = 30.0
    height = top + len(projection.body) * SCALE + 26
    drawing = Drawing(480, height, words.title, words.description)
    _page(drawing, words, projection, top)
    columns = (WindowChunker(), SectionChunker(), BlockChunker())
    for number, (chunker, name) in enumerate(
        zip(columns, words.chunkers, strict=True)
    ):
        chunks = chunker.chunk(projection)
        spans = [(chunk.start, chunk.end) for chunk in chunks]
        _column(drawing, 176.0 + number * 104, name, spans, top)
    drawing.line([(180, height - 9), (200, height - 9)], colour="warn", thick=4)
    drawing.label(
        206, height - 4, words.repeated, room=120, anchor="start", size=12
    )
    return drawing.svg()


def _page(
    drawing: Drawing, words: Words, projection: Projection, top: float
) -> None:
    drawing.label(
        4, 18, words.page, room=150, anchor="start", size=13, mono=True
    )
    heading = ""
    for block in markdown.scan(projection.body):
        y = top + block.start * SCALE
        tall = (block.end - block.start) * SCALE
        if block.kind == markdown.HEADING:
            heading = block.text
            drawing.line(
                [(4, y + tall / 2), (150, y + tall / 2)], thick=tall - 1
            )
            continue
        if block.kind == markdown.BLANK:
            continue
        named = {
            markdown.FRONT_MATTER: words.front_matter,
            markdown.TABLE: words.table,
        }
        label = named.get(block.kind, heading)
        drawing.box(
            4,
            y,
            146,
            tall,
            (label,) if label else (),
            colour="accent" if block.kind == markdown.TABLE else "muted",
            size=11,
            thick=1.2,
        )
        # A heading names the first block under it.
        heading = "" if block.kind == markdown.PARAGRAPH else heading


def _column(
    drawing: Drawing,
    left: float,
    name: str,
    spans: list[tuple[int, int]],
    top: float,
) -> None:
    drawing.label(left + 42, 18, name, room=90, size=13, bold=True)
    for number, (start, end) in enumerate(spans):
        x, y = left + (12 if number % 2 else 0), top + start * SCALE
        drawing.box(x, y, 70, (end - start) * SCALE)
        # At the top, since the next chunk may cover the lower part.
        drawing.label(x + 35, y + 14, str(number), room=30, size=11)
    for (_, end), (start, _) in pairwise(spans):
        if start < end:
            drawing.line(
                [
                    (left + 91, top + start * SCALE),
                    (left + 91, top + end * SCALE),
                ],
                colour="warn",
                thick=4,
            )
