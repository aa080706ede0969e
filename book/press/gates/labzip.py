"""The shipped ZIP passes its own tests where a reader unpacks it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from book.press import labzip
from book.press.context import BuildContext
from book.press.gates import Gate, GateResult, judged, not_run

# One module of each extra that the lab's optional parts import.
EXTRAS = ("numpy", "onnxruntime", "tokenizers", "psycopg", "anthropic")


def run_bare(staging: Path, context: BuildContext) -> GateResult:
    """Demo with no install, tests with Python and pytest only."""
    trial = labzip.try_bare(context.root, staging / labzip.NAME)
    return judged(trial.problems, str(trial.counts))


def run_extras(staging: Path, context: BuildContext) -> GateResult:
    """The same tests with every optional package installed."""
    missing = [n for n in EXTRAS if importlib.util.find_spec(n) is None]
    if missing:
        return not_run(
            f"{', '.join(missing)} not installed",
            "python3 build.py --strict",
        )
    trial = labzip.try_with_extras(context.root, staging / labzip.NAME)
    return judged(trial.problems, str(trial.counts))


GATES = (
    Gate("lab ZIP, bare Python", run_bare, order=30, apart=True, of_lab=True),
    Gate("lab ZIP, all extras", run_extras, order=31, apart=True, of_lab=True),
)
