"""Appendices nobody types: sources, evidence, contracts, terms."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from book.press import appendix_core, labzip
from book.press.blocks import Chapter
from book.press.chapters import Fragment
from book.press.evidence import Evidence, evidence_names
from book.press.ledger import GROUPS
from book.press.library import Library
from book.press.links import (
    contract_anchor,
    evidence_anchor,
    lab_anchor,
    source_anchor,
)
from book.press.xhtml import escape, escape_attribute

SOURCES: Final = "a-sources"
EVIDENCE: Final = "b-evidence"
LEDGER: Final = "d-ledger"
GLOSSARY: Final = "f-glossary"
CORE: Final = appendix_core.SLUG
SLUGS: Final = frozenset({SOURCES, EVIDENCE, LEDGER, GLOSSARY, CORE})

# Which appendix each scheme of links leads to.
HOMES: Final[Mapping[str, str]] = {
    "ks-contract": LEDGER,
    "ks-evidence": EVIDENCE,
    "ks-lab": CORE,
    "ks-source": SOURCES,
}

_ANCHORS: Final[Mapping[str, Callable[[str], str]]] = {
    "ks-contract": contract_anchor,
    "ks-evidence": evidence_anchor,
    "ks-lab": lab_anchor,
    "ks-source": source_anchor,
}


@dataclass(frozen=True)
class Generated:
    """An appendix: its words, and its blocks after the title."""

    title: str
    summary: str
    fragments: tuple[Fragment, ...]


_WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "en": {
        SOURCES: "Sources and what they support",
        f"{SOURCES} summary": "Every outside source of this book, what it"
        " supports and what it does not.",
        f"{SOURCES} opening": "Facts are cited, sentences are ours. Each entry"
        " says what the book takes from the source and what the source does"
        " not say, so that a claim can be checked against it.",
        EVIDENCE: "Evidence and environment",
        f"{EVIDENCE} summary": "Every recorded experiment: what it ran on,"
        " what limits it, and the digest of its file.",
        f"{EVIDENCE} opening": "Every number the book measures comes out of"
        " one of these files. Claims are the same on every machine and are"
        " compared when the experiment runs again; what was observed is true"
        " of the machine named here and of no other.",
        LEDGER: "Contract ledger",
        f"{LEDGER} summary": "Every promise of the book, what it leaves out,"
        " and the tests that would fail if it were false.",
        f"{LEDGER} opening": "A promise is worth what would refute it. Each"
        " contract is one sentence, what it does not promise, and the tests"
        " that would fail if it were false.",
        GLOSSARY: "Glossary",
        f"{GLOSSARY} summary": "The words of this book in both languages.",
        f"{GLOSSARY} opening": "One word for one thing, here in both"
        " languages.",
        "none": "none",
        "read": "Read on",
        "revision": "revision",
        "licence": "licence",
        "snapshot": "SHA-256 of the copy read",
        "supports": "Supports",
        "not": "Does not support",
        "used": "Used in",
        "kind": "kind",
        "fixture": "fixture",
        "encoder": "encoder",
        "chunker": "chunker",
        "flags": "settings",
        "digest": "SHA-256 of the file",
        "field": "what",
        "value": "value",
        "observed": "observed",
        "limits": "What limits it:",
        "record": "Record",
        "again": "Run it again",
        "scope": "Not promised",
        "tests": "Refuted by",
        "explained": "Explained in",
        "other": "In Chinese",
        "comma": ", ",
        "colon": ": ",
        "stop": ".",
    },
    "zh": {
        SOURCES: "来源，以及它们支持什么",
        f"{SOURCES} summary": "本书用到的每个外部来源：支持什么，不支持什么。",
        f"{SOURCES} opening": "事实注明出处，句子是我们自己的。每一条都写明"
        "本书从中取了什么、它没有说什么，好让读者拿原文来核对。",
        EVIDENCE: "证据与环境",
        f"{EVIDENCE} summary": "每个有记录的实验：跑在什么上面，受什么限制，"
        "文件的摘要是什么。",
        f"{EVIDENCE} opening": "书中测得的每个数字都出自这些文件。claims 在"
        "任何机器上都相同，重跑实验时逐项比对；observed 只对这里写明的"
        "那台机器成立。",
        LEDGER: "契约账本",
        f"{LEDGER} summary": "本书的每条承诺、它不承诺什么，以及一旦它不成立"
        "就会失败的测试。",
        f"{LEDGER} opening": "承诺值多少，要看什么能推翻它。每条契约是一句话，"
        "附上它不承诺什么，以及一旦它不成立就会失败的测试。",
        GLOSSARY: "术语表",
        f"{GLOSSARY} summary": "本书的用词，中英对照。",
        f"{GLOSSARY} opening": "一件事只用一个词，这里给出两种语言的说法。",
        "none": "无",
        "read": "阅读日期",
        "revision": "版本",
        "licence": "许可",
        "snapshot": "所读副本的 SHA-256",
        "supports": "支持",
        "not": "不支持",
        "used": "用于",
        "kind": "类别",
        "fixture": "固定数据",
        "encoder": "编码器",
        "chunker": "切分器",
        "flags": "设置",
        "digest": "文件的 SHA-256",
        "field": "项目",
        "value": "值",
        "observed": "观测",
        "limits": "它的局限：",
        "record": "记录",
        "again": "重跑",
        "scope": "不承诺",
        "tests": "由这些测试推翻",
        "explained": "讲解于",
        "other": "英文",
        "comma": "、",
        "colon": "：",
        "stop": "。",
    },
}


def anchor(scheme: str, name: str) -> str:
    """The anchor in the appendix for a link of one of our schemes."""
    return _ANCHORS[scheme](name)


def generate(
    slug: str, lang: str, library: Library, written: Sequence[Chapter]
) -> Generated:
    """One appendix; ``written`` are the chapters of that language.

    Raises ``MacroError`` when evidence it lists cannot be read.
    """
    if slug == CORE:
        said = appendix_core.WORDS[lang]
        whole = tuple(appendix_core.core(lang, library))
        start = _paragraph(escape(said["opening"]))
        return Generated(
            escape(said["title"]), said["summary"], (start, *whole)
        )
    words = _WORDS[lang]
    maker = {
        SOURCES: _sources,
        EVIDENCE: _evidence,
        LEDGER: _ledger,
        GLOSSARY: _glossary,
    }[slug]
    opening = _paragraph(escape(words[f"{slug} opening"]))
    return Generated(
        escape(words[slug]),
        words[f"{slug} summary"],
        (opening, *maker(lang, words, library, written)),
    )


def _sources(
    lang: str,
    words: Mapping[str, str],
    library: Library,
    written: Sequence[Chapter],
) -> Iterable[Fragment]:
    titles = {chapter.slug: chapter.title for chapter in written}
    for source in (library.sources or {}).values():
        yield _heading(2, source_anchor(source.id), escape(source.title))
        facts = [f"{words['read']} {source.read}"]
        if source.revision:
            facts.append(f"{words['revision']} {escape(source.revision)}")
        facts.append(f"{words['licence']} {escape(source.licence)}")
        if source.snapshot_sha256:
            digest = f"<code>{source.snapshot_sha256}</code>"
            facts.append(f"{words['snapshot']} {digest}")
        address = escape_attribute(source.url)
        yield _paragraph(
            f"{escape(source.authors)}{words['stop']}"
            f'{_space(lang)}<a href="{address}">{escape(source.url)}</a>'
            f"{words['stop']}{_space(lang)}"
            f"{words['comma'].join(facts)}{words['stop']}"
        )
        yield _list(
            [
                _labelled(words, "supports", escape(source.supports[lang])),
                _labelled(words, "not", escape(source.does_not_support[lang])),
                _labelled(
                    words,
                    "used",
                    words["comma"].join(
                        f'<a href="ks:{used}">{escape(titles[used])}</a>'
                        for used in source.chapters
                        if used in titles
                    ),
                ),
            ]
        )


def _evidence(
    lang: str,
    words: Mapping[str, str],
    library: Library,
    written: Sequence[Chapter],
) -> Iterable[Fragment]:
    names = evidence_names(library.root)
    for name in names:
        record = library.evidence(name)
        yield _heading(2, evidence_anchor(name), escape(name))
        yield _evidence_table(words, record)
        limits = "".join(
            f'<li lang="en">{escape(str(limit))}</li>'
            for limit in record.data["limitations"]
        )
        yield _paragraph(escape(words["limits"]))
        yield Fragment("list", f"<ul>{limits}</ul>", 0)
        file = f"lab/evidence/{name}.json"
        showing = [
            f'<a href="ks:{chapter.slug}">{escape(chapter.title)}</a>'
            for chapter in written
            if _shows(chapter, name)
        ]
        items = [
            _labelled(
                words,
                "record",
                f'<a href="ks-lab:{file}"><code>{file}</code></a>',
            ),
            _labelled(
                words,
                "again",
                f"<code>python -m lab evidence --check {name}</code>",
            ),
        ]
        if showing:
            items.append(_labelled(words, "used", words["comma"].join(showing)))
        yield _list(items)


def _evidence_table(words: Mapping[str, str], record: Evidence) -> Fragment:
    data = record.data
    rows = [
        (words["kind"], record.kind),
        (words["fixture"], data["fixture"] or words["none"]),
        (words["encoder"], data["encoder"] or words["none"]),
        (words["chunker"], data["chunker"] or words["none"]),
        (words["flags"], _plain(data["flags"]) or words["none"]),
        (words["digest"], record.sha256),
        *(
            (f"{words['observed']}{words['colon']}{key}", _plain(value))
            for key, value in sorted(data["observed"].items())
            if not isinstance(value, dict | list)
        ),
    ]
    body = "".join(
        f'<tr><th scope="row">{escape(key)}</th>'
        f"<td><code>{escape(str(value))}</code></td></tr>"
        for key, value in rows
    )
    return Fragment(
        "table",
        '<figure class="table"><table><thead><tr>'
        f'<th scope="col">{words["field"]}</th>'
        f'<th scope="col">{words["value"]}</th>'
        f"</tr></thead><tbody>{body}</tbody></table></figure>",
        0,
    )


def _plain(value: object) -> str:
    """A setting as short text."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return ", ".join(
            f"{key}={_plain(one)}" for key, one in sorted(value.items())
        )
    return json.dumps(value, ensure_ascii=False)


def _shows(chapter: Chapter, name: str) -> bool:
    marks = (f'href="ks-evidence:{name}"', f'data-value="{name}:')
    return any(mark in block.html for block in chapter.blocks for mark in marks)


def _ledger(
    lang: str,
    words: Mapping[str, str],
    library: Library,
    written: Sequence[Chapter],
) -> Iterable[Fragment]:
    group = ""
    contracts = (library.contracts or {}).values()
    order = list(GROUPS)
    for contract in sorted(contracts, key=lambda one: order.index(one.group)):
        if contract.group != group:
            group = contract.group
            yield _heading(2, f"group-{group}", escape(GROUPS[group][lang]))
        name = escape(contract.id)
        yield _heading(
            3,
            contract_anchor(contract.id),
            f"{name} · {escape(contract.title[lang])}",
        )
        yield _paragraph(escape(contract.text[lang]))
        tests = "".join(f"<li>{_test(test)}</li>" for test in contract.tests)
        items = [
            _labelled(words, "scope", escape(contract.scope[lang])),
            f"<strong>{words['tests']}</strong>{words['colon'].strip()}"
            f"<ul>{tests}</ul>",
        ]
        explained = [
            f'<a href="ks:{chapter.slug}">{escape(chapter.title)}</a>'
            for chapter in written
            if contract.id in chapter.contracts
        ]
        if explained:
            items.append(
                _labelled(words, "explained", words["comma"].join(explained))
            )
        yield _list(items)


def _test(name: str) -> str:
    file, _, test = name.partition("::")
    if labzip.shipped(file) is None:
        # In the repository only, so there is nothing in the book to link to.
        return f"<code>{escape(name)}</code>"
    address = escape_attribute(f"ks-lab:{file}")
    return f'<a href="{address}"><code>{escape(test or file)}</code></a>'


def _glossary(
    lang: str,
    words: Mapping[str, str],
    library: Library,
    written: Sequence[Chapter],
) -> Iterable[Fragment]:
    other = "zh" if lang == "en" else "en"
    for term in (library.terms or {}).values():
        yield _heading(2, term.id, escape(term.word[lang]))
        said = escape(term.word[other])
        yield _paragraph(
            f"{escape(term.definition[lang])}{_space(lang)}"
            f"{words['other']}{words['colon']}"
            f'<span lang="{_tag(other)}">{said}</span>{words["stop"]}'
        )


def _tag(lang: str) -> str:
    return "zh-Hans" if lang == "zh" else lang


def _space(lang: str) -> str:
    """What parts two sentences."""
    return "" if lang == "zh" else " "


def _heading(level: int, name: str, html: str) -> Fragment:
    anchor = escape_attribute(name)
    return Fragment("heading", f'<h{level} id="{anchor}">{html}</h{level}>', 0)


def _paragraph(html: str) -> Fragment:
    return Fragment("paragraph", f"<p>{html}</p>", 0)


def _list(items: Sequence[str]) -> Fragment:
    inner = "".join(f"<li>{item}</li>" for item in items)
    return Fragment("list", f"<ul>{inner}</ul>", 0)


def _labelled(words: Mapping[str, str], key: str, html: str) -> str:
    return f"<strong>{words[key]}</strong>{words['colon']}{html}"
