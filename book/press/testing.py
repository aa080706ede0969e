"""`build.py test`: pytest, with the tests a lane leaves out."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FAST = "not browser and not server and not slow"
STRICT = "KEEPS_SECRETS_STRICT"


@dataclass(frozen=True)
class Outcome:
    """How a run of the tests ended; ``skipped`` is test and reason.

    ``models`` are the tests, among those that passed, that ran a published
    model.
    """

    exit_code: int
    passed: int
    failed: int
    skipped: tuple[tuple[str, str], ...]
    models: tuple[str, ...] = ()


def pytest_command(
    extra: Sequence[str], *, fast: bool, report: Path | None = None
) -> list[str]:
    """The command line of pytest for a lane."""
    command = [sys.executable, "-m", "pytest"]
    if fast:
        # A file at a time, so that what its tests share is made once.
        command += ["-m", FAST, "-n", "auto", "--dist", "loadfile"]
    if report is not None:
        command.append(f"--junitxml={report}")
    return [*command, *extra]


def variables(*, strict: bool) -> dict[str, str]:
    """The variables of the run; ``tests/conftest.py`` reads STRICT."""
    env = dict(os.environ)
    env.pop(STRICT, None)
    if strict:
        env[STRICT] = "1"
    return env


def run(args: argparse.Namespace, root: Path) -> int:
    """Run the tests; pytest's own exit code."""
    command = pytest_command(args.pytest_args, fast=args.fast)
    strict = bool(getattr(args, "strict", False))
    done = subprocess.run(
        command, cwd=root, env=variables(strict=strict), check=False
    )
    return done.returncode


def run_all(root: Path, report: Path) -> Outcome:
    """Run every test, strictly, and count; ``report`` is left behind."""
    done = subprocess.run(
        pytest_command((), fast=False, report=report),
        cwd=root,
        env=variables(strict=True),
        check=False,
    )
    if not report.exists():
        return Outcome(done.returncode or 1, 0, 0, ())
    return read_report(report, done.returncode)


def read_report(report: Path, exit_code: int) -> Outcome:
    """Count a JUnit report; a skip is never counted as a pass."""
    passed = failed = 0
    skipped = []
    models = []
    for case in ET.parse(report).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        skip = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif skip is not None:
            skipped.append((name, skip.get("message", "")))
        else:
            passed += 1
            if case.find("properties/property[@name='model']") is not None:
                models.append(name)
    return Outcome(exit_code, passed, failed, tuple(skipped), tuple(models))
