"""Two writers who decide on what they have read, by how they begin."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from lab.experiments import Emit, Refuted

KIND = "core"
PAGE = False
LIMITATIONS = (
    "One interleaving, the one that does harm; left to chance it is rare.",
    "SQLite with a write-ahead log; other journals and databases wait and"
    " refuse at other places.",
)

# Far longer than the experiment takes: whoever waits here would be noticed.
TIMEOUT: Final = 60.0
OLDER, NEWER = 2, 3

Way = Callable[[sqlite3.Connection, sqlite3.Connection], str]


def run(emit: Emit) -> dict[str, Any]:
    """Return what revision is stored in the end, by how writers begin.

    ``Refuted`` when an older revision replaced a newer one after all.
    """
    emit("stored is revision 1; one writer brings 2, another brings 3")
    emit("how both begin     what the writer of 2 is told     stored")
    ends = {}
    for name, way in WAYS.items():
        told, stored = _play(way)
        emit(f"{name:<19}{told:<33}{stored}")
        ends[name] = {"told": told, "stored": stored}
    if ends["BEGIN IMMEDIATE"]["stored"] != NEWER:
        raise Refuted("the newer revision is the one that is stored")
    return {"ends": ends}


def _play(way: Way) -> tuple[str, int]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        older, newer = (
            sqlite3.connect(path, TIMEOUT, isolation_level=None)
            for _ in range(2)
        )
        older.execute("PRAGMA journal_mode=WAL").fetchone()
        older.execute("CREATE TABLE documents(revision INTEGER)")
        older.execute("INSERT INTO documents VALUES (1)")
        told = way(older, newer)
        stored = _revision(newer)
        older.close()
        newer.close()
    return told, stored


def _revision(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT revision FROM documents").fetchone()[0])


def _write(db: sqlite3.Connection, seen: int, revision: int) -> str:
    """Write ``revision`` if it is newer than what was ``seen``."""
    if revision <= seen:
        return "it is stale"
    db.execute("UPDATE documents SET revision = ?", (revision,))
    return "done"


def _no_transaction(
    older: sqlite3.Connection, newer: sqlite3.Connection
) -> str:
    seen = _revision(older)
    _write(newer, _revision(newer), NEWER)
    return _write(older, seen, OLDER)


def _begin(older: sqlite3.Connection, newer: sqlite3.Connection) -> str:
    older.execute("BEGIN")
    seen = _revision(older)
    newer.execute("BEGIN")
    _write(newer, _revision(newer), NEWER)
    newer.execute("COMMIT")
    try:
        return _write(older, seen, OLDER)
    except sqlite3.OperationalError as error:
        return f"{error}, at once"
    finally:
        older.execute("ROLLBACK")


def _immediate(older: sqlite3.Connection, newer: sqlite3.Connection) -> str:
    newer.execute("BEGIN IMMEDIATE")
    # The other one cannot begin, so it has read nothing to decide on.
    older.execute("PRAGMA busy_timeout=0")
    try:
        older.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError:
        waited = "wait, then: "
    else:
        return "both may write"
    _write(newer, _revision(newer), NEWER)
    newer.execute("COMMIT")
    older.execute("BEGIN IMMEDIATE")
    told = _write(older, _revision(older), OLDER)
    older.execute("COMMIT")
    return waited + told


WAYS: Final[dict[str, Way]] = {
    "no transaction": _no_transaction,
    "BEGIN": _begin,
    "BEGIN IMMEDIATE": _immediate,
}
