"""A track's reference as a module, for whoever wants to run it."""

from __future__ import annotations

import importlib
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Final

from lab.workbook.manifest import Track

_LOADING: Final = threading.Lock()


def load(track: Track) -> dict[str, ModuleType]:
    """Return the modules of a track's reference, by name, newly made.

    They are imported by the names that learners use, and forgotten again,
    so that a learner's module of that name is never met by mistake.
    """
    names = [
        Path(name).stem
        for name in (*track.given, *track.files)
        if name.endswith(".py")
    ]
    with _LOADING:
        before = {name: sys.modules.pop(name, None) for name in names}
        sys.path.insert(0, str(track.reference))
        try:
            return {name: importlib.import_module(name) for name in names}
        finally:
            sys.path.remove(str(track.reference))
            for name, module in before.items():
                sys.modules.pop(name, None)
                if module is not None:
                    sys.modules[name] = module
