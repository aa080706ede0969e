"""All the gates, run in order, and their table."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from book.press import gates
from book.press.context import BuildContext
from book.press.gates import Gate, GateResult, Status, run_gate
from book.press.problems import Problem

SHOWN = 20  # findings of one gate on the screen; release.json has them all


def all_gates() -> tuple[Gate, ...]:
    """Every gate in this package: the modules that export ``GATE``.

    A module with several passes exports ``GATES``, a tuple, instead.
    """
    found: list[Gate] = []
    for info in pkgutil.iter_modules(gates.__path__):
        module = importlib.import_module(f"{gates.__name__}.{info.name}")
        found.extend(getattr(module, "GATES", ()))
        if hasattr(module, "GATE"):
            found.append(module.GATE)
    names = [gate.name for gate in found]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise ValueError(f"two gates have the same name: {doubled}")
    return tuple(sorted(found, key=lambda gate: (gate.order, gate.name)))


def run_gates(
    chosen: Sequence[Gate],
    staging: Path,
    context: BuildContext,
    *,
    strict: bool = False,
) -> tuple[GateResult, ...]:
    """Run each gate; ``strict`` turns NOT RUN into FAIL.

    Results are in the order of ``chosen``. Gates that work apart run one
    after the other beside the rest.
    """

    def run(gate: Gate) -> GateResult:
        context.progress(f"gate: {gate.name}")
        result = run_gate(gate, staging, context)
        return demanded(result) if strict else result

    with ThreadPoolExecutor(max_workers=1) as beside:
        apart = {
            number: beside.submit(run, gate)
            for number, gate in enumerate(chosen)
            if gate.apart
        }
        here = {
            number: run(gate)
            for number, gate in enumerate(chosen)
            if not gate.apart
        }
        here |= {number: future.result() for number, future in apart.items()}
    return tuple(here[number] for number in range(len(chosen)))


def demanded(result: GateResult) -> GateResult:
    """What a result counts as when every gate must run."""
    if result.status is not Status.NOT_RUN:
        return result
    message = f"was not run: {result.reason}"
    finding = Problem(f"gate {result.name}", 0, message)
    return replace(result, status=Status.FAIL, findings=(finding,))


def _clipped(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def table(results: Sequence[GateResult], findings: int = SHOWN) -> str:
    """One table, then what the failed gates found, ``findings`` each."""
    width = max([4, *(len(result.name) for result in results)])
    lines = [f"{'gate':<{width}}  result   seconds"]
    for result in results:
        reason = "" if result.status is Status.NOT_RUN else result.reason
        line = (
            f"{result.name:<{width}}  {result.status.value:<7}"
            f"  {result.seconds:7.1f}  {_clipped(reason, 60)}"
        )
        lines.append(line.rstrip())
    for result in results:
        if result.status is Status.NOT_RUN:
            lines += ["", f"{result.name}: NOT RUN: {result.reason}"]
        if result.findings:
            count = len(result.findings)
            lines += ["", f"{result.name}: {count} found"]
            lines += [f"  {found}" for found in result.findings[:findings]]
            if count > findings:
                lines.append(f"  … and {count - findings} more")
    return "\n".join(lines)


def summary(results: Sequence[GateResult]) -> str:
    """How many passed, failed and were not run."""
    parts = []
    for status in Status:
        count = sum(result.status is status for result in results)
        if count or status is Status.PASS:
            parts.append(f"{count} {status.value}")
    return ", ".join(parts)
