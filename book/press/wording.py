"""Words the press itself says, in both languages, where outputs share them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from book.press.blocks import Chapter, Edition
from book.press.links import is_appendix

WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "en": {
        "appendix": "Appendix {number}",
        "chapter": "Chapter {number}",
        "colophon": "About this edition",
        "contents": "Contents",
        "cover": "Cover",
        "cover_alt": "Cover: {title}. {subtitle}",
        "landmarks": "Landmarks",
        "licence": "Text and figures: {licence}. Code: {code_licence}.",
        "source": "Made from the source with the digest {digest}.",
        "start": "Start of the text",
        "title_page": "Title page",
        "version": "Version {version}, {date}",
    },
    "zh": {
        "appendix": "附录 {number}",
        "chapter": "第 {number} 章",
        "colophon": "关于本版",
        "contents": "目录",
        "cover": "封面",
        "cover_alt": "封面：{title}。{subtitle}",
        "landmarks": "导航标记",
        "licence": "文字与插图：{licence}。代码：{code_licence}。",
        "source": "由摘要为 {digest} 的源文件生成。",
        "start": "正文开始",
        "title_page": "书名页",
        "version": "版本 {version}，{date}",
    },
}


def words(edition: Edition) -> Mapping[str, str]:
    """The words of an edition's language, its metadata filled in.

    ``chapter`` and ``appendix`` still wait for their ``{number}``.
    """
    known = {
        "code_licence": "MIT",
        **edition.metadata,
        "title": edition.title,
        "subtitle": edition.subtitle,
        "digest": "{digest}",
        "number": "{number}",
    }
    table = WORDS[edition.lang]
    return {key: text.format_map(_Known(known)) for key, text in table.items()}


class _Known(dict[str, str]):
    """What the metadata does not state stands as a dash."""

    def __missing__(self, key: str) -> str:
        return "–"


def chapter_label(chapter: Chapter) -> str:
    """``Chapter 5``, ``附录 A``; ``""`` for a chapter without a number."""
    if not chapter.number:
        return ""
    kind = "appendix" if is_appendix(chapter) else "chapter"
    return WORDS[chapter.lang][kind].format(number=chapter.number)
