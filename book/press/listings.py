"""The macro that weaves code from the tested source, never typed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from book.press.faults import MacroError
from book.press.highlighting import MAX_COLUMNS, code_html, columns
from book.press.macros import Call, Captioned
from book.press.symbols import source_of

_LANGUAGES = {
    ".py": "python",
    ".sql": "sql",
    ".toml": "toml",
    ".json": "json",
    ".jsonl": "jsonl",
    ".md": "markdown",
    ".txt": "text",
}


def listing(
    call: Call,
    path: str,
    symbol: str = "",
    *,
    region: str = "",
    caption: str = "",
    label: str = "",
    elide: str | Sequence[str] = (),
    highlight: Sequence[int | str] = (),
) -> Captioned:
    """The macro: a symbol, a region or a whole file, with its caption."""
    code = source_of(
        call.library.read(path), path, symbol, region=region, elide=elide
    )
    for line in code.split("\n"):
        if columns(line) > MAX_COLUMNS:
            raise MacroError(
                f"{path}: a line of {columns(line)} columns: {line.strip()!r}",
                f"break it: {MAX_COLUMNS} columns fit an e-reader",
            )
    marked = frozenset(_marked(code, highlight))
    language = _LANGUAGES.get(PurePosixPath(path).suffix, "text")
    place = f"{path}:{symbol or region}".rstrip(":")
    return Captioned(
        "listing",
        code_html(code, language, marked),
        caption=caption,
        label=label,
        link=f"ks-lab:{path}",
        link_text=place,
    )


def _marked(code: str, highlight: Sequence[int | str]) -> Iterator[int]:
    lines = code.split("\n")
    for wanted in highlight:
        if isinstance(wanted, int):
            if not 1 <= wanted <= len(lines):
                raise MacroError(
                    f"highlight {wanted}: the listing has {len(lines)} lines"
                )
            yield wanted
            continue
        holding = [n for n, line in enumerate(lines, 1) if wanted in line]
        if not holding:
            raise MacroError(f"highlight {wanted!r}: no line holds it")
        yield from holding
