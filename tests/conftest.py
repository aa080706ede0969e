"""What every test may rely on, in the repository and in the lab ZIP."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

DATA = "KEEPS_SECRETS_DATA"


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of public data; the test is skipped without it."""
    folder = os.environ.get(DATA)
    if not folder:
        pytest.skip(f"{DATA} names no folder of public data")
    path = Path(folder)
    if not path.is_dir():
        pytest.fail(f"{DATA} names {folder}, which is not a folder")
    return path


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs data when there is none, and say so."""
    if os.environ.get(DATA):
        return
    skip = pytest.mark.skip(reason=f"{DATA} names no folder of public data")
    for item in items:
        if item.get_closest_marker("data"):
            item.add_marker(skip)
