"""What a stage needs besides Python, and how to get it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from lab.errors import InvalidInput


@dataclass(frozen=True)
class Requirement:
    """``met`` looks whether it is there, ``command`` provides it."""

    name: str
    met: Callable[[], bool]
    command: str


def _package(name: str, *others: str) -> Requirement:
    """A package and those it is used with, all installed by pip."""
    names = (name, *others)

    def met() -> bool:
        return all(importlib.util.find_spec(one) is not None for one in names)

    command = f"{sys.executable} -m pip install {' '.join(names)}"
    return Requirement(name, met, command)


REQUIREMENTS: Final[Mapping[str, Requirement]] = {
    one.name: one for one in (_package("pytest"),)
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
