"""How a command is added: its words, and what most commands share."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Final

from lab.cli.console import Console

Run = Callable[[argparse.Namespace, Console], int]

DATABASE: Final = "keeps-secrets.db"


class Commands:
    """The table of commands of one program."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._words = parser.add_subparsers(
            title="commands", metavar="COMMAND", dest="command"
        )

    def add(
        self,
        name: str,
        help: str,
        run: Run,
        *,
        store: bool = False,
        reader: bool = False,
        more: str = "",
    ) -> argparse.ArgumentParser:
        """Add a command and return its parser for further arguments.

        ``store`` adds ``--db``, ``reader`` also ``--tenant`` and ``--as``;
        every command has ``--json``. ``more`` is printed after the help.
        """
        parser = self._words.add_parser(
            name,
            help=help,
            description=f"{help[0].upper()}{help[1:]}.",
            epilog=more,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser.set_defaults(run=run)
        if store or reader:
            parser.add_argument(
                "--db",
                metavar="PATH|DSN",
                default=DATABASE,
                help=f"the index (default {DATABASE})",
            )
        if reader:
            parser.add_argument(
                "--tenant", required=True, help="whose documents"
            )
            parser.add_argument(
                "--as",
                dest="principal",
                metavar="PRINCIPAL",
                required=True,
                help="who is asking",
            )
        parser.add_argument(
            "--json", action="store_true", help="output for machines"
        )
        return parser


def number(text: str) -> int:
    """Parse an integer argument; what it may be is for the lab to say."""
    # int() also takes "1_000" and full-width digits.
    if not text.lstrip("-").isascii() or not text.lstrip("-").isdigit():
        raise argparse.ArgumentTypeError(f"{text!a} is no whole number")
    if len(text) > 20:
        raise argparse.ArgumentTypeError(f"{text[:17]}... is too large")
    return int(text)
