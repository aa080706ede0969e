"""Citations: where a quotation stands, and what it must still say."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lab import canonical
from lab.model import MAX_REVISION

_NUMBER = r"(?:0|[1-9][0-9]{0,18})"
_FORM = re.compile(
    r"ks1:(?P<tenant>[A-Za-z0-9_-]{1,80})/(?P<doc>[A-Za-z0-9_-]{1,80})"
    rf"@(?P<revision>{_NUMBER})\[(?P<start>{_NUMBER}),(?P<end>{_NUMBER})\)"
    r"#(?P<hex>[0-9a-f]{16})"
)


@dataclass(frozen=True)
class Citation:
    """One quotation's place: ``[start, end)`` in code points of a body.

    ``prefix`` is the first 16 hexadecimal digits of the SHA-256 of the
    quote. A citation carries no policy revision: that would tell a reader
    that somebody else's access changed, and access is decided again
    whenever the citation is used.
    """

    tenant: str
    doc_id: str
    revision: int
    start: int
    end: int
    prefix: str

    def __str__(self) -> str:
        return (
            f"ks1:{self.tenant}/{self.doc_id}@{self.revision}"
            f"[{self.start},{self.end})#{self.prefix}"
        )


def cite(
    tenant: str, doc_id: str, revision: int, start: int, end: int, quote: str
) -> str:
    """Return the citation of ``quote`` as text."""
    prefix = canonical.sha256(quote)[:16]
    return str(Citation(tenant, doc_id, revision, start, end, prefix))


def parse(text: str) -> Citation | None:
    """Return the citation that ``text`` is, whole, or ``None``.

    Only one spelling of each citation is legal: decimals without leading
    zeros, lower-case hexadecimal, nothing before or after.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    revision = int(found["revision"])
    start, end = int(found["start"]), int(found["end"])
    if not 1 <= revision <= MAX_REVISION or not start < end:
        return None
    return Citation(
        found["tenant"], found["doc"], revision, start, end, found["hex"]
    )
