"""Which part of a purge erases what, and what a backup brings back."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any, Final

from lab.experiments import Emit, Refuted, Uses
from lab.index import Index
from lab.model import Context, Document, Policy
from lab.store.sqlite import SQLiteStore
from lab.terms import FINGERPRINT

KIND = "core"
PAGE = False
LIMITATIONS = (
    "A store of six documents on one file system, closed and opened once"
    " before the deletion.",
    "What is left after fewer than all steps is one version of SQLite's, and"
    " is observed, not claimed.",
)

READER: Final = Context("larkspur", "alice")
# In the texts, and as the term that the index keeps of it.
WORD, TERM = "KestrelVault", "kestrelvault"
OTHERS: Final = 5
TOMBSTONES: Final = 100_000

STEPS: Final[Mapping[str, str]] = {
    "optimize": "INSERT INTO lexical(lexical) VALUES ('optimize')",
    "VACUUM": "VACUUM",
    "truncate": "PRAGMA wal_checkpoint(TRUNCATE)",
}


def uses() -> Uses:
    """Return the version of the terms by which the text is found."""
    return Uses(flags={"terms": FINGERPRINT})


def run(emit: Emit) -> dict[str, Any]:
    """Return what is left in the files after each choice of steps.

    ``Refuted`` when all of them leave the word, or when a restored backup
    does not lose the document again to the same events.
    """
    left = _left(tuple(STEPS), SQLiteStore)
    emit(f"deleted, then {', '.join(STEPS)}")
    for what in ("text", "term"):
        emit(f"  the word as {what}          {_there(left[what])}")
    if any(left.values()):
        raise Refuted("after all three steps the word is in none of the files")
    emit("")
    backup = _backup()
    emit("a backup from before the deletion, put back in its place")
    emit(f"  opened                    {_state(backup['restored'])}")
    emit(f"  the deletion sent again   {_state(backup['replayed'])}")
    if not backup["restored"] or backup["replayed"]:
        raise Refuted("the deletion, sent again, is carried out again")
    return {"left": left, "backup": backup}


def observe() -> dict[str, Any]:
    """Return what each choice of steps leaves, and what a tombstone takes."""
    return {
        "steps": {
            ", ".join(steps) or "nothing": {
                "overwritten": _told(_left(steps, SQLiteStore)),
                "left": _told(_left(steps, _Careless)),
            }
            for steps in _choices()
        },
        **_tombstones(),
    }


def _tombstones() -> dict[str, Any]:
    """Return what many tombstones take: bytes each, time of a search."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        with Index.open(path) as index:
            _fill(index)
            index.purge()
            before, empty = _fastest(index), path.stat().st_size
        store = SQLiteStore(path)
        with store.write() as transaction:
            for number in range(TOMBSTONES):
                name = f"minutes-of-meeting-{number:06}"
                transaction.tombstone("larkspur", name, 2, 1)
        with Index.over(store) as index:
            index.purge()
            after, full = _fastest(index), path.stat().st_size
    return {
        "tombstones": TOMBSTONES,
        "tombstone_bytes": round((full - empty) / TOMBSTONES),
        "search_ms": {"without": before, "with": after},
    }


def _fastest(index: Index) -> float:
    """Return the fastest of twenty searches, in milliseconds."""
    times = []
    for _ in range(20):
        started = time.perf_counter()
        index.search("memo", READER)
        times.append(time.perf_counter() - started)
    return round(min(times) * 1000, 2)


def _choices() -> list[tuple[str, ...]]:
    return [
        chosen
        for count in range(len(STEPS) + 1)
        for chosen in combinations(STEPS, count)
    ]


def _told(left: Mapping[str, bool]) -> str:
    return ", ".join(what for what in left if left[what]) or "-"


def _there(left: bool) -> str:
    return "there" if left else "gone"


def _state(found: bool) -> str:
    return "the document is found" if found else "it is gone"


def _document(name: str, revision: int, text: str) -> Document:
    policy = Policy(("alice",))
    return Document("larkspur", name, revision, "text", text, policy)


def _fill(index: Index) -> None:
    for number in range(OTHERS):
        index.upsert(_document(f"memo-{number}", 1, f"Memo {number}. " * 20))
    index.upsert(_document("plan", 1, f"# Plan\n\nThe code is {WORD}."))


class _Careless(SQLiteStore):
    """The store without the wish that freed space be overwritten."""

    def _connect(self) -> sqlite3.Connection:
        connection = super()._connect()
        connection.execute("PRAGMA secure_delete=OFF")
        return connection


def _left(steps: tuple[str, ...], kind: type[SQLiteStore]) -> dict[str, bool]:
    """Say whether text and term are in the files when the steps are done."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        with Index.over(kind(path)) as index:
            _fill(index)
        # Closing folded the log back: the text is in the file itself.
        with Index.over(kind(path)) as index:
            index.delete("larkspur", "plan", 2)
            db = sqlite3.connect(path, isolation_level=None)
            over = "ON" if kind is SQLiteStore else "OFF"
            db.execute(f"PRAGMA secure_delete={over}")
            for step in steps:
                db.execute(STEPS[step]).fetchall()
            data = b"".join(
                file.read_bytes() for file in sorted(Path(folder).iterdir())
            )
            db.close()
    return {"text": WORD.encode() in data, "term": TERM.encode() in data}


def _backup() -> dict[str, bool]:
    """Take a backup, delete, put the backup back, send the events again."""
    with tempfile.TemporaryDirectory() as folder:
        path, copy = Path(folder) / "store.db", Path(folder) / "backup.db"
        events = [
            {
                "op": "delete",
                "tenant": "larkspur",
                "doc_id": "plan",
                "revision": 2,
            }
        ]
        with Index.open(path) as index:
            _fill(index)
            source, target = sqlite3.connect(path), sqlite3.connect(copy)
            source.backup(target)
            source.close()
            target.close()
            index.apply(events)
        with Index.open(copy) as index:
            restored = bool(index.search(TERM, READER).hits)
            index.apply(events)
            replayed = bool(index.search(TERM, READER).hits)
    return {"restored": restored, "replayed": replayed}
