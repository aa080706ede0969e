"""The lab ZIP: made from tracked files, and tested as it is shipped."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from book.press.context import LabZip
from book.press.digest import tracked
from book.press.problems import Problem, Problems

NAME = "keeps-secrets-lab.zip"
FOLDER = "keeps-secrets-lab"
COUNTS = "book/press/zip-counts.toml"
DATE = (2026, 1, 1, 0, 0, 0)

# What is at the top of the ZIP, and where it is in this tree.
_TOP = {
    "README.md": "lab/README.md",
    "README.zh.md": "lab/README.zh.md",
    "LICENSE": "LICENSE",
    "LICENSE-DATA": "LICENSE-DATA",
    "pyproject.toml": "pyproject.toml",
    "tests/__init__.py": "tests/__init__.py",
    "tests/conftest.py": "tests/conftest.py",
}
_FOLDERS = ("lab/", "tests/lab/")


@dataclass(frozen=True)
class Member:
    """One file of the ZIP.

    ``name`` is its path below the top folder, ``source`` its path in this
    tree, ``data`` its bytes, with LF line ends when it is text.
    """

    name: str
    source: str
    data: bytes

    @property
    def is_text(self) -> bool:
        """Whether a person can read it."""
        if b"\0" in self.data:
            return False
        try:
            self.data.decode("utf-8")
        except UnicodeDecodeError:
            return False
        return True

    @property
    def sha256(self) -> str:
        """SHA-256 of ``data`` in lower-case hex."""
        return hashlib.sha256(self.data).hexdigest()


def shipped(source: str) -> str | None:
    """Where a tracked file is in the ZIP; None when it stays at home.

    The one rule of what ships: the ZIP, its listing in the book and the
    tests all ask here. Property tests need more than pytest and stay.
    """
    for name, original in _TOP.items():
        if source == original:
            return name
    if source.endswith("_property.py"):
        return None
    return source if source.startswith(_FOLDERS) else None


def members(root: Path, files: Iterable[str]) -> tuple[Member, ...]:
    """The files of the ZIP, sorted by name.

    ``files`` are the tracked files. Raises ``Problems`` when a file the
    ZIP must have is missing or a name would not survive unpacking on every
    system.
    """
    found: list[Member] = []
    problems: list[Problem] = []
    for source in files:
        name = shipped(source)
        if name is None:
            continue
        if not re.fullmatch(r"[A-Za-z0-9._/+-]+", name):
            message = "this name may not survive unpacking everywhere"
            hint = "use ASCII letters, digits, dot, dash and underscore"
            problems.append(Problem(source, 0, message, hint))
        data = (root / source).read_bytes()
        member = Member(name, source, data)
        if member.is_text:
            data = data.replace(b"\r\n", b"\n")
            member = Member(name, source, data)
        found.append(member)
    present = {member.name for member in found}
    problems += [
        Problem(
            _TOP[name],
            0,
            "the lab ZIP needs this file and it is not tracked",
            "add it to git",
        )
        for name in _TOP
        if name not in present
    ]
    lowered: dict[str, str] = {}
    for member in found:
        other = lowered.setdefault(member.name.lower(), member.name)
        if other != member.name:
            message = f"differs from {other} only in capital letters"
            problems.append(Problem(member.source, 0, message))
    if problems:
        raise Problems(problems)
    return tuple(sorted(found, key=lambda member: member.name))


def write(path: Path, files: Iterable[Member]) -> LabZip:
    """Write the ZIP: one top folder, fixed times, modes and order.

    Stored, not deflated: compressors differ between machines, and whoever
    builds this tree anywhere must get the same bytes.
    """
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for member in files:
            entry = zipfile.ZipInfo(f"{FOLDER}/{member.name}", DATE)
            entry.create_system = 3
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, member.data)
    return describe(path)


def describe(path: Path) -> LabZip:
    """Name, size and digest of a ZIP that was written."""
    data = path.read_bytes()
    return LabZip(path.name, len(data), hashlib.sha256(data).hexdigest())


# Tested as it is shipped


@dataclass(frozen=True)
class Counts:
    """How a run of the ZIP's tests ended."""

    passed: int
    skipped: int
    failed: int = 0

    def __str__(self) -> str:
        text = f"{self.passed} passed, {self.skipped} skipped"
        return f"{self.failed} failed, {text}" if self.failed else text


def expected(root: Path, kind: str) -> Counts:
    """The pinned counts; ``kind`` is ``bare`` or ``extras``."""
    table = tomllib.loads((root / COUNTS).read_text("utf-8"))[kind]
    return Counts(int(table["passed"]), int(table["skipped"]))


@contextlib.contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """The ZIP unpacked into a fresh folder of its own, removed after."""
    with tempfile.TemporaryDirectory(prefix="keeps-secrets-zip-") as home:
        with zipfile.ZipFile(path) as archive:
            archive.extractall(home)
        tops = {PurePosixPath(p.name) for p in Path(home).iterdir()}
        if tops != {PurePosixPath(FOLDER)}:
            raise Problems([Problem(path.name, 0, f"must hold only {FOLDER}/")])
        yield Path(home) / FOLDER


def base_python() -> str:
    """The Python outside every environment."""
    return str(getattr(sys, "_base_executable", None) or sys.executable)


def _variables() -> dict[str, str]:
    """Variables for a reader's machine: none of ours, none of Python's."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("KEEPS_SECRETS_", "PYTHON", "PYTEST_"))
    }


def demo(folder: Path) -> str:
    """Run the demo with no install at all; return what it printed.

    ``-S`` leaves out every installed package. Raises ``Problems`` when it
    does not end well.
    """
    done = subprocess.run(
        [base_python(), "-S", "-s", "-m", "lab", "demo"],
        cwd=folder,
        env=_variables(),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        last = lines[-1] if lines else "it said nothing"
        raise Problems(
            [
                Problem(
                    NAME,
                    0,
                    "`python -m lab demo` in the unpacked ZIP ended with "
                    f"exit code {done.returncode}: {last}",
                )
            ]
        )
    return done.stdout


def _closure(name: str, seen: set[str]) -> None:
    """Add a distribution and what it requires here, extras aside."""
    key = re.sub(r"[-_.]+", "-", name).lower()
    if key in seen:
        return
    try:
        requires = importlib.metadata.requires(name) or []
    except importlib.metadata.PackageNotFoundError:
        return  # for another platform or an older Python
    seen.add(key)
    for text in requires:
        if "extra ==" not in text:
            match = re.match(r"[A-Za-z0-9._-]+", text)
            if match:
                _closure(match[0], seen)


def bare_python(home: Path) -> Path:
    """A new environment with pytest, what pytest needs, and nothing else.

    Copied from the environment this runs in, so that no network is needed.
    """
    venv.create(home, with_pip=False, symlinks=os.name != "nt")
    python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    (site,) = home.glob(
        "Lib/site-packages" if os.name == "nt" else "lib/python*/site-packages"
    )
    wanted: set[str] = set()
    _closure("pytest", wanted)
    for name in sorted(wanted):
        distribution = importlib.metadata.distribution(name)
        for file in distribution.files or ():
            if ".." in file.parts or file.suffix == ".pyc":
                continue
            target = site / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(str(distribution.locate_file(file)), target)
    return python


def run_tests(python: Path, folder: Path) -> tuple[Counts, list[str]]:
    """Run the ZIP's tests in ``folder``; counts, and the names that failed.

    Raises ``Problems`` when pytest did not get as far as running tests.
    """
    report = folder.parent / "report.xml"
    done = subprocess.run(
        [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider",
         f"--junitxml={report}", "tests"],
        cwd=folder,
        env=_variables(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )  # fmt: skip
    if done.returncode not in (0, 1) or not report.exists():
        tail = " / ".join(done.stdout.strip().splitlines()[-3:])
        message = f"pytest ended with exit code {done.returncode}: {tail}"
        raise Problems([Problem(NAME, 0, message)])
    total = skipped = 0
    bad: list[str] = []
    for case in ET.parse(report).iter("testcase"):
        total += 1
        outcomes = {child.tag for child in case}
        if outcomes & {"failure", "error"}:
            bad.append(f"{case.get('classname')}::{case.get('name')}")
        elif "skipped" in outcomes:
            skipped += 1
    passed = total - skipped - len(bad)
    return Counts(passed, skipped, len(bad)), bad


@dataclass(frozen=True)
class Trial:
    """What a run of the shipped tests found."""

    kind: str
    counts: Counts
    seconds: float
    problems: tuple[Problem, ...]


def judge(
    root: Path, kind: str, counts: Counts, bad: Iterable[str]
) -> tuple[Problem, ...]:
    """Compare a run with its pinned counts."""
    problems = [
        Problem(NAME, 0, f"{name} fails in the unpacked ZIP ({kind})")
        for name in bad
    ]
    pinned = expected(root, kind)
    if not problems and counts != pinned:
        problems.append(
            Problem(
                COUNTS,
                0,
                f"[{kind}] pins {pinned}, and the run in the unpacked ZIP "
                f"gave {counts}",
                "if tests were added or removed on purpose, pin the new "
                "numbers with: python3 build.py pin",
            )
        )
    return tuple(problems)


def try_bare(root: Path, path: Path) -> Trial:
    """Unpack the ZIP; run the demo and the tests on a bare Python."""
    started = time.monotonic()
    with unpacked(path) as folder:
        demo(folder)
        python = bare_python(folder.parent / "bare")
        counts, bad = run_tests(python, folder)
    problems = judge(root, "bare", counts, bad)
    return Trial("bare", counts, time.monotonic() - started, problems)


def try_with_extras(root: Path, path: Path) -> Trial:
    """Unpack the ZIP; run its tests with every optional package."""
    started = time.monotonic()
    with unpacked(path) as folder:
        counts, bad = run_tests(Path(sys.executable), folder)
    problems = judge(root, "extras", counts, bad)
    return Trial("extras", counts, time.monotonic() - started, problems)


def pin(root: Path, trials: Iterable[Trial]) -> str:
    """Write what the trials counted as the numbers to expect; the text.

    What is not counted now keeps its number. Raises ``Problems`` when a
    test failed: a fault is not to be expected.
    """
    path = root / COUNTS
    text = path.read_text("utf-8")
    trials = tuple(trials)
    failed = [trial for trial in trials if trial.counts.failed]
    if failed:
        raise Problems(fault for trial in failed for fault in trial.problems)
    for trial in trials:
        pattern = rf"(\[{trial.kind}\][^[]*?passed = )\d+(\s+skipped = )\d+"
        numbers = rf"\g<1>{trial.counts.passed}\g<2>{trial.counts.skipped}"
        text = re.sub(pattern, numbers, text)
    path.write_text(text, "utf-8", newline="\n")
    return text


def run_pin(_args: argparse.Namespace, root: Path) -> int:
    """`build.py pin`: count the ZIP's tests and write the numbers down."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / NAME
            write(path, members(root, tracked(root)))
            with ThreadPoolExecutor() as pool:
                runs = [
                    pool.submit(run, root, path)
                    for run in (try_bare, try_with_extras)
                ]
                trials = [run.result() for run in runs]
        for trial in trials:
            print(f"{trial.kind}: {trial.counts}")
        pin(root, trials)
    except Problems as error:
        for problem in error.problems:
            print(f"  {problem}", file=sys.stderr)
        print("not pinned", file=sys.stderr)
        return 1
    print(f"{COUNTS} is written; look at what changed and commit it")
    return 0
