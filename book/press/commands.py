"""The commands of build.py, as a table.

Read before the private environment exists, so this module, like
``environment``, uses the standard library only and imports no command: a
command is named by where its code is, and is listed only when that module
is there.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Run = Callable[[argparse.Namespace, Path], int]


@dataclass(frozen=True)
class Option:
    """One argument of a command, as ``argparse`` wants it."""

    name: str
    help: str
    settings: dict[str, Any] = field(default_factory=dict)


def flag(name: str, text: str) -> Option:
    """An option that is on or off."""
    return Option(name, text, {"action": "store_true"})


@dataclass(frozen=True)
class Command:
    """One word after build.py.

    ``code`` is ``module:function``; the function takes the parsed arguments
    and the project's root and returns an exit code. ``lock`` names the set
    of packages it needs, ``build`` or ``test`` (which includes ``build``).
    """

    name: str
    help: str
    code: str
    lock: str = "build"
    options: tuple[Option, ...] = ()

    @property
    def module(self) -> str:
        """Where the code is."""
        return self.code.partition(":")[0]

    def exists(self) -> bool:
        """Whether the module of this command is in this tree."""
        return importlib.util.find_spec(self.module) is not None

    def load(self) -> Run:
        """Import the code; only inside the private environment."""
        module, _, function = self.code.partition(":")
        run: Run = getattr(importlib.import_module(module), function)
        return run


STRICT = flag("--strict", "a gate or a test that cannot run is a failure")

COMMANDS = (
    Command(
        "build",
        "build everything into dist/ (the command when none is given)",
        "book.press.driver:build",
        options=(STRICT,),
    ),
    Command(
        "test",
        "run all the tests",
        "book.press.testing:run",
        lock="test",
        options=(
            flag("--fast", "no browser, no server, nothing slow"),
            STRICT,
            Option(
                "pytest_args",
                "what follows -- goes to pytest",
                {"nargs": "*", "metavar": "ARG"},
            ),
        ),
    ),
    Command(
        "verify",
        "judge dist/ by every gate and print one table",
        "book.press.driver:verify",
        lock="test",
        options=(STRICT,),
    ),
    Command(
        "release",
        "build, demand that every gate passes, write DELIVERY.md",
        "book.press.release:run",
        lock="test",
    ),
    Command(
        "check",
        "lint the manuscript and the tree, in seconds",
        "book.press.check:run",
    ),
    Command(
        "serve",
        "live preview of the manuscript",
        "book.press.serve:run",
        options=(
            Option(
                "--port",
                "port on this machine (default 8000)",
                {"type": int, "default": 8000},
            ),
        ),
    ),
    Command(
        "new",
        "start a chapter in both languages: new chapter SLUG",
        "book.press.new:run",
        options=(
            Option("what", "what to start", {"choices": ["chapter"]}),
            Option("slug", "file name without .md, as in 05-lexical-baseline"),
        ),
    ),
    Command(
        "evidence",
        "run the experiments again and show what changed",
        "book.press.rerun:run",
        lock="test",
        options=(
            flag("--record", "write what the experiments say now"),
            Option(
                "names",
                "experiments; all when none is named",
                {"nargs": "*", "metavar": "NAME"},
            ),
        ),
    ),
    Command(
        "pin",
        "count the tests of the lab ZIP and write the numbers to expect",
        "book.press.labzip:run_pin",
        lock="test",
    ),
    Command(
        "bench",
        "measure the lab on this machine",
        "book.press.rerun:bench",
        lock="test",
        options=(
            Option(
                "--sizes",
                "documents, as in 100,1000 (default both)",
                {"metavar": "N,N,…", "default": "100,1000"},
            ),
        ),
    ),
    Command(
        "bench-book",
        "measure the press and the weight of its pages on this machine",
        "book.press.bench:run",
        options=(
            Option(
                "--rounds",
                "how often each thing is done (default 5)",
                {"metavar": "N", "type": int, "default": 5},
            ),
        ),
    ),
)


def parser(commands: Sequence[Command]) -> argparse.ArgumentParser:
    """The parser for these commands."""
    made = argparse.ArgumentParser(
        prog="build.py",
        description="Build, test and release Search That Keeps Secrets.",
        epilog="With no command: build.",
    )
    made.add_argument("--strict", action="store_true", help=argparse.SUPPRESS)
    words = made.add_subparsers(dest="command", metavar="COMMAND")
    for command in commands:
        sub = words.add_parser(
            command.name, help=command.help, description=command.help
        )
        for option in command.options:
            # On the main parser --strict has already spoken: a command's
            # own default must not overrule it.
            settings = dict(option.settings)
            if option.name == "--strict":
                settings["default"] = argparse.SUPPRESS
            sub.add_argument(option.name, help=option.help, **settings)
    return made


def parse(argv: Sequence[str]) -> tuple[Command, argparse.Namespace]:
    """Find the command and its arguments.

    Ends the process with a message on a wrong word, as argparse does.
    """
    available = [command for command in COMMANDS if command.exists()]
    args = parser(available).parse_args(list(argv))
    name = args.command or "build"
    chosen = {command.name: command for command in available}
    return chosen[name], args
