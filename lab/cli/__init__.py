"""The command line: ``python -m lab COMMAND``, or ``keeps-secrets``.

One module holds each group of commands; a command is a function that takes
the parsed arguments and a ``Console`` and returns an exit code.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from lab.cli import learning
from lab.cli.commands import Commands
from lab.cli.console import Console
from lab.errors import LabError

GROUPS: Final = (
    "lab.cli.proving",
    "lab.cli.keeping",
    "lab.cli.reading",
    "lab.cli.measuring",
    "lab.cli.models",
    "lab.cli.learning",
)

REFUSED: Final = 3
FAULT: Final = 1
INTERRUPTED: Final = 130

EPILOG: Final = (
    "exit codes: 0 done, 2 the input is malformed, 3 refused for another"
    " reason (not found, stale, unavailable), 1 a fault"
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code.

    Errors are one sentence on standard error, never a traceback; with
    ``KEEPS_SECRETS_DEBUG`` set, a fault shows where it happened.
    """
    words = sys.argv[1:] if argv is None else list(argv)
    if words[:1] == [learning.NAME]:
        return learning.run(words[1:])
    console = Console(sys.stdout, sys.stderr)
    console.speak_utf8()
    parser = _parser()
    try:
        arguments = parser.parse_args(words)
    except SystemExit as ended:
        # 0 after --help, 2 for words it does not know.
        return int(ended.code or 0)
    if not hasattr(arguments, "run"):
        parser.print_help(sys.stderr)
        return 2
    console.json = bool(getattr(arguments, "json", False))
    try:
        code = int(arguments.run(arguments, console))
        console.flush()
        return code
    except LabError as error:
        console.error(error.code, str(error))
        return error.exit_code
    except PermissionError as error:
        console.error("permission", str(error))
        return REFUSED
    except BrokenPipeError:
        # Whoever read us has enough; what is buffered has no reader.
        console.give_up()
        return FAULT
    except KeyboardInterrupt:
        console.error("interrupted", "stopped; what was done stays whole")
        return INTERRUPTED
    except Exception as error:
        if os.environ.get("KEEPS_SECRETS_DEBUG"):
            raise
        console.error(
            "fault",
            f"{type(error).__name__}: {error} (set KEEPS_SECRETS_DEBUG=1"
            " to see where)",
        )
        return FAULT


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=_program(),
        description="Search that keeps secrets: authorized, revocable,"
        " citable.",
        epilog=EPILOG,
        allow_abbrev=False,
    )
    commands = Commands(parser)
    for name in GROUPS:
        importlib.import_module(name).register(commands)
    return parser


def _program() -> str:
    name = Path(sys.argv[0]).name if sys.argv else ""
    return name if name.startswith("keeps-secrets") else "python -m lab"
