"""`build.py evidence`: run experiments again, show or record what changed.

The lab does it; this only points it at the evidence of this tree, which a
reader's own command never writes over.
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
