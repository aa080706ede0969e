"""Macros: how a manuscript names what it shows instead of typing it.

Jinja2 is the language of the calls, and only that: each ``{{ … }}`` is
evaluated on its own, so that one fault does not hide the next, and leaves a
placeholder of private-use characters. Placeholders are filled in after the
Markdown is parsed; every line of what is parsed knows the line of the file
it came from.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from jinja2 import Environment, StrictUndefined, TemplateError
from jinja2.exceptions import TemplateSyntaxError

from book.press.faults import MacroError
from book.press.library import Library
from book.press.manuscript import Page
from book.press.problems import Problem

OPEN = "\ue000"
CLOSE = "\ue001"
PLACEHOLDER = re.compile(f"{OPEN}([0-9]+){CLOSE}")

# Comments are {## … ##}: Jinja's own mark would swallow `{#heading-id}`.
_JINJA = Environment(
    undefined=StrictUndefined,
    comment_start_string="{##",
    comment_end_string="##}",
    keep_trailing_newline=True,
    # Placeholders are text that is parsed as Markdown, not HTML.
    autoescape=False,
)


@dataclass(frozen=True)
class Inline:
    """What a macro puts into a line: XHTML, and the same as plain text."""

    html: str
    text: str


@dataclass(frozen=True)
class Captioned:
    """A block in a figure, numbered when it has a caption or a label.

    ``html`` is what comes before the caption, ``caption`` inline Markdown,
    ``link`` where its source is (``ks-lab:…``), ``link_text`` how that is
    called.
    """

    kind: str
    html: str
    caption: str = ""
    label: str = ""
    link: str = ""
    link_text: str = ""


@dataclass(frozen=True)
class Whole:
    """A block that brings its own root element, such as an exercise."""

    kind: str
    html: str


@dataclass(frozen=True)
class Reference:
    """A mention of a captioned block of the same chapter, by label."""

    label: str


Result = Inline | Captioned | Whole | Reference


@dataclass(frozen=True)
class Call:
    """Where a macro is called, and all that it may look things up in."""

    library: Library
    page: Page
    line: int

    @property
    def lang(self) -> str:
        """The language of the page."""
        return self.page.lang


Macro = Callable[..., Result]


@dataclass
class Expanded:
    """A chapter's body with placeholders for its macros.

    ``lines[i]`` is the line of the file on which line ``i`` of ``text``
    begins. ``results`` holds what each placeholder stands for, with the
    line of its call.
    """

    text: str = ""
    lines: list[int] = field(default_factory=list)
    results: list[tuple[Result, int]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def line(self, index: int) -> int:
        """The line of the file for a line of the text, both as counted."""
        return self.lines[min(index, len(self.lines) - 1)]


def expand(
    page: Page, library: Library, macros: Mapping[str, Macro]
) -> Expanded:
    """Evaluate every macro of a page; faults end up in ``problems``."""
    out = Expanded(lines=[page.body_line])
    body = page.body
    for mark in (OPEN, CLOSE):
        if mark in body:
            line = page.body_line + body.count("\n", 0, body.index(mark))
            message = f"the private-use character U+{ord(mark):04X}"
            out.problems.append(Problem(page.file, line, message, "delete it"))
            body = body.replace(mark, "")
    try:
        tokens = list(_JINJA.lex(body))
    except TemplateSyntaxError as error:
        line = page.body_line + error.lineno - 1
        out.problems.append(
            Problem(page.file, line, f"macro not understood: {error.message}")
        )
        return out
    line = page.body_line
    pieces: list[str] = []
    expression: list[str] | None = None
    opened = line
    for _, kind, value in tokens:
        if kind == "variable_begin":
            expression, opened = [], line
        elif kind == "variable_end" and expression is not None:
            source = "".join(expression).strip()
            pieces.append(_evaluate(source, opened, page, library, macros, out))
            expression = None
        elif expression is not None:
            expression.append(value)
        elif kind == "block_begin":
            out.problems.append(
                Problem(
                    page.file,
                    line,
                    "Jinja statements have no place in a chapter",
                    "only {{ macros }} and {% raw %} do",
                )
            )
        elif kind == "data":
            pieces.append(value)
            out.lines.extend(
                line + number for number in range(1, value.count("\n") + 1)
            )
        line += value.count("\n")
    if expression is not None:
        out.problems.append(
            Problem(page.file, opened, "a macro without its closing }}")
        )
    out.text = "".join(pieces)
    return out


def _evaluate(
    source: str,
    line: int,
    page: Page,
    library: Library,
    macros: Mapping[str, Macro],
    out: Expanded,
) -> str:
    """The text an expression leaves in the page."""
    call = Call(library, page, line)
    before = len(out.results) + len(out.problems)
    bound = {
        name: functools.partial(_run, name, macro, call, out)
        for name, macro in macros.items()
    }
    try:
        compiled = _JINJA.compile_expression(source, undefined_to_none=False)
        text = str(compiled(**bound))
    except TemplateError as error:
        message = error.message or str(error)
        name = re.match(r"[A-Za-z_]\w*", source)
        hint = ""
        if name and name.group() not in macros:
            message = f"there is no macro {name.group()!r}"
            hint = f"there are {', '.join(sorted(macros))}"
        out.problems.append(Problem(page.file, line, message, hint))
        return ""
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        out.problems.append(
            Problem(page.file, line, f"macro failed: {source}: {message}")
        )
        return ""
    if len(out.results) + len(out.problems) == before:
        out.problems.append(
            Problem(page.file, line, f"{{{{ {source} }}}} calls no macro")
        )
    return text


def _run(
    name: str,
    macro: Macro,
    call: Call,
    out: Expanded,
    *arguments: object,
    **named: object,
) -> str:
    """Call a macro and leave a placeholder for what it gives."""
    try:
        inspect.signature(macro).bind(call, *arguments, **named)
    except TypeError as error:
        _fault(out, call, f"{name}: {error}")
        return ""
    try:
        result = macro(call, *arguments, **named)
    except MacroError as error:
        _fault(out, call, f"{name}: {error.message}", error.hint)
        return ""
    out.results.append((result, call.line))
    return f"{OPEN}{len(out.results) - 1}{CLOSE}"


def _fault(out: Expanded, call: Call, message: str, hint: str = "") -> None:
    out.problems.append(Problem(call.page.file, call.line, message, hint))
