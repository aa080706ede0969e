"""Reading from a replica without reading from before a revocation.

A physical replica serves the past. How far it has come is a position in
the primary's log of changes, so a reading call asks the primary for the
position first, and the replica must have replayed that much before it is
asked anything. Whatever was acknowledged before the call began is in it.
"""

from __future__ import annotations

import time
from typing import Final

import psycopg

from lab.store.pool import Pool, ask

PATIENCE_SECONDS: Final = 0.5
_PAUSE_SECONDS: Final = 0.01

_POSITION: Final = b"SELECT pg_current_wal_flush_lsn()::text"
_REACHED: Final = (
    b"SELECT pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= %s::pg_lsn"
)


class Follower:
    """A replica, used only once it has caught up with its primary.

    Not promised: anything when the primary of the DSN has been replaced
    by another that it does not know of. A primary that cannot be asked
    makes the call fail, since nobody else can say what was revoked.
    """

    def __init__(
        self,
        primary: Pool,
        replica: Pool,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self._primary = primary
        self._replica = replica
        self._patience = patience

    def caught_up(self) -> Pool | None:
        """Return the replica's pool, or ``None``: ask the primary.

        Waits up to ``patience`` seconds for what the primary has done up
        to this moment. A replica that cannot be asked is done without.
        """
        with self._primary.lend(lambda c: ask(c, _POSITION)) as (_, rows):
            ((position,),) = rows
        deadline = time.monotonic() + self._patience
        while True:
            try:
                with self._replica.lend(
                    lambda c: ask(c, _REACHED, position)
                ) as (_, found):
                    ((reached,),) = found
            except psycopg.OperationalError:
                return None
            if reached:
                return self._replica
            if time.monotonic() >= deadline:
                return None
            time.sleep(_PAUSE_SECONDS)

    def close(self) -> None:
        """Close the connections to the replica."""
        self._replica.close()
