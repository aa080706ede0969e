"""Gates: named passes that judge a finished build.

Each gate is a module of its own that exports ``GATE``. A gate looks at the
staged outputs, changes nothing, reports everything it finds, and says NOT
RUN, with the one command that would help, when a tool it needs is missing.
"""

from __future__ import annotations

import enum
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from book.press.context import BuildContext
from book.press.problems import Problem, Problems

# Where the gates look for what pip cannot bring, and the command for it.
NODE_MODULES = "locks/node/node_modules"
INSTALL_NODE_MODULES = "PUPPETEER_SKIP_DOWNLOAD=1 npm ci --prefix locks/node"
INSTALL_CHROMIUM = "apt-get install chromium fonts-noto-cjk"


class Status(enum.Enum):
    """How a gate ended; the value is what the table prints."""

    PASS = "PASS"
    FAIL = "FAIL"
    NOT_RUN = "NOT RUN"


@dataclass(frozen=True)
class GateResult:
    """What one gate found.

    ``reason`` says why a gate was not run, or in a few words what it
    looked at (``"82 pages"``). ``seconds`` is filled in by ``run_gates``.
    """

    status: Status
    reason: str = ""
    findings: tuple[Problem, ...] = ()
    seconds: float = 0.0
    name: str = ""


def passed(reason: str = "") -> GateResult:
    """The gate looked at everything and found nothing wrong."""
    return GateResult(Status.PASS, reason)


def failed(findings: Iterable[Problem], reason: str = "") -> GateResult:
    """The gate found something wrong; every fault is listed."""
    return GateResult(Status.FAIL, reason, tuple(findings))


def not_run(reason: str, install: str) -> GateResult:
    """A tool is missing; ``install`` is the one command that gets it."""
    return GateResult(Status.NOT_RUN, f"{reason}; to run it: {install}")


def judged(findings: Iterable[Problem], reason: str = "") -> GateResult:
    """FAIL when anything was found, PASS otherwise."""
    listed = tuple(findings)
    return failed(listed, reason) if listed else passed(reason)


@dataclass(frozen=True)
class Gate:
    """A named pass: ``run(staging, context)`` judges the outputs there.

    ``order`` places the gate in the table and in the run, smallest first:
    cheap gates before those that start a browser. ``apart`` says that the
    work is done by other processes, so that it may go on beside the gates
    after it. ``of_lab`` says that it judges the laboratory and nothing of
    the book.
    """

    name: str
    run: Callable[[Path, BuildContext], GateResult]
    order: int = 50
    apart: bool = False
    of_lab: bool = False


def run_gate(gate: Gate, staging: Path, context: BuildContext) -> GateResult:
    """Run one gate; a gate that breaks has FAILED, it has not passed."""
    started = time.monotonic()
    try:
        result = gate.run(staging, context)
    except Problems as error:
        result = failed(error.problems)
    except Exception as error:
        message = f"the gate itself broke: {type(error).__name__}: {error}"
        result = failed([Problem(f"gate {gate.name}", 0, message)])
    seconds = time.monotonic() - started
    return replace(result, name=gate.name, seconds=seconds)
