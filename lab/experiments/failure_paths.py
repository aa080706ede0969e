"""The command line, given what it cannot use: one sentence each.

Every command runs in a process of its own, in an empty folder, as a
reader would type it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lab.experiments import Emit, Refuted, Uses

KIND = "core"
PAGE = False
LIMITATIONS = (
    "Nine mistakes that a reader makes on the first day; not all that can"
    " be made.",
    "A sentence is judged here by being one and by its exit code; whether it"
    " helps is for the reader to say.",
)

RULES: Final = '[[rule]]\nmatch = "**"\nreaders = ["alice"]\n'
NOTE: Final = "# Travel\n\nThe hotel limit is 180 a night.\n"
EVENTS: Final = (
    '{"op": "delete", "tenant": "acme", "doc_id": "../x", "revision": 2}\n'
    '{"op": "upsert", "tenant": "acme", "doc_id": "plan", "revision": 1,'
    ' "format": "text", "source": "A plan."}\n'
    "not JSON at all\n"
)
READER: Final = ("--tenant", "acme", "--as", "alice")


@dataclass(frozen=True)
class Step:
    """A command, and the exit code that its kind of failure has."""

    words: tuple[str, ...]
    code: int


STEPS: Final = (
    Step(("search", "hotel", *READER), 3),
    Step(("sync", "dcos", "--tenant", "acme"), 2),
    Step(("sync", "docs", "--tenant", "acme"), 0),
    Step(("search", "hotel limit", "--tenant", "acme"), 2),
    Step(("search", "hotel", "--mode", "fuzzy", *READER), 2),
    Step(("read", "travel", "--tenant", "acme", "--as", "bob"), 3),
    Step(("apply", "events.jsonl"), 2),
    Step(("evidence", "dmeo"), 2),
    Step(("verify",), 0),
)


def uses() -> Uses:
    """Nothing is measured: the folder is made by the experiment."""
    return Uses()


def run(emit: Emit) -> dict[str, Any]:
    """Return what each command said and how it ended.

    ``Refuted`` when one ended in a traceback, with another code, or
    changed what is found afterwards.
    """
    rows = []
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        (folder / "docs").mkdir()
        _write(folder / "docs" / "access.toml", RULES)
        _write(folder / "docs" / "travel.md", NOTE)
        _write(folder / "events.jsonl", EVENTS)
        for step in STEPS:
            done = _run(folder, step.words)
            said = (done.stdout + done.stderr).replace(f"{home}{os.sep}", "")
            if "Traceback" in said or done.returncode != step.code:
                raise Refuted(f"{step.words[0]} ends with {step.code}: {said}")
            emit(f"$ python3 -m lab {_shown(step.words)}")
            for line in _sentence(said):
                for part in textwrap.wrap(line, 74) or [""]:
                    emit(f"  {part}".rstrip())
            emit(f"  exit {done.returncode}")
            rows.append({"command": list(step.words), "exit": done.returncode})
        found = _run(folder, ("search", "hotel limit", *READER))
        if "180" not in found.stdout:
            raise Refuted("after all of it, the note is still found")
    emit("after all of it, alice still finds the note")
    return {
        "commands": rows,
        "failed": sum(row["exit"] != 0 for row in rows),
        "found_afterwards": True,
    }


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8", newline="\n")


def _shown(words: Sequence[str]) -> str:
    return " ".join(f'"{word}"' if " " in word else word for word in words)


def _sentence(said: str) -> list[str]:
    """Leave out the usage before an error: Python words it by version."""
    lines = said.splitlines()
    if lines and lines[0].startswith("usage:"):
        return lines[-1:]
    return lines


def _run(
    folder: Path, words: Sequence[str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lab", *words],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(Path(__file__).parents[2]),
        },
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
