"""`build.py evidence` and `bench`: experiments and measures, run again.

The lab does both; this points it at the evidence of this tree, which a
reader's own command never writes over, and at the locked packages.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

FOLDER = "lab/evidence"


def run(args: argparse.Namespace, root: Path) -> int:
    """Compare with what is recorded, or record anew with ``--record``."""
    command = [sys.executable, "-m", "lab", "evidence"]
    if args.record:
        command += ["--record", *args.names, "--output", FOLDER]
    else:
        command += ["--check", *args.names]
    return subprocess.run(command, cwd=root, check=False).returncode


def bench(args: argparse.Namespace, root: Path) -> int:
    """Measure ingest, search and answers on this machine."""
    command = [sys.executable, "-m", "lab", "bench", "--sizes", args.sizes]
    return subprocess.run(command, cwd=root, check=False).returncode
