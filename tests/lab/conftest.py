"""Every contract test runs on every store that is here."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.index import Index
from tests.lab.servers import Server, running

Opener = Callable[..., Index]

# Where an index can be kept. Every contract test runs in each.
POSTGRES = pytest.param("postgres", marks=pytest.mark.server)
STORES = ("sqlite", "memory", POSTGRES)
# Those that another process can open, too.
LASTING = ("sqlite", POSTGRES)


@pytest.fixture(params=STORES)
def new_place(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Callable[[], str]]:
    """Return a place for a new index each time, to be opened by name.

    An index in ``:memory:`` is gone once it is closed.
    """
    yield from _places(request, tmp_path)


@pytest.fixture(params=LASTING)
def lasting_place(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Callable[[], str]]:
    """Return a new place each time that several processes can open."""
    yield from _places(request, tmp_path)


def _places(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Callable[[], str]]:
    numbers = itertools.count()
    if request.param == "postgres":
        server: Server = request.getfixturevalue("postgres")
        with server.leases() as lease:
            yield lease
    elif request.param == "memory":
        yield lambda: ":memory:"
    else:
        yield lambda: str(tmp_path / f"store-{next(numbers)}.db")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL for this run: our own, or what the variable names."""
    yield from running()


@pytest.fixture
def open_index(new_place: Callable[[], str]) -> Iterator[Opener]:
    """Open an index on a new store, with the options given."""
    opened: list[Index] = []

    def opener(**options: object) -> Index:
        index = Index.open(new_place(), **options)  # type: ignore[arg-type]
        opened.append(index)
        return index

    yield opener
    for index in opened:
        index.close()


@pytest.fixture
def index(open_index: Opener) -> Index:
    """An empty index with the default encoder and chunker."""
    return open_index()
