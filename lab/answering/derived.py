"""Derived text: a summary or a cached answer lives as long as its sources.

Text made from documents holds what they hold. It is readable by whoever
can read every one of them now, at the revision it was made from, and by
nobody once any of them is changed, revoked or deleted. Nothing is copied
from a policy: access is decided again at every use.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from lab import citations
from lab.answering.passage import Passage, check_string
from lab.errors import InvalidInput
from lab.model import Checked, Context, require_context


class Checker(Protocol):
    """What decides about a citation now: ``lab.index.Index`` is one."""

    def check(self, citation: str, context: Context) -> Checked:
        """Return ``valid`` or ``unavailable`` for this reader, now."""


@dataclass(frozen=True)
class Derived:
    """A text and the citations of everything it was made from.

    Everything that was looked at counts, not only what is quoted: a model
    that was shown five passages may have used any of them. At least one,
    well-formed, of one tenant, else ``InvalidInput``: a text without
    sources would be readable by everyone.
    """

    text: str
    citations: tuple[str, ...]

    def __post_init__(self) -> None:
        check_string(self.text, "text")
        if not self.citations:
            raise InvalidInput("sources: a derived text needs at least one")
        tenants = set()
        for number, citation in enumerate(self.citations):
            parsed = citations.parse(
                check_string(citation, f"sources[{number}]")
            )
            if parsed is None:
                raise InvalidInput(f"sources[{number}]: not a citation")
            tenants.add(parsed.tenant)
        if len(tenants) > 1:
            raise InvalidInput(
                f"sources: of {len(tenants)} tenants, which nobody can read"
            )


def derived(text: str, sources: Iterable[Passage | Derived | str]) -> Derived:
    """Return ``text`` bound to its sources.

    A source is a piece of evidence, a citation, or a derived text, whose
    own sources are then taken. Each citation is kept once, in order.
    """
    if isinstance(sources, str):
        raise InvalidInput("sources: must be a list, not one string")
    found: list[str] = []
    for source in sources:
        if isinstance(source, Derived):
            found.extend(source.citations)
        elif isinstance(source, str):
            found.append(source)
        else:
            found.append(source.citation)
    return Derived(text, tuple(dict.fromkeys(found)))


def readable(text: Derived, index: Checker, context: Context) -> bool:
    """Say whether this reader may read the derived text now.

    Every source is checked, each in its own read transaction. Raises
    ``PermissionError`` without a ``Context``, before anything is read.
    """
    require_context(context)
    # All of them, whatever the first says: how many are looked at must not
    # depend on which one fails.
    states = [index.check(c, context).state for c in text.citations]
    return all(state == "valid" for state in states)
