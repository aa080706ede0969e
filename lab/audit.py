"""Who was shown what: an audit record that holds no text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from lab import canonical
from lab.model import Context

# What a reading call hands its record to.
Sink = Callable[[dict[str, Any]], None]


def record(
    action: str,
    context: Context,
    shown: Iterable[tuple[str, int, int, int, str]],
) -> dict[str, Any]:
    """Return one audit record.

    ``shown`` holds (doc_id, revision, start, end, sha256 of the span's
    text). Documents are named by revision and spans by digest; the text
    itself, and the query, never enter a record.
    """
    return {
        "schema": "ks.audit/1",
        "action": action,
        "tenant": context.tenant,
        "principal": context.principal,
        "shown": [
            {
                "doc_id": doc_id,
                "revision": revision,
                "start": start,
                "end": end,
                "sha256": digest,
            }
            for doc_id, revision, start, end, digest in shown
        ],
    }


class AuditLog:
    """Appends records to a file, one canonical JSON line each.

    ``clock`` gives integer Unix seconds; it is passed in, so that results
    never depend on the time and tests can set it.
    """

    def __init__(self, path: Path, clock: Callable[[], int]) -> None:
        self._path = path
        self._clock = clock

    def __call__(self, entry: dict[str, Any]) -> None:
        """Write one record with the time it happened."""
        line = canonical.dumps({**entry, "at": self._clock()})
        with self._path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(line + "\n")
