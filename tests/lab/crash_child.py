"""A process that is killed while it works; ``test_crash`` starts it.

``python -m tests.lab.crash_child WORK PLACE COUNT`` does ``WORK`` from
number ``COUNT`` on, for ever, and prints each number when it is done: what
is printed was acknowledged. With ``STOP_AT`` in its environment it does
it once and kills itself before that many statements have run.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from collections.abc import Callable
from typing import Any

from lab.chunking import BlockChunker, WindowChunker
from lab.encoders.counts import TermCounts
from lab.encoders.hashing import SignedHashing
from lab.index import DocumentStatus, Index
from lab.model import Document, Policy
from lab.store.opening import is_dsn
from lab.store.sqlite import SQLiteStore

PARAGRAPHS = 40
DOOMED = 12
SECRET = "zxqvsecretterm"


def text(number: int) -> str:
    """Return the text of one revision; every chunk names its number."""
    return "\n\n".join(f"hotel rev{number} {n}" for n in range(PARAGRAPHS))


def upsert(index: Index, number: int) -> None:
    """Write revision ``number`` of one document."""
    policy = Policy(("alice",))
    source = text(number)
    index.upsert(Document("larkspur", "a", number, "markdown", source, policy))


def govern(index: Index, number: int) -> None:
    """Let bob in at even numbers; the policy revision is the number."""
    readers = ("alice", "bob") if number % 2 == 0 else ("alice",)
    index.set_policy("larkspur", "a", Policy(readers), number - 1)


def delete(index: Index, number: int) -> None:
    """Delete one of several documents."""
    index.delete("larkspur", f"doomed-{number % DOOMED}", number)


def rebuild(index: Index, number: int) -> None:
    """Rebuild with other settings each time."""
    if number % 2:
        index.rebuild(SignedHashing(16), BlockChunker(120, 1))
    else:
        index.rebuild(TermCounts(), WindowChunker())


def purge(index: Index, number: int) -> None:
    """Purge a store that holds deleted text."""
    index.purge()


# What is done to a store that is there; "make" is for one that is not.
WORKS: dict[str, Callable[[Index, int], None]] = {
    "upsert": upsert,
    "govern": govern,
    "delete": delete,
    "rebuild": rebuild,
    "purge": purge,
}


def die() -> None:
    """End as the kernel would end it: nothing is tidied up."""
    if hasattr(signal, "SIGKILL"):
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(9)


def stop_at(place: str, statement: int) -> None:
    """Kill this process before it has run so many more statements."""
    if is_dsn(place):
        _stop_server_statements(statement)
    else:
        _stop_file_statements(statement)


def _stop_server_statements(statement: int) -> None:
    import psycopg

    left = statement

    def counting(call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*values: Any, **options: Any) -> Any:
            nonlocal left
            left -= 1
            if left <= 0:
                die()
            return call(*values, **options)

        return counted

    for name in ("execute", "commit"):
        call = getattr(psycopg.Connection, name)
        setattr(psycopg.Connection, name, counting(call))


def _stop_file_statements(statement: int) -> None:
    left = statement
    connect = SQLiteStore._connect

    def counting(store: SQLiteStore) -> sqlite3.Connection:
        connection = connect(store)

        def trace(_: str) -> None:
            nonlocal left
            left -= 1
            if left <= 0:
                die()

        connection.set_trace_callback(trace)
        return connection

    SQLiteStore._connect = counting  # type: ignore[method-assign]


def main(work: str, place: str, count: str) -> None:
    """Work until killed, or once."""
    number = int(count)
    limit = os.environ.get("STOP_AT")
    if limit is not None:
        if work != "make":
            with Index.open(place) as index:
                state = index.status("larkspur", "a")
                assert isinstance(state, DocumentStatus)
        stop_at(place, int(limit))
    with Index.open(place) as index:
        print("go", flush=True)
        while True:
            number += 1
            WORKS.get(work, upsert)(index, number)
            print(number, flush=True)
            if limit is not None:
                return


if __name__ == "__main__":
    main(*sys.argv[1:])
