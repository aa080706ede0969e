"""Every contract test runs on every store that is here."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.index import Index

Opener = Callable[..., Index]

# Where an index can be kept. Every contract test runs in each.
STORES = ("sqlite", "memory")


@pytest.fixture(params=STORES)
def new_place(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Callable[[], str]:
    """Return a place for a new index each time, to be opened by name.

    An index in ``:memory:`` is gone once it is closed.
    """
    numbers = itertools.count()

    def place() -> str:
        if request.param == "memory":
            return ":memory:"
        return str(tmp_path / f"store-{next(numbers)}.db")

    return place


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
