"""Both languages hold the same chapters, blocks, code and numbers."""

from __future__ import annotations

from pathlib import Path

from book.press import parity
from book.press.context import BuildContext
from book.press.gates import Gate, GateResult, judged
from book.press.resolve import load


def run(_staging: Path, context: BuildContext) -> GateResult:
    """Resolve the manuscript again and compare its editions."""
    found = parity.differences(load(context.root).editions)
    return judged(found.problems, found.report())


GATE = Gate("language parity", run, order=2)
