"""Whether what a store keeps of a document agrees with itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lab import canonical, vectors
from lab.store import Fault, Record, Settings
from lab.terms import terms


@dataclass(frozen=True)
class StoredRow:
    """One chunk with everything the channels keep of it.

    ``indexed`` are the terms the lexical index really holds, in order;
    ``kept`` the text it was given, ``None`` when its row is missing.
    """

    number: int
    start: int
    end: int
    text: str
    sha256: str
    length: int
    vector_sha256: str | None
    norm: int | None
    vector: bytes | None
    features: Mapping[str, int]
    indexed: tuple[str, ...]
    kept: str | None


def document_faults(
    record: Record,
    chunk_count: int,
    term_count: int,
    rows: Sequence[StoredRow],
    settings: Settings | None,
) -> list[Fault]:
    """Return every disagreement inside one document."""
    where = f"{record.tenant}/{record.doc_id}"
    faults: list[Fault] = []

    def fault(what: str, place: str = where) -> None:
        faults.append(Fault(place, what))

    if not record.live:
        if rows or record.body or record.title:
            fault("tombstone still holds content")
        return faults
    expected = canonical.digest([record.format, record.title, record.body])
    if record.sha256 != expected:
        fault("stored text does not match its digest")
    if chunk_count != len(rows):
        fault(f"counts {chunk_count} chunks, holds {len(rows)}")
    if term_count != sum(row.length for row in rows):
        fault("term count does not add up over its chunks")
    if [row.number for row in rows] != list(range(len(rows))):
        fault("chunk numbers have a gap")
    has_encoder = bool(settings and settings.encoder)
    for row in rows:
        place = f"{where} chunk {row.number}"
        if record.body[row.start : row.end] != row.text:
            fault("text is not the slice its span names", place)
        if canonical.sha256(row.text) != row.sha256:
            fault("text does not match its digest", place)
        words = tuple(terms(row.text))
        if row.kept is None:
            fault("is missing from the lexical index", place)
        elif row.kept != " ".join(words) or row.indexed != words:
            fault("lexical index holds other terms than the text", place)
        if row.length != len(words):
            fault("term count differs from the text", place)
        if has_encoder:
            _vector_faults(row, place, faults)
        elif row.vector_sha256 is not None:
            fault("has a vector in an index without encoder", place)
    return faults


def _vector_faults(row: StoredRow, place: str, faults: list[Fault]) -> None:
    if row.vector_sha256 is None:
        faults.append(Fault(place, "has no vector"))
        return
    if row.vector_sha256 != row.sha256:
        faults.append(Fault(place, "vector was made from another text"))
    if row.vector is not None:
        true = vectors.norm(row.vector)
    else:
        true = sum(count * count for count in row.features.values())
    if row.norm != true:
        faults.append(Fault(place, "vector does not have its stored norm"))
