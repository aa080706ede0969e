"""The macro that prints a stage of the workbook from its manifest.

On paper and on the public site the panel becomes the command: only the
reader's own machine may run anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from book.press.faults import MacroError
from book.press.macros import Call, Whole
from book.press.xhtml import escape, escape_attribute
from lab.errors import InvalidInput
from lab.workbook.manifest import Stage, Track, read

WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "en": {
        "stage": "Stage {number}: {title}",
        "read": "Read first: ",
        "chapter": "chapter {number}",
        "chapters": ", ",
        "requires": "Requires: Python {packages}.",
        "and": " and {names}",
        "only": " only",
        "live": "Live: it talks to a service outside this machine.",
        "offline": "Not live: nothing leaves this machine.",
        "tests": "{count} tests, and {hints} hints if you get stuck.",
    },
    "zh": {
        "stage": "第 {number} 阶段：{title}",
        "read": "先读：",
        "chapter": "第 {number} 章",
        "chapters": "、",
        "requires": "需要：Python{packages}。",
        "and": " 和 {names}",
        "only": "，别无其他",
        "live": "联机：会访问本机之外的服务。",
        "offline": "不联机：没有东西离开本机。",
        "tests": "{count} 个测试；卡住时有 {hints} 条提示。",
    },
}


def exercise(call: Call, name: str, stage: str) -> Whole:
    """One stage: its title, what to read first, and the command."""
    file = f"lab/workbook/tracks/{name}/track.toml"
    try:
        one = read(call.library.read(file), file)
        return Whole("exercise", _html(call, one, one.stage(stage)))
    except InvalidInput as error:
        raise MacroError(str(error)) from None


def _html(call: Call, one: Track, stage: Stage) -> str:
    words = WORDS[call.lang]
    title = words["stage"].format(
        number=int(stage.number), title=stage.title[call.lang]
    )
    names = words["chapters"].join(stage.whole.requires)
    packages = words["and"].format(names=names) if names else words["only"]
    facts = [
        words["requires"].format(packages=packages),
        words["live" if stage.live else "offline"],
        words["tests"].format(
            count=stage.whole.expected, hints=len(stage.hints)
        ),
    ]
    items = "".join(f"<li>{escape(fact)}</li>" for fact in facts)
    if stage.read:
        items = f"<li>{words['read']}{_reading(call, stage)}</li>{items}"
    command = f"python3 -m lab.workbook check {one.id} --stage {stage.number}"
    return (
        f'<aside class="exercise" role="note" id="ex-{stage.id}"'
        f' data-exercise="{escape_attribute(f"{one.id}:{stage.id}")}">'
        f"<p><strong>{escape(title)}</strong></p>"
        f"<p>{escape(stage.about[call.lang])}</p><ul>{items}</ul>"
        f'<pre><code class="language-sh">{escape(command)}</code></pre>'
        "</aside>"
    )


def _reading(call: Call, stage: Stage) -> str:
    """Links to the chapters; one that is not in this book is only named."""
    slugs = call.library.plan.slugs()
    links = []
    for number in stage.read:
        text = WORDS[call.lang]["chapter"].format(number=number)
        found = [slug for slug in slugs if slug.startswith(f"{number:02}-")]
        links.append(f'<a href="ks:{found[0]}">{text}</a>' if found else text)
    return WORDS[call.lang]["chapters"].join(links)
