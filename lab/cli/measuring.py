"""Commands that try this machine: selftest, bench."""

from __future__ import annotations

import argparse
from pathlib import Path

from lab import bench, canonical, selftest
from lab.cli.commands import Commands, number
from lab.cli.console import Console
from lab.cli.files import written
from lab.errors import InvalidInput
from lab.evidence import environment


def register(commands: Commands) -> None:
    """Add the commands of this group."""
    commands.add(
        "selftest",
        "check the quick promises on a throwaway index, on this machine",
        _selftest,
    )
    parser = commands.add(
        "bench",
        "measure ingest, search and answers on this machine",
        _bench,
        more="Medians on made-up documents of ten paragraphs; times are"
        " this machine's alone.",
    )
    parser.add_argument(
        "--sizes",
        default="100,1000",
        metavar="N,N,…",
        help="documents in each collection (default 100,1000)",
    )
    parser.add_argument(
        "--repeat",
        type=number,
        default=5,
        metavar="N",
        help="rounds of queries (default 5)",
    )
    parser.add_argument(
        "--against",
        metavar="DSN",
        help="the same on a PostgreSQL too, and compare; postgres: starts one",
    )
    parser.add_argument(
        "--output", metavar="FILE", help="write the measures there, as JSON"
    )


def _selftest(arguments: argparse.Namespace, console: Console) -> int:
    checks = selftest.run()
    faults = [check for check in checks if check.fault]
    for check in checks:
        console.say(f"{'FAULT' if check.fault else 'ok   '}  {check.promise}")
        if check.fault:
            console.say(f"       {check.fault}")
    here = environment()
    console.say(
        f"Python {here['python']}, SQLite {here['sqlite']},"
        f" {here['system']} {here['machine']}"
    )
    if not faults:
        console.say(f"All {len(checks)} checks passed.")
    console.data(
        {
            "ok": not faults,
            "environment": here,
            "checks": [
                {"promise": c.promise, "fault": c.fault or None} for c in checks
            ],
        }
    )
    return 1 if faults else 0


def _bench(arguments: argparse.Namespace, console: Console) -> int:
    try:
        sizes = [number(size) for size in arguments.sizes.split(",")]
    except argparse.ArgumentTypeError as error:
        raise InvalidInput(f"--sizes: {error}") from None

    def progress(done: int, total: int) -> None:
        console.progress(done, total, "document")

    if arguments.against is None:
        data = bench.measure(sizes, arguments.repeat, progress)
    else:
        data = bench.compare(
            sizes, arguments.against, arguments.repeat, progress
        )
    console.clear()
    data = {"environment": environment(), **data}
    for line in bench.told(data):
        console.say(line)
    console.data(data)
    if arguments.output is not None:
        written(Path(arguments.output), canonical.dumps(data) + "\n")
    return 0
