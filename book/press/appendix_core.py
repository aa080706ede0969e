"""Appendix E: the lab's core, complete, and what else the ZIP holds.

The same files that ship are printed here, so whoever has the book has the
code. Other text files are listed with their digests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Final

from book.press import labzip
from book.press.chapters import Fragment
from book.press.digest import tracked
from book.press.labzip import Member
from book.press.library import Library
from book.press.links import lab_anchor
from book.press.xhtml import escape, escape_attribute

SLUG: Final = "e-core"

# Printed whole: the modules a chapter's ideas live in.
_CORE: Final = re.compile(r"lab/((store|encoders)/)?[a-z_]+\.py")

WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "en": {
        "title": "The lab's core, complete",
        "summary": "The modules the chapters speak of, whole, and the digest"
        " of every other text file of the lab ZIP.",
        "opening": "These are the files of the lab ZIP, byte for byte, in the"
        " order of their names. Everything else in the ZIP is listed after"
        " them with its digest; read it there, under the same path.",
        "other": "What else the ZIP holds",
        "file": "file",
        "bytes": "bytes",
        "digest": "SHA-256",
    },
    "zh": {
        "title": "实验室核心代码全文",
        "summary": "各章谈到的模块全文，以及实验室 ZIP 中其余每个文本文件的"
        "摘要值。",
        "opening": "这里是实验室 ZIP 中的文件，逐字节相同，按文件名排列。"
        "ZIP 中的其余文件列在后面，附摘要值；请到 ZIP 中同一路径下阅读。",
        "other": "ZIP 中的其余文件",
        "file": "文件",
        "bytes": "字节数",
        "digest": "SHA-256",
    },
}


def core(lang: str, library: Library) -> Iterator[Fragment]:
    """The blocks after the opening paragraph.

    Raises ``Problems`` when the ZIP cannot be put together.
    """
    words = WORDS[lang]
    members = [
        member
        for member in labzip.members(library.root, tracked(library.root))
        if member.is_text and member.data
    ]
    printed = [member for member in members if is_core(member.name)]
    for member in printed:
        yield _heading(2, lab_anchor(member.name), escape(member.name))
        yield _whole(member)
    yield _heading(2, "other-files", escape(words["other"]))
    folders: dict[str, list[Member]] = {}
    for member in members:
        if not is_core(member.name):
            folder = str(PurePosixPath(member.name).parent)
            folders.setdefault(folder, []).append(member)
    for held in folders.values():
        yield _table(words, held)


def is_core(name: str) -> bool:
    """Whether a file of the ZIP is printed whole."""
    return _CORE.fullmatch(name) is not None


def _whole(member: Member) -> Fragment:
    code = member.data.decode("utf-8").rstrip("\n")
    return Fragment(
        "listing",
        '<figure class="listing"><pre><code class="language-python">'
        f"{escape(code)}</code></pre><figcaption>{escape(member.name)},"
        f" SHA-256 <code>{member.sha256}</code></figcaption></figure>",
        0,
    )


def _table(words: Mapping[str, str], members: list[Member]) -> Fragment:
    rows = "".join(
        f'<tr id="{escape_attribute(lab_anchor(member.name))}">'
        f'<th scope="row"><code>{escape(member.name)}</code></th>'
        f'<td class="num">{len(member.data)}</td>'
        f"<td><code>{member.sha256}</code></td></tr>"
        for member in members
    )
    heads = "".join(
        f'<th scope="col">{words[key]}</th>'
        for key in ("file", "bytes", "digest")
    )
    return Fragment(
        "table",
        '<figure class="table"><table><thead><tr>'
        f"{heads}</tr></thead><tbody>{rows}</tbody></table></figure>",
        0,
    )


def _heading(level: int, anchor: str, html: str) -> Fragment:
    name = escape_attribute(anchor)
    return Fragment("heading", f'<h{level} id="{name}">{html}</h{level}>', 0)
