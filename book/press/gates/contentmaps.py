"""Every output holds what the content map says, block by block."""

from __future__ import annotations

from pathlib import Path

from book.press import contentmap
from book.press.context import BuildContext
from book.press.gates import Gate, GateResult, judged


def run(staging: Path, _context: BuildContext) -> GateResult:
    """Read every output back and compare it with the map beside it."""
    problems, blocks = contentmap.disagreements(staging)
    return judged(problems, f"{blocks} blocks in all outputs")


GATE = Gate("content maps", run, order=1)
