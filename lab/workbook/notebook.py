"""Notebooks as scripts, and scripts as notebooks.

A script is cut into cells by lines that begin with ``# %%``: a code cell
after ``# %%``, prose after ``# %% [markdown]``, where every line is a
comment. The notebook is format 4.5, with ids that count the cells, so the
same script gives the same bytes.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

_CELL = re.compile(r"# %%(?: \[(markdown)\])?")
# What IPython understands and Python does not.
_MAGIC = re.compile(r"\s*[%!?]")


@dataclass(frozen=True)
class Cell:
    """One cell: ``kind`` is ``code`` or ``markdown``."""

    kind: str
    text: str


def cells(script: str) -> list[Cell]:
    """Return a script's cells, without the lines that cut them.

    Raises ``ValueError`` for text before the first cell, and for prose
    that is not commented out.
    """
    found: list[Cell] = []
    kind, lines = "", list[str]()

    def finish() -> None:
        text = "\n".join(lines).strip("\n")
        if kind == "markdown":
            text = "\n".join(_prose(line) for line in text.split("\n"))
        if kind:
            found.append(Cell(kind, text))
        elif text:
            raise ValueError(f"text before the first cell: {lines[0]!r}")

    for line in script.split("\n"):
        mark = _CELL.fullmatch(line)
        if mark:
            finish()
            kind, lines = mark[1] or "code", []
        else:
            lines.append(line)
    finish()
    return found


def _prose(line: str) -> str:
    if line == "#":
        return ""
    if not line.startswith("# "):
        raise ValueError(f"prose that is no comment: {line!r}")
    return line[2:]


def from_script(script: str) -> str:
    """Return the notebook of a script, as the text of its file."""
    made = []
    for number, cell in enumerate(cells(script), 1):
        body: dict[str, Any] = {
            "cell_type": cell.kind,
            "id": f"cell-{number:02}",
            "metadata": {},
            "source": cell.text.splitlines(keepends=True),
        }
        if cell.kind == "code":
            body |= {"execution_count": None, "outputs": []}
        made.append(body)
    data = {
        "cells": made,
        "metadata": {
            "kernelspec": {
                "display_name": "Python 3",
                "language": "python",
                "name": "python3",
            },
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(data, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def code(notebook: str) -> str:
    """Return a notebook's code as one script, magics left out.

    Raises ``ValueError`` when it is no notebook.
    """
    try:
        data = json.loads(notebook)
        sources = [
            "".join(cell["source"])
            for cell in data["cells"]
            if cell["cell_type"] == "code"
        ]
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"not a notebook ({error})") from None
    return "\n\n".join(
        "\n".join(
            "" if _MAGIC.match(line) else line for line in source.split("\n")
        )
        for source in sources
    )
