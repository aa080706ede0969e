"""The learner's functions, out of the script or out of the notebook.

Both are read for their definitions only: calls at the top of a cell, the
self-checks among them, are not made. ``KS_WORKBOOK_FILE`` says which file,
``LAB_MODULE`` which folder (``solution`` is the reference that comes with
the lab, nothing the folder above this one).
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

TRACK = "prototype"
SCRIPT = "retrieval_prototype.py"
COMPUTED = (ast.Assign, ast.AnnAssign)
DEFINED = (
    ast.FunctionDef,
    ast.ClassDef,
    ast.Import,
    ast.ImportFrom,
    *COMPUTED,
)


def folder() -> Path:
    """Return the folder to read from."""
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


def pieces(file: Path) -> Iterator[tuple[str, str]]:
    """Return each piece of code, with the name it is shown under."""
    text = file.read_text("utf-8-sig")
    if file.suffix == ".py":
        yield text, str(file)
        return
    for number, cell in enumerate(json.loads(text)["cells"], 1):
        if cell["cell_type"] == "code":
            lines = "".join(cell["source"]).split("\n")
            # What IPython understands and Python does not.
            code = [
                "" if one.lstrip().startswith(("%", "!", "?")) else one
                for one in lines
            ]
            yield "\n".join(code), f"{file} cell {number}"


@pytest.fixture
def learner() -> SimpleNamespace:
    """What the learner's file defines."""
    file = folder() / os.environ.get("KS_WORKBOOK_FILE", SCRIPT)
    defined: dict[str, Any] = {"__name__": "retrieval_prototype"}
    for code, name in pieces(file):
        for node in ast.parse(code, name).body:
            if not isinstance(node, DEFINED):
                continue
            made = compile(ast.Module([node], []), name, "exec")
            # A value computed by what does not work yet is not needed.
            ignored = Exception if isinstance(node, COMPUTED) else ()
            with contextlib.suppress(ignored):
                exec(made, defined)
    return SimpleNamespace(**defined)
