"""Code as XHTML: exact text, with Pygments' short class names for colour."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Collection

from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES
from pygments.util import ClassNotFound

from book.press.xhtml import escape

MAX_COLUMNS = 80

# Languages that are marked up as plain text, under their own name.
_PLAIN = frozenset({"text", "jsonl", "markdown", "http"})


def columns(line: str) -> int:
    """How wide a line is printed: wide characters count as two."""
    return sum(
        0
        if unicodedata.combining(character)
        else 2
        if unicodedata.east_asian_width(character) in "WF"
        else 1
        for character in line
    )


def knows(language: str) -> bool:
    """Whether there is colour for this language."""
    if language in _PLAIN:
        return True
    try:
        get_lexer_by_name(language)
    except ClassNotFound:
        return False
    return True


@functools.lru_cache(maxsize=1024)
def code_html(
    code: str, language: str, marked: Collection[int] = frozenset()
) -> str:
    """``<pre><code>`` of the code, without its trailing line end.

    ``marked`` holds the lines, from 1, that stand out; they are wrapped in
    ``<span class="hll">``. Raises ``ValueError`` for an unknown language
    and for code that begins with an empty line, which HTML would swallow.
    """
    code = code.rstrip("\n")
    if code.startswith("\n"):
        raise ValueError("code begins with an empty line")
    lines: list[list[str]] = [[]]
    for css, text in _tokens(code, language):
        for number, piece in enumerate(text.split("\n")):
            if number:
                lines.append([])
            if piece:
                shown = escape(piece)
                lines[-1].append(
                    f'<span class="{css}">{shown}</span>' if css else shown
                )
    joined = [
        f'<span class="hll">{"".join(line)}</span>'
        if number in marked
        else "".join(line)
        for number, line in enumerate(lines, 1)
    ]
    text = "\n".join(joined)
    return f'<pre><code class="language-{language}">{text}</code></pre>'


def _tokens(code: str, language: str) -> list[tuple[str, str]]:
    """Runs of the code with their class; joined they are the code."""
    if language in _PLAIN:
        return [("", code)]
    if language == "console":
        return _console(code)
    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        raise ValueError(f"no such language: {language!r}") from None
    found: list[tuple[str, str]] = []
    for kind, text in lexer.get_tokens(code):
        css = STANDARD_TYPES.get(kind, "")
        if css in ("w", "n", "p"):
            css = ""
        if found and found[-1][0] == css:
            found[-1] = (css, found[-1][1] + text)
        else:
            found.append((css, text))
    if "".join(text for _, text in found) != code:
        raise ValueError(f"the lexer for {language} changes the text")
    return found


def _console(code: str) -> list[tuple[str, str]]:
    """A session: prompts, so that they are not copied, and output."""
    found: list[tuple[str, str]] = []
    for number, line in enumerate(code.split("\n")):
        if number:
            found.append(("", "\n"))
        if line.startswith("$ "):
            found.extend([("gp", "$ "), ("", line[2:])])
        else:
            found.append(("go", line))
    return found
