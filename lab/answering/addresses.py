"""Addresses in an answer that came from nowhere.

A rendered image or a clicked link sends its address, and whatever a model
was talked into writing at its end, to somebody else's server. An address
that stands in no passage, letter for letter, was made up by the model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_ADDRESS = re.compile(
    r"(?:[a-z][a-z0-9+.-]{0,20}:)?//[^\s<>\"'`)\]）】」』。，；、]+"
    r"|\bwww\.[^\s<>\"'`)\]）】」』。，；、]+"
    r"|\b(?:data|javascript|mailto):[^\s<>\"'`)\]）】」』。，；、]+",
    re.IGNORECASE,
)
_AFTER = ".,;:!?*_"


def foreign_addresses(text: str, known: Sequence[str]) -> tuple[str, ...]:
    """Return the addresses in ``text`` that occur in none of ``known``.

    An address is taken without the punctuation after it and must stand in
    a known text as a whole address: one made longer is another.
    """
    held = {address for source in known for address in _addresses(source)}
    found = dict.fromkeys(_addresses(text))
    return tuple(address for address in found if address not in held)


def _addresses(text: str) -> list[str]:
    return [match[0].rstrip(_AFTER) for match in _ADDRESS.finditer(text)]
