"""Which store a path or DSN names."""

from __future__ import annotations

import os

from lab.store import Store

EMBEDDED = "postgres:"
_DSN = ("postgresql://", "postgres://")


def is_dsn(place: str) -> bool:
    """Say whether ``place`` names a PostgreSQL and not a file."""
    return place.startswith((EMBEDDED, *_DSN))


def open_store(path: str | os.PathLike[str]) -> Store:
    """Open the store that ``path`` names.

    ``postgres:`` is a server of our own, ``postgresql://…`` any other, and
    everything else a SQLite file or ``:memory:``.
    """
    place = os.fspath(path)
    if not is_dsn(place):
        from lab.store.sqlite import SQLiteStore

        return SQLiteStore(path)
    from lab.store.postgres import PostgresStore

    if place.startswith(_DSN):
        return PostgresStore(place)
    from lab.store.embedded import start

    return PostgresStore(start().get_uri())
