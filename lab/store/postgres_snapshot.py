"""Reading and writing inside one transaction on PostgreSQL."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from psycopg import sql

from lab.errors import InvalidInput
from lab.model import CLASSES, Context
from lab.store import (
    Candidate,
    ChunkRow,
    Group,
    Key,
    Posting,
    Principal,
    Reader,
    Record,
    Settings,
    Stats,
    View,
    approximate,
)
from lab.store.pool import Connection, Row, ask, at_once
from lab.store.signing import claim

# Tables with a document's rows, in the order in which they can be emptied.
CONTENT: Final = ("features", "post", "vectors", "chunks")

# A B-tree entry must stay below a third of a page. A longer name is stood
# for by its digest; no term begins with "#", and what does is digested too.
_LONGEST_KEY: Final = 1000

_RECORD_FIELDS: Final = tuple(field.name for field in fields(Record))
RECORD: Final = ", ".join(f"d.{name}" for name in _RECORD_FIELDS)
# What the reading role may see of a document: not its policy.
_SHOWN: Final = (
    "d.tenant, d.doc_id, d.revision, 0, d.live, d.format, d.title, d.body,"
    " d.sha256, d.updated_at, d.origin, 0, NULL"
)
_CANDIDATE_FIELDS: Final = tuple(field.name for field in fields(Candidate))
_CANDIDATE: Final = (
    "d.doc_id, c.number, d.revision, d.sha256, d.title, d.updated_at,"
    " d.origin, c.start, c.stop, c.text, c.sha256, c.headings"
)
SETTINGS: Final = "encoder, encoder_spec, chunker, chunker_spec, terms"


def key_of(name: str) -> str:
    """Return the key that stands for a term or feature in an index."""
    data = name.encode("utf-8")
    if len(data) <= _LONGEST_KEY and not name.startswith("#"):
        return name
    return "#" + hashlib.sha256(data).hexdigest()


class Words:
    """Our queries, with the schema's name where they say ``{s}``."""

    def __init__(self, schema: str) -> None:
        self.schema = schema
        self._quoted = sql.Identifier(schema).as_string()

    def __call__(self, query: str) -> bytes:
        """Return a query ready to be sent."""
        return query.replace("{s}", self._quoted).encode("utf-8")


@dataclass(frozen=True)
class Begun:
    """What the first round trip of a transaction brings.

    ``moment`` is what a claim must be bound to; ``approximate`` names the
    schema of pgvector's types where an approximate index is kept.
    """

    settings: Settings | None
    approximate: str
    moment: str


class PostgresSnapshot:
    """Reads inside one transaction of the reading role.

    Trusted questions go to the owner's connection, which ``trusted`` gives
    when it is first needed and which sees the same snapshot.
    """

    def __init__(
        self,
        say: Words,
        reader: Connection,
        begun: Begun,
        key: bytes,
        trusted: Callable[[], Connection],
    ) -> None:
        self._say = say
        self._reader = reader
        self._begun = begun
        self._key = key
        self._trusted = trusted
        self._given: Connection | None = None
        self._serial = 0
        # Of each readable document, how many chunks and terms it has.
        self._visible: dict[str, tuple[int, int]] = {}
        # Hits often name one document several times; it cannot change.
        self._held: dict[str, Record | None] = {}

    @property
    def _owner(self) -> Connection:
        if self._given is None:
            self._given = self._trusted()
        return self._given

    def _owned(self, query: str, *values: Any) -> list[Row]:
        return ask(self._owner, self._say(query), *values)

    def settings(self) -> Settings | None:
        """Return the stored projection settings, ``None`` when new."""
        return self._begun.settings

    def principal(self, tenant: str, name: str) -> Principal | None:
        """Return a principal's directory entry."""
        rows = self._owned(
            "SELECT p.clearance, p.revision, ARRAY(SELECT i.barrier"
            " FROM {s}.inside i WHERE i.tenant = p.tenant"
            " AND i.name = p.name ORDER BY i.barrier)"
            " FROM {s}.principals p WHERE p.tenant = %s AND p.name = %s",
            tenant,
            name,
        )
        if not rows:
            return None
        ((clearance, revision, barriers),) = rows
        return Principal(CLASSES[clearance], tuple(barriers), revision)

    def group(self, tenant: str, name: str) -> Group | None:
        """Return a group's directory entry, live or deleted."""
        rows = self._owned(
            "SELECT g.incarnation, g.revision, g.live,"
            " ARRAY(SELECT CASE m.kind WHEN 'group' THEN 'group:' ELSE '' END"
            " || m.name FROM {s}.members m"
            " WHERE m.tenant = g.tenant AND m.grp = g.name)"
            " FROM {s}.groups g WHERE g.tenant = %s AND g.name = %s",
            tenant,
            name,
        )
        if not rows:
            return None
        ((incarnation, revision, live, names),) = rows
        return Group(tuple(sorted(names)), incarnation, revision, live)

    def record(self, tenant: str, doc_id: str) -> Record | None:
        """Return a document's row whoever may read it."""
        rows = self._owned(
            f"SELECT {RECORD} FROM {{s}}.documents d"
            " WHERE d.tenant = %s AND d.doc_id = %s",
            tenant,
            doc_id,
        )
        return record_of(rows[0]) if rows else None

    def records(self, tenant: str | None = None) -> Iterator[Record]:
        """Yield rows in the order of (tenant, doc_id)."""
        with self._owner.cursor(name="records") as cursor:
            cursor.itersize = 200
            cursor.execute(
                self._say(
                    f"SELECT {RECORD} FROM {{s}}.documents d"
                    " WHERE %s::text IS NULL OR d.tenant = %s"
                    " ORDER BY d.tenant, d.doc_id"
                ),
                (tenant, tenant),
            )
            for row in cursor:
                yield record_of(row)

    def readers(self, tenant: str, doc_id: str) -> tuple[Reader, ...]:
        """Return the entries of a document's policy."""
        rows = self._owned(
            "SELECT kind, name, incarnation FROM {s}.readers"
            " WHERE tenant = %s AND doc_id = %s ORDER BY kind, name",
            tenant,
            doc_id,
        )
        return tuple(Reader(*row) for row in rows)

    def counts(self, tenant: str | None = None) -> Mapping[str, int]:
        """Return how many live documents, tombstones and chunks there are."""
        ((live, dead, chunks),) = self._owned(
            "SELECT count(*) FILTER (WHERE live),"
            " count(*) FILTER (WHERE NOT live),"
            " COALESCE(sum(chunk_count), 0) FROM {s}.documents"
            " WHERE %s::text IS NULL OR tenant = %s",
            tenant,
            tenant,
        )
        return {"documents": live, "tombstones": dead, "chunks": int(chunks)}

    def readable(self, context: Context) -> View:
        """Establish the reader, verifiably, and decide the view."""
        signed = claim(self._key, context, self._begun.moment)
        _, rows = at_once(
            self._reader,
            (
                b"SELECT set_config('keeps_secrets.reader', %s, true)",
                (signed,),
            ),
            (
                self._say(
                    "SELECT doc_id, chunk_count, term_count FROM {s}.readable()"
                ),
                (),
            ),
        )
        return self._viewed(context, rows)

    def _viewed(self, context: Context, rows: Sequence[Row]) -> View:
        self._visible = {
            doc_id: (chunks, terms) for doc_id, chunks, terms in rows
        }
        self._held = {}
        self._serial += 1
        return View(context, self._serial)

    def stats(self, view: View) -> Stats:
        """Return the sizes that BM25 needs, of the readable chunks."""
        self._current(view)
        sizes = self._visible.values()
        chunks = sum(chunks for chunks, _ in sizes)
        return Stats(chunks, sum(terms for _, terms in sizes))

    def postings(
        self, view: View, terms: Sequence[str]
    ) -> Mapping[str, list[Posting]]:
        """Return each term's occurrences in readable chunks."""
        named = {key_of(term): term for term in terms}
        found: dict[str, list[Posting]] = {term: [] for term in terms}
        for term, *rest in self._of_view(
            view,
            "SELECT term, doc_id, number, tf, length FROM {s}.post"
            " WHERE tenant = %s AND doc_id IN (SELECT unnest(%s::text[]))"
            " AND term = ANY(%s)",
            list(named),
        ):
            found[named[term]].append(Posting(*rest))
        return found

    def features(
        self, view: View, names: Sequence[str]
    ) -> Mapping[Key, tuple[int, Mapping[str, int]]]:
        """Return the sparse rows that share a feature with ``names``."""
        named = {key_of(name): name for name in names}
        found: dict[Key, tuple[int, dict[str, int]]] = {}
        for name, doc_id, number, count, norm in self._of_view(
            view,
            "SELECT name, doc_id, number, count, norm FROM {s}.features"
            " WHERE tenant = %s AND doc_id IN (SELECT unnest(%s::text[]))"
            " AND name = ANY(%s)",
            list(named),
        ):
            _, shared = found.setdefault((doc_id, number), (norm, {}))
            shared[named[name]] = count
        return found

    def vectors(self, view: View) -> list[tuple[Key, bytes, int]]:
        """Return every readable dense row with its squared length."""
        rows = self._of_view(
            view,
            "SELECT doc_id, number, data, norm FROM {s}.vectors"
            " WHERE tenant = %s AND doc_id IN (SELECT unnest(%s::text[]))"
            " AND data IS NOT NULL",
        )
        return [((row[0], row[1]), row[2], row[3]) for row in rows]

    def nearest(
        self, view: View, vector: bytes, count: int
    ) -> list[tuple[Key, bytes, int]]:
        """Return the dense rows that the approximate index finds nearest.

        At most ``count``, in no order. Not promised are that they are the
        nearest, and that unreadable rows have no say in which they are.
        Raises ``InvalidInput`` where no such index is kept.
        """
        where = self._begun.approximate
        if not where:
            raise InvalidInput(
                "approximate: this index keeps none; make one with the"
                " store's build_approximate()"
            )
        self._current(view)
        if not self._visible:
            return []
        _, keys = at_once(
            self._reader,
            (approximate.SCANNING, (str(count),)),
            (
                self._say(approximate.nearest(where)),
                (
                    view.context.tenant,
                    list(self._visible),
                    approximate.literal(vector),
                    count,
                ),
            ),
        )
        rows = self._of_view(
            view,
            "SELECT doc_id, number, data, norm FROM {s}.vectors"
            " WHERE tenant = %s AND doc_id IN (SELECT unnest(%s::text[]))"
            " AND (doc_id, number) IN"
            " (SELECT * FROM unnest(%s::text[], %s::bigint[]))",
            [doc_id for doc_id, _ in keys],
            [number for _, number in keys],
        )
        return [((row[0], row[1]), row[2], row[3]) for row in rows]

    def candidates(
        self, view: View, keys: Sequence[Key]
    ) -> Mapping[Key, Candidate]:
        """Return the named chunks, those that are readable."""
        wanted = [key for key in keys if key[0] in self._visible]
        if not wanted:
            self._current(view)
            return {}
        documents = sorted({doc_id for doc_id, _ in wanted})
        rows = self._of_view(
            view,
            f"SELECT {_CANDIDATE} FROM {{s}}.documents d"
            " JOIN {s}.chunks c ON c.tenant = d.tenant"
            " AND c.doc_id = d.doc_id"
            " WHERE d.tenant = %s AND d.doc_id = ANY(%s)"
            # Said of the chunks too, or all of the tenant's are looked at.
            " AND c.doc_id = ANY(%s) AND (c.doc_id, c.number) IN"
            " (SELECT * FROM unnest(%s::text[], %s::bigint[]))",
            documents,
            [doc_id for doc_id, _ in wanted],
            [number for _, number in wanted],
            documents=documents,
        )
        return {(row[0], row[1]): _candidate(row) for row in rows}

    def document(self, view: View, doc_id: str) -> Record | None:
        """Return a document if, and only if, it is in the view.

        Its policy is not among what the reading role may see.
        """
        if doc_id not in self._held:
            rows = self._of_one(
                view,
                doc_id,
                f"SELECT {_SHOWN} FROM {{s}}.documents d"
                " WHERE d.tenant = %s AND d.doc_id = ANY(%s)",
            )
            self._held[doc_id] = record_of(rows[0]) if rows else None
        self._current(view)
        return self._held[doc_id]

    def chunks(self, view: View, doc_id: str) -> list[Candidate]:
        """Return a readable document's chunks in order."""
        rows = self._of_one(
            view,
            doc_id,
            f"SELECT {_CANDIDATE} FROM {{s}}.documents d"
            " JOIN {s}.chunks c ON c.tenant = d.tenant"
            " AND c.doc_id = d.doc_id"
            " WHERE d.tenant = %s AND d.doc_id = ANY(%s)"
            " ORDER BY c.number",
        )
        return [_candidate(row) for row in rows]

    def _of_one(self, view: View, doc_id: str, query: str) -> list[Row]:
        if doc_id not in self._visible:
            self._current(view)
            return []
        return self._of_view(view, query, documents=[doc_id])

    def _of_view(
        self,
        view: View,
        query: str,
        *values: Any,
        documents: list[str] | None = None,
    ) -> list[Row]:
        """Ask of the view, or of the named ``documents`` in it.

        The first two values are the tenant and the documents. What the
        query says of them is the first wall; the second is not in it.
        """
        self._current(view)
        if not self._visible:
            return []
        if documents is None:
            documents = list(self._visible)
        return ask(
            self._reader,
            self._say(query),
            view.context.tenant,
            documents,
            *values,
        )

    def _current(self, view: View) -> None:
        if view.serial != self._serial or self._serial == 0:
            raise RuntimeError("the view belongs to another snapshot")


class PostgresTransaction(PostgresSnapshot):
    """Reads and writes in one transaction of the owner."""

    def __init__(self, say: Words, owner: Connection, begun: Begun) -> None:
        super().__init__(say, owner, begun, b"", lambda: owner)

    def _do(self, *statements: tuple[str, tuple[Any, ...]]) -> None:
        """Carry out statements in one round trip."""
        self._held = {}
        at_once(
            self._owner,
            *((self._say(query), values) for query, values in statements),
        )

    def readable(self, context: Context) -> View:
        """Decide a view with the owner's rights, for trusted code."""
        rows = self._owned(
            "SELECT doc_id, chunk_count, term_count FROM {s}.view_of(%s, %s)",
            context.tenant,
            context.principal,
        )
        return self._viewed(context, rows)

    def configure(self, settings: Settings) -> None:
        """Store the projection settings.

        Another encoder makes other vectors, so an approximate index goes.
        """
        old = self._begun.settings
        kept = self._begun.approximate
        if kept and (old is None or old.encoder != settings.encoder):
            self._do(("DROP TABLE {s}.near", ()))
            kept = ""
        self._do(
            (
                f"INSERT INTO {{s}}.settings(tenant, {SETTINGS}, approximate)"
                " VALUES ('', %s, %s, %s, %s, %s, %s)"
                " ON CONFLICT (tenant) DO UPDATE SET"
                " encoder = excluded.encoder,"
                " encoder_spec = excluded.encoder_spec,"
                " chunker = excluded.chunker,"
                " chunker_spec = excluded.chunker_spec,"
                " terms = excluded.terms, approximate = excluded.approximate",
                (
                    settings.encoder,
                    json.dumps(settings.encoder_spec, sort_keys=True),
                    settings.chunker,
                    json.dumps(settings.chunker_spec, sort_keys=True),
                    settings.terms,
                    kept,
                ),
            )
        )
        self._begun = Begun(settings, kept, "")

    def replace(self, record: Record, rows: Sequence[ChunkRow]) -> None:
        """Replace a document's content; its policy rows stay."""
        name = (record.tenant, record.doc_id)
        self._do(
            *self._clearing(*name),
            (
                "INSERT INTO {s}.documents VALUES (%s, %s, %s, %s, true,"
                " %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
                " ON CONFLICT (tenant, doc_id) DO UPDATE SET"
                " revision = excluded.revision,"
                " policy_revision = excluded.policy_revision, live = true,"
                " format = excluded.format, title = excluded.title,"
                " body = excluded.body, sha256 = excluded.sha256,"
                " updated_at = excluded.updated_at,"
                " origin = excluded.origin,"
                " classification = excluded.classification,"
                " barrier = excluded.barrier,"
                " chunk_count = excluded.chunk_count,"
                " term_count = excluded.term_count",
                (
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
                ),
            ),
            *_filling(name, rows, self._begun.approximate),
        )

    def _clearing(
        self, tenant: str, doc_id: str
    ) -> list[tuple[str, tuple[Any, ...]]]:
        near = ("near",) if self._begun.approximate else ()
        return [
            (
                f"DELETE FROM {{s}}.{table} WHERE tenant = %s AND doc_id = %s",
                (tenant, doc_id),
            )
            for table in (*near, *CONTENT)
        ]

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
            (
                "UPDATE {s}.documents SET classification = %s, barrier = %s,"
                " policy_revision = %s WHERE tenant = %s AND doc_id = %s",
                (
                    CLASSES.index(classification),
                    barrier,
                    policy_revision,
                    tenant,
                    doc_id,
                ),
            ),
            _no_readers(tenant, doc_id),
            (
                "INSERT INTO {s}.readers SELECT %s, %s, *"
                " FROM unnest(%s::text[], %s::text[], %s::bigint[])",
                (tenant, doc_id, *_columns(readers)),
            ),
        )

    def tombstone(
        self, tenant: str, doc_id: str, revision: int, policy_revision: int
    ) -> None:
        """Leave only identity and revisions of a document."""
        self._do(
            *self._clearing(tenant, doc_id),
            _no_readers(tenant, doc_id),
            (
                "INSERT INTO {s}.documents VALUES (%s, %s, %s, %s, false, '',"
                " '', '', '', NULL, NULL, %s, NULL, 0, 0)"
                " ON CONFLICT (tenant, doc_id) DO UPDATE SET"
                " revision = excluded.revision,"
                " policy_revision = excluded.policy_revision, live = false,"
                " format = '', title = '', body = '', sha256 = '',"
                " updated_at = NULL, origin = NULL,"
                " classification = excluded.classification, barrier = NULL,"
                " chunk_count = 0, term_count = 0",
                (
                    tenant,
                    doc_id,
                    revision,
                    policy_revision,
                    len(CLASSES) - 1,
                ),
            ),
        )

    def set_principal(
        self, tenant: str, name: str, principal: Principal
    ) -> None:
        """Replace a principal's directory entry."""
        self._do(
            (
                "INSERT INTO {s}.principals VALUES (%s, %s, %s, %s)"
                " ON CONFLICT (tenant, name) DO UPDATE SET"
                " clearance = excluded.clearance,"
                " revision = excluded.revision",
                (
                    tenant,
                    name,
                    CLASSES.index(principal.clearance),
                    principal.revision,
                ),
            ),
            (
                "DELETE FROM {s}.inside WHERE tenant = %s AND name = %s",
                (tenant, name),
            ),
            (
                "INSERT INTO {s}.inside SELECT %s, %s, unnest(%s::text[])",
                (tenant, name, list(principal.barriers)),
            ),
        )

    def set_group(
        self, tenant: str, name: str, group: Group, members: Sequence[Reader]
    ) -> None:
        """Replace a group's entry; ``members`` carry bound identities."""
        self._do(
            (
                "INSERT INTO {s}.groups VALUES (%s, %s, %s, %s, %s)"
                " ON CONFLICT (tenant, name) DO UPDATE SET"
                " incarnation = excluded.incarnation,"
                " revision = excluded.revision, live = excluded.live",
                (
                    tenant,
                    name,
                    group.incarnation,
                    group.revision,
                    group.live,
                ),
            ),
            (
                "DELETE FROM {s}.members WHERE tenant = %s AND grp = %s",
                (tenant, name),
            ),
            (
                "INSERT INTO {s}.members SELECT %s, %s, *"
                " FROM unnest(%s::text[], %s::text[], %s::bigint[])",
                (tenant, name, *_columns(members)),
            ),
        )

    def intact(self, tenant: str, doc_id: str) -> bool:
        """Say whether every row that the document counts is there."""
        rows = self._owned(
            "SELECT d.chunk_count, d.term_count, s.encoder,"
            " (SELECT count(*) FROM {s}.chunks c"
            "  WHERE c.tenant = d.tenant AND c.doc_id = d.doc_id),"
            " (SELECT COALESCE(sum(p.tf), 0) FROM {s}.post p"
            "  WHERE p.tenant = d.tenant AND p.doc_id = d.doc_id),"
            " (SELECT count(*) FROM {s}.vectors v JOIN {s}.chunks c"
            "  ON c.tenant = v.tenant AND c.doc_id = v.doc_id"
            "  AND c.number = v.number AND c.sha256 = v.sha256"
            "  WHERE v.tenant = d.tenant AND v.doc_id = d.doc_id),"
            " (SELECT COALESCE(sum(f.count * f.count), 0) FROM {s}.features f"
            "  WHERE f.tenant = d.tenant AND f.doc_id = d.doc_id),"
            " (SELECT COALESCE(sum(v.norm), 0) FROM {s}.vectors v"
            "  WHERE v.tenant = d.tenant AND v.doc_id = d.doc_id"
            "  AND v.data IS NULL)"
            " FROM {s}.documents d, {s}.settings s"
            " WHERE d.tenant = %s AND d.doc_id = %s",
            tenant,
            doc_id,
        )
        if not rows:
            return False
        ((wanted, length, encoder, chunks, tf, vectors, *sparse),) = rows
        if vectors != (wanted if encoder else 0) or sparse[0] != sparse[1]:
            return False
        return bool(wanted == chunks and length == tf)


def _no_readers(tenant: str, doc_id: str) -> tuple[str, tuple[Any, ...]]:
    return (
        "DELETE FROM {s}.readers WHERE tenant = %s AND doc_id = %s",
        (tenant, doc_id),
    )


def _columns(readers: Sequence[Reader]) -> tuple[list[Any], ...]:
    return (
        [reader.kind for reader in readers],
        [reader.name for reader in readers],
        [reader.incarnation for reader in readers],
    )


def _filling(
    name: tuple[str, str], rows: Sequence[ChunkRow], near: str
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield the statements that store a document's chunks.

    One statement for each table, its rows as arrays: sending them one by
    one would be most of the work.
    """
    if not rows:
        return
    tenant, doc_id = name
    numbers = [row.number for row in rows]
    yield (
        "INSERT INTO {s}.chunks SELECT %s, %s, * FROM unnest("
        "%s::integer[], %s::integer[], %s::integer[], %s::text[],"
        " %s::text[], %s::text[], %s::integer[])",
        (
            *name,
            numbers,
            [row.start for row in rows],
            [row.end for row in rows],
            [row.text for row in rows],
            [row.sha256 for row in rows],
            [json.dumps(row.heading_path, ensure_ascii=False) for row in rows],
            [len(row.terms) for row in rows],
        ),
    )
    post = [
        (key_of(term), row.number, tf, len(row.terms))
        for row in rows
        for term, tf in Counter(row.terms).items()
    ]
    if post:
        terms, *counted = map(list, zip(*post, strict=True))
        yield (
            "INSERT INTO {s}.post SELECT %s, u.term, %s, u.number, u.tf,"
            " u.length FROM unnest(%s::text[], %s::integer[], %s::integer[],"
            " %s::integer[]) u(term, number, tf, length)",
            (tenant, doc_id, terms, *counted),
        )
    encoded = [
        row
        for row in rows
        if row.vector is not None or row.features is not None
    ]
    if not encoded:
        return
    yield (
        "INSERT INTO {s}.vectors SELECT %s, %s, * FROM unnest("
        "%s::integer[], %s::text[], %s::bigint[], %b::bytea[])",
        (
            *name,
            [row.number for row in encoded],
            [row.sha256 for row in encoded],
            [row.norm for row in encoded],
            [row.vector for row in encoded],
        ),
    )
    features = [
        (key_of(feature), row.number, count, row.norm)
        for row in encoded
        for feature, count in (row.features or {}).items()
    ]
    if features:
        names, *counted = map(list, zip(*features, strict=True))
        yield (
            "INSERT INTO {s}.features SELECT %s, u.name, %s, u.number,"
            " u.count, u.norm FROM unnest(%s::text[], %s::integer[],"
            " %s::bigint[], %s::bigint[]) u(name, number, count, norm)",
            (tenant, doc_id, names, *counted),
        )
    dense = [row for row in encoded if row.vector is not None]
    if near and dense:
        yield (
            approximate.insert(near),
            (
                *name,
                [row.number for row in dense],
                [approximate.literal(row.vector or b"") for row in dense],
            ),
        )


def begun(rows: Sequence[Row], moment: str) -> Begun:
    """Return the rows of ``SETTINGS, approximate``, none when new."""
    if not rows:
        return Begun(None, "", moment)
    ((encoder, encoder_spec, chunker, chunker_spec, terms, near),) = rows
    settings = Settings(
        encoder,
        json.loads(encoder_spec),
        chunker,
        json.loads(chunker_spec),
        terms,
    )
    return Begun(settings, near, moment)


def record_of(row: Sequence[Any]) -> Record:
    """Return a row of ``RECORD`` columns as a record."""
    named = dict(zip(_RECORD_FIELDS, row, strict=True))
    named["classification"] = CLASSES[named["classification"]]
    return Record(**named)


def _candidate(row: Sequence[Any]) -> Candidate:
    named = dict(zip(_CANDIDATE_FIELDS, row, strict=True))
    named["heading_path"] = tuple(json.loads(named["heading_path"]))
    return Candidate(**named)
