"""Gates that need not run again on what they have passed before.

The slow gates that look at the laboratory alone would give the author of a
paragraph the same verdict after minutes. What they judged is known by its
digest, so a PASS is kept for it. Only a PASS; and a strict build, a release
and CI never ask.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from book.press.context import BuildContext
from book.press.gates import Gate, GateResult, Status, passed
from book.press.memo import digest

# What a gate of the laboratory depends on: the lab, its tests, the gates
# themselves and the packages they run with.
_JUDGED = ("lab", "tests", "book/press", "locks", "pyproject.toml")
_FILE = Path(".cache") / "gates.json"


def remembering(gates: Sequence[Gate], root: Path) -> tuple[Gate, ...]:
    """Return the gates, those of the laboratory with a memory."""
    key = hashlib.sha256(
        repr(
            (
                digest(root, _JUDGED),
                platform.platform(),
                sorted(n for n in os.environ if n.startswith("KEEPS_")),
            )
        ).encode()
    ).hexdigest()
    return tuple(
        _remembering(gate, root / _FILE, key) if gate.of_lab else gate
        for gate in gates
    )


def _remembering(gate: Gate, file: Path, key: str) -> Gate:
    def run(staging: Path, context: BuildContext) -> GateResult:
        zipped = context.lab_zip.sha256 if context.lab_zip else ""
        known = f"{key} {zipped}"
        kept = _read(file).get(gate.name, {})
        if kept.get("of") == known:
            return passed(f"{kept['reason']}; passed before, nothing changed")
        result = gate.run(staging, context)
        if result.status is Status.PASS:
            entry = {"of": known, "reason": result.reason}
            _write(file, {**_read(file), gate.name: entry})
        return result

    return replace(gate, run=run)


def _read(file: Path) -> dict[str, dict[str, str]]:
    # A cache: one that cannot be read is as good as none.
    with suppress(OSError, ValueError):
        data = json.loads(file.read_text("utf-8"))
        if isinstance(data, dict):
            return data
    return {}


def _write(file: Path, data: dict[str, dict[str, str]]) -> None:
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_suffix(".new")
        new.write_text(json.dumps(data, indent=1), "utf-8")
        new.replace(file)
