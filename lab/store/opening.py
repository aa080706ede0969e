"""Which store a path or DSN names."""

from __future__ import annotations

import importlib.util
import os

from lab.errors import InvalidInput, StoreUnavailable
from lab.store import Store

EMBEDDED = "postgres:"
_DSN = ("postgresql://", "postgres://")


def is_dsn(place: str) -> bool:
    """Say whether ``place`` names a PostgreSQL and not a file."""
    return place.startswith((EMBEDDED, *_DSN))


def open_store(path: str | os.PathLike[str]) -> Store:
    """Open the store that ``path`` names.

    ``postgres:`` is a server of our own, ``postgresql://…`` any other, and
    everything else a SQLite file or ``:memory:``. Several indexes fit into
    one database: ``#NAME`` after either names the schema.
    """
    place = os.fspath(path)
    if not is_dsn(place):
        from lab.store.sqlite import SQLiteStore

        return SQLiteStore(path)
    if importlib.util.find_spec("psycopg") is None:
        raise StoreUnavailable(
            "postgres: needs psycopg; install it with:"
            " pip install 'keeps-secrets[postgres]'"
        )
    from lab.store.postgres import SCHEMA, PostgresStore

    # A password in a DSN says "#" as %23, so the first one is ours.
    dsn, _, schema = place.partition("#")
    if not dsn.startswith(_DSN):
        from lab.store import embedded

        if dsn != EMBEDDED:
            raise InvalidInput(
                f"{place!a}: must be postgres:, postgres:#NAME or a DSN"
                " postgresql://…"
            )
        dsn = embedded.start().get_uri()
    return PostgresStore(dsn, schema or SCHEMA)
