"""Public data that others wrote: where it is, and that it is the very same.

Nothing of it is in the lab. It is looked for below the folder that
``KEEPS_SECRETS_DATA`` names, one folder a data set, and every file is held
against its digest, so a figure names what it was measured on.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lab import canonical
from lab.experiments import Unavailable

VARIABLE: Final = "KEEPS_SECRETS_DATA"


@dataclass(frozen=True)
class DataSet:
    """A public data set: where it is from, on what terms, its digests."""

    name: str
    repository: str
    revision: str
    licence: str
    files: Mapping[str, str]

    @property
    def fingerprint(self) -> str:
        """Return the name with 16 hex digits over all digests."""
        return f"{self.name}+{canonical.digest(dict(self.files))[:16]}"


XQUAD: Final = DataSet(
    "xquad",
    "https://github.com/google-deepmind/xquad",
    "7d30520c717524000f0d9d2f9c10a069acd9d285",
    "CC BY-SA 4.0",
    {
        "xquad.en.json": (
            "e4c57d1c9143aaa1c5d265ba5987a65f4e69528d2a98f29d6e75019b10344f29"
        ),
        "xquad.zh.json": (
            "691d0b3359bc6b8faa8de931dfdfe21d50a65861ae348e32a0d1a0190b0c8835"
        ),
    },
)


def load(data: DataSet, name: str) -> Any:
    """Return one JSON file of a data set.

    Raises ``Unavailable`` when the folder is not named or the file is not
    there, or is another than the one pinned.
    """
    root = os.environ.get(VARIABLE)
    if not root:
        raise Unavailable(
            f"needs {data.name} ({data.repository} at {data.revision[:12]},"
            f" {data.licence}) in a folder that {VARIABLE} names"
        )
    path = Path(root) / data.name / name
    try:
        content = path.read_bytes()
    except OSError as error:
        raise Unavailable(f"{path}: {error.strerror}") from None
    if hashlib.sha256(content).hexdigest() != data.files[name]:
        raise Unavailable(
            f"{path}: is not the pinned file; take it from {data.repository}"
            f" at {data.revision}"
        )
    return canonical.loads(content.decode("utf-8"), str(path))
