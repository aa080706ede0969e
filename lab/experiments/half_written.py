"""What a reader sees while an update is under way."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from lab.chunking import WindowChunker
from lab.encoders.counts import TermCounts
from lab.errors import EncoderError
from lab.experiments import Emit, Refuted, Uses
from lab.index import Index
from lab.model import Context, Document, Policy
from lab.store.sqlite import SQLiteStore

KIND = "core"
PAGE = False
LIMITATIONS = (
    "The reader looks after every statement of the writer; a real one looks"
    " when it happens to, and sees the same states less often.",
    "The naive writer is the shortest program that many tutorials show; it"
    " is nobody's product.",
)

READER: Final = Context("larkspur", "alice")
PARAGRAPHS: Final = 6


def uses() -> Uses:
    """Return the encoder that is made to fail."""
    return Uses(encoder=TermCounts().fingerprint)


def run(emit: Emit) -> dict[str, Any]:
    """Return which mixtures of revisions a reader was shown.

    ``Refuted`` when the lab showed one.
    """
    with tempfile.TemporaryDirectory() as folder:
        naive = _naive(Path(folder) / "naive.db")
        lab = _lab(Path(folder) / "lab.db")
        failed = _failing(Path(folder) / "failing.db")
    emit("what a reader finds after each step of an update to revision 2")
    emit(f"  row by row    {'  '.join(naive)}")
    emit(f"  the lab       {'  '.join(lab)}")
    emit(f"  encoder fails {failed}")
    mixed = [seen for seen in lab if seen not in ("1", "2")]
    if mixed or failed != "1":
        raise Refuted("a reader sees a revision whole or not at all")
    return {
        "naive": naive,
        "naive_mixed": sum(seen not in ("1", "2") for seen in naive),
        "naive_looks": len(naive),
        "lab": lab,
        "failed": failed,
    }


def _parts(revision: int) -> list[str]:
    return [f"rev{revision} clause {n}" for n in range(PARAGRAPHS)]


def _naive(path: Path) -> list[str]:
    """Delete the old chunks, insert the new ones, commit as it goes."""
    writer = sqlite3.connect(path, isolation_level=None)
    reader = sqlite3.connect(path, isolation_level=None)
    writer.execute("CREATE TABLE chunks(text)")
    for part in _parts(1):
        writer.execute("INSERT INTO chunks VALUES (?)", (part,))
    seen = [_revisions(reader)]
    writer.execute("DELETE FROM chunks")
    seen.append(_revisions(reader))
    for part in _parts(2):
        writer.execute("INSERT INTO chunks VALUES (?)", (part,))
        seen.append(_revisions(reader))
    writer.close()
    reader.close()
    return seen


def _revisions(reader: sqlite3.Connection) -> str:
    texts = [text for (text,) in reader.execute("SELECT text FROM chunks")]
    return _told(texts, PARAGRAPHS)


def _told(texts: Sequence[str], whole: int) -> str:
    """Return ``1`` or ``2`` for a whole revision, else how much of what."""
    if not texts:
        return "none"
    revisions = sorted({text[3] for text in texts})
    name = "+".join(revisions)
    return name if len(texts) == whole else f"{name}:{len(texts)}/{whole}"


def _document(revision: int) -> Document:
    return Document(
        "larkspur",
        "terms",
        revision,
        "text",
        "\n\n".join(_parts(revision)),
        Policy(("alice",)),
    )


def _see(index: Index) -> str:
    body = index.read("terms", READER).body.split("\n\n")
    hits = index.search("clause", READER, limit=100).hits
    revisions = {hit.text[3] for hit in hits} | {part[3] for part in body}
    return "+".join(sorted(revisions))


def _lab(path: Path) -> list[str]:
    """Look through another connection at every chunk that is written."""
    seen: list[str] = []

    def look(statement: str) -> None:
        if "INSERT INTO chunks" in statement and other is not None:
            seen.append(_see(other))

    other: Index | None = None
    store = SQLiteStore(path, trace=look)
    with Index.over(store, chunker=WindowChunker(16, 0)) as index:
        index.upsert(_document(1))
        with Index.open(path) as other:
            seen.append(_see(other))
            index.upsert(_document(2))
            seen.append(_see(other))
    return seen


class _Failing(TermCounts):
    """An encoder that runs out of memory on the new revision."""

    def encode(
        self, texts: Sequence[str], *, query: bool = False
    ) -> list[dict[str, int]]:
        if any("rev2" in text for text in texts):
            raise MemoryError
        return super().encode(texts, query=query)


def _failing(path: Path) -> str:
    with Index.open(path, encoder=_Failing()) as index:
        index.upsert(_document(1))
        try:
            index.upsert(_document(2))
        except EncoderError:
            return _see(index)
    raise Refuted("a failing encoder is an error")
