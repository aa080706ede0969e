"""Commands that show what holds: demo, evaluate, evidence."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab import canonical, encoders, evidence, experiments
from lab.cli.commands import Commands, Run
from lab.cli.console import Console
from lab.cli.files import read_text, written
from lab.cli.opening import open_index
from lab.errors import InvalidInput, NotFound
from lab.evaluation import runner
from lab.experiments import Refuted, Unavailable
from lab.fixture import load_fixture, populate, read_queries
from lab.index import Index
from lab.model import MODES


def register(commands: Commands) -> None:
    """Add the commands of this group."""
    commands.add(
        "demo",
        "cite, update, revoke, delete and replay, checking each step",
        _show("demo"),
    )
    commands.add(
        "leak",
        "attack bm25() under a filter, then the lab, as one reader",
        _show("leak"),
    )
    _evaluate_words(commands)
    _evidence_words(commands)


def _show(name: str) -> Run:
    """Return a command that runs an experiment before the reader's eyes."""

    def run(arguments: argparse.Namespace, console: Console) -> int:
        try:
            made = evidence.perform(experiments.load(name), console.say)
        except Refuted as error:
            console.error("refuted", f"this did not hold: {error}")
            return 1
        console.data(made.data["claims"])
        return 0

    return run


def _evaluate_words(commands: Commands) -> None:
    parser = commands.add(
        "evaluate",
        "ask labelled questions and measure what comes back",
        _evaluate,
        store=True,
        more="Without --queries, the fixture's questions are asked of the"
        " fixture, in an\nindex of their own.",
    )
    parser.add_argument(
        "--mode", default="hybrid", help=f"{', '.join(MODES)} (default hybrid)"
    )
    parser.add_argument(
        "--no-rerank",
        dest="rerank",
        action="store_false",
        help="keep the fused order",
    )
    parser.add_argument(
        "--encoder",
        metavar="NAME",
        default="counts",
        help="for the fixture: none, counts, hashing, shipped, e5, or a"
        " fetched model (default counts)",
    )
    parser.add_argument(
        "--queries",
        metavar="FILE",
        help="your own labelled questions, asked of --db",
    )
    parser.add_argument(
        "--output", metavar="FILE", help="write the measures there, as JSON"
    )


def _evaluate(arguments: argparse.Namespace, console: Console) -> int:
    options = {"mode": arguments.mode, "rerank": arguments.rerank}
    if arguments.queries is None:
        fixture = load_fixture()
        encoder = encoders.named(arguments.encoder)
        with Index.open(":memory:", encoder=encoder) as index:
            populate(index, fixture)
            report = runner.evaluate(index, fixture, **options)
    else:
        queries = read_queries(read_text(arguments.queries), arguments.queries)
        with open_index(arguments.db) as index:
            # No second opinion but the index's own check of each citation.
            report = runner.ask(index, queries, lambda *_: True, **options)
    for line in report.to_lines():
        console.say(line)
    claims = report.to_claims()
    console.data(claims)
    if arguments.output is not None:
        written(Path(arguments.output), canonical.dumps(claims) + "\n")
    return 1 if report.broken else 0


def _evidence_words(commands: Commands) -> None:
    parser = commands.add(
        "evidence",
        "list, check or record what the book claims",
        _evidence,
        more="With neither --check nor --record, the recorded experiments"
        " are listed.",
    )
    parser.add_argument(
        "names", metavar="NAME", nargs="*", help="experiments (default all)"
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--check",
        action="store_true",
        help="run again and name every difference from the record",
    )
    what.add_argument(
        "--record",
        action="store_true",
        help="run and write NAME.json and NAME.txt into --output",
    )
    parser.add_argument(
        "--output", metavar="FOLDER", help="where --record writes"
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="with --check: what cannot run here counts as a difference",
    )


def _evidence(arguments: argparse.Namespace, console: Console) -> int:
    if arguments.record:
        return _record(arguments, console)
    if arguments.output is not None:
        raise InvalidInput("--output: goes with --record")
    if arguments.check:
        return _check(arguments, console)
    return _list(arguments.names or _known(), console)


def _known() -> list[str]:
    """Return every experiment and every record, sorted."""
    recorded = {path.stem for path in evidence.SHIPPED.glob("*.json")}
    return sorted({*experiments.names(), *recorded})


def _list(names: Sequence[str], console: Console) -> int:
    rows: list[dict[str, Any]] = []
    for name in names:
        experiment = experiments.load(name)
        try:
            seen = evidence.read(name).data["observed"]
            recorded = f"recorded on Python {seen['python']}"
        except NotFound:
            recorded = "not recorded"
        rows.append(
            {
                "name": name,
                "kind": experiment.kind,
                "page": experiment.page,
                "recorded": recorded != "not recorded",
                "limitations": list(experiment.limitations),
            }
        )
        console.say(f"{name:<24} {experiment.kind:<7} {recorded}")
    console.data(rows)
    return 0


def _record(arguments: argparse.Namespace, console: Console) -> int:
    if not arguments.names:
        raise InvalidInput("--record: name the experiments to record")
    if arguments.output is None:
        raise InvalidInput(
            "--record: say where with --output FOLDER (nothing is written"
            f" over {evidence.SHIPPED} unless you name it)"
        )
    chosen = [experiments.load(name) for name in arguments.names]
    code = 0
    written = []
    for experiment in chosen:
        try:
            path = evidence.record(experiment, Path(arguments.output))
        except (Refuted, Unavailable) as error:
            console.note(f"{experiment.name}: not recorded: {error}")
            code = 1
            continue
        except OSError as error:
            raise InvalidInput(
                f"{arguments.output}: cannot be written ({error.strerror})"
            ) from None
        written.append(str(path))
        console.say(f"{experiment.name}: {path}")
    console.data({"written": written})
    return code


def _check(arguments: argparse.Namespace, console: Console) -> int:
    rows = []
    bad = 0
    for name in arguments.names or _known():
        started = time.perf_counter()
        state, details = _compare(name)
        seconds = time.perf_counter() - started
        if state == "differs" or (state == "not run" and arguments.strict):
            bad += 1
        rows.append({"name": name, "state": state, "details": details})
        console.say(f"{name:<24} {state:<8} {seconds:6.1f} s")
        for detail in details:
            console.say(f"    {detail}")
    console.data({"ok": not bad, "checked": rows})
    if bad:
        console.note(f"{bad} of {len(rows)} experiments did not reproduce")
    return 1 if bad else 0


def _compare(name: str) -> tuple[str, list[str]]:
    """Return ``same``, ``differs`` or ``not run``, and why."""
    try:
        differences = evidence.check(experiments.load(name))
    except Unavailable as error:
        return "not run", [str(error)]
    except Refuted as error:
        return "differs", [f"this did not hold: {error}"]
    except (NotFound, InvalidInput) as error:
        return "differs", [str(error)]
    if differences:
        return "differs", [str(difference) for difference in differences]
    return "same", []
