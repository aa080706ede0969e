"""What the answering modules need of a piece of evidence."""

from __future__ import annotations

from typing import Protocol

from lab.errors import InvalidInput


class Passage(Protocol):
    """A quotation with its place: ``lab.model.Evidence`` is one."""

    @property
    def citation(self) -> str:
        """Return where the text stands, as ``ks1:…``."""

    @property
    def text(self) -> str:
        """Return the quoted text."""


def check_string(value: object, what: str) -> str:
    """Return ``value`` if it is well-formed text, else ``InvalidInput``."""
    if not isinstance(value, str):
        kind = type(value).__name__
        raise InvalidInput(f"{what}: must be a string, got {kind}")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidInput(f"{what}: holds a lone surrogate") from None
    return value
