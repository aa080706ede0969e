"""A small validator for the JSON schemas in ``lab/schemas``.

It knows the keywords those schemas use and refuses the others, so that a
schema cannot promise a check that does not happen.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Any

from lab import canonical
from lab.errors import InvalidInput

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_NOTES = {"$schema", "$id", "title", "description", "$defs"}
_KEYWORDS = _NOTES | {
    "type",
    "enum",
    "const",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "required",
    "properties",
    "additionalProperties",
    "items",
    "minItems",
    "oneOf",
    "$ref",
}


@lru_cache(maxsize=32)
def load(name: str) -> Mapping[str, Any]:
    """Return the schema ``lab/schemas/NAME.json``."""
    path = resources.files("lab").joinpath("schemas", f"{name}.json")
    schema: Mapping[str, Any] = canonical.loads(
        path.read_text(encoding="utf-8"), f"schema {name}"
    )
    return schema


def validate(value: Any, name: str, where: str) -> None:
    """Check ``value`` against the schema called ``name``.

    Raises ``InvalidInput`` naming ``where`` and the path of the first
    fault.
    """
    root = load(name)
    _check(value, root, root, where)


def _check(
    value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], at: str
) -> None:
    unknown = set(schema) - _KEYWORDS
    if unknown:
        raise ValueError(f"schema at {at}: unknown keyword {min(unknown)}")
    if "$ref" in schema:
        target: Any = root
        for step in schema["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        _check(value, target, root, at)
    if "type" in schema:
        _type(value, schema["type"], at)
    if "const" in schema and not _same(value, schema["const"]):
        raise InvalidInput(f"{at}: must be {canonical.dumps(schema['const'])}")
    if "enum" in schema and not any(_same(value, e) for e in schema["enum"]):
        names = ", ".join(canonical.dumps(e) for e in schema["enum"])
        raise InvalidInput(f"{at}: must be one of {names}")
    if isinstance(value, str):
        _string(value, schema, at)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if value < schema.get("minimum", value):
            raise InvalidInput(f"{at}: must be at least {schema['minimum']}")
        if value > schema.get("maximum", value):
            raise InvalidInput(f"{at}: must be at most {schema['maximum']}")
    elif isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            raise InvalidInput(f"{at}: has too few items")
        if "items" in schema:
            for number, item in enumerate(value):
                _check(item, schema["items"], root, f"{at}[{number}]")
    elif isinstance(value, dict):
        _object(value, schema, root, at)
    if "oneOf" in schema:
        _one_of(value, schema["oneOf"], root, at)


def _same(left: Any, right: Any) -> bool:
    return type(left) is type(right) and bool(left == right)


def _type(value: Any, kinds: str | list[str], at: str) -> None:
    wanted = [kinds] if isinstance(kinds, str) else kinds
    for kind in wanted:
        if isinstance(value, _TYPES[kind]) and (
            kind == "boolean" or not isinstance(value, bool)
        ):
            return
    raise InvalidInput(f"{at}: must be {' or '.join(wanted)}")


def _string(value: str, schema: Mapping[str, Any], at: str) -> None:
    if len(value) < schema.get("minLength", 0):
        raise InvalidInput(f"{at}: is too short")
    if len(value) > schema.get("maxLength", len(value)):
        raise InvalidInput(f"{at}: is too long")
    pattern = schema.get("pattern")
    if pattern is not None and not re.search(pattern, value):
        raise InvalidInput(f"{at}: does not match {pattern}")


def _object(
    value: dict[str, Any],
    schema: Mapping[str, Any],
    root: Mapping[str, Any],
    at: str,
) -> None:
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            raise InvalidInput(f"{at}: lacks {name!r}")
    rest = schema.get("additionalProperties", True)
    for name, item in value.items():
        place = f"{at}.{name}"
        if name in properties:
            _check(item, properties[name], root, place)
        elif rest is False:
            raise InvalidInput(f"{place}: is not a known field")
        elif isinstance(rest, dict):
            _check(item, rest, root, place)


def _one_of(
    value: Any, options: list[Any], root: Mapping[str, Any], at: str
) -> None:
    """Exactly one option must hold.

    Where the options are told apart by a constant field, the message is
    that of the option whose constant matches.
    """
    messages = []
    passed = 0
    for option in options:
        try:
            _check(value, option, root, at)
            passed += 1
        except InvalidInput as error:
            messages.append((_names_option(value, option, root), str(error)))
    if passed == 1:
        return
    if passed > 1:
        raise InvalidInput(f"{at}: is ambiguous")
    for named, message in messages:
        if named:
            raise InvalidInput(message)
    raise InvalidInput(f"{at}: is none of the known forms")


def _names_option(
    value: Any, option: Mapping[str, Any], root: Mapping[str, Any]
) -> bool:
    if "$ref" in option:
        target: Any = root
        for step in option["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        option = target
    return isinstance(value, dict) and any(
        "const" in rule and value.get(name) == rule["const"]
        for name, rule in option.get("properties", {}).items()
    )
