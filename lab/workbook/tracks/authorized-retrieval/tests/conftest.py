"""Which file the tests import as ``authorized_retrieval``.

In a workspace it is the learner's, beside the folder ``tests``. The
variable ``LAB_MODULE`` names another: ``solution`` is the reference that
comes with the lab, anything else a folder that holds one.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

TRACK = "authorized-retrieval"


def folder() -> Path:
    """Return the folder to import from."""
    wanted = os.environ.get("LAB_MODULE", "")
    if not wanted:
        here = Path(__file__).resolve().parent.parent
        return here / "source" if (here / "source").is_dir() else here
    if wanted != "solution":
        return Path(wanted).resolve()
    found = importlib.util.find_spec("lab")
    if found is None or found.origin is None:
        raise RuntimeError(
            "LAB_MODULE=solution needs the lab; run this from its folder"
        )
    return Path(found.origin).parent / "workbook" / "solutions" / TRACK


sys.path.insert(0, str(folder()))
