"""One JSON for one value: canonical output and strict input."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from lab.errors import InvalidInput

MAX_INT = 2**63 - 1


def dumps(value: Any) -> str:
    """Return canonical JSON: sorted keys, no spaces, no NaN, not escaped.

    Raises ``ValueError`` for NaN and infinities.
    """
    return json.dumps(
        value,
        ensure_ascii=False,
        allow_nan=False,
        sort_keys=True,
        separators=(",", ":"),
    )


def digest(value: Any) -> str:
    """Return the SHA-256 (64 hex digits) of the canonical UTF-8 bytes."""
    return sha256(dumps(value))


def sha256(text: str) -> str:
    """Return the SHA-256 (64 hex digits) of the UTF-8 bytes of ``text``."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def loads(text: str, what: str = "JSON") -> Any:
    """Parse strict JSON.

    Duplicate keys, NaN, infinities, integers beyond 64 bits, text that is
    not well-formed Unicode and nesting too deep to read raise
    ``InvalidInput``; ``what`` names the input in the message.
    """
    if not isinstance(text, str):
        raise InvalidInput(f"{what}: must be a string")

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        seen: dict[str, Any] = {}
        for key, item in items:
            if key in seen:
                raise InvalidInput(f"{what}: duplicate key {key!r}")
            seen[key] = item
        return seen

    def constant(name: str) -> Any:
        raise InvalidInput(f"{what}: {name} is not a JSON number")

    def integer(digits: str) -> int:
        # Counted before converting: huge literals are a cost of their own.
        if len(digits) > 20 or abs(int(digits)) > MAX_INT:
            raise InvalidInput(f"{what}: integer beyond 64 bits")
        return int(digits)

    def number(digits: str) -> float:
        value = float(digits)
        if value in (float("inf"), float("-inf")):
            raise InvalidInput(f"{what}: number too large")
        return value

    try:
        value = json.loads(
            text,
            object_pairs_hook=pairs,
            parse_constant=constant,
            parse_int=integer,
            parse_float=number,
        )
    except RecursionError:
        raise InvalidInput(f"{what}: nested too deeply") from None
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"{what}: not JSON at line {error.lineno} column"
            f" {error.colno} ({error.msg})"
        ) from None
    _refuse_surrogates(value, what)
    return value


def _refuse_surrogates(value: Any, what: str) -> None:
    """Walk without recursion: depth is bounded by input, not by us."""
    pending: list[tuple[Any, str]] = [(value, what)]
    while pending:
        item, path = pending.pop()
        if isinstance(item, str):
            if not _well_formed(item):
                raise InvalidInput(f"{path}: lone surrogate")
        elif isinstance(item, list):
            pending.extend((v, f"{path}[{n}]") for n, v in enumerate(item))
        elif isinstance(item, dict):
            for key, v in item.items():
                if not _well_formed(key):
                    raise InvalidInput(f"{path}: lone surrogate in a key")
                pending.append((v, f"{path}.{key}"))


def _well_formed(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
