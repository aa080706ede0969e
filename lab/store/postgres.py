"""The store on PostgreSQL, with row-level security as a second wall.

The first wall is the same as everywhere: each question is asked of the
reader's view. The second is the database's own: the reading role owns
nothing, cannot bypass row security, and sees rows only of the reader whom
a signed claim establishes for one transaction.
"""

from __future__ import annotations

import hashlib
import json
import queue
import secrets
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from importlib import resources
from typing import Any, Final

from lab.errors import StoreUnavailable
from lab.model import CLASSES, Context
from lab.store import (
    Candidate,
    ChunkRow,
    Fault,
    Group,
    Key,
    Posting,
    Principal,
    Reader,
    Record,
    Settings,
    Stats,
    View,
)
from lab.store.agreement import StoredRow, document_faults
from lab.store.signing import KEY_BYTES, claim
from lab.terms import terms as cut

try:
    import psycopg
    from psycopg import sql
except ImportError:
    raise StoreUnavailable(
        "postgres: needs psycopg; install it with:"
        " pip install 'keeps-secrets[postgres]'"
    ) from None

SCHEMA: Final = "keeps_secrets"
PARTITIONS: Final = 8

# A B-tree entry must stay below a third of a page. A longer name is stood
# for by its digest; "#" occurs in no term, so nothing else has that key.
_LONGEST_KEY = 1000

_RECORD_FIELDS = tuple(field.name for field in fields(Record))
_RECORD = ", ".join(f"d.{name}" for name in _RECORD_FIELDS)
# What the reading role may see of a document: not its policy.
_SHOWN = (
    "d.tenant, d.doc_id, d.revision, 0, d.live, d.format, d.title, d.body,"
    " d.sha256, d.updated_at, d.origin, 0, NULL"
)
_CANDIDATE_FIELDS = tuple(field.name for field in fields(Candidate))
_CANDIDATE = (
    "d.doc_id, c.number, d.revision, d.sha256, d.title, d.updated_at,"
    " d.origin, c.start, c.stop, c.text, c.sha256, c.headings"
)

Connection = psycopg.Connection[tuple[Any, ...]]


def key_of(name: str) -> str:
    """Return the key that stands for a term or feature in an index."""
    data = name.encode("utf-8")
    if len(data) <= _LONGEST_KEY:
        return name
    return "#" + hashlib.sha256(data).hexdigest()


class PostgresSnapshot:
    """Reads inside one transaction of the reading role.

    Trusted questions go to the owner's connection, which ``owner`` gives;
    it is ``None`` in a store that was opened for reading only.
    """

    def __init__(
        self,
        store: PostgresStore,
        reader: Connection,
        owner: Connection | None,
    ) -> None:
        self._store = store
        self._reader = reader
        self._given = owner
        self._serial = 0
        self._visible: list[str] = []

    def _ask(
        self, connection: Connection, query: str, *values: Any
    ) -> list[tuple[Any, ...]]:
        return connection.execute(self._store.say(query), values).fetchall()

    @property
    def _owner(self) -> Connection:
        if self._given is None:
            self._given = self._store.trusted()
        return self._given

    def settings(self) -> Settings | None:
        """Return the stored projection settings, ``None`` when new."""
        rows = self._ask(
            self._reader,
            "SELECT encoder, encoder_spec, chunker, chunker_spec, terms"
            " FROM {s}.settings",
        )
        if not rows:
            return None
        (row,) = rows
        return Settings(
            row[0], json.loads(row[1]), row[2], json.loads(row[3]), row[4]
        )

    def principal(self, tenant: str, name: str) -> Principal | None:
        """Return a principal's directory entry."""
        rows = self._ask(
            self._owner,
            "SELECT clearance, revision FROM {s}.principals"
            " WHERE tenant = %s AND name = %s",
            tenant,
            name,
        )
        if not rows:
            return None
        barriers = self._ask(
            self._owner,
            "SELECT barrier FROM {s}.inside WHERE tenant = %s AND name = %s"
            " ORDER BY barrier",
            tenant,
            name,
        )
        ((clearance, revision),) = rows
        return Principal(
            CLASSES[clearance], tuple(b for (b,) in barriers), revision
        )

    def group(self, tenant: str, name: str) -> Group | None:
        """Return a group's directory entry, live or deleted."""
        rows = self._ask(
            self._owner,
            "SELECT incarnation, revision, live FROM {s}.groups"
            " WHERE tenant = %s AND name = %s",
            tenant,
            name,
        )
        if not rows:
            return None
        members = self._ask(
            self._owner,
            "SELECT kind, name FROM {s}.members WHERE tenant = %s AND grp = %s",
            tenant,
            name,
        )
        names = sorted(f"group:{n}" if k == "group" else n for k, n in members)
        ((incarnation, revision, live),) = rows
        return Group(tuple(names), incarnation, revision, live)

    def record(self, tenant: str, doc_id: str) -> Record | None:
        """Return a document's row whoever may read it."""
        rows = self._ask(
            self._owner,
            f"SELECT {_RECORD} FROM {{s}}.documents d"
            " WHERE d.tenant = %s AND d.doc_id = %s",
            tenant,
            doc_id,
        )
        return _record(rows[0]) if rows else None

    def records(self, tenant: str | None = None) -> Iterator[Record]:
        """Yield rows in the order of (tenant, doc_id)."""
        rows = self._ask(
            self._owner,
            f"SELECT {_RECORD} FROM {{s}}.documents d"
            " WHERE %s::text IS NULL OR d.tenant = %s"
            " ORDER BY d.tenant, d.doc_id",
            tenant,
            tenant,
        )
        for row in rows:
            yield _record(row)

    def readers(self, tenant: str, doc_id: str) -> tuple[Reader, ...]:
        """Return the entries of a document's policy."""
        rows = self._ask(
            self._owner,
            "SELECT kind, name, incarnation FROM {s}.readers"
            " WHERE tenant = %s AND doc_id = %s ORDER BY kind, name",
            tenant,
            doc_id,
        )
        return tuple(Reader(*row) for row in rows)

    def counts(self, tenant: str | None = None) -> Mapping[str, int]:
        """Return how many live documents, tombstones and chunks there are."""
        ((live, dead, chunks),) = self._ask(
            self._owner,
            "SELECT count(*) FILTER (WHERE live),"
            " count(*) FILTER (WHERE NOT live),"
            " COALESCE(sum(chunk_count), 0) FROM {s}.documents"
            " WHERE %s::text IS NULL OR tenant = %s",
            tenant,
            tenant,
        )
        return {
            "documents": live,
            "tombstones": dead,
            "chunks": int(chunks),
        }

    def readable(self, context: Context) -> View:
        """Establish the reader and decide the view."""
        self._store.establish(self._reader, context)
        rows = self._ask(
            self._reader, "SELECT doc_id FROM {s}.readable() ORDER BY doc_id"
        )
        self._visible = [doc_id for (doc_id,) in rows]
        self._serial += 1
        return View(context, self._serial)

    def stats(self, view: View) -> Stats:
        """Return the sizes that BM25 needs, of the readable chunks."""
        ((chunks, length),) = self._of_view(
            view,
            "SELECT COALESCE(sum(chunk_count), 0),"
            " COALESCE(sum(term_count), 0) FROM {s}.documents"
            " WHERE tenant = %s AND doc_id = ANY(%s)",
        )
        return Stats(int(chunks), int(length))

    def postings(
        self, view: View, terms: Sequence[str]
    ) -> Mapping[str, list[Posting]]:
        """Return each term's occurrences in readable chunks."""
        named = {key_of(term): term for term in terms}
        found: dict[str, list[Posting]] = {term: [] for term in terms}
        for term, *rest in self._of_view(
            view,
            "SELECT p.term, p.doc_id, p.number, p.tf, c.length"
            " FROM {s}.post p JOIN {s}.chunks c"
            " ON c.tenant = p.tenant AND c.doc_id = p.doc_id"
            " AND c.number = p.number"
            " WHERE p.tenant = %s AND p.doc_id = ANY(%s)"
            " AND p.term = ANY(%s)",
            list(named),
        ):
            found[named[term]].append(Posting(*rest))
        return found

    def features(
        self, view: View, names: Sequence[str]
    ) -> Mapping[Key, tuple[int, Mapping[str, int]]]:
        """Return the sparse rows that share a feature with ``names``."""
        named = {key_of(name): name for name in names}
        norms: dict[Key, int] = {}
        shared: dict[Key, dict[str, int]] = {}
        for name, doc_id, number, count, norm in self._of_view(
            view,
            "SELECT f.name, f.doc_id, f.number, f.count, v.norm"
            " FROM {s}.features f JOIN {s}.vectors v"
            " ON v.tenant = f.tenant AND v.doc_id = f.doc_id"
            " AND v.number = f.number"
            " WHERE f.tenant = %s AND f.doc_id = ANY(%s)"
            " AND f.name = ANY(%s)",
            list(named),
        ):
            norms[doc_id, number] = norm
            shared.setdefault((doc_id, number), {})[named[name]] = count
        return {key: (norms[key], shared[key]) for key in norms}

    def vectors(self, view: View) -> list[tuple[Key, bytes, int]]:
        """Return every readable dense row with its squared length."""
        rows = self._of_view(
            view,
            "SELECT doc_id, number, data, norm FROM {s}.vectors"
            " WHERE tenant = %s AND doc_id = ANY(%s) AND data IS NOT NULL",
        )
        return [((row[0], row[1]), bytes(row[2]), row[3]) for row in rows]

    def candidates(
        self, view: View, keys: Sequence[Key]
    ) -> Mapping[Key, Candidate]:
        """Return the named chunks, those that are readable."""
        rows = self._of_view(
            view,
            f"SELECT {_CANDIDATE} FROM {{s}}.documents d"
            " JOIN {s}.chunks c ON c.tenant = d.tenant"
            " AND c.doc_id = d.doc_id"
            " WHERE d.tenant = %s AND d.doc_id = ANY(%s)"
            " AND (c.doc_id, c.number) IN"
            " (SELECT * FROM unnest(%s::text[], %s::bigint[]))",
            [doc_id for doc_id, _ in keys],
            [number for _, number in keys],
        )
        return {(row[0], row[1]): _candidate(row) for row in rows}

    def document(self, view: View, doc_id: str) -> Record | None:
        """Return a document if, and only if, it is in the view.

        Its policy is not among what the reading role may see.
        """
        rows = self._of_view(
            view,
            f"SELECT {_SHOWN} FROM {{s}}.documents d"
            " WHERE d.tenant = %s AND d.doc_id = ANY(%s)"
            " AND d.doc_id = %s",
            doc_id,
        )
        return _record(rows[0]) if rows else None

    def chunks(self, view: View, doc_id: str) -> list[Candidate]:
        """Return a readable document's chunks in order."""
        rows = self._of_view(
            view,
            f"SELECT {_CANDIDATE} FROM {{s}}.documents d"
            " JOIN {s}.chunks c ON c.tenant = d.tenant"
            " AND c.doc_id = d.doc_id"
            " WHERE d.tenant = %s AND d.doc_id = ANY(%s)"
            " AND d.doc_id = %s ORDER BY c.number",
            doc_id,
        )
        return [_candidate(row) for row in rows]

    def _of_view(
        self, view: View, query: str, *values: Any
    ) -> list[tuple[Any, ...]]:
        """Ask of the view; the first two values are tenant and documents."""
        if view.serial != self._serial or self._serial == 0:
            raise RuntimeError("the view belongs to another snapshot")
        return self._ask(
            self._reader, query, view.context.tenant, self._visible, *values
        )


class PostgresTransaction(PostgresSnapshot):
    """Reads and writes in one transaction of the owner."""

    def __init__(self, store: PostgresStore, owner: Connection) -> None:
        super().__init__(store, owner, owner)

    def _do(self, query: str, *values: Any) -> None:
        self._owner.execute(self._store.say(query), values)

    def _many(self, query: str, rows: Sequence[Sequence[Any]]) -> None:
        if rows:
            with self._owner.cursor() as cursor:
                cursor.executemany(self._store.say(query), rows)

    def readable(self, context: Context) -> View:
        """Decide a view with the owner's rights, for trusted code."""
        rows = self._ask(
            self._owner,
            "SELECT doc_id FROM {s}.view_of(%s, %s) ORDER BY doc_id",
            context.tenant,
            context.principal,
        )
        self._visible = [doc_id for (doc_id,) in rows]
        self._serial += 1
        return View(context, self._serial)

    def configure(self, settings: Settings) -> None:
        """Store the projection settings."""
        self._do(
            "INSERT INTO {s}.settings VALUES ('', %s, %s, %s, %s, %s)"
            " ON CONFLICT (tenant) DO UPDATE SET encoder = excluded.encoder,"
            " encoder_spec = excluded.encoder_spec,"
            " chunker = excluded.chunker,"
            " chunker_spec = excluded.chunker_spec, terms = excluded.terms",
            settings.encoder,
            json.dumps(settings.encoder_spec, sort_keys=True),
            settings.chunker,
            json.dumps(settings.chunker_spec, sort_keys=True),
            settings.terms,
        )

    def replace(self, record: Record, rows: Sequence[ChunkRow]) -> None:
        """Replace a document's content; its policy rows stay."""
        name = (record.tenant, record.doc_id)
        self._clear(*name)
        self._do(
            "INSERT INTO {s}.documents VALUES"
            " (%s, %s, %s, %s, true, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
            " ON CONFLICT (tenant, doc_id) DO UPDATE SET"
            " revision = excluded.revision,"
            " policy_revision = excluded.policy_revision, live = true,"
            " format = excluded.format, title = excluded.title,"
            " body = excluded.body, sha256 = excluded.sha256,"
            " updated_at = excluded.updated_at, origin = excluded.origin,"
            " classification = excluded.classification,"
            " barrier = excluded.barrier,"
            " chunk_count = excluded.chunk_count,"
            " term_count = excluded.term_count",
            *name,
            record.revision,
            record.policy_revision,
            record.format,
            record.title,
            record.body,
            record.sha256,
            record.updated_at,
            record.origin,
            CLASSES.index(record.classification),
            record.barrier,
            len(rows),
            sum(len(row.terms) for row in rows),
        )
        self._many(
            "INSERT INTO {s}.chunks VALUES"
            " (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
            [
                (
                    *name,
                    row.number,
                    row.start,
                    row.end,
                    row.text,
                    row.sha256,
                    json.dumps(row.heading_path, ensure_ascii=False),
                    len(row.terms),
                )
                for row in rows
            ],
        )
        self._many(
            "INSERT INTO {s}.post VALUES (%s, %s, %s, %s, %s)",
            [
                (record.tenant, key_of(term), record.doc_id, row.number, tf)
                for row in rows
                for term, tf in Counter(row.terms).items()
            ],
        )
        self._many(
            "INSERT INTO {s}.vectors VALUES (%s, %s, %s, %s, %s, %s)",
            [
                (*name, row.number, row.sha256, row.norm, row.vector)
                for row in rows
                if row.vector is not None or row.features is not None
            ],
        )
        self._many(
            "INSERT INTO {s}.features VALUES (%s, %s, %s, %s, %s)",
            [
                (record.tenant, key_of(f), record.doc_id, row.number, count)
                for row in rows
                for f, count in (row.features or {}).items()
            ],
        )

    def _clear(self, tenant: str, doc_id: str) -> None:
        for table in ("features", "post", "vectors", "chunks"):
            self._do(
                f"DELETE FROM {{s}}.{table} WHERE tenant = %s AND doc_id = %s",
                tenant,
                doc_id,
            )

    def set_policy(
        self,
        tenant: str,
        doc_id: str,
        readers: Sequence[Reader],
        classification: str,
        barrier: str | None,
        policy_revision: int,
    ) -> None:
        """Replace a live document's policy."""
        self._do(
            "UPDATE {s}.documents SET classification = %s, barrier = %s,"
            " policy_revision = %s WHERE tenant = %s AND doc_id = %s",
            CLASSES.index(classification),
            barrier,
            policy_revision,
            tenant,
            doc_id,
        )
        self._do(
            "DELETE FROM {s}.readers WHERE tenant = %s AND doc_id = %s",
            tenant,
            doc_id,
        )
        self._many(
            "INSERT INTO {s}.readers VALUES (%s, %s, %s, %s, %s)",
            [(tenant, doc_id, r.kind, r.name, r.incarnation) for r in readers],
        )

    def tombstone(
        self, tenant: str, doc_id: str, revision: int, policy_revision: int
    ) -> None:
        """Leave only identity and revisions of a document."""
        self._clear(tenant, doc_id)
        self._do(
            "DELETE FROM {s}.readers WHERE tenant = %s AND doc_id = %s",
            tenant,
            doc_id,
        )
        self._do(
            "INSERT INTO {s}.documents VALUES (%s, %s, %s, %s, false, '', '',"
            " '', '', NULL, NULL, %s, NULL, 0, 0)"
            " ON CONFLICT (tenant, doc_id) DO UPDATE SET"
            " revision = excluded.revision,"
            " policy_revision = excluded.policy_revision, live = false,"
            " format = '', title = '', body = '', sha256 = '',"
            " updated_at = NULL, origin = NULL,"
            " classification = excluded.classification, barrier = NULL,"
            " chunk_count = 0, term_count = 0",
            tenant,
            doc_id,
            revision,
            policy_revision,
            len(CLASSES) - 1,
        )

    def set_principal(
        self, tenant: str, name: str, principal: Principal
    ) -> None:
        """Replace a principal's directory entry."""
        self._do(
            "INSERT INTO {s}.principals VALUES (%s, %s, %s, %s)"
            " ON CONFLICT (tenant, name) DO UPDATE SET"
            " clearance = excluded.clearance, revision = excluded.revision",
            tenant,
            name,
            CLASSES.index(principal.clearance),
            principal.revision,
        )
        self._do(
            "DELETE FROM {s}.inside WHERE tenant = %s AND name = %s",
            tenant,
            name,
        )
        self._many(
            "INSERT INTO {s}.inside VALUES (%s, %s, %s)",
            [(tenant, name, barrier) for barrier in principal.barriers],
        )

    def set_group(
        self, tenant: str, name: str, group: Group, members: Sequence[Reader]
    ) -> None:
        """Replace a group's entry; ``members`` carry bound identities."""
        self._do(
            "INSERT INTO {s}.groups VALUES (%s, %s, %s, %s, %s)"
            " ON CONFLICT (tenant, name) DO UPDATE SET"
            " incarnation = excluded.incarnation,"
            " revision = excluded.revision, live = excluded.live",
            tenant,
            name,
            group.incarnation,
            group.revision,
            group.live,
        )
        self._do(
            "DELETE FROM {s}.members WHERE tenant = %s AND grp = %s",
            tenant,
            name,
        )
        self._many(
            "INSERT INTO {s}.members VALUES (%s, %s, %s, %s, %s)",
            [(tenant, name, m.kind, m.name, m.incarnation) for m in members],
        )

    def intact(self, tenant: str, doc_id: str) -> bool:
        """Say whether every row that the document counts is there."""
        rows = self._ask(
            self._owner,
            "SELECT d.chunk_count, d.term_count, s.encoder,"
            " (SELECT count(*) FROM {s}.chunks c"
            "  WHERE c.tenant = d.tenant AND c.doc_id = d.doc_id),"
            " (SELECT COALESCE(sum(p.tf), 0) FROM {s}.post p"
            "  WHERE p.tenant = d.tenant AND p.doc_id = d.doc_id),"
            " (SELECT count(*) FROM {s}.vectors v JOIN {s}.chunks c"
            "  ON c.tenant = v.tenant AND c.doc_id = v.doc_id"
            "  AND c.number = v.number AND c.sha256 = v.sha256"
            "  WHERE v.tenant = d.tenant AND v.doc_id = d.doc_id)"
            " FROM {s}.documents d, {s}.settings s"
            " WHERE d.tenant = %s AND d.doc_id = %s",
            tenant,
            doc_id,
        )
        if not rows:
            return False
        ((wanted, length, encoder, chunks, tf, vectors),) = rows
        if vectors != (wanted if encoder else 0):
            return False
        return bool(wanted == chunks and length == tf)


class PostgresStore:
    """One schema of a PostgreSQL database.

    ``dsn`` is the owner's: it makes the schema, writes, and keeps the
    signing key. Reading goes through a role of its own, made with the
    schema. Raises ``StoreUnavailable`` when the server cannot be reached,
    when the owner may not make what is needed, and when the reading role
    could get past row security.
    """

    def __init__(self, dsn: str, schema: str = SCHEMA) -> None:
        self._dsn = dsn
        self.schema = schema
        self._role = f"{schema}_reader"
        self._owners: queue.LifoQueue[Connection] = queue.LifoQueue()
        self._idle: queue.LifoQueue[Connection] = queue.LifoQueue()
        self._open: list[Connection] = []
        self._lock = threading.Lock()
        self._closed = False
        with self._translate():
            self._create()
            self._refuse_powerful_reader()

    def say(self, query: str) -> sql.Composed:
        """Return a query of ours with the schema's name filled in."""
        return sql.SQL(query).format(s=sql.Identifier(self.schema))

    def _create(self) -> None:
        """Make the schema, or read the keys of the one that is there."""
        connection = self._take(self._owners, self._dsn)
        try:
            with connection.transaction():
                # Two processes may both find it missing.
                connection.execute(
                    "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))",
                    (self.schema,),
                )
                there = connection.execute(
                    "SELECT 1 FROM pg_namespace WHERE nspname = %s",
                    (self.schema,),
                ).fetchone()
                if there is None:
                    self._make(connection)
                rows = connection.execute(
                    self.say("SELECT name, value FROM {s}.secrets")
                ).fetchall()
        finally:
            self._give(self._owners, connection)
        kept: dict[str, str] = dict(rows)
        self._key = bytes.fromhex(kept["signing-key"])
        self._reader_dsn = psycopg.conninfo.make_conninfo(
            self._dsn, user=self._role, password=kept["reader-password"]
        )

    def _make(self, connection: Connection) -> None:
        password = secrets.token_hex(16)
        role = sql.Identifier(self._role)
        connection.execute(
            sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(self.schema))
        )
        known = connection.execute(
            "SELECT 1 FROM pg_roles WHERE rolname = %s", (self._role,)
        ).fetchone()
        connection.execute(
            sql.SQL(
                "{} ROLE {} LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB"
                " NOCREATEROLE NOREPLICATION PASSWORD {}"
            ).format(
                sql.SQL("ALTER" if known else "CREATE"),
                role,
                sql.Literal(password),
            )
        )
        source = resources.files("lab.store").joinpath("postgres.sql")
        filled = source.read_text(encoding="utf-8")
        for name, value in (
            ("schema", sql.Identifier(self.schema)),
            ("reader", role),
            ("schema_text", sql.Literal(self.schema)),
            ("partitions", sql.Literal(PARTITIONS)),
            ("internal", sql.Literal(CLASSES.index("internal"))),
        ):
            filled = filled.replace(
                "{" + name + "}", value.as_string(connection)
            )
        connection.execute(filled.encode())
        connection.execute(
            self.say(
                "INSERT INTO {s}.secrets VALUES"
                " ('', 'signing-key', %s), ('', 'reader-password', %s)"
            ),
            (secrets.token_hex(KEY_BYTES), password),
        )

    def _refuse_powerful_reader(self) -> None:
        """Row security binds only a role that cannot step around it."""
        connection = self._take(self._idle, self._reader_dsn)
        try:
            faults = reader_faults(connection, self.schema)
            connection.rollback()
        finally:
            self._give(self._idle, connection)
        if faults:
            raise StoreUnavailable(
                f"postgres: the reading role {self._role} {faults[0]};"
                " row security would not hold it; take that away from it"
            )

    def establish(self, connection: Connection, context: Context) -> None:
        """Tell this transaction, verifiably, whose it is."""
        ((moment,),) = connection.execute(
            self.say("SELECT {s}.moment()")
        ).fetchall()
        connection.execute(
            "SELECT set_config('keeps_secrets.reader', %s, true)",
            (claim(self._key, context, moment),),
        )

    def trusted(self) -> Connection:
        """Return an owner's connection in a read-only transaction.

        For the snapshot that asks; it is taken back with it.
        """
        connection = self._take(self._owners, self._dsn)
        connection.execute(
            "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
        )
        return connection

    @contextmanager
    def read(self) -> Iterator[PostgresSnapshot]:
        """Yield a snapshot; nothing it shows can change while it is used."""
        with self._translate():
            connection = self._take(self._idle, self._reader_dsn)
            snapshot = PostgresSnapshot(self, connection, None)
            try:
                connection.execute(
                    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
                )
                yield snapshot
            finally:
                self._give(self._idle, connection)
                if snapshot._given is not None:
                    self._give(self._owners, snapshot._given)

    @contextmanager
    def write(self) -> Iterator[PostgresTransaction]:
        """Yield a write transaction; commit at the end, else roll back."""
        with self._translate():
            connection = self._take(self._owners, self._dsn)
            try:
                # One writer at a time, as on SQLite. At READ COMMITTED,
                # what is read after the lock is what the last one wrote.
                connection.execute(
                    "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))",
                    (self.schema,),
                )
                yield PostgresTransaction(self, connection)
                connection.commit()
            finally:
                self._give(self._owners, connection)

    def _take(self, pool: queue.LifoQueue[Connection], dsn: str) -> Connection:
        if self._closed:
            raise StoreUnavailable("postgres: the index was closed")
        while True:
            try:
                connection = pool.get_nowait()
            except queue.Empty:
                connection = psycopg.connect(dsn)
                with self._lock:
                    self._open.append(connection)
                return connection
            if not connection.closed:
                return connection

    def _give(
        self, pool: queue.LifoQueue[Connection], connection: Connection
    ) -> None:
        # Whatever a transaction established ends with it.
        try:
            connection.rollback()
        except psycopg.Error:
            connection.close()
        if self._closed or connection.closed:
            with self._lock:
                if connection in self._open:
                    self._open.remove(connection)
            connection.close()
        else:
            pool.put(connection)

    @contextmanager
    def _translate(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise StoreUnavailable(f"postgres: {_explain(error)}") from error

    def verify(self) -> list[Fault]:
        """Name every disagreement between the tables."""
        with self._translate():
            connection = self.trusted()
            try:
                return _faults(self, connection)
            finally:
                self._give(self._owners, connection)

    def purge(self) -> list[str]:
        """Make deleted text disappear from the tables' files.

        ``VACUUM FULL`` writes every table anew. What the server's own log
        of changes still holds is outside.
        """
        with self._translate():
            connection = psycopg.connect(self._dsn, autocommit=True)
            try:
                for table in (
                    *("documents", "readers", "chunks", "vectors"),
                    *("features", "post"),
                ):
                    connection.execute(
                        self.say(f"VACUUM (FULL, ANALYZE) {{s}}.{table}")
                    )
            finally:
                connection.close()
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
        with self._translate():
            connection = psycopg.connect(self._dsn, autocommit=True)
            try:
                for statement in (
                    "DROP SCHEMA {} CASCADE",
                    "DROP ROLE {}",
                ):
                    name = self.schema if "SCHEMA" in statement else self._role
                    connection.execute(
                        sql.SQL(statement).format(sql.Identifier(name))
                    )
            finally:
                connection.close()

    def close(self) -> None:
        """Close every connection; later calls raise StoreUnavailable."""
        self._closed = True
        with self._lock:
            for connection in self._open:
                connection.close()
            self._open.clear()


def reader_faults(connection: Connection, schema: str) -> list[str]:
    """Return why row security would not hold this connection's role."""
    row = connection.execute(
        "SELECT rolsuper, rolbypassrls FROM pg_roles"
        " WHERE rolname = current_user"
    ).fetchone()
    faults = []
    if row is None or row[0]:
        faults.append("is a superuser")
    if row is not None and row[1]:
        faults.append("may bypass row security")
    owned = connection.execute(
        "SELECT count(*) FROM pg_class c"
        " JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname = %s"
        " AND pg_has_role(current_user, c.relowner, 'MEMBER')",
        (schema,),
    ).fetchone()
    if owned is not None and owned[0]:
        faults.append("owns tables of the store, or may become their owner")
    return faults


def _record(row: Sequence[Any]) -> Record:
    named = dict(zip(_RECORD_FIELDS, row, strict=True))
    named["classification"] = CLASSES[named["classification"]]
    return Record(**named)


def _candidate(row: Sequence[Any]) -> Candidate:
    named = dict(zip(_CANDIDATE_FIELDS, row, strict=True))
    named["heading_path"] = tuple(json.loads(named["heading_path"]))
    return Candidate(**named)


def _explain(error: psycopg.Error) -> str:
    if isinstance(error, psycopg.errors.DiskFull):
        return "no room left on the server; nothing was changed"
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        text = str(error).split("\n", 1)[0]
        return f"{text}; the owner must be allowed to make schema and role"
    if isinstance(error, psycopg.OperationalError):
        text = str(error).split("\n", 1)[0]
        return f"{text}; check that the server runs and the DSN is right"
    return str(error).split("\n", 1)[0]


def _faults(store: PostgresStore, connection: Connection) -> list[Fault]:
    snapshot = PostgresSnapshot(store, connection, connection)
    settings = snapshot.settings()
    faults: list[Fault] = []
    for record in list(snapshot.records()):
        name = (record.tenant, record.doc_id)
        ((chunk_count, term_count),) = connection.execute(
            store.say(
                "SELECT chunk_count, term_count FROM {s}.documents"
                " WHERE tenant = %s AND doc_id = %s"
            ),
            name,
        ).fetchall()
        rows = _stored_rows(store, connection, name)
        faults += document_faults(
            record, chunk_count, term_count, rows, settings
        )
    return faults


def _stored_rows(
    store: PostgresStore, connection: Connection, name: tuple[str, str]
) -> list[StoredRow]:
    post = _counted(store, connection, "post", "term, number, tf", name)
    features = _counted(
        store, connection, "features", "name, number, count", name
    )
    found = []
    for row in connection.execute(
        store.say(
            "SELECT c.number, c.start, c.stop, c.text, c.sha256, c.length,"
            " v.sha256, v.norm, v.data FROM {s}.chunks c"
            " LEFT JOIN {s}.vectors v ON v.tenant = c.tenant"
            " AND v.doc_id = c.doc_id AND v.number = c.number"
            " WHERE c.tenant = %s AND c.doc_id = %s ORDER BY c.number"
        ),
        name,
    ).fetchall():
        words = tuple(cut(row[3]))
        held = post.get(row[0], {})
        # A posting keeps how often a term occurs, not where; equal counts
        # are as much agreement as the table can show.
        if held == dict(Counter(map(key_of, words))):
            indexed = words
        else:
            indexed = tuple(Counter(held).elements())
        found.append(
            StoredRow(
                number=row[0],
                start=row[1],
                end=row[2],
                text=row[3],
                sha256=row[4],
                length=row[5],
                vector_sha256=row[6],
                norm=row[7],
                vector=None if row[8] is None else bytes(row[8]),
                features=features.get(row[0], {}),
                indexed=indexed,
                kept=" ".join(indexed),
            )
        )
    return found


def _counted(
    store: PostgresStore,
    connection: Connection,
    table: str,
    columns: str,
    name: tuple[str, str],
) -> dict[int, dict[str, int]]:
    counted: dict[int, dict[str, int]] = {}
    for key, number, count in connection.execute(
        store.say(
            f"SELECT {columns} FROM {{s}}.{table}"
            " WHERE tenant = %s AND doc_id = %s"
        ),
        name,
    ).fetchall():
        counted.setdefault(number, {})[key] = count
    return counted
