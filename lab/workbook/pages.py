"""The panel's pages: a track's stages, with what to read and to require."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Final

from lab.workbook.manifest import Stage, Track
from lab.workbook.progress import Progress

WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "en": {
        "title": "The workbook",
        "begin": "Begin",
        "check": "Check",
        "hint": "Hint",
        "reset": "Forget results",
        "undo": "Undo",
        "wait": "One moment …",
        "gone": "The panel has stopped; start it again in the terminal.",
        "folder": "Your folder",
        "write": "You write",
        "read": "Read first",
        "chapter": "chapter",
        "requires": "Requires",
        "live": "Live",
        "yes": "yes: it talks to a service outside",
        "no": "no",
        "nothing": "nothing",
        "other": "中文",
    },
    "zh": {
        "title": "练习册",
        "begin": "开始",
        "check": "检查",
        "hint": "提示",
        "reset": "忘掉结果",
        "undo": "撤销",
        "wait": "请稍候……",
        "gone": "面板已停止，请在终端里重新启动。",
        "folder": "你的文件夹",
        "write": "你来写",
        "read": "先读",
        "chapter": "第",
        "requires": "需要",
        "live": "联机",
        "yes": "是：会访问外部服务",
        "no": "否",
        "nothing": "无",
        "other": "English",
    },
}


def key(track: Track, stage: Stage) -> str:
    """Return what names a stage of any track, as in ``prototype:01-chunks``."""
    return f"{track.id}:{stage.id}"


def index(tracks: tuple[Track, ...], lang: str) -> str:
    """Return the page that lists the tracks."""
    rows = "".join(
        f'<section><h2><a href="/{lang}/{track.id}">'
        f"{escape(track.title[lang])}</a></h2>"
        f"<p>{escape(track.about[lang])}</p></section>"
        for track in tracks
    )
    words = WORDS[lang]
    return _page(lang, words["title"], _languages(lang, "") + rows)


def exercise(track: Track, folder: str, progress: Progress, lang: str) -> str:
    """Return the page of one track."""
    words = WORDS[lang]
    first = key(track, track.stages[0])
    forms = escape((" / " if track.either else ", ").join(track.files))
    top = (
        f"<p>{escape(track.about[lang])}</p>"
        f"<dl><dt>{words['folder']}</dt><dd><code>{escape(folder)}</code></dd>"
        f"<dt>{words['write']}</dt><dd><code>{forms}</code></dd></dl>"
        f'<div data-stage="{escape(first)}">'
        f"{_buttons(words, 'begin', 'reset', 'undo')}"
        '<pre aria-live="polite"></pre></div>'
    )
    stages = "".join(
        _stage(track, stage, progress.record(stage.id).outcome, lang)
        for stage in track.stages
    )
    return _page(
        lang, track.title[lang], _languages(lang, track.id) + top + stages
    )


def _stage(track: Track, stage: Stage, outcome: str, lang: str) -> str:
    words = WORDS[lang]
    needed = ", ".join(stage.whole.requires)
    return (
        f'<section data-stage="{escape(key(track, stage))}"'
        f' data-outcome="{outcome}">'
        f"<h2>{stage.number} {escape(stage.title[lang])}</h2>"
        f"<p>{escape(stage.about[lang])}</p><dl>"
        f"<dt>{words['read']}</dt><dd>{reading(stage, lang)}</dd>"
        f"<dt>{words['requires']}</dt>"
        f"<dd>{escape(needed or words['nothing'])}</dd>"
        f"<dt>{words['live']}</dt>"
        f"<dd>{words['yes' if stage.live else 'no']}</dd></dl>"
        f"{_buttons(words, 'check', 'hint')}"
        '<pre aria-live="polite"></pre></section>'
    )


def reading(stage: Stage, lang: str) -> str:
    """Return what to read first, as in ``chapter 3, 4``."""
    words = WORDS[lang]
    if not stage.read:
        return words["nothing"]
    numbers = ", ".join(map(str, stage.read))
    if lang == "zh":
        return f"第 {numbers} 章".replace(", ", "、")
    return f"{words['chapter']} {numbers}"


def _buttons(words: Mapping[str, str], *names: str) -> str:
    return "".join(
        f'<button type="button" data-action="{name}">{words[name]}</button>'
        for name in names
    )


def _languages(lang: str, track: str) -> str:
    other = "zh" if lang == "en" else "en"
    return (
        f'<nav><a href="/{lang}/">{WORDS[lang]["title"]}</a>'
        f'<a href="/{other}/{track}" lang="{other}">'
        f"{WORDS[lang]['other']}</a></nav>"
    )


def _page(lang: str, title: str, body: str) -> str:
    words = WORDS[lang]
    return (
        f'<!doctype html>\n<html lang="{lang}">\n<head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title>"
        '<link rel="stylesheet" href="/panel.css">'
        '<link rel="icon" href="data:,">'
        '<script src="/panel.js" defer></script></head>\n'
        f'<body data-wait="{words["wait"]}" data-gone="{words["gone"]}">'
        f"<h1>{escape(title)}</h1>\n{body}\n</body>\n</html>\n"
    )
