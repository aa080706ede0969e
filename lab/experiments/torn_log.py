"""What the files hold when a writer stops, at any statement or byte."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Final

from lab.chunking import WindowChunker
from lab.errors import NotFound
from lab.experiments import Emit, Refuted, Uses
from lab.index import Index
from lab.model import Context, Document, Policy
from lab.store.sqlite import SQLiteStore

KIND = "core"
PAGE = False
LIMITATIONS = (
    "Copies the files as the operating system shows them, which is what a"
    " killed process leaves; a power cut may also leave what was written in"
    " another order.",
    "One update of one document, in a log that holds nothing else.",
)

READER: Final = Context("larkspur", "alice")
CUTS: Final = 100


def uses() -> Uses:
    """Return the chunker whose chunks are written one by one."""
    return Uses(chunker=WindowChunker(16, 0).fingerprint)


def run(emit: Emit) -> dict[str, Any]:
    """Return which revision is found in the files, by where they stop.

    ``Refuted`` when it is neither the old nor the new one, whole.
    """
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        moments = _update(root)
        last = root / str(moments)
        before = [_found(root / str(n), root) for n in range(moments)]
        alone = [_found(root / str(n), root, log=0) for n in range(moments + 1)]
        size = _log(last).stat().st_size
        cuts = [_found(last, root, log=size * n // CUTS) for n in range(CUTS)]
        short = _found(last, root, log=size - 1)
        turned = _found(last, root, flip=size // 2)
        done = _found(last, root)
    emit("revision 2 is written over revision 1; found in the files is")
    emit(f"  before each of its {moments} statements     {_counted(before)}")
    emit(f"  after the last one                 {done}")
    emit(f"  the same {moments + 1}, without the log       {_counted(alone)}")
    emit("the log of the finished update, and of it")
    emit(f"  {CUTS} beginnings, evenly spaced     {_counted(cuts)}")
    emit(f"  all but the last byte              {short}")
    emit(f"  all, one bit in the middle turned  {turned}")
    if {*before, *cuts, short, turned} != {"1"} or done != "2":
        raise Refuted("old or new is found, and whole")
    return {
        "moments": moments,
        "before": Counter(before),
        "done": done,
        "without_log": Counter(alone),
        "cuts": Counter(cuts),
        "short": short,
        "turned": turned,
    }


def _counted(found: list[str]) -> str:
    return ", ".join(
        f"{what} ({times} times)" for what, times in Counter(found).items()
    )


def _log(folder: Path) -> Path:
    return folder / "store.db-wal"


def _document(revision: int) -> Document:
    text = "\n\n".join(f"rev{revision} clause {n}" for n in range(6))
    policy = Policy(("alice",))
    return Document("larkspur", "terms", revision, "text", text, policy)


def _update(root: Path) -> int:
    """Copy the files before every statement of an update, and after it.

    Returns the number of statements; the copies are ``root/0`` and so on.
    """
    path = root / "store.db"
    with Index.open(path, chunker=WindowChunker(16, 0)) as index:
        index.upsert(_document(1))
    taken = 0

    def copy() -> None:
        nonlocal taken
        folder = root / str(taken)
        folder.mkdir()
        for file in (path, _log(root)):
            if file.exists():
                shutil.copy(file, folder)
        taken += 1

    def trace(statement: str) -> None:
        # What FTS5 does inside a statement is traced as a comment.
        if watching and not statement.startswith("--"):
            copy()

    watching = False
    store = SQLiteStore(path, trace=trace)
    with Index.over(store) as index:
        watching = True
        index.upsert(_document(2))
        watching = False
        copy()
    return taken - 1


def _found(
    folder: Path, root: Path, log: int | None = None, flip: int | None = None
) -> str:
    """Open a copy of the files and return the revision found in it.

    ``log`` keeps so many bytes of the log, ``flip`` turns one bit of it.
    """
    place = root / "opened"
    shutil.copytree(folder, place)
    try:
        if _log(place).exists():
            data = bytearray(_log(place).read_bytes())
            if flip is not None:
                data[flip] ^= 1
            _log(place).write_bytes(data[:log])
        return _see(place / "store.db")
    finally:
        shutil.rmtree(place)


def _see(path: Path) -> str:
    with Index.open(path) as index:
        if index.verify():
            return "faults"
        try:
            body = index.read("terms", READER).body
        except NotFound:
            return "none"
        hits = index.search("clause", READER, limit=100).hits
    texts = [*body.split("\n\n"), *(hit.text for hit in hits)]
    return "+".join(sorted({text[3] for text in texts}))
