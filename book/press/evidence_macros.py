"""Macros that print evidence: single values, tables, transcripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from book.press.evidence import Evidence, PathError, follow
from book.press.faults import MacroError
from book.press.highlighting import MAX_COLUMNS, code_html, columns
from book.press.macros import Call, Captioned, Inline
from book.press.xhtml import escape, escape_attribute


def value(
    call: Call, name: str, path: str, spec: str = "", *, observed: bool = False
) -> Inline:
    """A single value, formatted by a format specification of Python's."""
    found = _at(call.library.evidence(name), path, observed)
    text = formatted(found, spec, f"{name}: {path}")
    place = escape_attribute(f"{name}:{path}")
    html = f'<span class="value" data-value="{place}">{escape(text)}</span>'
    return Inline(html, text)


def table(
    call: Call,
    name: str,
    *,
    rows: str | Sequence[str],
    columns: Sequence[Sequence[str]],
    caption: str = "",
    label: str = "",
    labels: Mapping[str, str] | None = None,
    observed: bool = False,
) -> Captioned:
    """A table: rows of the evidence, columns by path in the row."""
    evidence = call.library.evidence(name)
    shown = labels or {}
    found = _rows(evidence, rows, observed)
    if not found:
        raise MacroError(f"{name}: no rows at {rows!r}")
    used: set[str] = set()
    body: list[str] = []
    for key, row in found:
        cells: list[str] = []
        for column in columns:
            _, path, spec = _column(column)
            if path == "@key":
                used.add(key)
                cells.append(f'<th scope="row">{escape(shown.get(key, key))}')
                cells.append("</th>")
                continue
            try:
                cell = follow(row, path)
            except PathError as error:
                raise MacroError(f"{name}: row {key}: {error}") from None
            text = formatted(cell, spec, f"{name}: row {key}: {path}")
            number = isinstance(cell, int | float)
            css = ' class="num"' if number else ""
            cells.append(f"<td{css}>{escape(shown.get(text, text))}</td>")
            used.add(text)
        body.append(f"<tr>{''.join(cells)}</tr>")
    if unused := sorted(set(shown) - used):
        raise MacroError(f"labels name no row or cell: {', '.join(unused)}")
    heads = "".join(
        f'<th scope="col">{escape(_column(column)[0])}</th>'
        for column in columns
    )
    place = escape_attribute(f"{name}:{rows if isinstance(rows, str) else ''}")
    html = (
        f'<table data-value="{place}"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table>"
    )
    return Captioned(
        "table",
        html,
        caption=caption,
        label=label,
        link=f"ks-evidence:{name}",
        link_text=name,
    )


def transcript(
    call: Call,
    name: str,
    *,
    caption: str = "",
    label: str = "",
    lines: Sequence[int] = (),
    highlight: Sequence[int | str] = (),
) -> Captioned:
    """A recorded session, or its lines ``(first, last)``, from 1."""
    shown = call.library.transcript(name).split("\n")
    if lines:
        if len(lines) != 2 or not 1 <= lines[0] <= lines[1] <= len(shown):
            raise MacroError(
                f"lines={tuple(lines)}: {name} has {len(shown)} lines",
                "give the first and the last, from 1",
            )
        shown = shown[lines[0] - 1 : lines[1]]
    for line in shown:
        if columns(line) > MAX_COLUMNS:
            raise MacroError(
                f"{name}.txt: a line of {columns(line)} columns: {line!r}",
                f"let the experiment emit at most {MAX_COLUMNS}",
            )
    marked: set[int] = set()
    for wanted in highlight:
        holding = [
            number
            for number, line in enumerate(shown, 1)
            if number == wanted or (isinstance(wanted, str) and wanted in line)
        ]
        if not holding:
            raise MacroError(f"highlight {wanted!r}: no such line")
        marked.update(holding)
    try:
        html = code_html("\n".join(shown), "console", frozenset(marked))
    except ValueError as error:
        raise MacroError(f"{name}.txt: {error}") from None
    # An evidence file belongs to every transcript, and is linked.
    call.library.evidence(name)
    return Captioned(
        "transcript",
        html,
        caption=caption,
        label=label,
        link=f"ks-evidence:{name}",
        link_text=name,
    )


def formatted(found: Any, spec: str, place: str) -> str:
    """A single value as text; ``MacroError`` for anything composed."""
    if found is None or isinstance(found, dict | list):
        raise MacroError(f"{place} is not a single value")
    if isinstance(found, bool):
        if spec:
            raise MacroError(f"{place} is {found}: it takes no format")
        return "true" if found else "false"
    try:
        text = format(found, spec)
    except ValueError as error:
        raise MacroError(f"{place}: format {spec!r}: {error}") from None
    # A hyphen is read out as one; a minus is not.
    if isinstance(found, int | float) and text.startswith("-"):
        return "\N{MINUS SIGN}" + text[1:]
    return text


def _at(evidence: Evidence, path: str, observed: bool) -> Any:
    try:
        return evidence.at(path, observed=observed)
    except PathError as error:
        raise MacroError(str(error)) from None


def _rows(
    evidence: Evidence, rows: str | Sequence[str], observed: bool
) -> list[tuple[str, Any]]:
    """Each row with its key: its name, or its place from 1."""
    if not isinstance(rows, str):
        return [
            (path.rpartition(".")[2], _at(evidence, path, observed))
            for path in rows
        ]
    found = _at(evidence, rows, observed)
    if isinstance(found, dict):
        return list(found.items())
    if isinstance(found, list):
        return [(str(place), row) for place, row in enumerate(found, 1)]
    raise MacroError(f"{evidence.name}: {rows!r} is not a list of rows")


def _column(column: Sequence[str]) -> tuple[str, str, str]:
    if isinstance(column, str) or not 2 <= len(column) <= 3:
        raise MacroError(
            f"column {column!r}", 'give ["Heading", "path", "format"]'
        )
    return column[0], column[1], column[2] if len(column) == 3 else ""
