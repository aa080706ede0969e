"""Every Python tells the readers of one view the same bytes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import STRICT
from tests.lab.support import contract
from tests.lab.view_digest import digest

ROOT = Path(__file__).parents[2]
RUNNER = Path(__file__).with_name("pyodide.mjs")
PYODIDE = ROOT / "locks/node/node_modules/pyodide"
MODULE = "tests.lab.view_digest"
VERSIONS = ("3.11", "3.12", "3.13", "3.14")


def interpreter(version: str) -> str | None:
    """Return a working CPython of this version: on the path or in pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates = [
        shutil.which(f"python{version}"),
        *map(str, sorted(pyenv.glob(f"versions/{version}.*/bin/python"))),
    ]
    # A shim may be on the path and lead nowhere; a build may lack sqlite3.
    probe = "import sqlite3, sys; print('%d.%d' % sys.version_info[:2])"
    for candidate in filter(None, candidates):
        done = subprocess.run(
            [candidate, "-c", probe], capture_output=True, text=True
        )
        if done.returncode == 0 and done.stdout.strip() == version:
            return candidate
    return None


@pytest.fixture(scope="module")
def here() -> str:
    """The digest that this very Python gives."""
    return digest()


@contract("C-13", "C-20")
@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_every_cpython_here_gives_the_same_bytes(
    here: str, version: str
) -> None:
    python = interpreter(version)
    if python is None:
        pytest.skip(f"no CPython {version} here")
    # -S and -s: nothing installed takes part, NumPy neither.
    done = subprocess.run(
        [python, "-S", "-s", "-m", MODULE],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == here


@contract("C-13", "C-20")
@pytest.mark.slow
def test_cpython_in_webassembly_gives_the_same_bytes(here: str) -> None:
    node = shutil.which("node")
    if node is None or not PYODIDE.is_dir():
        reason = "no Node or no Pyodide; run npm ci --prefix locks/node"
        if os.environ.get(STRICT):
            pytest.fail(reason)
        pytest.skip(reason)
    done = subprocess.run(
        [node, str(RUNNER), str(PYODIDE), str(ROOT), MODULE],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    version, line = done.stdout.split()
    assert version.startswith("3.14.")
    assert line == here
