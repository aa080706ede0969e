"""Which store a path or DSN names."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

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
    dsn, schema = _server(place)
    from lab.store.postgres import PostgresStore

    return PostgresStore(dsn, schema)


def exists(path: str | os.PathLike[str]) -> bool:
    """Say whether there is something at ``path``, without making it.

    Raises ``StoreUnavailable`` when the server cannot be asked.
    """
    place = os.fspath(path)
    if not is_dsn(place):
        return Path(place).exists()
    dsn, schema = _server(place)
    from lab.store.postgres import there

    return there(dsn, schema)


def drop(store: Store) -> None:
    """Take a store on a server away, with all it holds."""
    from lab.store.postgres import PostgresStore

    if not isinstance(store, PostgresStore):
        raise InvalidInput("drop: a file is for its owner to remove")
    store.drop()


def require_client() -> None:
    """Raise ``StoreUnavailable`` where psycopg is not installed."""
    if importlib.util.find_spec("psycopg") is None:
        raise StoreUnavailable(
            "postgres: needs psycopg; install it with:"
            " pip install 'keeps-secrets[postgres]'"
        )


def _server(place: str) -> tuple[str, str]:
    """Return DSN and schema of a place on a server, started if ours."""
    require_client()
    from lab.store.postgres import SCHEMA

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
    return dsn, schema or SCHEMA
