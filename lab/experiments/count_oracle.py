"""The oracle in a result count: what a filter after the search tells.

``Postfilter`` searches everything, cuts the page, and then takes away the
rows that the reader may not read; not one of them is ever shown. Beside
the page it says how many matches there were. Bob, who may not read the
board's papers, asks it questions and reads the number.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lab.chunking import WindowChunker
from lab.experiments import Emit, Refuted, Uses
from lab.experiments.leak import BOB, SECRET, readable
from lab.fixture import Fixture, load_fixture, populate
from lab.index import Index
from lab.model import Document
from lab.terms import terms
from lab.text import project

KIND = "core"
PAGE = True
LIMITATIONS = (
    "The engine that filters late is ours, forty lines on FTS5; that a"
    " given product counts before it filters has to be shown on it.",
    "Bob may search for phrases there, as many engines allow. Without"
    " phrases the count still tells single words.",
    "His words are those of documents he may read, and numbers; a hidden"
    " word outside them ends the sentence he recovers.",
)

# Words that would be news to Bob.
WORDS: Final = (
    *("layoffs", "severance", "escrow", "tachograph"),
    *("merger", "strike", "redundancy"),
)
START: Final = "layoffs"
NUMBERS: Final = 1000
PAGE_SIZE: Final = 5
EVERYTHING: Final = 10_000


@dataclass(frozen=True)
class Page:
    """What a search shows: chunks by name, and a total beside them."""

    rows: tuple[tuple[str, int], ...]
    total: int


class Postfilter:
    """Search everything, cut, then filter; count before the filter."""

    def __init__(self, fixture: Fixture) -> None:
        self._fixture = fixture
        self._mine: set[tuple[str, str]] = set()
        self._db = sqlite3.connect(":memory:")
        self._db.execute(
            "CREATE VIRTUAL TABLE chunks USING fts5("
            "terms, tenant UNINDEXED, doc_id UNINDEXED, number UNINDEXED,"
            " tokenize=\"ascii tokenchars '_'\")"
        )

    def write(self, document: Document) -> None:
        """Index a document; note whether Bob may read it."""
        key = (document.tenant, document.doc_id)
        body = project(document.format, document.source)
        self._db.executemany(
            "INSERT INTO chunks VALUES (?, ?, ?, ?)",
            [
                (" ".join(terms(chunk.text)), *key, chunk.number)
                for chunk in WindowChunker().chunk(body)
            ],
        )
        if readable(self._fixture, document):
            self._mine.add(key)

    # region: postfilter
    def search(self, match: str, size: int = PAGE_SIZE) -> Page:
        """Return a page of chunks, none of which Bob may not read."""
        (total,) = self._db.execute(
            "SELECT COUNT(*) FROM chunks WHERE chunks MATCH ?", (match,)
        ).fetchone()
        best = self._db.execute(
            "SELECT tenant, doc_id, number FROM chunks WHERE chunks MATCH ?"
            " ORDER BY bm25(chunks), doc_id, number LIMIT ?",
            (match, size),
        )
        rows = [(d, n) for t, d, n in best if (t, d) in self._mine]
        return Page(tuple(rows), total)

    # endregion


class Lab:
    """The lab's lexical channel, with the number it shows."""

    def __init__(self, fixture: Fixture) -> None:
        self._index = Index.open(":memory:", encoder=None)
        populate(self._index, fixture)

    def search(self, words: str, size: int = PAGE_SIZE) -> Page:
        """Search as Bob; the total is what the lab calls considered."""
        found = self._index.search(
            words, BOB, mode="lexical", rerank=False, limit=size
        )
        return Page(
            tuple((hit.doc_id, hit.number) for hit in found.hits),
            found.considered,
        )


def uses() -> Uses:
    """Return what the attack runs on."""
    return Uses(
        load_fixture().digest,
        None,
        WindowChunker().fingerprint,
        {"page_size": PAGE_SIZE},
    )


def run(emit: Emit) -> dict[str, Any]:
    """Ask both engines the same; return what their numbers told."""
    fixture = load_fixture()
    late, lab = Postfilter(fixture), Lab(fixture)
    for document in fixture.documents:
        late.write(document)
    claims = {
        "words": _words(late, lab, emit),
        "sentence": _sentence(fixture, late, emit),
        "pages": _pages(fixture, late, lab, emit),
    }
    _judge(claims)
    return claims


def _words(late: Postfilter, lab: Lab, emit: Emit) -> list[dict[str, Any]]:
    emit("1. One word: rows shown to Bob, and the total beside them")
    emit("                 filter after        the lab")
    emit("   word         shown   total    shown   total")
    told = []
    for word in WORDS:
        after, before = late.search(any_of([word])), lab.search(word)
        row = {
            "word": word,
            "late": {"shown": len(after.rows), "total": after.total},
            "lab": {"shown": len(before.rows), "total": before.total},
        }
        emit(
            f"   {word:<12}{len(after.rows):>6}{after.total:>8}"
            f"{len(before.rows):>9}{before.total:>8}"
        )
        told.append(row)
    return told


def _sentence(fixture: Fixture, late: Postfilter, emit: Emit) -> dict[str, Any]:
    emit("")
    emit(f"2. From {START!r} on, by the total of phrases alone")
    oracle = Oracle(late)
    found = grow(oracle, vocabulary(fixture), (START,))
    said = " ".join(found)
    lines = wrap(said, 70)
    for line in lines:
        emit(f"   {line}")
    paper = fixture.document(BOB.tenant, SECRET)
    hidden = " ".join(terms(project(paper.format, paper.source).body))
    emit(
        f"   {len(found)} words, {oracle.asked} searches,"
        f" {oracle.shown} rows of {SECRET}"
    )
    return {
        "words": len(found),
        "text": said,
        "searches": oracle.asked,
        "rows_shown": oracle.shown,
        "in_the_paper": said in hidden,
        "vocabulary": len(vocabulary(fixture)),
    }


def _pages(
    fixture: Fixture, late: Postfilter, lab: Lab, emit: Emit
) -> dict[str, Any]:
    emit("")
    emit(f"3. The labelled questions as Bob, pages of {PAGE_SIZE} rows")
    asked = short = empty = 0
    lab_short = 0
    for question in dict.fromkeys(query.query for query in fixture.queries):
        words = list(dict.fromkeys(terms(question)))
        if not words:
            continue
        asked += 1
        match = any_of(words)
        mine = len(late.search(match, EVERYTHING).rows)
        due = min(PAGE_SIZE, mine)
        page = late.search(match)
        short += len(page.rows) < due
        empty += bool(due) and not page.rows
        lab_short += len(lab.search(question).rows) < due
    emit(f"   filter after   {short} of {asked} pages short, {empty} empty")
    emit(f"   the lab        {lab_short} of {asked} pages short")
    return {"asked": asked, "short": short, "empty": empty, "lab": lab_short}


def any_of(words: Iterable[str]) -> str:
    """Return an FTS5 expression for chunks with any of the terms."""
    return " OR ".join(f'"{word}"' for word in words)


class Oracle:
    """Does any chunk out of sight hold one of these phrases?

    Counts the questions, and the rows of the board's paper that were
    shown, of which there must be none.
    """

    def __init__(self, engine: Postfilter) -> None:
        self._engine = engine
        self.asked = 0
        self.shown = 0

    def __call__(self, phrases: Sequence[Sequence[str]]) -> bool:
        """Ask once; more matches than rows means that one is hidden."""
        page = self._engine.search(
            any_of(" ".join(words) for words in phrases), EVERYTHING
        )
        self.asked += 1
        self.shown += sum(doc_id == SECRET for doc_id, _ in page.rows)
        return page.total > len(page.rows)


# region: grow
def grow(
    hidden: Callable[[Sequence[Sequence[str]]], bool],
    words: Sequence[str],
    known: tuple[str, ...],
) -> tuple[str, ...]:
    """Lengthen a hidden phrase word by word, forwards, then backwards.

    One question tries half of the vocabulary at once, so each further
    word costs about as many questions as the vocabulary's size has
    binary digits.
    """
    for forwards in (True, False):
        while True:
            longer = [
                (*known, word) if forwards else (word, *known) for word in words
            ]
            if not hidden(longer):
                break
            while len(longer) > 1:
                half = len(longer) // 2
                first, second = longer[:half], longer[half:]
                longer = first if hidden(first) else second
            known = longer[0]
    return known


# endregion


def vocabulary(fixture: Fixture) -> list[str]:
    """Return the words Bob may try: those he can read, and numbers."""
    words = {str(number) for number in range(NUMBERS)}
    for document in fixture.documents:
        if readable(fixture, document):
            body = project(document.format, document.source).body
            words |= set(terms(body))
    return sorted(words)


def wrap(text: str, width: int) -> list[str]:
    """Return a text in lines of at most ``width``, cut at spaces."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if len(longer) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def _judge(claims: Mapping[str, Any]) -> None:
    """Raise ``Refuted`` where an engine behaves other than we say."""
    if any(w["lab"]["shown"] != w["lab"]["total"] for w in claims["words"]):
        raise Refuted("the lab's total counts what may be read")
    sentence = claims["sentence"]
    if not sentence["in_the_paper"] or sentence["words"] < 2:
        raise Refuted("the count of a late filter reads the paper aloud")
    if sentence["rows_shown"]:
        raise Refuted("and shows no row of it")
    if claims["pages"]["lab"]:
        raise Refuted("the lab's page is full while readable chunks match")
