"""Text as every coordinate sees it: normalised once, then never touched.

Coordinates are Python code points, half-open ``[start, end)``, into the
body of a ``Projection``. Normalising happens before anything is counted,
so the same document read as bytes, text or JSON has the same spans.
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from typing import Any, Final

from lab import canonical, markdown
from lab.errors import InvalidInput
from lab.model import FORMATS
from lab.terms_tables import MARKS, character_class

UNTITLED: Final = "Untitled"

# Putting n marks in canonical order costs n² steps. No script stacks more
# than a handful; Unicode's own stream-safe format stops at thirty.
MAX_MARKS: Final = 1024
_MARK_RUN = re.compile(f"[{character_class(MARKS)}]++")


@dataclass(frozen=True)
class Projection:
    """The normalised text of a document, and what it was made from.

    ``sha256`` (64 hex digits) covers format, title and body.
    """

    title: str
    body: str
    sha256: str
    format: str = "markdown"


@dataclass(frozen=True)
class Utf16Span:
    """A half-open span in UTF-16 code units, as browsers count."""

    start: int
    end: int


def normalize(text: str, where: str = "text") -> str:
    """Return ``text`` with LF line ends, in Unicode NFC, without a BOM.

    Raises ``InvalidInput`` naming ``where`` for anything but a ``str``,
    for NUL, for a lone surrogate and for a run of more than 1,024
    combining marks. Applying it twice changes nothing.
    """
    if not isinstance(text, str):
        raise InvalidInput(
            f"{where}: must be a string, not {type(text).__name__}"
        )
    if text.isascii():
        body = text
    else:
        _check_characters(text, where)
        body = text.lstrip("\ufeff")
    if "\x00" in body:
        raise InvalidInput(
            f"{where}: NUL at code point {text.index(chr(0))};"
            " is this a binary file?"
        )
    body = body.replace("\r\n", "\n").replace("\r", "\n")
    return unicodedata.normalize("NFC", body)


def _check_characters(text: str, where: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{where}: lone surrogate U+{ord(text[error.start]):04X}"
            f" at code point {error.start}"
        ) from None
    for run in _MARK_RUN.finditer(text):
        if run.end() - run.start() > MAX_MARKS:
            raise InvalidInput(
                f"{where}: more than {MAX_MARKS} combining marks in a row"
                f" at code point {run.start()}"
            )


def project(format: str, source: str) -> Projection:
    """Return the projection of ``source``, read as ``format``.

    ``markdown`` keeps its markup; ``text`` is taken as it is; ``json`` is
    exactly ``{"title": str, "sections": [{"heading": str, "text": str},
    …]}``. Raises ``InvalidInput`` naming the place (``sections[3].text``).
    """
    if format == "markdown":
        body = normalize(source, "markdown source")
        title = markdown.title(body) or UNTITLED
    elif format == "json":
        title, body = _from_json(source)
    elif format == "text":
        body = normalize(source, "text source")
        lines = (line.strip() for line in body.split("\n"))
        title = next((line for line in lines if line), UNTITLED)
    else:
        raise InvalidInput(
            f"format: must be one of {', '.join(FORMATS)}, got {format!r}"
        )
    digest = canonical.digest([format, title, body])
    return Projection(title, body, digest, format)


def to_utf16(text: str, start: int, end: int) -> Utf16Span:
    """Convert a code-point span of ``text`` to UTF-16 code units.

    Raises ``InvalidInput`` unless ``0 <= start <= end <= len(text)``.
    """
    if not 0 <= start <= end <= len(text):
        raise InvalidInput(
            f"span: [{start}, {end}) is not inside 0 to {len(text)}"
        )
    before = _utf16_units(text[:start])
    return Utf16Span(before, before + _utf16_units(text[start:end]))


def _utf16_units(text: str) -> int:
    return len(text) + sum(character > "\uffff" for character in text)


@dataclass(frozen=True)
class _Refused:
    """Stands where the parser met a value no document may hold.

    The parser knows no path; the walk after it does.
    """

    what: str


def _from_json(source: str) -> tuple[str, str]:
    """Return title and body of a JSON document."""

    def pairs(items: list[tuple[str, Any]]) -> Any:
        seen: dict[str, Any] = {}
        for key, item in items:
            if key in seen:
                return _Refused(f"an object with the key {key!a} twice")
            seen[key] = item
        return seen

    def number(digits: str) -> _Refused:
        # Never converted: a long literal is a cost, and NaN is not JSON.
        shown = digits if len(digits) <= 20 else f"{digits[:17]}..."
        return _Refused(f"the number {shown}")

    if not isinstance(source, str):
        raise _wrong_type("json source", "a string", source)
    try:
        # Strings are normalised after parsing: before it, NFC would join
        # the escape \\n to an accent that follows it.
        value = json.loads(
            source.lstrip("\ufeff"),
            object_pairs_hook=pairs,
            parse_int=number,
            parse_float=number,
            parse_constant=number,
        )
    except RecursionError:
        raise InvalidInput("json source: nested too deeply") from None
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"json source: not JSON at line {error.lineno} column"
            f" {error.colno} ({error.msg})"
        ) from None
    _check_object(value, "", "title", "sections")
    title = _one_line(value["title"], "title")
    parts = [f"# {title}"]
    if not isinstance(value["sections"], list):
        raise _wrong_type("sections", "a list", value["sections"])
    for n, section in enumerate(value["sections"]):
        path = f"sections[{n}]"
        _check_object(section, path, "heading", "text")
        heading = _one_line(section["heading"], f"{path}.heading")
        text = _string(section["text"], f"{path}.text")
        parts.append(f"## {heading}\n{text}")
    # Joining can bring a mark next to a letter; the whole is what counts.
    return title.strip() or UNTITLED, normalize("\n\n".join(parts))


def _check_object(value: Any, path: str, *keys: str) -> None:
    here = path or "document"
    if not isinstance(value, dict):
        raise _wrong_type(here, "an object", value)
    prefix = f"{path}." if path else ""
    for key in keys:
        if key not in value:
            raise InvalidInput(f"{prefix}{key}: missing")
    for key in value:
        if key not in keys:
            raise InvalidInput(
                f"{here}: unknown key {key!a}; allowed are {' and '.join(keys)}"
            )


def _one_line(value: Any, path: str) -> str:
    line = _string(value, path)
    if "\n" in line:
        raise InvalidInput(f"{path}: must be one line, holds a line break")
    return line


def _string(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise _wrong_type(path, "a string", value)
    return normalize(value, path)


def _wrong_type(path: str, wanted: str, value: Any) -> InvalidInput:
    if isinstance(value, _Refused):
        got = value.what
    elif value is None:
        got = "null"
    else:
        names = {
            bool: "a boolean",
            dict: "an object",
            list: "a list",
            str: "a string",
        }
        got = names.get(type(value), type(value).__name__)
    return InvalidInput(f"{path}: must be {wanted}, not {got}")
