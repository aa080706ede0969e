"""Every recorded experiment gives its recorded claims when run again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from book.press.context import BuildContext
from book.press.gates import Gate, GateResult, failed, not_run, passed
from book.press.problems import Problem

COMMAND = ("-m", "lab", "evidence", "--check", "--json")
_INSTALL = (
    "python3 build.py test --strict, which installs what models need, with"
    " KEEPS_SECRETS_DATA naming the public data"
)


def run(_staging: Path, context: BuildContext) -> GateResult:
    """Rerun the experiments in a process of their own and compare."""
    done = subprocess.run(
        [sys.executable, *COMMAND],
        cwd=context.root,
        env={**os.environ, "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    try:
        checked = json.loads(done.stdout)["checked"]
    except (ValueError, KeyError):
        tail = done.stderr.strip().split("\n")[-1]
        message = f"the experiments could not be run: {tail}"
        return failed([Problem("lab/evidence", 0, message)])
    problems = [
        Problem(
            f"lab/evidence/{entry['name']}.json",
            0,
            detail,
            "look at the difference; then record it anew with:"
            f" python3 build.py evidence {entry['name']}",
        )
        for entry in checked
        if entry["state"] == "differs"
        for detail in entry["details"]
    ]
    same = sum(entry["state"] == "same" for entry in checked)
    if problems:
        return failed(problems, f"{same} of {len(checked)} the same")
    missing = [e["name"] for e in checked if e["state"] == "not run"]
    if missing:
        return not_run(
            f"{same} the same; cannot run here: {', '.join(missing)}",
            _INSTALL,
        )
    return passed(f"{same} experiments")


GATE = Gate("evidence reproduces", run, order=32, apart=True, of_lab=True)
