"""Ways to break the lab on purpose, and the tests that must notice.

``python -m tests.mutations`` replays them all, or those that are named, in
a copy of the tree. A mutation that no test notices has survived: then a
contract has a hole, and the exit code is 1.
"""

from __future__ import annotations

import os
import queue
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("mutations.toml")
COPIED = ("lab", "tests", "pyproject.toml")
TESTS_FAILED = 1
SECONDS = 180


@dataclass(frozen=True)
class Mutation:
    """One edit: ``old`` stands once in ``file`` and becomes ``new``.

    ``tests`` are in pytest's way; one of them must fail. Tests that need
    PostgreSQL take part only where ``server`` says so.
    """

    id: str
    contract: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    server: bool = False


@dataclass(frozen=True)
class Outcome:
    """What became of one mutation; ``noticed`` is what is wanted."""

    mutation: Mutation
    noticed: bool
    what: str


def read() -> list[Mutation]:
    """Return the list; a malformed entry is a ``ValueError``."""
    entries = tomllib.loads(LIST.read_text("utf-8"))["mutation"]
    mutations = [
        Mutation(**{**entry, "tests": tuple(entry["tests"])})
        for entry in entries
    ]
    ids = [mutation.id for mutation in mutations]
    if len(set(ids)) != len(ids):
        raise ValueError(f"{LIST.name}: an id stands twice")
    return mutations


def replay(
    mutations: Iterable[Mutation],
    workers: int = 2,
    report: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:
    """Try each mutation in a copied tree; the checkout is not touched."""
    trees: queue.Queue[Path] = queue.Queue()
    with tempfile.TemporaryDirectory(prefix="mutations-") as home:
        for number in range(workers):
            trees.put(copied(Path(home) / f"tree-{number}"))

        def one(mutation: Mutation) -> Outcome:
            tree = trees.get()
            try:
                outcome = attempt(tree, mutation)
            finally:
                trees.put(tree)
            report(outcome)
            return outcome

        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(one, mutations))


def copied(tree: Path) -> Path:
    """Copy what the tests of the lab need."""
    tree.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name,
                tree / name,
                ignore=shutil.ignore_patterns("__pycache__", "node_modules"),
            )
        else:
            shutil.copyfile(ROOT / name, tree / name)
    return tree


def attempt(tree: Path, mutation: Mutation) -> Outcome:
    """Break one file, run its tests, mend the file."""
    file = tree / mutation.file
    sound = file.read_text("utf-8")
    if sound.count(mutation.old) != 1:
        times = sound.count(mutation.old)
        what = f"{mutation.file}: its old text stands there {times} times"
        return Outcome(mutation, False, f"stale: {what}")
    broken = sound.replace(mutation.old, mutation.new)
    file.write_text(broken, encoding="utf-8", newline="\n")
    try:
        if file.suffix == ".py":
            compile(broken, mutation.file, "exec")
        chosen = () if mutation.server else ("-m", "not server")
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-x", "-q", *chosen,
             "-p", "no:cacheprovider", *mutation.tests],
            cwd=tree,
            env=_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Outcome(mutation, True, f"did not end in {SECONDS} s")
    except SyntaxError as error:
        return Outcome(mutation, False, f"stale: no valid Python: {error}")
    finally:
        file.write_text(sound, encoding="utf-8", newline="\n")
    lines = done.stdout.strip().splitlines() or ["it said nothing"]
    if done.returncode != TESTS_FAILED:
        what = "survived" if done.returncode == 0 else "stale: pytest"
        if done.returncode == 0 and " passed" not in lines[-1]:
            what = "not run"
        return Outcome(mutation, False, f"{what}: {lines[-1]}")
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return Outcome(mutation, True, (failed or lines)[-1])


def _environment() -> dict[str, str]:
    return {
        **os.environ,
        # A module is edited twice within one second, at one length: a
        # cached one would be taken for it.
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
