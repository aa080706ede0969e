"""A PostgreSQL for the stages that require one, while they are checked."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Final, Self

from lab.errors import StoreUnavailable
from lab.store import embedded
from lab.workbook.requirements import DSN, named_server

# Seconds to wait for a server that somebody has named.
PATIENCE: Final = 5


def reach(dsn: str) -> None:
    """Raise ``StoreUnavailable`` when nobody answers at a DSN.

    It would look like a fault of the learner's.
    """
    import psycopg

    try:
        psycopg.connect(dsn, connect_timeout=PATIENCE).close()
    except psycopg.Error as error:
        first = str(error).strip().split("\n")[0]
        raise StoreUnavailable(f"{DSN}: {first}") from None


class ServerRoom:
    """Starts a server for the first stage that needs one; stops it at exit.

    The learner's own process never starts one: it may be ended at any
    moment, and would leave its server behind.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._dsn = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def variables(self, requires: tuple[str, ...]) -> Mapping[str, str]:
        """Return what a learner's process must find in its environment.

        Nothing, unless ``postgres`` is among the requirements; a server of
        your own is used as it is. Raises ``StoreUnavailable`` where none
        can be started, or yours cannot be reached.
        """
        if "postgres" not in requires:
            return {}
        return {DSN: self.dsn()}

    def dsn(self) -> str:
        """Return the DSN of a running server, started now if need be."""
        if not self._dsn and named_server():
            reach(named_server())
            self._dsn = named_server()
        if not self._dsn:
            server = self._stack.enter_context(embedded.passing())
            self._dsn = server.get_uri()
        return self._dsn
