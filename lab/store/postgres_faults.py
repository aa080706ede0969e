"""What ``verify`` finds on PostgreSQL: tables that disagree."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from lab.store import Fault, Settings
from lab.store.agreement import StoredRow, document_faults
from lab.store.pool import Connection, Row, ask
from lab.store.postgres_snapshot import RECORD, key_of, record_of
from lab.terms import terms

Say = Callable[[str], bytes]
Name = tuple[str, str]

# Documents looked at together: few round trips, little memory.
_TOGETHER: Final = 200

_AMONG: Final = "IN (SELECT * FROM unnest(%s::text[], %s::text[]))"

# Rows that belong to nothing; a query for each, saying which and what.
_ORPHANS: Final = (
    ("chunks", "documents", "document", "doc_id"),
    ("readers", "documents", "document", "doc_id"),
    ("vectors", "chunks", "chunk", "doc_id, number"),
    ("post", "chunks", "chunk", "doc_id, number"),
    ("features", "vectors", "vector", "doc_id, number"),
)


def faults(
    connection: Connection, say: Say, settings: Settings | None
) -> list[Fault]:
    """Return every disagreement in the store, documents in order."""
    names = ask(
        connection,
        say("SELECT tenant, doc_id FROM {s}.documents ORDER BY 1, 2"),
    )
    found: list[Fault] = []
    for start in range(0, len(names), _TOGETHER):
        found += _documents(
            connection, say, names[start : start + _TOGETHER], settings
        )
    for table, parent, what, key in _ORPHANS:
        same = " AND ".join(
            f"p.{column} = t.{column}"
            for column in ("tenant", *key.split(", "))
        )
        found += [
            Fault(f"{table} of {tenant}/{doc_id}", f"belongs to no {what}")
            for tenant, doc_id in ask(
                connection,
                say(
                    f"SELECT DISTINCT t.tenant, t.doc_id FROM {{s}}.{table} t"
                    f" WHERE NOT EXISTS (SELECT 1 FROM {{s}}.{parent} p"
                    f" WHERE {same}) ORDER BY 1, 2"
                ),
            )
        ]
    return found + _approximate(connection, say)


def _documents(
    connection: Connection,
    say: Say,
    names: Sequence[Row],
    settings: Settings | None,
) -> Iterator[Fault]:
    among = ([name[0] for name in names], [name[1] for name in names])
    stored = _stored(connection, say, among)
    for row in ask(
        connection,
        say(
            f"SELECT {RECORD}, d.chunk_count, d.term_count"
            f" FROM {{s}}.documents d WHERE (d.tenant, d.doc_id) {_AMONG}"
            " ORDER BY d.tenant, d.doc_id"
        ),
        *among,
    ):
        record = record_of(row[:-2])
        rows, repeated = stored[record.tenant, record.doc_id]
        yield from document_faults(record, row[-2], row[-1], rows, settings)
        yield from repeated


def _stored(
    connection: Connection, say: Say, among: tuple[list[str], list[str]]
) -> dict[Name, tuple[list[StoredRow], list[Fault]]]:
    """Return each document's rows, and where a repeated value differs."""
    post = _counted(connection, say, among, "post", "term, tf, length")
    features = _counted(connection, say, among, "features", "name, count, norm")
    stored: dict[Name, tuple[list[StoredRow], list[Fault]]] = defaultdict(
        lambda: ([], [])
    )
    for tenant, doc_id, *row in ask(
        connection,
        say(
            "SELECT c.tenant, c.doc_id, c.number, c.start, c.stop, c.text,"
            " c.sha256, c.length, v.sha256, v.norm, v.data FROM {s}.chunks c"
            " LEFT JOIN {s}.vectors v ON v.tenant = c.tenant"
            " AND v.doc_id = c.doc_id AND v.number = c.number"
            f" WHERE (c.tenant, c.doc_id) {_AMONG} ORDER BY 1, 2, 3"
        ),
        *among,
    ):
        number, start, end, text, sha256, length, vector_sha, norm, data = row
        words = tuple(terms(text))
        held, lengths = post[tenant, doc_id, number]
        counts, norms = features[tenant, doc_id, number]
        # A posting keeps how often a term occurs, not where; equal counts
        # are as much agreement as the table can show.
        if held == Counter(map(key_of, words)):
            indexed = words
        else:
            indexed = tuple(Counter(held).elements())
        rows, repeated = stored[tenant, doc_id]
        rows.append(
            StoredRow(
                number=number,
                start=start,
                end=end,
                text=text,
                sha256=sha256,
                length=length,
                vector_sha256=vector_sha,
                norm=norm,
                vector=data,
                features=counts,
                indexed=indexed,
                kept=" ".join(indexed) if held or not words else None,
            )
        )
        place = f"{tenant}/{doc_id} chunk {number}"
        if lengths - {length}:
            repeated.append(Fault(place, "postings give another term count"))
        if norms - {norm}:
            repeated.append(Fault(place, "features give another norm"))
    return stored


def _counted(
    connection: Connection,
    say: Say,
    among: tuple[list[str], list[str]],
    table: str,
    columns: str,
) -> dict[tuple[str, str, int], tuple[dict[str, int], set[int]]]:
    """Return names with counts, and the repeated value, of each chunk."""
    counted: dict[Any, tuple[dict[str, int], set[int]]] = defaultdict(
        lambda: ({}, set())
    )
    for tenant, doc_id, number, name, count, repeated in ask(
        connection,
        say(
            f"SELECT tenant, doc_id, number, {columns} FROM {{s}}.{table}"
            f" WHERE (tenant, doc_id) {_AMONG}"
        ),
        *among,
    ):
        names, values = counted[tenant, doc_id, number]
        names[name] = count
        values.add(repeated)
    return counted


def _approximate(connection: Connection, say: Say) -> list[Fault]:
    """Say where the approximate index lacks a row, or has one too many."""
    ((kept,),) = ask(
        connection,
        say("SELECT COALESCE((SELECT approximate FROM {s}.settings), '')"),
    )
    if not kept:
        return []
    ((count,),) = ask(
        connection,
        say(
            "SELECT count(*) FROM {s}.near n"
            " FULL JOIN (SELECT * FROM {s}.vectors WHERE data IS NOT NULL) v"
            " USING (tenant, doc_id, number)"
            " WHERE n.embedding IS NULL OR v.data IS NULL"
        ),
    )
    if not count:
        return []
    return [Fault("approximate index", f"{count} rows more or fewer")]
