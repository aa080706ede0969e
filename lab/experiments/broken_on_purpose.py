"""The lab broken on purpose, one line at a time, and its selftest asked.

A copy of the lab is edited, the selftest of the copy is run in a process
of its own, and the copy is mended. What the selftest does not notice is
part of the result.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lab.experiments import Emit, Refuted, Uses
from lab.fixture import load_fixture

KIND = "core"
PAGE = False
LIMITATIONS = (
    "Eight edits chosen by the authors; somebody else's would be better ones.",
    "The selftest is asked and not the tests: it has a minute and no pytest.",
)

LAB: Final = Path(__file__).parents[1]
FORGED: Final = ("evidence/demo.json", '"documents": 66', '"documents": 67')


@dataclass(frozen=True)
class Break:
    """One edit: ``old`` stands once in ``file`` and becomes ``new``."""

    name: str
    file: str
    old: str
    new: str


BREAKS: Final = (
    Break(
        "the tenant is not looked at",
        "store/sqlite.py",
        "WHERE d.tenant = :tenant AND d.live\n",
        "WHERE d.live\n",
    ),
    Break(
        "hits in hand are not asked again",
        "answers.py",
        'snapshot.document(view, fields["doc_id"])',
        'snapshot.record(context.tenant, fields["doc_id"])',
    ),
    Break(
        "statistics of everything",
        "store/sqlite.py",
        '            " FROM temp.visible s JOIN documents d'
        ' ON d.id = s.document"\n        ).fetchone()',
        '            " FROM documents d WHERE d.live"\n        ).fetchone()',
    ),
    Break(
        "purge does not rewrite the file",
        "store/sqlite.py",
        '            connection.execute("VACUUM")\n            busy',
        "            busy",
    ),
    Break(
        "verify does not compare chunk and body",
        "store/agreement.py",
        "if record.body[row.start : row.end] != row.text:",
        "if not row.text:",
    ),
    Break(
        "a tombstone's own revision revives",
        "index.py",
        "            if document.revision <= current.revision:",
        "            if document.revision < current.revision:",
    ),
    Break(
        "evidence is worded by the hit",
        "answers.py",
        "        chunk.end,\n        text,\n        chunk.sha256,",
        "        chunk.end,\n"
        '        claim["text"] if isinstance(claim, dict) else text,\n'
        "        chunk.sha256,",
    ),
    Break(
        "the constant of fusion is 59",
        "exact.py",
        "RANK_CONSTANT = 60",
        "RANK_CONSTANT = 59",
    ),
)


def uses() -> Uses:
    """Return the fixture the selftest works on."""
    return Uses(fixture=load_fixture().digest)


def run(emit: Emit) -> dict[str, Any]:
    """Return for each edit which promises the selftest says are broken.

    ``Refuted`` when the sound copy does not pass, or when an edit no
    longer fits the lab.
    """
    with tempfile.TemporaryDirectory() as home:
        tree = Path(home) / "lab"
        shutil.copytree(
            LAB,
            tree,
            ignore=shutil.ignore_patterns(
                "__pycache__", "models", "workbook", "training"
            ),
        )
        checks = _selftest(tree)
        if any(check["fault"] for check in checks):
            raise Refuted("the sound copy passes its selftest")
        emit(f"sound: {len(checks)} of {len(checks)} checks pass")
        rows = [_attempt(tree, one, emit) for one in BREAKS]
        forged = _forged(tree, emit)
    return {
        "checks": len(checks),
        "breaks": rows,
        "broken": len(rows),
        "noticed": sum(bool(row["faults"]) for row in rows),
        "missed": sum(not row["faults"] for row in rows),
        "forged": forged,
    }


def _attempt(tree: Path, one: Break, emit: Emit) -> dict[str, Any]:
    file = tree / one.file
    sound = file.read_text("utf-8")
    if sound.count(one.old) != 1:
        raise Refuted(f"{one.name}: the line to break stands once in the lab")
    file.write_text(sound.replace(one.old, one.new), "utf-8", newline="\n")
    try:
        faults = [c["promise"] for c in _selftest(tree) if c["fault"]]
    finally:
        file.write_text(sound, "utf-8", newline="\n")
    emit("")
    emit(f"broken: {one.name} (lab/{one.file})")
    for promise in faults:
        emit(f"  FAULT  {promise}")
    if not faults:
        emit("  the selftest notices nothing")
    return {"name": one.name, "file": one.file, "faults": faults}


def _forged(tree: Path, emit: Emit) -> dict[str, Any]:
    """Change one number in a record of the copy, and have it checked."""
    name, old, new = FORGED
    file = tree / name
    text = file.read_text("utf-8")
    if text.count(old) != 1:
        raise Refuted(f"{name} says {old} once")
    file.write_text(text.replace(old, new), "utf-8", newline="\n")
    done = _run(tree, "evidence", "--check", "demo", "--json")
    (row,) = json.loads(done.stdout)["checked"]
    emit("")
    emit(f"forged: one number in lab/{name}")
    for detail in row["details"]:
        emit(f"  {row['state']}  {detail}")
    return {"state": row["state"], "details": row["details"]}


def _selftest(tree: Path) -> list[dict[str, str]]:
    done = _run(tree, "selftest", "--json")
    try:
        checks: list[dict[str, str]] = json.loads(done.stdout)["checks"]
    except (ValueError, KeyError):
        raise Refuted(f"a selftest ends in words: {done.stderr}") from None
    return checks


def _run(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lab", *words],
        cwd=tree.parent,
        env={
            **os.environ,
            # A file is edited twice within one second: no cached module.
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": str(tree.parent),
        },
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
