"""Faults that real systems shipped, each with the right value.

Every test is named after the kind of fault. Kinds whose right value stands
in the test file of their own room (terms, Markdown, chunks, measures,
sentences, screening) are not repeated here.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lab import canonical
from lab.encoders.counts import TermCounts
from lab.encoders.hashing import SignedHashing
from lab.errors import (
    Deleted,
    InvalidInput,
    NotFound,
    ProjectionChanged,
    StaleRevision,
    StoreUnavailable,
)
from lab.index import Index, Status
from lab.model import Context, Policy
from tests.lab.conftest import Opener
from tests.lab.support import (
    ALICE,
    BOB,
    OUTSIDER,
    changed,
    contract,
    document,
    everything,
    found,
    see,
)

MODES = ("lexical", "vector", "hybrid")


def put(index: Index, doc_id: str, text: str, revision: int = 1) -> None:
    """Store a plain text that alice may read."""
    index.upsert(
        document(doc_id, text, revision=revision, format="text"),
        restore=True,
    )


def rows(path: Path, statement: str) -> list[Any]:
    """Ask the file behind the library's back."""
    raw = sqlite3.connect(path)
    try:
        return raw.execute(statement).fetchall()
    finally:
        raw.close()


# --- deleted, still retrieved ---------------------------------------------


@contract("C-33")
@pytest.mark.parametrize("encoder", [TermCounts(), SignedHashing(64), None])
def test_deleted_clearing_everything_leaves_nothing_to_find(
    open_index: Opener, encoder: Any
) -> None:
    index = open_index(encoder=encoder)
    for n in range(3):
        put(index, f"d{n}", f"zebra quota {n}")
    hits = index.search("zebra", ALICE, limit=10).hits
    assert len(hits) == 3
    for n in range(3):
        index.delete("larkspur", f"d{n}", 2)
    for mode in MODES if encoder else ("lexical", "hybrid"):
        # The very text of a deleted chunk is its own nearest vector.
        results = index.search("zebra quota 1", ALICE, mode=mode)
        assert (results.hits, results.considered) == ((), 0)
    for hit in hits:
        with pytest.raises(NotFound):
            index.read(hit.doc_id, ALICE)
        assert index.check(hit.citation, ALICE).state == "unavailable"
    assert index.answer(hits, ALICE).state == "abstain"
    state = index.status()
    assert isinstance(state, Status)
    assert (state.documents, state.tombstones, state.chunks) == (0, 3, 0)


@contract("C-33")
def test_deleted_twin_does_not_answer_for_the_one_that_stays(
    index: Index,
) -> None:
    shared = "The hotel limit in the United Kingdom is 180 pounds a night."
    put(index, "d1", shared + " Old.")
    put(index, "d2", shared + " New.")
    index.delete("larkspur", "d1", 2)
    for mode in MODES:
        results = index.search("hotel limit old new", ALICE, mode=mode)
        assert {hit.doc_id for hit in results.hits} == {"d2"}


@contract("C-33")
@pytest.mark.parametrize("mode", MODES)
def test_deleted_hit_leaves_its_place_to_the_next_best(
    index: Index, mode: str
) -> None:
    for n in range(5):
        put(index, f"d{n}", "zebra " + "filler " * n)
    first = index.search("zebra", ALICE, mode=mode, limit=3)
    assert found(first) == ["d0", "d1", "d2"]
    index.delete("larkspur", "d1", 2)
    second = index.search("zebra", ALICE, mode=mode, limit=3)
    assert found(second) == ["d0", "d2", "d3"]


@contract("C-33")
def test_deleted_means_every_revision_and_every_row(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Index.open(path, encoder=SignedHashing(16)) as index:
        put(index, "d1", "zebra one " * 60)
        put(index, "d1", "zebra two " * 60, revision=2)
        index.delete("larkspur", "d1", 3)
        assert see(index, "zebra one two", ALICE) == []
    for table in ("chunks", "vectors", "features", "lexical", "readers"):
        assert rows(path, f"SELECT COUNT(*) FROM {table}") == [(0,)], table
    assert rows(path, "SELECT COUNT(*) FROM lexical_terms") == [(0,)]
    assert rows(path, "SELECT title, body, sha256, origin FROM documents") == [
        ("", "", "", None)
    ]


@contract("C-29", "C-33")
def test_deleted_only_source_of_an_answer_means_abstention(
    index: Index,
) -> None:
    put(index, "d1", "The warranty of the balance lasts four years.")
    put(index, "d2", "Lunch is at noon.")
    hits = index.search("warranty years", ALICE, mode="lexical").hits
    assert index.answer(hits, ALICE).evidence[0].doc_id == "d1"
    index.delete("larkspur", "d1", 2)
    again = index.search("warranty years", ALICE, mode="lexical")
    assert index.answer(again.hits, ALICE).state == "abstain"
    assert index.answer(hits, ALICE).state == "abstain"


# --- resurrection ---------------------------------------------------------


@contract("C-30", "C-33")
def test_resurrection_by_a_late_copy_of_a_restore_is_refused(
    index: Index,
) -> None:
    put(index, "d1", "zebra")
    index.delete("larkspur", "d1", 2)
    put(index, "d1", "zebra again", revision=3)
    index.delete("larkspur", "d1", 4)
    for revision in (1, 3, 4):
        with pytest.raises(StaleRevision):
            put(index, "d1", "zebra again", revision=revision)
    with pytest.raises(Deleted):
        index.upsert(document("d1", "zebra", revision=5))
    assert see(index, "zebra", ALICE) == []


@contract("C-35", "C-37")
def test_resurrection_needs_a_higher_revision_even_after_a_purge(
    index: Index,
) -> None:
    index.delete("larkspur", "d1", 9)
    index.purge()
    for revision in (3, 9):
        with pytest.raises(StaleRevision):
            put(index, "d1", "zebra", revision=revision)
    put(index, "d1", "zebra", revision=10)
    assert see(index, "zebra", ALICE) == ["d1"]


@contract("C-35")
def test_resurrection_does_not_bring_old_readers_back(index: Index) -> None:
    index.upsert(document(readers=("alice", "group:staff", "*")))
    index.delete("larkspur", "travel-policy", 2)
    index.upsert(document(revision=3, readers=("bob",)), restore=True)
    assert see(index, "hotel", ALICE) == []
    assert see(index, "hotel", BOB) == ["travel-policy"]


# --- permissions, stale or lost -------------------------------------------


@contract("C-17", "C-18")
def test_permission_once_revoked_leaves_no_trace_in_any_output(
    index: Index,
) -> None:
    index.upsert(
        document(
            "secret",
            "# Heron\n\nzebra heron",
            readers=("bob",),
            origin="heron/term-sheet.md",
        )
    )
    index.upsert(document("open", "# Plan\n\nzebra plan", readers=("bob",)))
    before = everything(index, "zebra", BOB)
    assert "eron" in before
    index.set_policy("larkspur", "secret", Policy(("alice",)), 1)
    after = everything(index, "zebra", BOB)
    assert "eron" not in after
    results = index.search("zebra", BOB)
    assert results.considered == 1
    assert results.hits[0].channels["lexical"].terms[0].df == 1


@contract("C-08")
def test_permission_from_another_tenants_group_of_that_name_is_none(
    index: Index,
) -> None:
    index.directory.set_group("quayside", "ops", ["bob"])
    index.directory.set_group("larkspur", "ops", [])
    index.upsert(document(readers=("group:ops",)))
    assert see(index, "hotel", BOB) == []
    assert see(index, "hotel", OUTSIDER) == []


@contract("C-08", "C-12")
def test_permission_from_another_tenants_clearance_or_barrier_is_none(
    index: Index,
) -> None:
    index.directory.set("quayside", "bob", "restricted", ["heron"])
    index.upsert(document("a", readers=("bob",), classification="restricted"))
    index.upsert(document("b", readers=("bob",), barrier="heron"))
    assert see(index, "hotel", BOB) == []


# --- across tenants -------------------------------------------------------


@contract("C-27", "C-47")
def test_tenant_a_hit_naming_anothers_document_is_as_good_as_none(
    index: Index,
) -> None:
    index.upsert(document("secret", readers=("alice",)))
    index.upsert(document("mine", readers=("bob",)))
    theirs = index.search("hotel", ALICE).hits[0].to_data()
    claim = changed(theirs, principal="bob")
    missing = changed(claim, doc_id="never")
    assert (
        index.answer([claim], BOB).to_json()
        == index.answer([missing], BOB).to_json()
    )
    citation = theirs["citation"]
    unknown = citation.replace("secret", "never1")
    one = index.check(citation, BOB).to_json().replace(citation, "C")
    two = index.check(unknown, BOB).to_json().replace(unknown, "C")
    assert one == two


@contract("C-13")
def test_side_channel_a_hundred_thousand_foreign_terms_move_no_score(
    index: Index,
) -> None:
    put(index, "a", "zebra quota")
    put(index, "b", "zebra")
    before = everything(index, "zebra quota", ALICE)
    index.upsert(
        document(
            "big",
            "zebra " * 100_000,
            tenant="quayside",
            readers=("*",),
            format="text",
        )
    )
    assert everything(index, "zebra quota", ALICE) == before


# --- stale or duplicate chunks --------------------------------------------


@contract("C-31", "C-38")
@pytest.mark.parametrize("encoder", [TermCounts(), SignedHashing(64)])
def test_stale_vectors_are_told_by_the_digest_they_carry(
    tmp_path: Path, encoder: Any
) -> None:
    path = tmp_path / "store.db"
    with Index.open(path, encoder=encoder) as index:
        text = "\n\n".join(f"paragraph {n} about hotels" for n in range(40))
        put(index, "d1", text)
        put(index, "d1", text.replace("20 about", "20 below"), revision=2)
    stored = rows(
        path,
        "SELECT c.text, v.sha256 FROM chunks c"
        " LEFT JOIN vectors v ON v.chunk = c.id",
    )
    assert len(stored) > 3
    for chunk, digest in stored:
        assert digest == hashlib.sha256(chunk.encode()).hexdigest()


@contract("C-30")
def test_stale_chunks_never_multiply_however_often_a_file_is_sent(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"
    with Index.open(path) as index:
        text = "\n\n".join(f"paragraph {n} about hotels" for n in range(40))
        put(index, "d1", text)
        before = everything(index, "hotels", ALICE)
        count = rows(path, "SELECT COUNT(*), MAX(id) FROM chunks")
        for _ in range(3):
            put(index, "d1", text)
        assert rows(path, "SELECT COUNT(*), MAX(id) FROM chunks") == count
        assert everything(index, "hotels", ALICE) == before


@contract("C-30")
def test_stale_chunks_nothing_changed_is_nothing_written(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"
    with Index.open(path) as index:
        put(index, "d1", "zebra")
        index.delete("larkspur", "d2", 1)
        watcher = sqlite3.connect(path)
        version = "PRAGMA data_version"
        before = watcher.execute(version).fetchone()
        put(index, "d1", "zebra")
        index.delete("larkspur", "d2", 1)
        # SQLite changes it for a watcher when anybody else commits a write.
        assert watcher.execute(version).fetchone() == before
        put(index, "d1", "zebra two", revision=2)
        assert watcher.execute(version).fetchone() != before
        watcher.close()


@contract("C-30")
def test_stale_rows_repaired_keep_the_time_and_origin_they_had(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"
    with Index.open(path) as index:
        index.upsert(document(updated_at=100, origin="a.md"))
        before = everything(index, "hotel", ALICE)
        raw = sqlite3.connect(path)
        raw.execute("DELETE FROM vectors")
        raw.commit()
        raw.close()
        sent = document(updated_at=999, origin="b.md")
        assert index.upsert(sent).state == "indexed"
        assert index.verify() == []
        assert everything(index, "hotel", ALICE) == before


@contract("C-31")
def test_stale_half_a_document_is_never_served(open_index: Opener) -> None:
    class Tired(TermCounts):
        """Breaks in the middle of a batch, as services do."""

        def encode(
            self, texts: Sequence[str], *, query: bool = False
        ) -> list[dict[str, int]]:
            made = []
            for text in texts:
                if "poison" in text:
                    raise ConnectionError("service unavailable")
                made += super().encode([text], query=query)
            return made

    index = open_index(encoder=Tired())
    old = "\n\n".join(f"old paragraph {n}" for n in range(40))
    put(index, "d1", old)
    before = everything(index, "paragraph", ALICE)
    new = "\n\n".join(f"new paragraph {n}" for n in range(40)) + " poison"
    with pytest.raises(Exception, match="service unavailable"):
        put(index, "d1", new, revision=2)
    assert everything(index, "paragraph", ALICE) == before


# --- offsets --------------------------------------------------------------


@contract("C-03")
@pytest.mark.parametrize(
    ("text", "word", "start"),
    [
        # Two code points of emoji, then " quota is ", then the figure.
        ("\U0001f44d\U0001f3fd quota is 5", "5", 12),
        ("İ" * 3 + " TARGET", "TARGET", 4),
        ("e\u0301 quota", "quota", 2),
        ("\ufeffa\r\nquota", "quota", 2),
        ("ﷺ quota", "quota", 2),
    ],
)
def test_offsets_of_a_citation_count_code_points_of_the_stored_body(
    index: Index, text: str, word: str, start: int
) -> None:
    put(index, "d1", text)
    body = index.read("d1", ALICE).body
    end = start + len(word)
    assert body[start:end] == word
    digest = hashlib.sha256(word.encode()).hexdigest()[:16]
    citation = f"ks1:larkspur/d1@1[{start},{end})#{digest}"
    assert index.check(citation, ALICE).quote == word


@contract("C-03")
def test_offsets_of_repeated_text_are_each_their_own(index: Index) -> None:
    put(index, "d1", "chunk chunk " * 90)
    body = index.read("d1", ALICE).body
    hits = index.search("chunk", ALICE, limit=100).hits
    starts = sorted(hit.start for hit in hits)
    assert len(starts) == len(set(starts)) > 3
    assert all(body[h.start : h.end] == h.text for h in hits)


# --- query syntax ---------------------------------------------------------


@contract("C-14")
def test_query_syntax_an_error_below_surfaces_and_is_no_empty_result(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"
    with Index.open(path) as index:
        put(index, "d1", "zebra")
        raw = sqlite3.connect(path)
        raw.execute("DROP TABLE lexical_terms")
        raw.commit()
        raw.close()
        with pytest.raises(StoreUnavailable, match="lexical_terms"):
            index.search("zebra", ALICE)


@contract("C-14")
@pytest.mark.parametrize("query", ["a", "ą"])
def test_query_syntax_an_accent_is_not_folded_away(
    index: Index, query: str
) -> None:
    put(index, "plain", "a")
    put(index, "accent", "a\u0328")
    expected = {"a": ["plain"], "ą": ["accent"]}[query]
    assert found(index.search(query, ALICE)) == expected


# --- ranking --------------------------------------------------------------


@contract("C-20")
def test_ranking_a_term_in_half_of_the_documents_counts(index: Index) -> None:
    for doc_id, text in {"a": "pink", "b": "pink", "c": "x", "d": "x"}.items():
        put(index, doc_id, text)
    (one, two) = index.search("pink", ALICE, mode="lexical").hits
    # idf = ln(1 + 2.5 / 2.5) = ln 2; tf part = 2.5 / 2.5 at mean length.
    assert one.channels["lexical"].score == round(0.6931471805599453 * 2**40)
    assert one.channels["lexical"].score == two.channels["lexical"].score


@contract("C-21", "C-24")
def test_ranking_fuses_first_and_cuts_afterwards(open_index: Opener) -> None:
    class Backwards:
        """A dense channel that likes what the lexical one dislikes."""

        fingerprint = "backwards/1"
        dims = 2
        minimum_score = 0.1

        def spec(self) -> dict[str, object]:
            return {"kind": "backwards"}

        def encode(
            self, texts: Sequence[str], *, query: bool = False
        ) -> list[list[float]]:
            if query:
                return [[1.0, 0.0] for _ in texts]
            near = {"y": [1.0, 0.0], "c": [0.8, 0.6]}
            return [near.get(text[0], [0.0, 1.0]) for text in texts]

    index = open_index(encoder=Backwards())
    # Lexical order a, d, y (ever longer); vector order y, c.
    put(index, "a", "zebra")
    put(index, "d", "zebra filler")
    put(index, "y", "y zebra filler filler filler")
    put(index, "c", "c other words")
    for limit, expected in ((1, ["y"]), (2, ["y", "a"]), (9, list("yacd"))):
        results = index.search("zebra", ALICE, limit=limit, rerank=False)
        # y: 1/63 + 1/61; a: 1/61; c and d: 1/62, in the order of their ids.
        assert found(results) == expected
        assert results.considered == 4
        assert all(hit.fused > 0 for hit in results.hits)


@contract("C-22")
def test_ranking_by_an_undecided_reranker_is_still_one_order(
    open_index: Opener,
) -> None:
    from lab.rerank import Fused, Ranked

    class Undecided:
        name = "undecided"

        def rank(
            self, query: str, terms: Sequence[str], items: Sequence[Fused]
        ) -> list[Ranked]:
            return [Ranked(item, (0,), {}) for item in reversed(items)]

    orders = set()
    for turn in range(20):
        index = open_index()
        for n in range(7):
            put(index, f"d{(n * 3 + turn) % 7}", "same words")
        results = index.search("same", ALICE, limit=7, rerank=Undecided())
        orders.add(tuple(found(results)))
    assert orders == {("d0", "d1", "d2", "d3", "d4", "d5", "d6")}


@pytest.mark.parametrize("wrong", [None, 1, 0, "no", object()])
def test_ranking_by_something_that_is_no_reranker_is_refused(
    index: Index, wrong: Any
) -> None:
    put(index, "a", "zebra")
    with pytest.raises(InvalidInput, match="rerank"):
        index.search("zebra", ALICE, rerank=wrong)


# --- embeddings -----------------------------------------------------------


class Renamed(SignedHashing):
    """Another model with the same number of dimensions."""

    @property
    def fingerprint(self) -> str:
        return "model-b/1"

    def _row(self, text: str) -> Any:
        return super()._row(text[::-1])


@contract("C-06")
def test_embeddings_of_two_models_of_one_size_are_never_mixed(
    lasting_place: Callable[[], str],
) -> None:
    path = lasting_place()
    with Index.open(path, encoder=SignedHashing(64)) as index:
        put(index, "d1", "zebra")
    with pytest.raises(ProjectionChanged) as caught:
        Index.open(path, encoder=Renamed(64))
    assert "signed-hashing/1(64)" in str(caught.value)
    assert "model-b/1" in str(caught.value)
    with Index.open(path, to_rebuild=True) as index:
        with pytest.raises(ProjectionChanged):
            index.search("zebra", ALICE)
        index.rebuild(Renamed(64))
        assert see(index, "zebra", ALICE) == ["d1"]
        assert index.verify() == []


@contract("C-06")
def test_embeddings_made_before_a_rebuild_are_never_written_after_it(
    open_index: Opener,
) -> None:
    index: Index

    class Switching(SignedHashing):
        """A model that is replaced while it encodes a document."""

        def encode(
            self, texts: Sequence[str], *, query: bool = False
        ) -> list[Any]:
            if any("late" in text for text in texts) and not query:
                index.rebuild(SignedHashing(16))
            return super().encode(texts, query=query)

    index = open_index(encoder=Switching(64))
    put(index, "d1", "zebra early")
    put(index, "d2", "zebra late")
    assert index.verify() == []
    assert see(index, "zebra", ALICE) == ["d1", "d2"]
    results = index.search("zebra late", ALICE, mode="vector")
    assert found(results)[0] == "d2"


@contract("C-06")
def test_embeddings_of_a_query_made_before_a_rebuild_are_made_again(
    open_index: Opener,
) -> None:
    index: Index

    class Switching(SignedHashing):
        """A model that is replaced while it encodes a query."""

        def encode(
            self, texts: Sequence[str], *, query: bool = False
        ) -> list[Any]:
            made = super().encode(texts, query=query)
            if query:
                index.rebuild(SignedHashing(16))
            return made

    index = open_index(encoder=Switching(64))
    put(index, "d1", "zebra quota")
    put(index, "d2", "other words")
    asked = index.search("zebra quota", ALICE, mode="vector").to_json()
    fresh = open_index(encoder=SignedHashing(16))
    put(fresh, "d1", "zebra quota")
    put(fresh, "d2", "other words")
    assert asked == fresh.search("zebra quota", ALICE, mode="vector").to_json()


@contract("C-06", "C-36")
def test_embeddings_searched_while_rebuilding_are_old_or_new_and_no_error(
    lasting_place: Callable[[], str],
) -> None:
    with Index.open(lasting_place(), encoder=SignedHashing(32)) as index:
        for n in range(6):
            put(index, f"d{n}", f"zebra quota {n}")
        stop = threading.Event()

        def read() -> set[str]:
            seen = set()
            while not stop.is_set():
                seen.add(index.search("zebra quota 3", ALICE).to_json())
            return seen

        expected = set()
        with ThreadPoolExecutor(3) as pool:
            readers = [pool.submit(read) for _ in range(3)]
            try:
                for turn in range(12):
                    index.rebuild(SignedHashing(16 if turn % 2 else 32))
                    expected.add(index.search("zebra quota 3", ALICE).to_json())
            finally:
                stop.set()
        for reader in readers:
            assert reader.result() <= expected
        assert len(expected) == 2


# --- SQLite ---------------------------------------------------------------


@contract("C-31")
def test_sqlite_writers_queue_and_none_is_told_that_it_is_locked(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"
    # Two connections, as two processes would have; each write reads first,
    # and a deferred transaction would fail when it wants to write.
    with Index.open(path) as one, Index.open(path) as two:

        def work(index: Index, name: str) -> None:
            for revision in range(1, 16):
                put(index, name, f"zebra {name} {revision}", revision)

        with ThreadPoolExecutor(4) as pool:
            jobs = [
                pool.submit(work, (one, two)[n % 2], f"d{n}") for n in range(4)
            ]
            for job in jobs:
                job.result()
        assert see(one, "zebra 15", ALICE) == ["d0", "d1", "d2", "d3"]
        assert one.verify() == []


@contract("C-31")
def test_sqlite_a_reader_is_served_the_old_state_during_a_long_write(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"
    with Index.open(path) as reader, Index.open(path) as writer:
        put(writer, "d1", "zebra old")
        before = everything(reader, "zebra", ALICE)
        with writer._write() as txn:
            txn.tombstone("larkspur", "d1", 2, 2)
            assert everything(reader, "zebra", ALICE) == before
        assert see(reader, "zebra", ALICE) == []


@contract("C-31")
def test_sqlite_row_numbers_survive_an_update(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Index.open(path) as index:
        put(index, "d1", "zebra one")
        put(index, "d2", "zebra two")
        ids = rows(path, "SELECT id, doc_id FROM documents ORDER BY id")
        put(index, "d1", "zebra three", revision=2)
        assert rows(path, "SELECT id, doc_id FROM documents ORDER BY id") == ids
        matched = rows(
            path,
            "SELECT c.text, l.terms FROM lexical l"
            " JOIN chunks c ON c.id = l.rowid"
            " WHERE lexical MATCH '\"zebra\"' ORDER BY c.text",
        )
        assert matched == [
            ("zebra three", "zebra three"),
            ("zebra two", "zebra two"),
        ]


@contract("C-31")
def test_sqlite_a_write_that_fails_half_way_leaves_the_old_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lab.store.sqlite import SQLiteTransaction

    index = Index.open(tmp_path / "store.db")
    put(index, "d1", "zebra old " * 60)
    before = everything(index, "zebra", ALICE)
    insert = SQLiteTransaction._insert

    def breaking(self: SQLiteTransaction, document: int, row: Any) -> None:
        insert(self, document, row)
        if row.number == 2:
            raise OSError("torn")

    monkeypatch.setattr(SQLiteTransaction, "_insert", breaking)
    with pytest.raises(OSError, match="torn"):
        put(index, "d1", "zebra new " * 60, revision=2)
    monkeypatch.undo()
    assert everything(index, "zebra", ALICE) == before
    assert see(index, "new", ALICE) == []
    assert index.verify() == []


@contract("C-37")
@pytest.mark.parametrize("encoder", [TermCounts(), SignedHashing(16)])
def test_sqlite_purge_reaches_text_that_was_only_replaced(
    tmp_path: Path, encoder: Any
) -> None:
    path = tmp_path / "store.db"
    secret = "zxqvsecretterm"
    with Index.open(path, encoder=encoder) as index:
        for n in range(3):
            put(index, f"d{n}", f"{secret} {n} " * 500)
            put(index, f"d{n}", f"harmless {n}", revision=2)
        index.directory.set("larkspur", "alice")
        index.purge()
        # Room that held the text is given back, not kept for later.
        assert rows(path, "PRAGMA freelist_count") == [(0,)]
        for file in tmp_path.iterdir():
            assert secret.encode() not in file.read_bytes(), file.name
        assert index.verify() == []
        assert see(index, "harmless", ALICE) == ["d0", "d1", "d2"]


# --- hits and JSON --------------------------------------------------------


@contract("C-04", "C-27")
@pytest.mark.parametrize(
    "spoiled",
    [
        {"channels": None},
        {"heading_path": 7},
        {"features": "x"},
        {"channels": {"lexical": "high"}},
    ],
)
def test_json_parts_of_a_hit_that_nobody_checks_can_break_nothing(
    index: Index, spoiled: dict[str, Any]
) -> None:
    index.upsert(document())
    hit = index.search("hotel", ALICE).hits[0]
    forged = dataclasses.replace(hit, **spoiled)
    assert index.answer([forged], ALICE).evidence[0].text == hit.text
    data = changed(hit.to_data(), **spoiled)
    assert index.answer([data], ALICE).evidence[0].text == hit.text


@contract("C-04", "C-47")
@pytest.mark.parametrize(
    "citation", ["\ud800", "ks1:a/b@1[0,1)#\udfff", "引用"]
)
def test_json_of_a_refused_citation_can_be_encoded(
    index: Index, citation: str
) -> None:
    checked = index.check(citation, ALICE)
    assert checked.state == "unavailable"
    assert json.loads(checked.to_json().encode("utf-8"))["quote"] is None


@contract("C-04")
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_json_never_holds_what_json_has_not(value: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        canonical.dumps({"score": value})


@contract("C-04")
@pytest.mark.parametrize(
    "line",
    [
        '{"op":"delete","tenant":"t","doc_id":"a","revision":1.0}',
        '{"op":"delete","tenant":"t","doc_id":"a","revision":true}',
        '{"op":"delete","tenant":"t","doc_id":"a","revision":"1"}',
        '{"op":"delete","tenant":"t","doc_id":"a","revision":-1}',
        '{"op":"delete","tenant":"t","doc_id":"a",'
        '"revision":9223372036854775808}',
        '{"op":"delete","tenant":"t","doc_id":"a","revision":%s}'
        % ("9" * 5000),
        '{"op":"delete","tenant":"\\ud800","doc_id":"a","revision":1}',
        '{"op":"delete","tenant":"t","doc_id":"\\ud800","revision":1}',
        '{"op":"delete","tenant":"t","doc_id":"a","revision":NaN}',
        '{"op":"delete","tenant":"t","tenant":"u","doc_id":"a","revision":1}',
        '{"op":"upsert","tenant":"t","doc_id":"a","revision":1,'
        '"format":"text","source":"\\ud800","policy":{"readers":["bob"]}}',
        '{"op":"upsert","tenant":"t","doc_id":"a","revision":1,'
        '"format":"text","source":"x","policy":{"readers":["bob"],'
        '"readers":["*"]}}',
        "[" * 100_000,
    ],
)
def test_json_of_an_event_is_strict_and_a_bad_one_changes_nothing(
    index: Index, line: str
) -> None:
    (outcome,) = index.apply([line])
    assert (outcome.state, outcome.code) == ("refused", "invalid_input")
    state = index.status()
    assert isinstance(state, Status)
    assert (state.documents, state.tombstones) == (0, 0)


@contract("C-04")
@pytest.mark.parametrize("query", ["a\ud800", "a\x00b"])
def test_json_of_a_query_is_text_or_refused_by_name(
    index: Index, query: str
) -> None:
    with pytest.raises(InvalidInput, match=r"query|code point"):
        index.search(query, Context("larkspur", "alice"))
