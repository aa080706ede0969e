"""The store on PostgreSQL, with row-level security as a second wall.

The first wall is the same as everywhere: each question is asked of the
reader's view. The second is the database's own: the reading role owns
nothing, cannot bypass row security, and sees rows only of the reader whom
a signed claim establishes for one transaction.
"""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import resources
from typing import Final

import psycopg
from psycopg import sql

from lab.errors import InvalidInput, StoreUnavailable
from lab.model import CLASSES
from lab.store import Fault, approximate, roles
from lab.store.pool import (
    FORGET,
    ROLLBACK,
    Connection,
    Pool,
    Row,
    ask,
    at_once,
    translated,
)
from lab.store.postgres_faults import faults
from lab.store.postgres_snapshot import (
    CONTENT,
    SETTINGS,
    Begun,
    PostgresSnapshot,
    PostgresTransaction,
    Words,
    begun,
)
from lab.store.replica import Follower
from lab.store.signing import KEY_BYTES

SCHEMA: Final = "keeps_secrets"
PARTITIONS: Final = 8
FORMAT: Final = "1"
LOCK_SECONDS: Final = 10


def there(dsn: str, schema: str) -> bool:
    """Say whether a database has this schema; nothing is made.

    Raises ``StoreUnavailable`` when it cannot be asked.
    """
    with translated(), psycopg.connect(dsn) as connection:
        return bool(
            ask(
                connection,
                b"SELECT 1 FROM pg_namespace WHERE nspname = %s",
                schema,
            )
        )


class PostgresStore:
    """One schema of a PostgreSQL database; safe to use from threads.

    ``dsn`` is the owner's: it makes the schema, writes, and keeps the
    signing key. Reading goes through a role of its own, made with the
    schema. ``replica`` is the DSN of a physical replica that may serve
    reading calls, see ``lab.store.replica``. ``partitions`` counts when
    the schema is made.

    Raises ``StoreUnavailable`` when the server cannot be reached, when the
    owner may not make what is needed, and when the reading role could get
    past row security; ``InvalidInput`` for a schema that is no plain name.
    """

    def __init__(
        self,
        dsn: str,
        schema: str = SCHEMA,
        *,
        replica: str | None = None,
        partitions: int = PARTITIONS,
    ) -> None:
        if not re.fullmatch(r"[a-z_][a-z0-9_]{0,40}", schema):
            raise InvalidInput(
                f"schema {schema!a}: must be lower-case letters, digits and"
                " underscores, at most 41 of them"
            )
        self.schema = schema
        self._say = Words(schema)
        self._dsn = dsn
        self._partitions = partitions
        self._writing = threading.Lock()
        self._owners = Pool(dsn, ROLLBACK, reading=False)
        self._follower: Follower | None = None
        with translated():
            kept = self._create()
            self._key = bytes.fromhex(kept["signing-key"])
            self._role = kept["reader"]
            login = {"user": self._role, "password": kept["reader-password"]}
            self._readers = Pool(
                psycopg.conninfo.make_conninfo(dsn, **login),
                FORGET,
                reading=True,
            )
            self._refuse_powerful_reader()
            if replica is not None:
                self._follower = Follower(
                    self._readers,
                    Pool(
                        psycopg.conninfo.make_conninfo(replica, **login),
                        FORGET,
                        reading=True,
                    ),
                )

    def _create(self) -> dict[str, str]:
        """Make the schema, or find the one that is there; its secrets."""
        with self._owners.lend(self._locked) as (connection, _):
            ((there, ours),) = ask(
                connection,
                b"SELECT to_regnamespace(%s) IS NOT NULL,"
                b" to_regclass(%s) IS NOT NULL",
                self.schema,
                f"{self.schema}.secrets",
            )
            if there and not ours:
                raise StoreUnavailable(
                    f"postgres: the schema {self.schema} is another"
                    " program's; name a new one after # in the DSN"
                )
            if not there:
                self._make(connection)
            kept: dict[str, str] = dict(
                ask(
                    connection, self._say("SELECT name, value FROM {s}.secrets")
                )
            )
            if kept["format"] != FORMAT:
                raise StoreUnavailable(
                    f"postgres: the schema {self.schema} has store format"
                    f" {kept['format']}, this lab reads {FORMAT}; use the"
                    " lab it was made with"
                )
            connection.commit()
            return kept

    def _make(self, connection: Connection) -> None:
        password = secrets.token_hex(16)
        role = roles.role_of(self.schema, connection.info.dbname)
        connection.execute(
            sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(self.schema))
        )
        roles.make(connection, role, password)
        source = resources.files("lab.store").joinpath("postgres.sql")
        filled = source.read_text(encoding="utf-8")
        for name, value in (
            ("schema", sql.Identifier(self.schema)),
            ("reader", sql.Identifier(role)),
            ("schema_text", sql.Literal(self.schema)),
            ("partitions", sql.Literal(self._partitions)),
            ("internal", sql.Literal(CLASSES.index("internal"))),
        ):
            filled = filled.replace(
                "{" + name + "}", value.as_string(connection)
            )
        connection.execute(filled.encode())
        kept = {
            "format": FORMAT,
            "reader": role,
            "reader-password": password,
            "signing-key": secrets.token_hex(KEY_BYTES),
        }
        connection.execute(
            self._say(
                "INSERT INTO {s}.secrets SELECT '', *"
                " FROM unnest(%s::text[], %s::text[])"
            ),
            (list(kept), list(kept.values())),
        )

    def _refuse_powerful_reader(self) -> None:
        """Row security binds only a role that cannot step around it."""
        with self._readers.lend(
            lambda connection: roles.faults(connection, self.schema)
        ) as (_, faults):
            if faults:
                raise StoreUnavailable(
                    f"postgres: the reading role {self._role} {faults[0]};"
                    " row security would not hold it; take that away from it"
                )

    def _locked(self, connection: Connection) -> list[Row]:
        """Begin the one write transaction there is at a time."""
        # At READ COMMITTED, what is read after the lock is what the last
        # one wrote. Where commits are not waited for, ours are.
        return at_once(
            connection,
            (
                b"SELECT set_config('lock_timeout', %s, true)",
                (f"{LOCK_SECONDS}s",),
            ),
            (
                b"SELECT set_config('synchronous_commit', 'on', true)"
                b" WHERE current_setting('synchronous_commit') = 'off'",
                (),
            ),
            (
                b"SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))",
                (f"keeps-secrets {self.schema}",),
            ),
        )[2]

    def _begin_writing(self, connection: Connection) -> Begun:
        self._locked(connection)
        rows = ask(
            connection,
            self._say(f"SELECT {SETTINGS}, approximate FROM {{s}}.settings"),
        )
        return begun(rows, "")

    def _begin_reading(self, connection: Connection) -> Begun:
        settings, ((moment,),) = at_once(
            connection,
            (
                self._say(
                    f"SELECT {SETTINGS}, approximate FROM {{s}}.settings"
                ),
                (),
            ),
            (self._say("SELECT {s}.moment()"), ()),
        )
        return begun(settings, moment)

    @contextmanager
    def read(self) -> Iterator[PostgresSnapshot]:
        """Yield a snapshot; nothing it shows can change while it is used."""
        with translated(), ExitStack() as lent:
            pool = self._readers
            if self._follower is not None:
                pool = self._follower.caught_up() or pool
            reader, start = lent.enter_context(pool.lend(self._begin_reading))

            def trusted() -> Connection:
                shared = None
                if pool is self._readers:
                    ((shared,),) = ask(reader, b"SELECT pg_export_snapshot()")
                return lent.enter_context(
                    self._owners.lend(lambda owner: _joined(owner, shared))
                )[0]

            yield PostgresSnapshot(self._say, reader, start, self._key, trusted)

    @contextmanager
    def write(self) -> Iterator[PostgresTransaction]:
        """Yield a write transaction; commit at the end, else roll back.

        When the connection is lost while committing, nobody can say
        whether the change was made, and the error says so.
        """
        # Threads of one process queue here; processes queue in the server.
        with (
            translated(),
            self._writing,
            self._owners.lend(self._begin_writing) as (owner, start),
        ):
            yield PostgresTransaction(self._say, owner, start)
            try:
                owner.commit()
            except psycopg.OperationalError as error:
                if not owner.closed:
                    raise
                raise StoreUnavailable(
                    "postgres: the connection was lost while a change was"
                    " committed; it may have been made or not; look, or send"
                    " it again"
                ) from error

    def build_approximate(self) -> int:
        """Build the approximate index; return how many rows it holds.

        It is kept up from then on, and goes when the encoder changes.
        Needs pgvector 0.8. Raises ``InvalidInput`` for an index without
        dense vectors.
        """
        with (
            translated(),
            self._writing,
            self._owners.lend(self._begin_writing) as (owner, _),
        ):
            rows = approximate.build(
                owner, self._say, self._role, self._partitions
            )
            owner.commit()
            return rows

    def verify(self) -> list[Fault]:
        """Name every disagreement between the tables."""
        with self.read() as snapshot:
            return faults(snapshot._owner, self._say, snapshot.settings())

    def purge(self) -> list[str]:
        """Make deleted text disappear from the tables' files.

        ``VACUUM FULL`` writes every table anew. What the server's own log
        of changes still holds is outside.
        """
        with (
            translated(),
            psycopg.connect(self._dsn, autocommit=True) as connection,
        ):
            connection.execute(f"SET lock_timeout = '{LOCK_SECONDS}s'")
            near = ask(
                connection, b"SELECT to_regclass(%s)", f"{self.schema}.near"
            )[0][0]
            for table in ("documents", "readers", *CONTENT):
                connection.execute(
                    self._say(f"VACUUM (FULL, ANALYZE) {{s}}.{table}")
                )
            if near is not None:
                connection.execute(self._say("VACUUM (FULL, ANALYZE) {s}.near"))
        return [
            "the write-ahead log until it is recycled, and its archive",
            "replicas and backups",
            "logs outside the store",
            "answers already given",
            "blocks that the file system or disk has remapped",
        ]

    def drop(self) -> None:
        """Remove the schema, its data and its reading role."""
        self.close()
        with (
            translated(),
            psycopg.connect(self._dsn, autocommit=True) as connection,
        ):
            connection.execute(self._say("DROP SCHEMA {s} CASCADE"))
            connection.execute(
                sql.SQL("DROP ROLE {}").format(sql.Identifier(self._role))
            )

    def close(self) -> None:
        """Close every connection; later calls raise StoreUnavailable."""
        self._owners.close()
        self._readers.close()
        if self._follower is not None:
            self._follower.close()


def _joined(owner: Connection, shared: str | None) -> None:
    """Begin a trusted transaction that sees a snapshot already taken."""
    owner.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
    if shared is not None:
        owner.execute(
            sql.SQL("SET TRANSACTION SNAPSHOT {}").format(sql.Literal(shared))
        )
