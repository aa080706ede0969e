"""One server for all tests of tracks that need one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab.workbook.serverroom import ServerRoom


@pytest.fixture(scope="session")
def server_room() -> Iterator[ServerRoom]:
    with ServerRoom() as room:
        yield room
