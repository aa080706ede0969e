"""The leak in the score: what a right filter over wrong statistics tells.

Two engines hold the same chunks with the same terms and apply the same
access rules. ``Naive`` takes SQLite's own ``bm25()``, whose statistics are
of every row in the table; the lab takes its statistics from what the
reader may read. Bob attacks both with nothing but what he may do: write
notes of his own, search, and look at his own results.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from lab import exact
from lab.chunking import WindowChunker
from lab.encoders.counts import TermCounts
from lab.evaluation.access import may_read
from lab.experiments import Emit, Refuted, Uses
from lab.fixture import Fixture, load_fixture, populate
from lab.index import Index
from lab.model import MODES, Context, Document, Policy
from lab.terms import terms
from lab.text import project

KIND = "core"
PAGE = True
LIMITATIONS = (
    "The attack is on bm25() of SQLite's FTS5. That another engine leaks in"
    " the same way has to be shown on that engine.",
    "Bob may write notes and sees scores or order. What a writer can learn"
    " is outside the promise; here even his own notes' scores stay silent.",
    "Equal bytes are tested on this fixture's questions, not proved; timing"
    " is not looked at.",
)

BOB: Final = Context("larkspur", "bob")
SECRET: Final = "board-paper-q3"

# Words that would be news to Bob, wherever they stood.
WORDS: Final = tuple(
    "layoffs severance redundancy merger takeover escrow patent audit"
    " dismissal union strike fraud whistleblowing tachograph".split()
)
# Nonsense words, the k-th to be written in exactly k of Bob's notes.
RUNGS: Final = tuple(f"zq{k}" for k in range(1, 9))
LADDER: Final = "bob-words"
SERIES: Final = 24

# Scores are shown and compared in billionths.
SHOWN: Final = 10**9


@dataclass(frozen=True)
class Seen:
    """One row that a search shows: where, and its score in billionths."""

    doc_id: str
    number: int
    score: int


class Engine(Protocol):
    """What the attack may do to an engine, always as Bob."""

    name: str

    def write(self, document: Document) -> None:
        """Store a document with its policy."""
        ...

    def search(self, words: str) -> list[Seen]:
        """Return the rows that Bob may read, best first."""
        ...


class Naive:
    """A filter that is right, over statistics that are not."""

    name = "bm25() under a filter"

    def __init__(self, fixture: Fixture) -> None:
        self._fixture = fixture
        self._chunker = WindowChunker()
        self._db = sqlite3.connect(":memory:")
        self._db.execute(
            "CREATE VIRTUAL TABLE chunks USING fts5("
            "terms, tenant UNINDEXED, doc_id UNINDEXED, number UNINDEXED,"
            " tokenize=\"ascii tokenchars '_'\")"
        )
        self._db.execute("CREATE TABLE readable(tenant, doc_id)")

    def write(self, document: Document) -> None:
        """Index a document's chunks; note whether Bob may read it."""
        key = (document.tenant, document.doc_id)
        chunks = self._chunker.chunk(project(document.format, document.source))
        self._db.executemany(
            "INSERT INTO chunks VALUES (?, ?, ?, ?)",
            [(" ".join(terms(c.text)), *key, c.number) for c in chunks],
        )
        if readable(self._fixture, document):
            self._db.execute("INSERT INTO readable VALUES (?, ?)", key)

    def search(self, words: str) -> list[Seen]:
        """Search as Bob: not one row comes out that he may not read."""
        rows = self._db.execute(
            "SELECT doc_id, number, -bm25(chunks) AS score FROM chunks"
            " WHERE chunks MATCH ? AND (tenant, doc_id) IN readable"
            " ORDER BY score DESC, doc_id, number",
            (" OR ".join(f'"{term}"' for term in terms(words)),),
        )
        return [Seen(d, n, round(score * SHOWN)) for d, n, score in rows]


class Lab:
    """The lab's lexical channel, asked the same way."""

    name = "the lab"

    def __init__(self, fixture: Fixture) -> None:
        self.index = Index.open(":memory:")
        # The directory only; documents come one by one.
        populate(
            self.index,
            Fixture(
                fixture.digest,
                fixture.as_of,
                (),
                fixture.principals,
                fixture.groups,
                (),
            ),
        )

    def write(self, document: Document) -> None:
        """Index a document."""
        self.index.upsert(document)

    def search(self, words: str) -> list[Seen]:
        """Search as Bob."""
        results = self.index.search(
            words, BOB, mode="lexical", rerank=False, limit=100
        )
        return [
            Seen(
                hit.doc_id,
                hit.number,
                exact.ratio(hit.channels["lexical"].score * SHOWN, exact.UNIT),
            )
            for hit in results.hits
        ]

    def bytes(self, words: str, mode: str) -> str:
        """Return all that Bob is shown for a search."""
        return self.index.search(words, BOB, mode=mode, limit=100).to_json()


def uses() -> Uses:
    """Return what the attack runs on."""
    return Uses(
        load_fixture().digest,
        TermCounts().fingerprint,
        WindowChunker().fingerprint,
        {"sqlite_bm25": "k1 1.2, b 0.75, idf of the whole table"},
    )


def run(emit: Emit) -> dict[str, Any]:
    """Attack both engines in three ways; return what each gave away."""
    fixture = load_fixture()
    mine = sum(readable(fixture, d) for d in fixture.documents)
    emit(f"{len(fixture.documents)} documents of two companies in one table,")
    emit(
        f"of which Larkspur's Bob may read {mine}. He writes notes of his own,"
    )
    emit("searches, and looks at his own results.")
    claims: dict[str, Any] = {
        "documents": len(fixture.documents),
        "readable": mine,
        "words": _words(fixture, emit),
        "order": _order(fixture, emit),
        "series": _series(fixture, emit),
        "views": _views(fixture, emit),
    }
    _judge(claims)
    return claims


def _words(fixture: Fixture, emit: Emit) -> dict[str, Any]:
    emit("")
    emit("1. Which words stand where Bob may not look, and in how many chunks?")
    truth = hidden(fixture)
    guessed = {}
    for key, engine in both(fixture):
        for document in fixture.documents:
            engine.write(document)
        guessed[key] = words(engine)
    emit("   word             bm25()  hidden    the lab  hidden    in truth")
    for word in WORDS:
        naive, lab = guessed["naive"][word], guessed["lab"][word]
        emit(
            f"   {word:<14}{naive.score / SHOWN:>9.6f}{naive.hidden:>8}"
            f"{lab.score / SHOWN:>11.6f}{lab.hidden:>8}{truth[word]:>12}"
        )
    return {
        key: {
            "guesses": {
                word: {
                    "score": guess.score,
                    "chunks": guess.chunks,
                    "hidden": guess.hidden,
                    "truth": truth[word],
                }
                for word, guess in guesses.items()
            },
            "tried": len(guesses),
            "hidden_words": sum(count > 0 for count in truth.values()),
            "found": sum(guess.hidden > 0 for guess in guesses.values()),
            "right": sum(g.hidden == truth[w] for w, g in guesses.items()),
        }
        for key, guesses in guessed.items()
    }


def _order(fixture: Fixture, emit: Emit) -> dict[str, Any]:
    emit("")
    emit(f"2. Two notes in Bob's sight, before and after {SECRET} is filed")
    seen = {}
    for key, engine in both(fixture):
        before, after = order(engine, fixture)
        seen[key] = {"before": before, "after": after}
        emit(
            f"   {engine.name:<22} {', '.join(before)}  ->  {', '.join(after)}"
        )
    return seen


def _series(fixture: Fixture, emit: Emit) -> list[dict[str, int]]:
    rows = series(fixture)
    emit("")
    emit("3. The score of Bob's note, as hidden documents with its word come")
    emit("   hidden      bm25()     the lab")
    for row in rows[::4]:
        emit(
            f"   {row['hidden']:>6}  {row['naive'] / SHOWN:>10.6f}"
            f"  {row['lab'] / SHOWN:>10.6f}"
        )
    return rows


def _views(fixture: Fixture, emit: Emit) -> dict[str, Any]:
    emit("")
    emit("4. With everything, and with only what Bob may read: do they differ?")
    seen = {}
    for key, compare in (("naive", naive_views), ("lab", lab_views)):
        searches, different = compare(fixture)
        seen[key] = {"searches": searches, "different": different}
        name = Naive.name if key == "naive" else Lab.name
        emit(f"   {name:<22} {different} of {searches} searches")
    return seen


def both(fixture: Fixture) -> list[tuple[str, Engine]]:
    """Return both engines, empty."""
    return [("naive", Naive(fixture)), ("lab", Lab(fixture))]


def readable(fixture: Fixture, document: Document) -> bool:
    """Return whether Bob may read a document of the fixture or a note."""
    if document.origin == "note":
        assert document.policy is not None
        return document.policy.readers == (BOB.principal,)
    return document.tenant == BOB.tenant and may_read(
        fixture, BOB, document.doc_id
    )


def note(doc_id: str, words: Iterable[str], reader: str = "bob") -> Document:
    """Return a small document that only ``reader`` may read."""
    return Document(
        BOB.tenant,
        doc_id,
        1,
        "text",
        " ".join(words),
        Policy((reader,)),
        origin="note",
    )


@dataclass(frozen=True)
class Guess:
    """What a score gave away: of ``chunks`` with a word, ``hidden`` are."""

    score: int
    chunks: int
    hidden: int


def words(engine: Engine) -> dict[str, Guess]:
    """Guess for each word in how many hidden chunks it stands.

    One note holds every word once, and every nonsense word once. Within
    one chunk, equal document frequency means equal score, so a word that
    scores like the k-th nonsense word stands in k chunks; those that the
    search shows are taken off.
    """
    engine.write(note(LADDER, (*WORDS, *RUNGS)))
    for k in range(1, len(RUNGS)):
        engine.write(note(f"bob-rung-{k}", RUNGS[k:]))
    rungs = {_mine(engine.search(rung)): k for k, rung in enumerate(RUNGS, 1)}
    guessed = {}
    for word in WORDS:
        rows = engine.search(word)
        score = _mine(rows)
        if score not in rungs:
            raise Refuted(f"{word} stands in at most {len(RUNGS)} chunks")
        guessed[word] = Guess(score, rungs[score], rungs[score] - len(rows))
    return guessed


def _mine(rows: Sequence[Seen]) -> int:
    """Return the score of the note that holds every word."""
    scores = [row.score for row in rows if row.doc_id == LADDER]
    if len(scores) != 1:
        raise Refuted("the note is one chunk, and is found")
    return scores[0]


def hidden(fixture: Fixture) -> Mapping[str, int]:
    """Return the truth: chunks that hold a word where Bob may not look."""
    counts = dict.fromkeys(WORDS, 0)
    for document in fixture.documents:
        if readable(fixture, document):
            continue
        projection = project(document.format, document.source)
        for chunk in WindowChunker().chunk(projection):
            for word in set(WORDS) & set(terms(chunk.text)):
                counts[word] += 1
    return counts


def order(engine: Engine, fixture: Fixture) -> tuple[list[str], list[str]]:
    """Return the order of two notes before and after a paper is filed.

    Bob needs no score for this. He writes a nonsense word into one note
    more than there are chunks with *layoffs* in his sight, so that
    *layoffs* weighs more, but not if one hidden chunk holds it too: then
    both weigh the same, and the shorter note wins.
    """
    paper = fixture.document(BOB.tenant, SECRET)
    for document in fixture.documents:
        if document is not paper:
            engine.write(document)
    engine.write(note("note-a", (WORDS[0], *"x" * 40)))
    in_sight = len(engine.search(WORDS[0]))
    engine.write(note("note-b", ("zq", *"x" * 39)))
    for k in range(in_sight):
        engine.write(note(f"note-c{k}", ("zq", *"x" * 60)))

    def look() -> list[str]:
        rows = engine.search(f"{WORDS[0]} zq")
        names = ("note-a", "note-b")
        return [row.doc_id for row in rows if row.doc_id in names]

    before = look()
    engine.write(paper)
    return before, look()


def series(fixture: Fixture) -> list[dict[str, int]]:
    """Return the score of one visible note as hidden ones are added.

    In billionths, for 0 to 24 documents that only Dana may read.
    """
    rows: list[dict[str, int]] = [{"hidden": n} for n in range(SERIES + 1)]
    for key, engine in both(fixture):
        for document in fixture.documents:
            if readable(fixture, document):
                engine.write(document)
        engine.write(note(LADDER, WORDS))
        for n, row in enumerate(rows):
            if n:
                engine.write(note(f"dana-{n}", WORDS[:1], reader="dana"))
            row[key] = _mine(engine.search(WORDS[0]))
    return rows


def naive_views(fixture: Fixture) -> tuple[int, int]:
    """Return searches, and how many change when the rest is taken away.

    Rows, their order or their scores, in billionths.
    """
    whole, view = Naive(fixture), Naive(fixture)
    _fill(fixture, whole, view)
    asked = [query for query in _asked(fixture) if terms(query)]
    return len(asked), sum(
        whole.search(query) != view.search(query) for query in asked
    )


def lab_views(fixture: Fixture) -> tuple[int, int]:
    """Return searches, and how many differ in any byte; every mode."""
    whole, view = Lab(fixture), Lab(fixture)
    _fill(fixture, whole, view)
    asked = [(query, mode) for query in _asked(fixture) for mode in MODES]
    return len(asked), sum(
        whole.bytes(query, mode) != view.bytes(query, mode)
        for query, mode in asked
    )


def _fill(fixture: Fixture, whole: Engine, view: Engine) -> None:
    for document in (*fixture.documents, note(LADDER, (*WORDS, *RUNGS))):
        whole.write(document)
        if readable(fixture, document):
            view.write(document)


def _asked(fixture: Fixture) -> list[str]:
    questions = (query.query for query in fixture.queries)
    return [*dict.fromkeys(questions), *WORDS]


def _judge(claims: Mapping[str, Any]) -> None:
    """Raise ``Refuted`` where an engine behaves other than we say."""
    naive, lab = claims["words"]["naive"], claims["words"]["lab"]
    if naive["right"] != naive["tried"] or not naive["hidden_words"]:
        raise Refuted("bm25() gives every hidden word away")
    if lab["found"]:
        raise Refuted("the lab gives no hidden word away")
    swapped = claims["order"]["naive"]
    if swapped["before"] != swapped["after"][::-1]:
        raise Refuted("a hidden document swaps two visible hits of bm25()")
    if claims["order"]["lab"]["before"] != claims["order"]["lab"]["after"]:
        raise Refuted("a hidden document swaps nothing on the lab")
    if len({row["lab"] for row in claims["series"]}) != 1:
        raise Refuted("hidden documents move no score on the lab")
    if claims["views"]["lab"]["different"]:
        raise Refuted("equal views give equal bytes")
