"""What every renderer is told about the build it takes part in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class LabZip:
    """The lab ZIP being shipped, for the landing page.

    ``name`` is the file name inside the staging folder, ``size`` is in
    bytes and ``sha256`` is 64 lower-case hex digits.
    """

    name: str
    size: int
    sha256: str


def _silent(_line: str) -> None:
    """Swallow progress, for callers that show none."""


@dataclass(frozen=True)
class BuildContext:
    """The facts of one build; the same facts give the same bytes.

    ``root`` is the project's root. ``source_digest`` is the SHA-256 of the
    source tree without DELIVERY.md. ``source_date_epoch`` is the date of
    that source in Unix seconds, the only time an artefact may carry.
    ``version`` is the project's version. ``dirty`` says that the tree
    differs from its commit; artefacts must not depend on it, release.json
    does. ``lab_zip`` is None only while the ZIP itself is being made.
    ``progress`` takes one line to show to whoever waits.
    """

    root: Path
    source_digest: str
    source_date_epoch: int
    version: str
    dirty: bool
    lab_zip: LabZip | None = None
    progress: Callable[[str], None] = _silent
