"""Connections of one PostgreSQL role, lent to one transaction at a time."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import psycopg

from lab.errors import StoreUnavailable

T = TypeVar("T")
Row = tuple[Any, ...]
Connection = psycopg.Connection[Row]

ROLLBACK: Final = b"ROLLBACK"
# Everything that a session keeps beyond its transactions: what one reader's
# transaction left behind, the next one's must not meet.
FORGET: Final = (
    b"ROLLBACK; CLOSE ALL; UNLISTEN *; RESET ALL; DEALLOCATE ALL;"
    b" SELECT pg_advisory_unlock_all(); DISCARD TEMP"
)


class Pool:
    """Connections to one DSN; safe to use from several threads.

    ``after`` is what is said on a connection that comes back; a connection
    that fails at it is closed. ``reading`` makes every transaction
    REPEATABLE READ, READ ONLY.
    """

    def __init__(self, dsn: str, after: bytes, *, reading: bool) -> None:
        self._dsn = dsn
        self._after = after
        self._reading = reading
        self._idle: queue.LifoQueue[Connection] = queue.LifoQueue()
        self._lock = threading.Lock()
        self._open: list[Connection] = []
        self._closed = False

    @contextmanager
    def lend(
        self, first: Callable[[Connection], T]
    ) -> Iterator[tuple[Connection, T]]:
        """Lend a connection whose transaction ``first`` has begun.

        A connection that the server gave up while it lay idle is replaced
        by a new one; nothing was done on it yet, so nothing is done twice.
        """
        while True:
            connection, idle = self._take()
            try:
                begun = first(connection)
            except BaseException as error:
                lost = connection.closed
                self._give(connection)
                gone = isinstance(error, psycopg.OperationalError) and lost
                if idle and gone:
                    continue
                raise
            break
        try:
            yield connection, begun
        finally:
            self._give(connection)

    def _take(self) -> tuple[Connection, bool]:
        if self._closed:
            raise StoreUnavailable("postgres: the index was closed")
        try:
            return self._idle.get_nowait(), True
        except queue.Empty:
            pass
        # What is prepared would be thrown away at the end of the lending.
        connection = psycopg.connect(
            self._dsn,
            prepare_threshold=None,
            application_name="keeps-secrets",
        )
        if self._reading:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.read_only = True
        with self._lock:
            self._open.append(connection)
        return connection, False

    def _give(self, connection: Connection) -> None:
        clean = False
        if not connection.closed and not self._closed:
            # Not through psycopg, which would begin a transaction for it.
            result = connection.pgconn.exec_(self._after)
            clean = result.status in (
                psycopg.pq.ExecStatus.COMMAND_OK,
                psycopg.pq.ExecStatus.TUPLES_OK,
            )
        if clean:
            self._idle.put(connection)
            return
        with self._lock:
            if connection in self._open:
                self._open.remove(connection)
        connection.close()

    def close(self) -> None:
        """Close every connection; lending then raises StoreUnavailable."""
        self._closed = True
        with self._lock:
            for connection in self._open:
                connection.close()
            self._open.clear()


def ask(connection: Connection, query: bytes, *values: Any) -> list[Row]:
    """Return the rows of one query."""
    return connection.execute(query, values).fetchall()


def at_once(
    connection: Connection, *statements: tuple[bytes, tuple[Any, ...]]
) -> list[list[Row]]:
    """Say several statements in one round trip; return the rows of each."""
    with connection.pipeline():
        cursors = [
            connection.execute(query, values) for query, values in statements
        ]
    return [
        cursor.fetchall() if cursor.description else [] for cursor in cursors
    ]


@contextmanager
def translated() -> Iterator[None]:
    """Turn PostgreSQL's errors into ``StoreUnavailable``, in a sentence."""
    try:
        yield
    except psycopg.Error as error:
        raise StoreUnavailable(f"postgres: {_explain(error)}") from error


def _explain(error: psycopg.Error) -> str:
    text = " ".join(str(error).split("\n", 1)[0].split())
    if isinstance(error, psycopg.errors.DiskFull):
        return "no room left on the server; nothing was changed"
    if isinstance(error, psycopg.errors.LockNotAvailable):
        return (
            "another process is at work on the index; try again when it is"
            " done; nothing was changed"
        )
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return (
            f"{text}; the role of the DSN must own the index, or, for a new"
            " one, be allowed to make a schema and a role"
        )
    if isinstance(error, psycopg.errors.InvalidCatalogName):
        return f"{text}; make it, or name another database in the DSN"
    if isinstance(error, psycopg.OperationalError):
        return (
            f"{text}; check that the server runs and that address, user and"
            " password are right"
        )
    if isinstance(error, psycopg.ProgrammingError):
        return f"{text}; check the DSN"
    return f"{text}; nothing was changed"
