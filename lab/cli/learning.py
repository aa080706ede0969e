"""The workbook's commands, which have words and a voice of their own."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from typing import Final

from lab.cli.commands import Commands
from lab.cli.console import Console

NAME: Final = "workbook"


def register(commands: Commands) -> None:
    """Add the command to the table; ``run`` takes what follows it."""
    commands.add(
        NAME,
        "learn by making it pass: the same as python -m lab.workbook",
        _unreachable,
    )


def run(words: Sequence[str]) -> int:
    """Run a command of the workbook; return its exit code.

    It is asked before the console is made to speak UTF-8: a learner's
    console keeps its own encoding.
    """
    code: int = importlib.import_module("lab.workbook.cli").main(words)
    return code


def _unreachable(arguments: argparse.Namespace, console: Console) -> int:
    return run([])
