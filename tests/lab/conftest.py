"""Every contract test runs on every store that is here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.index import Index

Opener = Callable[..., Index]


@pytest.fixture(params=["sqlite", "memory"])
def open_index(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Opener]:
    """Open an index on a new store, with the options given."""
    opened: list[Index] = []

    def opener(**options: object) -> Index:
        path = ":memory:"
        if request.param == "sqlite":
            path = str(tmp_path / f"store-{len(opened)}.db")
        index = Index.open(path, **options)  # type: ignore[arg-type]
        opened.append(index)
        return index

    yield opener
    for index in opened:
        index.close()


@pytest.fixture
def index(open_index: Opener) -> Index:
    """An empty index with the default encoder and chunker."""
    return open_index()
