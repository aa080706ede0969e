"""Deleted: in whatever order the events come, and down to the bytes."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from itertools import permutations
from pathlib import Path
from typing import Any, Final

from lab.errors import LabError
from lab.experiments import Emit, Refuted, Uses
from lab.index import Index
from lab.model import Context, Document, Policy
from lab.terms import FINGERPRINT

KIND = "core"
PAGE = True
LIMITATIONS = (
    "Three events of one document; longer histories are in the stateful test.",
    "The bytes are looked for in the store's own files, on one file system;"
    " what a disk keeps of blocks it has given back is not looked at.",
)

READER: Final = Context("larkspur", "alice")
SECRET: Final = "kestrelvault"
EVENTS: Final = ("create r1", "update r2", "delete r3")


def uses() -> Uses:
    """Return the version of the terms by which the text is found."""
    return Uses(flags={"terms": FINGERPRINT})


def run(emit: Emit) -> dict[str, Any]:
    """Return what survives each order of arrival, and each erasure.

    ``Refuted`` when a deleted text is found, or its bytes after a purge.
    """
    emit("order of arrival                    by row    with tombstone")
    orders = []
    for order in permutations(EVENTS):
        naive, ours = _by_row(order), _with_tombstone(order)
        emit(f"{', '.join(order):<36}{naive:<10}{ours}")
        if ours != "gone":
            raise Refuted(f"after {order} the document is gone")
        orders.append({"order": list(order), "by_row": naive})
    emit("")
    erased = _erase(emit)
    return {
        "orders": orders,
        "asked": len(orders),
        "revived_by_row": sum(o["by_row"] == "alive" for o in orders),
        "bytes": erased,
    }


def _by_row(order: tuple[str, ...]) -> str:
    """Keep what a table without tombstones keeps: a row, or none."""
    row = 0
    for event in order:
        revision = int(event[-1])
        if event.startswith("delete"):
            row = 0
        elif revision > row:
            row = revision
    return "alive" if row else "gone"


def _document(revision: int) -> Document:
    return Document(
        "larkspur",
        "plan",
        revision,
        "text",
        f"The {SECRET} plan, version {revision}.",
        Policy(("alice",)),
    )


def _apply(index: Index, event: str) -> None:
    revision = int(event[-1])
    try:
        if event.startswith("delete"):
            index.delete("larkspur", "plan", revision)
        else:
            index.upsert(_document(revision))
    except LabError:
        # Refused: what the store already knows is newer.
        return


def _with_tombstone(order: tuple[str, ...]) -> str:
    with Index.open(":memory:") as index:
        for event in order:
            _apply(index, event)
        found = index.search(SECRET, READER).hits
    return "alive" if found else "gone"


def _erase(emit: Emit) -> Mapping[str, Any]:
    """Look for the word in the files after each step of an erasure."""
    found: dict[str, bool] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        Index.open(Path(folder) / "store.db") as index,
    ):
        index.upsert(_document(1))
        found["written"] = _in_files(folder)
        index.delete("larkspur", "plan", 2)
        found["deleted"] = _in_files(folder)
        found["findable"] = bool(index.search(SECRET, READER).hits)
        beyond = index.purge()
        found["purged"] = _in_files(folder)
        try:
            index.upsert(_document(2), restore=True)
            found["revived"] = True
        except LabError:
            found["revived"] = False
    emit("the word in the store's files")
    for step in ("written", "deleted", "purged"):
        emit(f"  {step:<10}{'there' if found[step] else 'gone'}")
    emit("")
    emit("purge says it cannot reach:")
    for place in beyond:
        emit(f"  {place}")
    if found["findable"] or found["purged"] or found["revived"]:
        raise Refuted("a deleted text is gone, and stays gone")
    return {**found, "beyond": beyond}


def _in_files(folder: str) -> bool:
    return any(
        SECRET.encode() in path.read_bytes() for path in Path(folder).iterdir()
    )
