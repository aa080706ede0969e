"""The laws of a chunker: kept by three, broken by four tempting ones."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from lab.chunking import BlockChunker, Chunker, SectionChunker, WindowChunker
from lab.errors import ProjectionChanged
from lab.experiments import Emit, Refuted, Uses
from lab.fixture import load_fixture
from lab.index import Index, Status
from lab.model import Context, Document, Hit, Policy
from lab.text import project

KIND = "core"
PAGE = True
LIMITATIONS = (
    "The tempting chunkers are a few lines each, written here after reports"
    " of such faults; no product's splitter was run.",
    "The laws say that nothing is lost, moved or empty. They do not say that"
    " a chunk is a good thing to find or to read.",
)

# A chunk as any splitter can state it: start, end, text.
Piece = tuple[int, int, str]


# region: laws
def broken_laws(body: str, pieces: Sequence[Piece]) -> list[str]:
    """Return the names of the laws that ``pieces`` of ``body`` break."""
    starts = [start for start, _, _ in pieces]
    covered: set[int] = set()
    for start, end, _ in pieces:
        covered.update(range(start, end))
    laws = {
        "exact": all(
            start >= 0 and body[start:end] == text
            for start, end, text in pieces
        ),
        "ordered": all(first < then for first, then in pairwise(starts)),
        "not blank": all(text.strip() for _, _, text in pieces),
        "complete": all(
            at in covered or character.isspace()
            for at, character in enumerate(body)
        ),
    }
    return [law for law, kept in laws.items() if not kept]


# endregion


def _located_by_find(body: str) -> Iterator[Piece]:
    """Cut first, and look afterwards for where the pieces stood."""
    for at in range(0, len(body), 6):
        text = body[at : at + 6].strip()
        start = body.find(text)
        yield start, start + len(text), text


def _overlap_in_words(body: str) -> Iterator[Piece]:
    """Count the overlap in words, and subtract it from characters."""
    words = body.split()
    size, overlap = 4, 2
    start, before = 0, ""
    for at in range(0, len(words) - overlap, size - overlap):
        text = " ".join(words[at : at + size])
        start = body.find(text, max(0, start + len(before) - overlap))
        before = text
        yield start, start + len(text), text


def _clamped_tail(body: str) -> Iterator[Piece]:
    """Step back by the overlap after the last window, too."""
    size, overlap = 8, 3
    start = 0
    while start < len(body):
        end = min(start + size, len(body))
        yield start, end, body[start:end]
        start = end - overlap


def _at_blank_lines(body: str) -> Iterator[Piece]:
    """Take what stands between two line ends, whatever it is."""
    start = 0
    for text in body.split("\n\n"):
        yield start, start + len(text), text
        start += len(text) + 2


TEMPTING: Final[
    tuple[tuple[str, Callable[[str], Iterator[Piece]], str, str], ...]
] = (
    ("located by find", _located_by_find, "chunk chunk chunk", "ordered"),
    (
        "overlap in words",
        _overlap_in_words,
        "a limit is a limit of the night",
        "exact",
    ),
    ("at blank lines", _at_blank_lines, "one\n\n\n\ntwo", "not blank"),
    ("clamped tail", _clamped_tail, "the hotel limit", "ends"),
)
# More pieces than any of these texts has characters: it does not end.
ENOUGH: Final = 100

OURS: Final[tuple[Chunker, ...]] = (
    WindowChunker(),
    SectionChunker(),
    BlockChunker(),
)

READER: Final = Context("larkspur", "wei")
# The seam of two windows of 120 runs through the second sentence.
PAGE_TEXT: Final = (
    "Book trains and flights through the travel desk at least ten days"
    " ahead. The hotel limit is 210 GBP a night. Anywhere else, agree a"
    " figure with Finance first, and attach two quotations to the claim."
)


def uses() -> Uses:
    """Return the documents that are cut."""
    return Uses(
        fixture=load_fixture().digest,
        flags={"chunkers": [chunker.fingerprint for chunker in OURS]},
    )


def run(emit: Emit) -> dict[str, Any]:
    """Return what was kept and what was broken; ``Refuted`` otherwise."""
    return {
        "tempting": _tempting(emit),
        "ours": _ours(emit),
        "witness": _witness(emit),
        "rebuild": _rebuild(emit),
    }


def _tempting(emit: Emit) -> list[dict[str, Any]]:
    emit(f"{'tempting chunker':<18} {'text':<36} breaks")
    rows = []
    for name, chunk, body, law in TEMPTING:
        pieces = list(islice(chunk(body), ENOUGH))
        ends = len(pieces) < ENOUGH
        broken = broken_laws(body, pieces) if ends else ["ends"]
        emit(f"{name:<18} {body!r:<36} {', '.join(broken)}")
        if law not in broken:
            raise Refuted(f"{name} breaks the law {law!r}")
        starts = [start for start, _, _ in pieces] if ends else None
        rows.append(
            {"chunker": name, "text": body, "broken": broken, "starts": starts}
        )
    emit("")
    return rows


def _ours(emit: Emit) -> dict[str, Any]:
    documents = load_fixture().documents
    emit(f"{len(documents)} documents of the fixture, cut in code points")
    emit("chunker      chunks  shortest  longest  repeated  laws broken")
    rows = {}
    for chunker in OURS:
        row = {"chunks": 0, "shortest": 10**9, "longest": 0, "repeated": 0}
        broken = 0
        for document in documents:
            projection = project(document.format, document.source)
            chunks = chunker.chunk(projection)
            pieces = [(c.start, c.end, c.text) for c in chunks]
            broken += len(broken_laws(projection.body, pieces))
            reached = 0
            for start, end, _ in pieces:
                row["repeated"] += max(0, reached - start)
                reached = max(reached, end)
            lengths = [end - start for start, end, _ in pieces]
            row["chunks"] += len(chunks)
            row["shortest"] = min([row["shortest"], *lengths])
            row["longest"] = max([row["longest"], *lengths])
        name = chunker.fingerprint.partition("/")[0]
        emit(
            f"{name:<11} {row['chunks']:>7}  {row['shortest']:>8}"
            f"  {row['longest']:>7}  {row['repeated']:>8,}  {broken:>11}"
        )
        if broken:
            raise Refuted(f"{name}: every law holds on every document")
        rows[name] = row
    emit("")
    return rows


def _page(index: Index) -> None:
    index.upsert(
        Document("larkspur", "page", 1, "text", PAGE_TEXT, Policy(("wei",)))
    )


def _witness(emit: Emit) -> dict[str, int]:
    """Ask for a sentence that two overlapping windows hold."""
    sentence = "The hotel limit is 210 GBP a night."
    with Index.open(":memory:", chunker=WindowChunker(120, 50)) as index:
        _page(index)
        hits = index.search("hotel limit", READER).hits
        answer = index.answer(hits, READER)
    emit(f"hits that hold {sentence!r}")
    whole = [hit for hit in hits if sentence in hit.text]
    for hit in whole:
        emit(f"  chunk {hit.number}  [{hit.start}, {hit.end})")
    emit("evidence in the answer")
    for item in answer.evidence:
        emit(f"  [{item.start}, {item.end})")
    emit("")
    if len(whole) != 2 or len(answer.evidence) != 1:
        raise Refuted("two overlapping hits are one piece of evidence")
    return {"hits": len(whole), "evidence": len(answer.evidence)}


def _rebuild(emit: Emit) -> dict[str, Any]:
    """Open one store with another chunker, then rebuild it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        with Index.open(path, chunker=WindowChunker(120, 50)) as index:
            _page(index)
            hit = index.search("hotel limit", READER).hits[0]
        emit("the same store, opened with another chunker")
        try:
            Index.open(path, chunker=SectionChunker()).close()
        except ProjectionChanged as error:
            for line in textwrap.wrap(str(error), 76, break_on_hyphens=False):
                emit(f"  {line}")
        else:
            raise Refuted("an index is never opened with another chunker")
        with Index.open(path) as index:
            rows = [_worth(emit, index, hit, "before the rebuild")]
            index.rebuild(chunker=SectionChunker())
            rows.append(_worth(emit, index, hit, "rebuilt in sections"))
    expected = [("valid", "extractive"), ("valid", "abstain")]
    if [(row["citation"], row["answer"]) for row in rows] != expected:
        raise Refuted("a rebuild keeps citations, and only citations")
    return {"before": rows[0], "after": rows[1]}


def _worth(emit: Emit, index: Index, hit: Hit, when: str) -> dict[str, Any]:
    status = index.status()
    assert isinstance(status, Status)
    row = {
        "chunks": status.chunks,
        "citation": index.check(hit.citation, READER).state,
        "answer": index.answer([hit], READER).state,
    }
    emit(
        f"{when:<20} {row['chunks']} chunks, citation {row['citation']},"
        f" hit in hand: {row['answer']}"
    )
    return row
