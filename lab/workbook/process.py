"""A fresh Python process: its output in a file, its tree ended in time."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

# A learner's loop may print for ever; this is where it is stopped.
LARGEST_OUTPUT: Final = 8_000_000
_PAUSE: Final = 0.05


@dataclass(frozen=True)
class Ended:
    """How a process ended.

    ``why`` is ``""`` when it ended by itself with exit code ``code``,
    ``time``, ``output`` or ``stop`` when it was ended for one of these.
    """

    code: int
    why: str


def variables(path: Sequence[Path], **more: str) -> dict[str, str]:
    """Return an environment for a fresh Python.

    Nothing of Python's or pytest's own settings is kept (``PYTHONOPTIMIZE``
    would switch assertions off) but where packages are found; ``path``
    comes first there. UTF-8 on both sides, no bytecode.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if name == "PYTHONHOME"
        or not name.startswith(
            ("PYTHON", "PYTEST", "LAB_MODULE", "KS_", "COV_")
        )
    }
    found = [*map(str, path), os.environ.get("PYTHONPATH", "")]
    return kept | {
        "PYTHONPATH": os.pathsep.join(filter(None, found)),
        "PYTHONUTF8": "1",
        "PYTHONIOENCODING": "utf-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "NO_COLOR": "1",
        **more,
    }


def run(
    arguments: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    output: Path,
    seconds: float,
    stop: threading.Event | None = None,
) -> Ended:
    """Run Python in ``folder``; what it prints is added to ``output``.

    When it takes longer than ``seconds``, prints without end, or ``stop``
    is set, it and everything it started are ended.
    """
    options: dict[str, object] = {"start_new_session": True}
    if sys.platform == "win32":
        options = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    with output.open("ab") as file:
        process = subprocess.Popen(
            [sys.executable, "-B", "-P", "-X", "utf8", *arguments],
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            **options,  # type: ignore[call-overload]
        )
    before = output.stat().st_size
    deadline = time.monotonic() + seconds
    why = ""
    try:
        while process.poll() is None and not why:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_PAUSE)
            if output.stat().st_size - before > LARGEST_OUTPUT:
                why = "output"
            elif time.monotonic() > deadline:
                why = "time"
            elif stop is not None and stop.is_set():
                why = "stop"
    finally:
        # Also after Ctrl-C: nothing we started goes on without us.
        _end_tree(process)
    return Ended(process.wait(), why if process.returncode else "")


def _end_tree(process: subprocess.Popen[bytes]) -> None:
    """End a process and what it started, also if it is gone itself."""
    if sys.platform == "win32":
        if process.poll() is None:
            subprocess.run(
                ["taskkill", "/F", "/T", "/PID", str(process.pid)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
            )
    else:
        # The session was started for it, so the group is all its own.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(OSError):
        process.kill()
