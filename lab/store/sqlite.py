"""The store on one SQLite file with FTS5."""

from __future__ import annotations

import json
import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any
from urllib.parse import quote

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

APPLICATION_ID = 0x4B536563  # "KSec"
SCHEMA_VERSION = 1
BUSY_MILLISECONDS = 10_000

# The terms are ours, so the tokenizer must only split at the spaces we put
# between them: "ascii" folds nothing beyond A-Z and "_" stays inside a word.
_SCHEMA = """
CREATE TABLE settings(
  one INTEGER PRIMARY KEY CHECK (one = 1),
  encoder TEXT NOT NULL, encoder_spec TEXT NOT NULL,
  chunker TEXT NOT NULL, chunker_spec TEXT NOT NULL,
  terms TEXT NOT NULL
) STRICT;
CREATE TABLE principals(
  tenant TEXT NOT NULL, name TEXT NOT NULL,
  clearance INTEGER NOT NULL, revision INTEGER NOT NULL,
  PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE inside(
  tenant TEXT NOT NULL, name TEXT NOT NULL, barrier TEXT NOT NULL,
  PRIMARY KEY (tenant, name, barrier)
) STRICT, WITHOUT ROWID;
CREATE TABLE groups(
  tenant TEXT NOT NULL, name TEXT NOT NULL,
  incarnation INTEGER NOT NULL, revision INTEGER NOT NULL,
  live INTEGER NOT NULL,
  PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE members(
  tenant TEXT NOT NULL, grp TEXT NOT NULL,
  kind TEXT NOT NULL, name TEXT NOT NULL, incarnation INTEGER NOT NULL,
  PRIMARY KEY (tenant, grp, kind, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX members_by_name ON members(tenant, kind, name, incarnation);
CREATE TABLE documents(
  id INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL, doc_id TEXT NOT NULL,
  revision INTEGER NOT NULL, policy_revision INTEGER NOT NULL,
  live INTEGER NOT NULL,
  format TEXT NOT NULL, title TEXT NOT NULL, body TEXT NOT NULL,
  sha256 TEXT NOT NULL, updated_at INTEGER, origin TEXT,
  classification INTEGER NOT NULL, barrier TEXT,
  chunk_count INTEGER NOT NULL, term_count INTEGER NOT NULL,
  UNIQUE (tenant, doc_id)
) STRICT;
CREATE TABLE readers(
  document INTEGER NOT NULL REFERENCES documents(id),
  kind TEXT NOT NULL, name TEXT NOT NULL, incarnation INTEGER NOT NULL,
  PRIMARY KEY (document, kind, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE chunks(
  id INTEGER PRIMARY KEY,
  document INTEGER NOT NULL REFERENCES documents(id),
  number INTEGER NOT NULL,
  start INTEGER NOT NULL, stop INTEGER NOT NULL,
  text TEXT NOT NULL, sha256 TEXT NOT NULL,
  headings TEXT NOT NULL, length INTEGER NOT NULL,
  UNIQUE (document, number)
) STRICT;
CREATE TABLE vectors(
  chunk INTEGER PRIMARY KEY REFERENCES chunks(id),
  sha256 TEXT NOT NULL, norm INTEGER NOT NULL, data BLOB
) STRICT;
CREATE TABLE features(
  name TEXT NOT NULL, chunk INTEGER NOT NULL REFERENCES chunks(id),
  count INTEGER NOT NULL,
  PRIMARY KEY (name, chunk)
) STRICT, WITHOUT ROWID;
CREATE INDEX features_by_chunk ON features(chunk);
CREATE VIRTUAL TABLE lexical USING fts5(
  terms, tokenize="ascii tokenchars '_'"
);
CREATE VIRTUAL TABLE lexical_terms USING fts5vocab('lexical', 'instance');
"""

# One decision for every reading call. UNION (not UNION ALL) ends cycles.
_READABLE = """
WITH RECURSIVE mine(name, incarnation) AS (
  SELECT g.name, g.incarnation
  FROM members m JOIN groups g ON g.tenant = m.tenant AND g.name = m.grp
  WHERE m.tenant = :tenant AND m.kind = 'principal'
    AND m.name = :principal AND g.live
  UNION
  SELECT g.name, g.incarnation
  FROM mine
  JOIN members m ON m.tenant = :tenant AND m.kind = 'group'
    AND m.name = mine.name AND m.incarnation = mine.incarnation
  JOIN groups g ON g.tenant = m.tenant AND g.name = m.grp
  WHERE g.live
)
INSERT INTO temp.visible(document)
SELECT d.id FROM documents d
WHERE d.tenant = :tenant AND d.live
  AND d.classification <= COALESCE(
    (SELECT p.clearance FROM principals p
     WHERE p.tenant = :tenant AND p.name = :principal), :default)
  AND (d.barrier IS NULL OR EXISTS (
    SELECT 1 FROM inside i WHERE i.tenant = :tenant
      AND i.name = :principal AND i.barrier = d.barrier))
  AND EXISTS (
    SELECT 1 FROM readers r WHERE r.document = d.id AND (
      r.kind = 'any'
      OR (r.kind = 'principal' AND r.name = :principal)
      OR (r.kind = 'group' AND EXISTS (
        SELECT 1 FROM mine WHERE mine.name = r.name
          AND mine.incarnation = r.incarnation))))
"""

_RECORD_FIELDS = tuple(field.name for field in fields(Record))
_CANDIDATE_FIELDS = tuple(field.name for field in fields(Candidate))
_RECORD = (
    "d.tenant, d.doc_id, d.revision, d.policy_revision, d.live, d.format,"
    " d.title, d.body, d.sha256, d.updated_at, d.origin,"
    " d.classification, d.barrier"
)
_CANDIDATE = (
    "d.doc_id, c.number, d.revision, d.sha256, d.title, d.updated_at,"
    " d.origin, c.start, c.stop, c.text, c.sha256, c.headings"
)


class SQLiteSnapshot:
    """Reads inside one transaction of one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        self._serial = 0

    def settings(self) -> Settings | None:
        """Return the stored projection settings, ``None`` when new."""
        row = self._db.execute(
            "SELECT encoder, encoder_spec, chunker, chunker_spec, terms"
            " FROM settings"
        ).fetchone()
        if row is None:
            return None
        return Settings(
            row[0], json.loads(row[1]), row[2], json.loads(row[3]), row[4]
        )

    def principal(self, tenant: str, name: str) -> Principal | None:
        """Return a principal's directory entry."""
        row = self._db.execute(
            "SELECT clearance, revision FROM principals"
            " WHERE tenant = ? AND name = ?",
            (tenant, name),
        ).fetchone()
        if row is None:
            return None
        barriers = self._db.execute(
            "SELECT barrier FROM inside WHERE tenant = ? AND name = ?"
            " ORDER BY barrier",
            (tenant, name),
        ).fetchall()
        return Principal(CLASSES[row[0]], tuple(b for (b,) in barriers), row[1])

    def group(self, tenant: str, name: str) -> Group | None:
        """Return a group's directory entry, live or deleted."""
        row = self._db.execute(
            "SELECT incarnation, revision, live FROM groups"
            " WHERE tenant = ? AND name = ?",
            (tenant, name),
        ).fetchone()
        if row is None:
            return None
        members = self._db.execute(
            "SELECT kind, name FROM members WHERE tenant = ? AND grp = ?"
            " ORDER BY kind, name",
            (tenant, name),
        ).fetchall()
        names = tuple(
            sorted(f"group:{n}" if k == "group" else n for k, n in members)
        )
        return Group(names, row[0], row[1], bool(row[2]))

    def record(self, tenant: str, doc_id: str) -> Record | None:
        """Return a document's row whoever may read it."""
        row = self._db.execute(
            f"SELECT {_RECORD} FROM documents d"
            " WHERE d.tenant = ? AND d.doc_id = ?",
            (tenant, doc_id),
        ).fetchone()
        return None if row is None else _record(row)

    def records(self, tenant: str | None = None) -> Iterator[Record]:
        """Yield rows in the order of (tenant, doc_id)."""
        rows = self._db.execute(
            f"SELECT {_RECORD} FROM documents d"
            " WHERE ?1 IS NULL OR d.tenant = ?1"
            " ORDER BY d.tenant, d.doc_id",
            (tenant,),
        )
        for row in rows:
            yield _record(row)

    def readers(self, tenant: str, doc_id: str) -> tuple[Reader, ...]:
        """Return the entries of a document's policy."""
        rows = self._db.execute(
            "SELECT r.kind, r.name, r.incarnation FROM readers r"
            " JOIN documents d ON d.id = r.document"
            " WHERE d.tenant = ? AND d.doc_id = ? ORDER BY r.kind, r.name",
            (tenant, doc_id),
        ).fetchall()
        return tuple(Reader(*row) for row in rows)

    def counts(self, tenant: str | None = None) -> Mapping[str, int]:
        """Return how many live documents, tombstones and chunks there are."""
        row = self._db.execute(
            "SELECT COALESCE(SUM(live), 0), COALESCE(SUM(1 - live), 0),"
            " COALESCE(SUM(chunk_count), 0) FROM documents"
            " WHERE ?1 IS NULL OR tenant = ?1",
            (tenant,),
        ).fetchone()
        return {"documents": row[0], "tombstones": row[1], "chunks": row[2]}

    def readable(self, context: Context) -> View:
        """Decide the view; every later question is asked of it."""
        self._db.execute("DELETE FROM temp.visible")
        self._db.execute(
            _READABLE,
            {
                "tenant": context.tenant,
                "principal": context.principal,
                "default": CLASSES.index("internal"),
            },
        )
        self._serial += 1
        return View(context, self._serial)

    def stats(self, view: View) -> Stats:
        """Return the sizes that BM25 needs, of the readable chunks."""
        self._current(view)
        row = self._db.execute(
            "SELECT COALESCE(SUM(d.chunk_count), 0),"
            " COALESCE(SUM(d.term_count), 0)"
            " FROM temp.visible s JOIN documents d ON d.id = s.document"
        ).fetchone()
        return Stats(row[0], row[1])

    def postings(
        self, view: View, terms: Sequence[str]
    ) -> Mapping[str, list[Posting]]:
        """Return each term's occurrences in readable chunks."""
        self._current(view)
        found: dict[str, list[Posting]] = {}
        for term in terms:
            rows = self._db.execute(
                "SELECT d.doc_id, c.number, v.tf, c.length"
                " FROM (SELECT doc, COUNT(*) AS tf FROM lexical_terms"
                "       WHERE term = ? GROUP BY doc) v"
                " CROSS JOIN chunks c ON c.id = v.doc"
                " CROSS JOIN temp.visible s ON s.document = c.document"
                " CROSS JOIN documents d ON d.id = c.document",
                (term,),
            ).fetchall()
            found[term] = [Posting(*row) for row in rows]
        return found

    def features(
        self, view: View, names: Sequence[str]
    ) -> Mapping[Key, tuple[int, Mapping[str, int]]]:
        """Return the sparse rows that share a feature with ``names``.

        Each has its squared length and the counts of the shared ones.
        """
        self._current(view)
        norms: dict[Key, int] = {}
        shared: dict[Key, dict[str, int]] = {}
        for name in names:
            rows = self._db.execute(
                "SELECT d.doc_id, c.number, f.count, v.norm"
                " FROM features f"
                " CROSS JOIN chunks c ON c.id = f.chunk"
                " CROSS JOIN temp.visible s ON s.document = c.document"
                " CROSS JOIN documents d ON d.id = c.document"
                " CROSS JOIN vectors v ON v.chunk = c.id"
                " WHERE f.name = ?",
                (name,),
            )
            for doc_id, number, count, norm in rows:
                norms[doc_id, number] = norm
                shared.setdefault((doc_id, number), {})[name] = count
        return {key: (norms[key], shared[key]) for key in norms}

    def vectors(self, view: View) -> list[tuple[Key, bytes, int]]:
        """Return every readable dense row with its squared length."""
        self._current(view)
        rows = self._db.execute(
            "SELECT d.doc_id, c.number, v.data, v.norm"
            " FROM temp.visible s"
            " CROSS JOIN documents d ON d.id = s.document"
            " CROSS JOIN chunks c ON c.document = d.id"
            " CROSS JOIN vectors v ON v.chunk = c.id"
            " WHERE v.data IS NOT NULL"
        )
        return [((row[0], row[1]), row[2], row[3]) for row in rows]

    def candidates(
        self, view: View, keys: Sequence[Key]
    ) -> Mapping[Key, Candidate]:
        """Return the named chunks, those that are readable."""
        self._current(view)
        found: dict[Key, Candidate] = {}
        for doc_id, number in keys:
            row = self._db.execute(
                f"SELECT {_CANDIDATE} FROM documents d"
                " JOIN temp.visible s ON s.document = d.id"
                " JOIN chunks c ON c.document = d.id AND c.number = ?"
                " WHERE d.tenant = ? AND d.doc_id = ?",
                (number, view.context.tenant, doc_id),
            ).fetchone()
            if row is not None:
                found[doc_id, number] = _candidate(row)
        return found

    def document(self, view: View, doc_id: str) -> Record | None:
        """Return a document if, and only if, it is in the view."""
        self._current(view)
        row = self._db.execute(
            f"SELECT {_RECORD} FROM documents d"
            " JOIN temp.visible s ON s.document = d.id"
            " WHERE d.tenant = ? AND d.doc_id = ?",
            (view.context.tenant, doc_id),
        ).fetchone()
        return None if row is None else _record(row)

    def chunks(self, view: View, doc_id: str) -> list[Candidate]:
        """Return a readable document's chunks in order."""
        self._current(view)
        rows = self._db.execute(
            f"SELECT {_CANDIDATE} FROM documents d"
            " JOIN temp.visible s ON s.document = d.id"
            " JOIN chunks c ON c.document = d.id"
            " WHERE d.tenant = ? AND d.doc_id = ? ORDER BY c.number",
            (view.context.tenant, doc_id),
        )
        return [_candidate(row) for row in rows]

    def _current(self, view: View) -> None:
        if view.serial != self._serial or self._serial == 0:
            raise RuntimeError("the view belongs to another snapshot")


class SQLiteTransaction(SQLiteSnapshot):
    """Reads and writes inside one ``BEGIN IMMEDIATE``."""

    def configure(self, settings: Settings) -> None:
        """Store the projection settings."""
        self._db.execute(
            "INSERT INTO settings VALUES (1, ?, ?, ?, ?, ?)"
            " ON CONFLICT (one) DO UPDATE SET encoder = excluded.encoder,"
            " encoder_spec = excluded.encoder_spec,"
            " chunker = excluded.chunker,"
            " chunker_spec = excluded.chunker_spec, terms = excluded.terms",
            (
                settings.encoder,
                json.dumps(settings.encoder_spec, sort_keys=True),
                settings.chunker,
                json.dumps(settings.chunker_spec, sort_keys=True),
                settings.terms,
            ),
        )

    def replace(self, record: Record, rows: Sequence[ChunkRow]) -> None:
        """Replace a document's content; its policy rows stay."""
        document = self._document_id(record.tenant, record.doc_id)
        if document is not None:
            self._clear(document)
        length = sum(len(row.terms) for row in rows)
        # An UPSERT keeps the row id; INSERT OR REPLACE would change it and
        # orphan every row that refers to it.
        document = self._db.execute(
            "INSERT INTO documents(tenant, doc_id, revision,"
            " policy_revision, live, format, title, body, sha256,"
            " updated_at, origin, classification, barrier, chunk_count,"
            " term_count) VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (tenant, doc_id) DO UPDATE SET"
            " revision = excluded.revision,"
            " policy_revision = excluded.policy_revision, live = 1,"
            " format = excluded.format, title = excluded.title,"
            " body = excluded.body, sha256 = excluded.sha256,"
            " updated_at = excluded.updated_at, origin = excluded.origin,"
            " classification = excluded.classification,"
            " barrier = excluded.barrier,"
            " chunk_count = excluded.chunk_count,"
            " term_count = excluded.term_count"
            " RETURNING id",
            (
                record.tenant,
                record.doc_id,
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
                length,
            ),
        ).fetchone()[0]
        for row in rows:
            self._insert(document, row)

    def _insert(self, document: int, row: ChunkRow) -> None:
        chunk = self._db.execute(
            "INSERT INTO chunks(document, number, start, stop, text, sha256,"
            " headings, length) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                document,
                row.number,
                row.start,
                row.end,
                row.text,
                row.sha256,
                json.dumps(row.heading_path, ensure_ascii=False),
                len(row.terms),
            ),
        ).lastrowid
        self._db.execute(
            "INSERT INTO lexical(rowid, terms) VALUES (?, ?)",
            (chunk, " ".join(row.terms)),
        )
        if row.vector is None and row.features is None:
            return
        self._db.execute(
            "INSERT INTO vectors(chunk, sha256, norm, data)"
            " VALUES (?, ?, ?, ?)",
            (chunk, row.sha256, row.norm, row.vector),
        )
        if row.features is not None:
            self._db.executemany(
                "INSERT INTO features(name, chunk, count) VALUES (?, ?, ?)",
                [(name, chunk, n) for name, n in row.features.items()],
            )

    def _clear(self, document: int) -> None:
        mine = "(SELECT id FROM chunks WHERE document = ?)"
        for statement in (
            f"DELETE FROM features WHERE chunk IN {mine}",
            f"DELETE FROM vectors WHERE chunk IN {mine}",
            f"DELETE FROM lexical WHERE rowid IN {mine}",
            "DELETE FROM chunks WHERE document = ?",
        ):
            self._db.execute(statement, (document,))

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
        document = self._document_id(tenant, doc_id)
        self._db.execute(
            "UPDATE documents SET classification = ?, barrier = ?,"
            " policy_revision = ? WHERE id = ?",
            (CLASSES.index(classification), barrier, policy_revision, document),
        )
        self._db.execute("DELETE FROM readers WHERE document = ?", (document,))
        self._db.executemany(
            "INSERT INTO readers(document, kind, name, incarnation)"
            " VALUES (?, ?, ?, ?)",
            [(document, r.kind, r.name, r.incarnation) for r in readers],
        )

    def tombstone(
        self, tenant: str, doc_id: str, revision: int, policy_revision: int
    ) -> None:
        """Leave only identity and revisions of a document."""
        document = self._document_id(tenant, doc_id)
        if document is not None:
            self._clear(document)
            self._db.execute(
                "DELETE FROM readers WHERE document = ?", (document,)
            )
        self._db.execute(
            "INSERT INTO documents(tenant, doc_id, revision,"
            " policy_revision, live, format, title, body, sha256,"
            " updated_at, origin, classification, barrier, chunk_count,"
            " term_count)"
            " VALUES (?, ?, ?, ?, 0, '', '', '', '', NULL, NULL, ?, NULL,"
            " 0, 0) ON CONFLICT (tenant, doc_id) DO UPDATE SET"
            " revision = excluded.revision,"
            " policy_revision = excluded.policy_revision, live = 0,"
            " format = '', title = '', body = '', sha256 = '',"
            " updated_at = NULL, origin = NULL,"
            " classification = excluded.classification, barrier = NULL,"
            " chunk_count = 0, term_count = 0",
            (tenant, doc_id, revision, policy_revision, len(CLASSES) - 1),
        )

    def set_principal(
        self, tenant: str, name: str, principal: Principal
    ) -> None:
        """Replace a principal's directory entry."""
        self._db.execute(
            "INSERT INTO principals VALUES (?, ?, ?, ?)"
            " ON CONFLICT (tenant, name) DO UPDATE SET"
            " clearance = excluded.clearance, revision = excluded.revision",
            (
                tenant,
                name,
                CLASSES.index(principal.clearance),
                principal.revision,
            ),
        )
        self._db.execute(
            "DELETE FROM inside WHERE tenant = ? AND name = ?", (tenant, name)
        )
        self._db.executemany(
            "INSERT INTO inside VALUES (?, ?, ?)",
            [(tenant, name, barrier) for barrier in principal.barriers],
        )

    def set_group(
        self, tenant: str, name: str, group: Group, members: Sequence[Reader]
    ) -> None:
        """Replace a group's entry; ``members`` carry bound identities."""
        self._db.execute(
            "INSERT INTO groups VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (tenant, name) DO UPDATE SET"
            " incarnation = excluded.incarnation,"
            " revision = excluded.revision, live = excluded.live",
            (
                tenant,
                name,
                group.incarnation,
                group.revision,
                int(group.live),
            ),
        )
        self._db.execute(
            "DELETE FROM members WHERE tenant = ? AND grp = ?", (tenant, name)
        )
        self._db.executemany(
            "INSERT INTO members VALUES (?, ?, ?, ?, ?)",
            [(tenant, name, m.kind, m.name, m.incarnation) for m in members],
        )

    def intact(self, tenant: str, doc_id: str) -> bool:
        """Say whether every row that the document counts is there."""
        row = self._db.execute(
            "SELECT d.chunk_count,"
            " (SELECT COUNT(*) FROM chunks c WHERE c.document = d.id),"
            " (SELECT COUNT(*) FROM chunks c JOIN lexical l"
            "  ON l.rowid = c.id WHERE c.document = d.id),"
            " (SELECT COUNT(*) FROM chunks c JOIN vectors v"
            "  ON v.chunk = c.id AND v.sha256 = c.sha256"
            "  WHERE c.document = d.id),"
            " (SELECT encoder FROM settings)"
            " FROM documents d WHERE d.tenant = ? AND d.doc_id = ?",
            (tenant, doc_id),
        ).fetchone()
        if row is None:
            return False
        wanted, chunks, lexical, vectors, encoder = row
        if vectors != (wanted if encoder else 0):
            return False
        return bool(wanted == chunks == lexical)

    def _document_id(self, tenant: str, doc_id: str) -> int | None:
        row = self._db.execute(
            "SELECT id FROM documents WHERE tenant = ? AND doc_id = ?",
            (tenant, doc_id),
        ).fetchone()
        return None if row is None else int(row[0])


class SQLiteStore:
    """One SQLite file, or ``:memory:``; safe to use from several threads.

    ``trace``, where given, is called with each statement before it runs:
    a place to look, or to stop, in the middle of a transaction. Raises
    ``StoreUnavailable`` when the file cannot be used, and says why.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        trace: Callable[[str], None] | None = None,
    ) -> None:
        self.path = os.fspath(path)
        self._trace = trace
        self.read_only = False
        self._memory = self.path == ":memory:"
        self._lock = threading.RLock()
        self._writing = threading.Lock()
        self._idle: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue()
        self._open: list[sqlite3.Connection] = []
        self._closed = False
        self._suffix = "?mode=rwc"
        with self._translate():
            self._create()

    def _create(self) -> None:
        connection = self._first()
        version, application, objects = (
            connection.execute(statement).fetchone()[0]
            for statement in (
                "PRAGMA user_version",
                "PRAGMA application_id",
                "SELECT COUNT(*) FROM sqlite_master",
            )
        )
        if objects and application != APPLICATION_ID:
            raise StoreUnavailable(
                f"{self.path}: is a SQLite file of another program;"
                " name a new file with --db"
            )
        if objects and version != SCHEMA_VERSION:
            raise StoreUnavailable(
                f"{self.path}: has store format {version}, this lab reads"
                f" {SCHEMA_VERSION}; use the lab it was made with"
            )
        if not objects:
            self._make(connection)
        self._give(connection)

    def _make(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Another process may have made it while this one waited.
            if not connection.execute(
                "SELECT COUNT(*) FROM sqlite_master"
            ).fetchone()[0]:
                for statement in _SCHEMA.strip().split(";\n"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise

    def _first(self) -> sqlite3.Connection:
        """Open for writing, else for reading, else as an unchanging file."""
        if self._memory:
            return self._connect()
        for suffix in ("?mode=rwc", "?mode=ro", "?mode=ro&immutable=1"):
            self._suffix = suffix
            self.read_only = "ro" in suffix
            if "immutable" in suffix:
                self._refuse_unmerged()
            try:
                connection = self._connect()
                self._probe(connection)
                return connection
            except sqlite3.OperationalError as error:
                text = str(error)
                if "readonly" not in text and "unable to open" not in text:
                    raise
            if not Path(self.path).is_file():
                break
        raise StoreUnavailable(
            f"{self.path}: cannot be opened; check that its folder exists"
            " and that you may read it"
        )

    def _probe(self, connection: sqlite3.Connection) -> None:
        """Find out now, not at the first change, what may be done."""
        if self.read_only:
            connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
            return
        connection.execute("PRAGMA journal_mode=WAL").fetchone()
        # A lock that somebody else holds is a lock that can be had: opening
        # to read must not wait for a long write to end.
        connection.execute("PRAGMA busy_timeout=0")
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
        finally:
            connection.execute(f"PRAGMA busy_timeout={BUSY_MILLISECONDS}")

    def _refuse_unmerged(self) -> None:
        wal = Path(self.path + "-wal")
        if wal.exists() and wal.stat().st_size:
            raise StoreUnavailable(
                f"{self.path}: has unmerged writes in {wal.name} and its"
                " folder is read-only; open it once where it may be written"
            )

    def _connect(self) -> sqlite3.Connection:
        target = ":memory:"
        if not self._memory:
            target = "file:" + quote(self.path) + self._suffix
        connection = sqlite3.connect(
            target,
            uri=not self._memory,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        connection.set_trace_callback(self._trace)
        self._open.append(connection)
        return connection

    @staticmethod
    def _prepare(connection: sqlite3.Connection) -> None:
        connection.execute(f"PRAGMA busy_timeout={BUSY_MILLISECONDS}")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA temp_store=MEMORY")
        connection.execute("PRAGMA secure_delete=ON")
        try:
            connection.execute("CREATE VIRTUAL TABLE temp.probe USING fts5(x)")
            connection.execute("DROP TABLE temp.probe")
        except sqlite3.OperationalError as error:
            if "no such module" not in str(error):
                raise
            raise StoreUnavailable(
                "this Python's SQLite has no FTS5; use a Python from"
                " python.org or your distribution"
            ) from None
        connection.execute(
            "CREATE TABLE temp.visible(document INTEGER PRIMARY KEY)"
        )

    def _take(self) -> sqlite3.Connection:
        if self._closed:
            raise StoreUnavailable(f"{self.path}: the index was closed")
        if self._memory:
            self._lock.acquire()
            return self._open[0]
        try:
            return self._idle.get_nowait()
        except queue.Empty:
            return self._connect()

    def _give(self, connection: sqlite3.Connection) -> None:
        if self._memory:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            return
        if self._closed:
            connection.close()
        else:
            self._idle.put(connection)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with self._translate():
            connection = self._take()
            try:
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                self._give(connection)
                if self._memory:
                    self._lock.release()

    @contextmanager
    def read(self) -> Iterator[SQLiteSnapshot]:
        """Yield a snapshot; nothing it shows can change while it is used."""
        with self._connection() as connection:
            connection.execute("BEGIN")
            # The snapshot starts at the first read, so read now.
            connection.execute("SELECT COUNT(*) FROM settings").fetchone()
            yield SQLiteSnapshot(connection)

    @contextmanager
    def write(self) -> Iterator[SQLiteTransaction]:
        """Yield a write transaction; commit at the end, else roll back."""
        # Threads of one process queue here; processes queue in SQLite.
        with self._writing, self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield SQLiteTransaction(connection)
            connection.execute("COMMIT")

    @contextmanager
    def _translate(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreUnavailable(f"{self.path}: {_explain(error)}") from error

    def verify(self) -> list[Fault]:
        """Name every disagreement between the tables, and SQLite's own."""
        with self._connection() as connection:
            connection.execute("BEGIN")
            faults = _structure(connection)
            faults += _agreement(connection)
            return faults

    def purge(self) -> list[str]:
        """Make deleted text disappear from the database files.

        Returns what cannot be reached from here. FTS5 keeps deleted terms
        in old segments until they are merged, so optimise first; VACUUM
        rewrites the file; truncating the log removes the last copy.
        """
        with self._writing, self._connection() as connection:
            connection.execute(
                "INSERT INTO lexical(lexical) VALUES ('optimize')"
            )
            connection.execute("VACUUM")
            busy = connection.execute(
                "PRAGMA wal_checkpoint(TRUNCATE)"
            ).fetchone()[0]
            if busy:
                raise StoreUnavailable(
                    f"{self.path}: a reader still holds the write-ahead log;"
                    " close other processes and purge again"
                )
        return [
            "backups and copies of the file",
            "logs outside the store",
            "answers already given",
            "blocks that the file system or disk has remapped",
        ]

    def close(self) -> None:
        """Close every connection; later calls raise StoreUnavailable."""
        self._closed = True
        for connection in self._open:
            connection.close()
        self._open.clear()


def _record(row: Sequence[Any]) -> Record:
    named = dict(zip(_RECORD_FIELDS, row, strict=False))
    named["live"] = bool(named["live"])
    named["classification"] = CLASSES[named["classification"]]
    return Record(**named)


def _candidate(row: Sequence[Any]) -> Candidate:
    named = dict(zip(_CANDIDATE_FIELDS, row, strict=True))
    named["heading_path"] = tuple(json.loads(named["heading_path"]))
    return Candidate(**named)


def _explain(error: sqlite3.Error) -> str:
    text = str(error)
    if "locked" in text:
        return "another process is writing; try again when it is done"
    if "full" in text:
        return "no room left; free some space, nothing was changed"
    if "readonly" in text:
        return "may only be read; nothing was changed"
    if "not a database" in text or "malformed" in text:
        return f"is damaged or no store ({text}); restore it from a backup"
    return f"{text}; nothing was changed"


def _structure(db: sqlite3.Connection) -> list[Fault]:
    faults = [
        Fault("sqlite", row[0])
        for row in db.execute("PRAGMA integrity_check")
        if row[0] != "ok"
    ]
    faults += [
        Fault(f"{row[0]} row {row[1]}", f"refers to a missing {row[2]}")
        for row in db.execute("PRAGMA foreign_key_check")
    ]
    for table, key in (("vectors", "chunk"), ("lexical", "rowid")):
        faults += [
            Fault(f"{table} row {row[0]}", "belongs to no chunk")
            for row in db.execute(
                f"SELECT {key} FROM {table}"
                f" WHERE {key} NOT IN (SELECT id FROM chunks)"
            )
        ]
    return faults


def _agreement(db: sqlite3.Connection) -> list[Fault]:
    # Here and not at the top: a store knows rows, and only its own check
    # needs to know what the rows mean.
    from lab.store.agreement import StoredRow, document_faults

    settings = SQLiteSnapshot(db).settings()
    words: dict[int, dict[int, str]] = {}
    for term, chunk, place in db.execute(
        "SELECT term, doc, offset FROM lexical_terms"
    ):
        words.setdefault(chunk, {})[place] = term
    faults: list[Fault] = []
    documents = db.execute(
        f"SELECT {_RECORD}, d.id, d.chunk_count, d.term_count"
        " FROM documents d ORDER BY d.tenant, d.doc_id"
    ).fetchall()
    for row in documents:
        rows = []
        for chunk in db.execute(
            "SELECT c.id, c.number, c.start, c.stop, c.text, c.sha256,"
            " c.headings, c.length, v.sha256, v.norm, v.data, l.terms"
            " FROM chunks c LEFT JOIN vectors v ON v.chunk = c.id"
            " LEFT JOIN lexical l ON l.rowid = c.id"
            " WHERE c.document = ? ORDER BY c.number",
            (row[13],),
        ).fetchall():
            features = dict(
                db.execute(
                    "SELECT name, count FROM features WHERE chunk = ?",
                    (chunk[0],),
                ).fetchall()
            )
            places = words.get(chunk[0], {})
            rows.append(
                StoredRow(
                    number=chunk[1],
                    start=chunk[2],
                    end=chunk[3],
                    text=chunk[4],
                    sha256=chunk[5],
                    length=chunk[7],
                    vector_sha256=chunk[8],
                    norm=chunk[9],
                    vector=chunk[10],
                    features=features,
                    indexed=tuple(places[p] for p in sorted(places)),
                    kept=chunk[11],
                )
            )
        faults += document_faults(
            _record(row), row[14], row[15], rows, settings
        )
    return faults
