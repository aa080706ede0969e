"""What every test may rely on, in the repository and in the lab ZIP."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator
from pathlib import Path

import pytest

DATA = "KEEPS_SECRETS_DATA"
STRICT = "KEEPS_SECRETS_STRICT"
NO_DATA = f"{DATA} names no folder of public data"

# Tests that need something a machine may lack. Under --strict the machine
# is supposed to have it, so a skip of these is a failure.
NEEDY = ("browser", "server", "data")


# The lab ZIP has no property tests and needs no hypothesis.
with contextlib.suppress(ModuleNotFoundError):
    from hypothesis import settings

    # A busy machine is no failure, and the same tree gives the same verdict.
    settings.register_profile("house", deadline=None, derandomize=True)
    settings.load_profile("house")


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of public data; the test is skipped without it."""
    folder = os.environ.get(DATA)
    if not folder:
        pytest.skip(NO_DATA)
    path = Path(folder)
    if not path.is_dir():
        pytest.fail(f"{DATA} names {folder}, which is not a folder")
    return path


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs data when there is none, and say so.

    Tests of published models carry a note into the report, where they are
    counted apart.
    """
    for item in items:
        if item.get_closest_marker("model"):
            item.user_properties.append(("model", "yes"))
    if os.environ.get(DATA):
        return
    skip = pytest.mark.skip(reason=NO_DATA)
    for item in items:
        if item.get_closest_marker("data"):
            item.add_marker(skip)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Under --strict, turn the skip of a needy test into a failure."""
    report = yield
    needs = [name for name in NEEDY if item.get_closest_marker(name)]
    if report.skipped and needs and os.environ.get(STRICT):
        reason = report.longrepr
        if isinstance(reason, tuple):
            reason = reason[2]
        report.outcome = "failed"
        report.longrepr = f"--strict allows no skip of {needs}: {reason}"
    return report
