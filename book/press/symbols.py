"""Source code by symbol: the one place that cuts lines out of a file."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from book.press.faults import MacroError, nearest

_REGION = re.compile(r"^\s*(?:#|--|//)\s*region:\s*(\S+)\s*$")
_REGION_END = re.compile(r"^\s*(?:#|--|//)\s*endregion\b.*$")
_ELISIONS = ("docstring", "body")

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Span:
    """Lines ``first`` to ``last`` of a file, both counted from 1."""

    first: int
    last: int


def source_of(
    text: str,
    path: str,
    symbol: str = "",
    *,
    region: str = "",
    elide: str | Sequence[str] = (),
) -> str:
    """The lines of a symbol or region, dedented, without a last line end.

    ``path`` names the file in messages. Decorators and the comment right
    above a symbol belong to it. Marks of regions are left out. Raises
    ``MacroError`` when the symbol is not there, is defined more than once
    (overloads, alternatives), or the elision cannot be made.
    """
    if symbol and region:
        raise MacroError("both a symbol and a region", "name one of them")
    elisions = [elide] if isinstance(elide, str) else list(elide)
    for elision in elisions:
        if elision not in _ELISIONS:
            raise MacroError(
                f"cannot elide {elision!r}", f"only {' and '.join(_ELISIONS)}"
            )
    if elisions and not symbol:
        raise MacroError("only a symbol can be elided", "name the symbol")
    lines = text.split("\n")
    if region:
        span = _region(lines, path, region)
        kept = lines[span.first - 1 : span.last]
    elif symbol:
        kept = _symbol(text, lines, path, symbol, elisions)
    else:
        kept = lines
    kept = [
        line
        for line in kept
        if not _REGION.match(line) and not _REGION_END.match(line)
    ]
    code = "\n".join(_dedent(kept)).strip("\n")
    if not code.strip():
        raise MacroError(f"listing `{path}:{symbol or region}` is empty")
    return code


@functools.lru_cache(maxsize=512)
def parsed(text: str) -> ast.Module:
    """The syntax tree of Python source; ``SyntaxError`` when it is none.

    The same files are asked about many times in a run. Not to be changed.
    """
    return ast.parse(text)


def defines(text: str, names: Sequence[str]) -> bool:
    """Whether a Python file defines ``names`` (class, method) in turn."""
    scope: Sequence[ast.stmt] = parsed(text).body
    for name in names:
        found = [
            node
            for node, defined in _definitions(scope)
            if defined == name and isinstance(node, _Definition)
        ]
        if not found:
            return False
        scope = found[-1].body
    return True


def _region(lines: Sequence[str], path: str, name: str) -> Span:
    starts = {
        found.group(1): number
        for number, line in enumerate(lines, 1)
        if (found := _REGION.match(line))
    }
    named = [
        number
        for number, line in enumerate(lines, 1)
        if (found := _REGION.match(line)) and found.group(1) == name
    ]
    if not named:
        raise MacroError(
            f"region `{name}` not found in {path}", nearest(name, [*starts])
        )
    if len(named) > 1:
        raise MacroError(f"region `{name}` stands twice in {path}")
    depth = 0
    for number in range(named[0], len(lines)):
        line = lines[number]
        if _REGION.match(line):
            depth += 1
        elif _REGION_END.match(line):
            if not depth:
                return Span(named[0] + 1, number)
            depth -= 1
    raise MacroError(f"region `{name}` in {path} has no `# endregion`")


def _symbol(
    text: str,
    lines: Sequence[str],
    path: str,
    symbol: str,
    elisions: Sequence[str],
) -> list[str]:
    try:
        tree = parsed(text)
    except SyntaxError as error:
        raise MacroError(f"{path}:{error.lineno}: {error.msg}") from None
    scope: Sequence[ast.stmt] = tree.body
    node: ast.stmt = tree.body[0] if tree.body else ast.Pass()
    for name in symbol.split("."):
        found = [node for node, named in _definitions(scope) if named == name]
        if not found:
            raise MacroError(
                f"listing `{path}:{symbol}` not found",
                nearest(symbol, _all_names(tree.body)),
            )
        if len(found) > 1:
            places = ", ".join(str(node.lineno) for node in found)
            raise MacroError(
                f"`{path}:{symbol}` is defined more than once (lines {places})",
                "name a region instead",
            )
        node = found[0]
        scope = node.body if isinstance(node, _Definition) else []
    first = _first_line(node, lines)
    last = node.end_lineno or node.lineno
    replaced = _elided(node, lines, f"{path}:{symbol}", elisions)
    kept: list[str] = []
    for number in range(first, last + 1):
        if number not in replaced:
            kept.append(lines[number - 1])
        elif stand_in := replaced[number]:
            kept.append(stand_in)
    return kept


def _definitions(
    scope: Sequence[ast.stmt],
) -> Iterator[tuple[ast.stmt, str]]:
    """What a scope defines, with the name; branches count as the scope."""
    for node in scope:
        if isinstance(node, _Definition):
            yield node, node.name
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    yield node, target.id
        elif isinstance(node, ast.AnnAssign):
            if isinstance(node.target, ast.Name):
                yield node, node.target.id
        elif isinstance(node, ast.If):
            yield from _definitions([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            handled = [line for h in node.handlers for line in h.body]
            yield from _definitions([*node.body, *handled, *node.orelse])


def _all_names(scope: Sequence[ast.stmt], prefix: str = "") -> list[str]:
    names: list[str] = []
    for node, name in _definitions(scope):
        names.append(prefix + name)
        if isinstance(node, ast.ClassDef):
            names.extend(_all_names(node.body, f"{prefix}{name}."))
    return names


def _first_line(node: ast.stmt, lines: Sequence[str]) -> int:
    """The first decorator, or the comment right above it."""
    first = node.lineno
    if isinstance(node, _Definition):
        first = min([first, *(mark.lineno for mark in node.decorator_list)])
    indent = node.col_offset
    while first > 1:
        above = lines[first - 2]
        if not above.startswith(" " * indent + "#"):
            break
        if _REGION.match(above) or _REGION_END.match(above):
            break
        first -= 1
    return first


def _elided(
    node: ast.stmt, lines: Sequence[str], name: str, elisions: Sequence[str]
) -> dict[int, str]:
    """Line numbers to leave out; ``""`` or what stands in their place."""
    if not elisions:
        return {}
    if not isinstance(node, _Definition):
        raise MacroError(f"`{name}` has nothing to elide")
    replaced: dict[int, str] = {}
    if "docstring" in elisions:
        for inner in ast.walk(node):
            if isinstance(inner, _Definition):
                _elide_docstring(inner, lines, replaced)
    if "body" in elisions:
        _elide_body(node, lines, name, replaced)
    return replaced


def _docstring(node: _Definition) -> ast.stmt | None:
    if ast.get_docstring(node, clean=False) is None:
        return None
    return node.body[0]


def _elide_docstring(
    node: _Definition, lines: Sequence[str], replaced: dict[int, str]
) -> None:
    docstring = _docstring(node)
    if docstring is None:
        return
    last = docstring.end_lineno or docstring.lineno
    if len(node.body) > 1:
        # The blank lines that set the docstring apart go with it.
        while not lines[last].strip():
            last += 1
    for number in range(docstring.lineno, last + 1):
        replaced[number] = ""
    if len(node.body) == 1:
        replaced[docstring.lineno] = " " * docstring.col_offset + "..."


def _elide_body(
    node: _Definition,
    lines: Sequence[str],
    name: str,
    replaced: dict[int, str],
) -> None:
    if isinstance(node, ast.ClassDef):
        for inner in node.body:
            if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                _elide_body(inner, lines, name, replaced)
        return
    body = node.body[1:] if _docstring(node) else node.body
    if not body:
        return
    if body[0].lineno == node.lineno:
        raise MacroError(f"`{name}` is too short to elide a body")
    first = body[0].lineno
    # The comment above the first statement belongs to the body.
    while lines[first - 2].strip().startswith("#"):
        first -= 1
    for number in range(first, (node.end_lineno or node.lineno) + 1):
        replaced[number] = ""
    replaced[first] = " " * body[0].col_offset + "..."


def _dedent(lines: Sequence[str]) -> list[str]:
    """Take off the first line's indent, if every line has it."""
    first = next((line for line in lines if line.strip()), "")
    indent = len(first) - len(first.lstrip(" "))
    margin = " " * indent
    if all(line.startswith(margin) for line in lines if line.strip()):
        return [line[indent:] for line in lines]
    return list(lines)
