"""What a history of events may and may not leave behind."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from lab.chunking import BlockChunker, SectionChunker, WindowChunker
from lab.encoders.counts import TermCounts
from lab.encoders.hashing import SignedHashing
from lab.errors import (
    Deleted,
    EncoderError,
    InvalidInput,
    NotFound,
    ProjectionChanged,
    StaleRevision,
    StoreUnavailable,
)
from lab.index import DocumentStatus, Index
from lab.model import Context, Document, Policy
from lab.store.sqlite import BUSY_MILLISECONDS
from tests.lab.conftest import Opener
from tests.lab.support import (
    ALICE,
    BOB,
    contract,
    document,
    everything,
    found,
    see,
)

OLD = "# Travel policy\n\nA hotel night may cost 180 pounds."
NEW = "# Travel policy\n\nA hotel night may cost 210 pounds."


def status(index: Index, doc_id: str = "travel-policy") -> DocumentStatus:
    """Return one document's state."""
    state = index.status("larkspur", doc_id)
    assert isinstance(state, DocumentStatus)
    return state


@contract("C-01")
@pytest.mark.parametrize(
    "wrong", ["", " ", "a b", "a/b", "é", "a\x00", "a" * 81, None, 7, "a\n"]
)
def test_an_identity_is_letters_digits_underscore_hyphen(
    wrong: object,
) -> None:
    for place in ("tenant", "doc_id"):
        with pytest.raises(InvalidInput) as error:
            document(**{place: wrong})  # type: ignore[arg-type]
        assert place in str(error.value)
    with pytest.raises(InvalidInput):
        Context("larkspur", wrong)  # type: ignore[arg-type]


@contract("C-02")
@pytest.mark.parametrize("wrong", [0, -1, True, 1.0, "1", None, 2**63])
def test_a_revision_is_a_strict_positive_64_bit_integer(
    wrong: object,
) -> None:
    with pytest.raises(InvalidInput):
        document(revision=wrong)  # type: ignore[arg-type]


@contract("C-02")
def test_the_largest_revision_is_legal(index: Index) -> None:
    assert index.upsert(document(revision=2**63 - 1)).state == "indexed"


@contract("C-02")
def test_an_older_revision_changes_nothing(index: Index) -> None:
    index.upsert(document(source=NEW, revision=2))
    before = everything(index, "hotel", ALICE)
    with pytest.raises(StaleRevision):
        index.upsert(document(source=OLD, revision=1))
    assert everything(index, "hotel", ALICE) == before


@contract("C-02")
def test_one_revision_cannot_have_two_contents(index: Index) -> None:
    index.upsert(document(source=OLD))
    with pytest.raises(StaleRevision):
        index.upsert(document(source=NEW))
    assert see(index, "210", ALICE) == []


@contract("C-30")
def test_the_same_event_again_is_unchanged(index: Index) -> None:
    first = index.upsert(document(updated_at=100, origin="a.md"))
    before = everything(index, "hotel", ALICE)
    for _ in range(3):
        again = index.upsert(document(updated_at=999, origin="b.md"))
        assert again.state == "unchanged"
        assert (again.revision, again.sha256) == (1, first.sha256)
    assert everything(index, "hotel", ALICE) == before


@contract("C-30")
def test_replaying_a_whole_history_ends_in_the_same_state(
    index: Index,
) -> None:
    history: list[dict[str, Any]] = [
        {
            "op": "upsert",
            "tenant": "larkspur",
            "doc_id": "a",
            "revision": 1,
            "format": "markdown",
            "source": OLD,
            "policy": {"readers": ["alice"]},
        },
        {"op": "delete", "tenant": "larkspur", "doc_id": "a", "revision": 2},
    ]
    index.apply(history)
    outcomes = index.apply(history * 2)
    assert [outcome.state for outcome in outcomes] == [
        "refused",
        "unchanged",
    ] * 2
    assert {o.code for o in outcomes} == {"stale_revision", None}
    assert see(index, "hotel", ALICE) == []


@contract("C-31")
def test_an_update_replaces_every_old_chunk(index: Index) -> None:
    long = "# Old\n\n" + "\n\n".join(f"stale item {n}" for n in range(200))
    index.upsert(document(source=long))
    index.upsert(document(source=NEW, revision=2))
    assert see(index, "stale", ALICE) == []
    assert see(index, "210", ALICE) == ["travel-policy"]
    assert index.verify() == []


@contract("C-31")
def test_an_update_to_empty_text_removes_every_old_chunk(
    open_index: Opener,
) -> None:
    class Refusing(TermCounts):
        def encode(
            self, texts: Sequence[str], *, query: bool = False
        ) -> list[dict[str, int]]:
            assert texts, "an empty batch must run nothing"
            return super().encode(texts, query=query)

    index = open_index(encoder=Refusing())
    index.upsert(document())
    assert index.upsert(document(source="", revision=2)).chunks == 0
    assert see(index, "hotel", ALICE) == []
    assert status(index).revision == 2


@contract("C-31")
def test_a_failing_encoder_leaves_the_old_revision_serving(
    open_index: Opener,
) -> None:
    class Failing(TermCounts):
        def encode(
            self, texts: Sequence[str], *, query: bool = False
        ) -> list[dict[str, int]]:
            if any("210" in text for text in texts):
                raise RuntimeError("out of memory")
            return super().encode(texts, query=query)

    index = open_index(encoder=Failing())
    index.upsert(document(source=OLD))
    before = everything(index, "hotel", ALICE)
    with pytest.raises(EncoderError):
        index.upsert(document(source=NEW, revision=2))
    assert everything(index, "hotel", ALICE) == before
    assert status(index).revision == 1


@contract("C-04")
@pytest.mark.parametrize(
    "rows",
    [
        [],
        [[0.0] * 4, [0.0] * 4],
        [[1.0, 0.0, 0.0]],
        [[float("nan"), 0.0, 0.0, 0.0]],
        [[float("inf"), 0.0, 0.0, 0.0]],
        [[3.0, 0.0, 0.0, 0.0]],
        None,
        [7],
    ],
)
def test_a_wrong_encoder_row_is_refused_before_any_write(
    open_index: Opener, rows: object
) -> None:
    class Wrong:
        fingerprint = "wrong/1"
        dims = 4
        minimum_score = 0.0

        def spec(self) -> dict[str, object]:
            return {"kind": "wrong"}

        def encode(
            self, texts: Sequence[str], *, query: bool = False
        ) -> object:
            return rows

    index = open_index(encoder=Wrong())
    with pytest.raises(EncoderError):
        index.upsert(document())
    with pytest.raises(NotFound):
        status(index)


@contract("C-04")
@pytest.mark.parametrize(
    ("format", "source"),
    [
        ("json", "{"),
        ("json", '{"title":"a","title":"b","sections":[]}'),
        ("json", '{"title":"\\ud800","sections":[]}'),
        ("json", "[" * 100_000),
        ("markdown", "before\x00after"),
        ("markdown", "\ud800"),
    ],
)
def test_a_source_that_cannot_be_read_changes_nothing(
    index: Index, format: str, source: str
) -> None:
    index.upsert(document())
    before = everything(index, "hotel", ALICE)
    with pytest.raises(InvalidInput):
        index.upsert(document(source=source, revision=2, format=format))
    assert everything(index, "hotel", ALICE) == before


@contract("C-04")
@pytest.mark.parametrize("policy", [None])
def test_a_first_seen_document_needs_a_policy(
    index: Index, policy: None
) -> None:
    with pytest.raises(InvalidInput):
        index.upsert(document(readers=policy))
    with pytest.raises(NotFound):
        status(index)


@contract("C-04")
def test_a_bad_event_is_refused_alone_and_says_why(index: Index) -> None:
    good = {
        "op": "upsert",
        "tenant": "larkspur",
        "doc_id": "a",
        "revision": 1,
        "format": "markdown",
        "source": OLD,
        "policy": {"readers": ["alice"]},
    }
    outcomes = index.apply(
        [
            "{not json",
            '{"op":"upsert","op":"delete"}',
            {**good, "revision": True},
            {**good, "policy": {"readers": "alice"}},
            {**good, "extra": 1},
            {"op": "explode", "tenant": "larkspur"},
            good,
        ]
    )
    assert [o.state for o in outcomes] == ["refused"] * 6 + ["indexed"]
    assert {o.code for o in outcomes[:6]} == {"invalid_input"}
    assert "event 5.extra" in str(outcomes[4].message)


@contract("C-33")
def test_a_deleted_document_is_gone_from_every_path(index: Index) -> None:
    index.upsert(document())
    index.upsert(document("other", "# Other\n\nhotel"))
    hits = index.search("hotel pounds", ALICE).hits
    index.delete("larkspur", "travel-policy", 2)
    assert see(index, "hotel", ALICE) == ["other"]
    sink: dict[str, int] = {}
    answer = index.answer(hits, ALICE, limit=10, sink=sink)
    assert [item.doc_id for item in answer.evidence] == ["other"]
    assert sink == {"deleted": 1}
    citation = next(h.citation for h in hits if h.doc_id == "travel-policy")
    assert index.check(citation, ALICE).state == "unavailable"
    with pytest.raises(NotFound):
        index.read("travel-policy", ALICE)
    assert index.verify() == []


@contract("C-33")
def test_late_events_do_not_raise_the_dead(index: Index) -> None:
    index.upsert(document())
    index.delete("larkspur", "travel-policy", 5)
    for revision in (1, 4, 5):
        with pytest.raises(StaleRevision):
            index.upsert(document(revision=revision), restore=True)
    with pytest.raises(Deleted):
        index.upsert(document(revision=6))
    assert see(index, "hotel", ALICE) == []


@contract("C-33")
def test_a_delete_must_be_newer_and_may_be_repeated(index: Index) -> None:
    index.upsert(document(revision=3))
    for revision in (1, 3):
        with pytest.raises(StaleRevision):
            index.delete("larkspur", "travel-policy", revision)
    assert index.delete("larkspur", "travel-policy", 4).state == "deleted"
    assert index.delete("larkspur", "travel-policy", 4).state == "unchanged"
    with pytest.raises(StaleRevision):
        index.delete("larkspur", "travel-policy", 3)
    assert index.delete("larkspur", "travel-policy", 9).state == "deleted"


@contract("C-34")
def test_a_delete_that_comes_first_keeps_a_late_create_out(
    index: Index,
) -> None:
    assert index.delete("larkspur", "travel-policy", 5).state == "deleted"
    with pytest.raises(StaleRevision):
        index.upsert(document(revision=4))
    with pytest.raises(Deleted):
        index.upsert(document(revision=6))
    assert see(index, "hotel", ALICE) == []


@contract("C-35")
def test_only_an_explicit_restore_under_a_new_policy_revives(
    index: Index,
) -> None:
    index.upsert(document(readers=("alice",)))
    removed = index.delete("larkspur", "travel-policy", 2)
    with pytest.raises(InvalidInput):
        index.upsert(document(revision=3, readers=None), restore=True)
    back = index.upsert(document(revision=3, readers=("bob",)), restore=True)
    assert back.policy_revision == removed.policy_revision + 1
    assert see(index, "hotel", ALICE) == []
    assert see(index, "hotel", BOB) == ["travel-policy"]


@contract("C-37")
def test_purge_removes_the_bytes_and_keeps_the_high_water_mark(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"
    with Index.open(path) as index:
        secret = "zxqvsecretterm"
        index.upsert(document(source=f"# {secret}\n\n{secret}"))
        index.upsert(document("other", "# Other"))
        index.delete("larkspur", "travel-policy", 9)
        out_of_reach = index.purge()
        assert any("backups" in place for place in out_of_reach)
        for file in tmp_path.iterdir():
            assert secret.encode() not in file.read_bytes(), file.name
        with pytest.raises(StaleRevision):
            index.upsert(document(revision=9), restore=True)
        assert index.verify() == []


@contract("C-06")
def test_opening_with_another_projection_names_both(
    lasting_place: Callable[[], str],
) -> None:
    path = lasting_place()
    Index.open(path, encoder=SignedHashing(64)).close()
    for options in (
        {"encoder": SignedHashing(128)},
        {"encoder": TermCounts()},
        {"encoder": None},
        {"chunker": BlockChunker()},
        {"chunker": WindowChunker(100, 10)},
    ):
        with pytest.raises(ProjectionChanged) as error:
            Index.open(path, **options)  # type: ignore[arg-type]
        part = "chunker" if "chunker" in options else "encoder"
        assert part in str(error.value)
    with pytest.raises(ProjectionChanged, match=r"signed-hashing.*term-counts"):
        Index.open(path, encoder=TermCounts())
    with Index.open(path) as index:
        assert index.upsert(document()).state == "indexed"


@contract("C-06")
def test_a_rebuild_elsewhere_stops_an_index_of_the_old_projection(
    lasting_place: Callable[[], str],
) -> None:
    path = lasting_place()
    with Index.open(path) as mine, Index.open(path) as other:
        mine.upsert(document())
        other.rebuild(SignedHashing(64))
        for call in (
            lambda: mine.search("hotel", ALICE),
            lambda: mine.upsert(document("b")),
            lambda: mine.read("travel-policy", ALICE),
        ):
            with pytest.raises(ProjectionChanged):
                call()


@contract("C-36")
@pytest.mark.parametrize(
    ("encoder", "chunker"),
    [
        (SignedHashing(64), BlockChunker(80, 0)),
        (None, SectionChunker()),
        (TermCounts(), WindowChunker(30, 5)),
    ],
)
def test_a_rebuild_keeps_policies_tombstones_and_citations(
    index: Index, encoder: Any, chunker: Any
) -> None:
    index.directory.set_group("larkspur", "finance", ["alice"])
    index.upsert(document(readers=("group:finance",)))
    index.upsert(document("gone", "# Gone"))
    index.delete("larkspur", "gone", 7)
    citation = index.search("hotel", ALICE).hits[0].citation
    before = status(index)
    assert index.rebuild(encoder, chunker) == 1
    assert index.verify() == []
    assert status(index) == before
    assert index.check(citation, ALICE).state == "valid"
    assert found(index.search("hotel", ALICE)) == ["travel-policy"]
    assert see_lexical(index, "hotel", BOB) == []
    with pytest.raises(StaleRevision):
        index.upsert(document("gone", revision=7), restore=True)


def see_lexical(index: Index, query: str, context: Context) -> list[str]:
    """Return what is found without vectors."""
    return found(index.search(query, context, mode="lexical"))


@contract("C-36")
def test_what_changes_during_a_rebuild_is_done_again(
    lasting_place: Callable[[], str],
) -> None:
    path = lasting_place()
    with Index.open(path) as writer, Index.open(path) as rebuilder:
        for n in range(5):
            writer.upsert(document(f"doc-{n}", f"# D\n\nold number {n}"))

        class Meddling(SignedHashing):
            done = False

            def encode(
                self, texts: Sequence[str], *, query: bool = False
            ) -> Any:
                if not self.done:
                    self.done = True
                    writer.upsert(
                        document("doc-0", "# D\n\nnewer text", revision=2)
                    )
                    writer.delete("larkspur", "doc-1", 2)
                return super().encode(texts, query=query)

        assert rebuilder.rebuild(Meddling(64)) == 4
        assert rebuilder.verify() == []
        assert found(rebuilder.search("newer", ALICE)) == ["doc-0"]
        assert "doc-1" not in found(rebuilder.search("number", ALICE))


@contract("C-36")
def test_a_rebuild_includes_what_changes_at_the_last_moment(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"
    with Index.open(path) as writer, Index.open(path) as rebuilder:
        writer.upsert(document("busy", "word1 here", format="text"))

        class Meddling(SignedHashing):
            """Whenever it has encoded the text there is a newer one."""

            turns = 0

            def encode(
                self, texts: Sequence[str], *, query: bool = False
            ) -> Any:
                # Three times is how often a rebuild prepares rows before
                # it takes the lock; then nobody can write.
                if self.turns < 3 and not query:
                    self.turns += 1
                    text = f"word{self.turns + 1} here"
                    writer.upsert(
                        document(
                            "busy",
                            text,
                            revision=self.turns + 1,
                            format="text",
                        )
                    )
                return super().encode(texts, query=query)

        rebuilder.rebuild(Meddling(64))
        assert rebuilder.verify() == []
        assert see(rebuilder, "word4", ALICE) == ["busy"]
        (hit,) = rebuilder.search("word4", ALICE, mode="vector").hits
        assert (hit.revision, hit.text) == (4, "word4 here")


@contract("C-38")
@pytest.mark.parametrize(
    ("damage", "named"),
    [
        ("UPDATE documents SET body = body || 'x' WHERE live", "digest"),
        ("UPDATE chunks SET text = 'other'", "slice"),
        ("UPDATE chunks SET sha256 = 'x'", "digest"),
        ("UPDATE chunks SET number = number + 1", "gap"),
        ("UPDATE chunks SET length = length + 1", "term count"),
        ("DELETE FROM vectors", "no vector"),
        ("UPDATE vectors SET norm = norm + 1", "norm"),
        ("UPDATE vectors SET sha256 = 'x'", "another text"),
        ("DELETE FROM features", "norm"),
        ("DELETE FROM lexical", "lexical index"),
        ("UPDATE lexical SET terms = 'planted'", "other terms"),
        ("UPDATE lexical_content SET c0 = 'planted'", "other terms"),
        (
            "INSERT INTO lexical(rowid, terms) VALUES (999, 'ghost')",
            "no chunk",
        ),
        ("UPDATE documents SET chunk_count = 7 WHERE live", "counts 7"),
        ("UPDATE documents SET body = 'x' WHERE NOT live", "tombstone"),
        (
            "PRAGMA foreign_keys=OFF; DELETE FROM documents WHERE live",
            "missing",
        ),
    ],
)
def test_verify_names_planted_damage(
    tmp_path: Path, damage: str, named: str
) -> None:
    path = tmp_path / "store.db"
    with Index.open(path) as index:
        index.upsert(document())
        index.upsert(document("gone", "# Gone"))
        index.delete("larkspur", "gone", 2)
        assert index.verify() == []
        raw = sqlite3.connect(path)
        raw.executescript(damage)
        raw.commit()
        raw.close()
        faults = index.verify()
        assert faults
        assert any(named in f"{f.where} {f.what}" for f in faults), faults


@contract("C-38")
def test_sending_a_document_again_repairs_rows_that_were_lost(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"
    with Index.open(path) as index:
        index.upsert(document())
        raw = sqlite3.connect(path)
        raw.execute("DELETE FROM vectors")
        raw.commit()
        raw.close()
        assert index.verify()
        assert index.upsert(document()).state == "indexed"
        assert index.verify() == []


@contract("C-31")
def test_of_two_racing_updates_the_later_revision_wins_whole(
    lasting_place: Callable[[], str],
) -> None:
    class Slow(TermCounts):
        def encode(
            self, texts: Sequence[str], *, query: bool = False
        ) -> list[dict[str, int]]:
            time.sleep(0.05)
            return super().encode(texts, query=query)

    with Index.open(lasting_place(), encoder=Slow()) as index:
        for revision in range(2, 10, 2):
            errors: list[Exception] = []

            def put(revision: int, errors: list[Exception] = errors) -> None:
                text = "\n\n".join(f"word{revision} {n}" for n in range(99))
                try:
                    index.upsert(document(source=text, revision=revision))
                except StaleRevision as error:
                    errors.append(error)

            threads = [
                threading.Thread(target=put, args=(r,))
                for r in (revision, revision + 1)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            later = index.search(f"word{revision + 1}", ALICE, limit=100)
            assert {hit.revision for hit in later.hits} == {revision + 1}
            assert see(index, f"word{revision}", ALICE) == []
            assert index.verify() == []
            assert len(errors) <= 1


@contract("C-17")
def test_another_process_sees_a_revocation_on_its_next_call(
    lasting_place: Callable[[], str],
) -> None:
    path = lasting_place()
    with Index.open(path) as reader:
        reader.directory.set_group("larkspur", "finance", ["alice"])
        reader.upsert(document(readers=("group:finance",)))
        reader.upsert(document("b", "# hotel b", readers=("alice",)))
        hits = reader.search("hotel", ALICE).hits
        assert len({hit.doc_id for hit in hits}) == 2
        child = (
            "import sys\nfrom lab.index import Index\n"
            "from lab.model import Policy\n"
            "i = Index.open(sys.argv[1])\n"
            "i.directory.set_group('larkspur', 'finance', [], 1)\n"
            "i.set_policy('larkspur', 'b', Policy(()), 1)\n"
            "i.close()\n"
        )
        subprocess.run([sys.executable, "-c", child, path], check=True)
        assert see(reader, "hotel", ALICE) == []
        assert reader.answer(hits, ALICE).state == "abstain"
        for hit in hits:
            assert reader.check(hit.citation, ALICE).state == "unavailable"


@contract("C-31")
def test_a_reader_keeps_its_snapshot_while_a_writer_commits(
    lasting_place: Callable[[], str],
) -> None:
    path = lasting_place()
    with Index.open(path) as reader, Index.open(path) as writer:
        writer.upsert(document(source=OLD))
        with reader.snapshot() as snapshot:
            view = snapshot.readable(ALICE)
            writer.upsert(document(source=NEW, revision=2))
            seen = snapshot.document(view, "travel-policy")
            assert seen is not None
            assert "180" in seen.body
        assert see(reader, "210", ALICE) == ["travel-policy"]


@contract("C-31")
def test_opening_to_read_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Index.open(path) as writer:
        writer.upsert(document(source=OLD))
        holder = sqlite3.connect(path, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        holder.execute("UPDATE documents SET origin = 'held'")
        opened: list[list[str]] = []

        def read() -> None:
            with Index.open(path) as reader:
                opened.append(see(reader, "hotel", ALICE))

        thread = threading.Thread(target=read)
        thread.start()
        # Waiting for the writer would take the whole busy timeout.
        thread.join(BUSY_MILLISECONDS / 1000 - 1)
        still_waiting = thread.is_alive()
        holder.execute("ROLLBACK")
        holder.close()
        thread.join()
        assert not still_waiting
        assert opened == [["travel-policy"]]


def fill_up(index: Index) -> None:
    """Let the index's file grow no further, as on a full disk."""
    with index.snapshot() as snapshot:
        db: sqlite3.Connection = snapshot._db  # type: ignore[attr-defined]
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count={pages}")


@contract("C-32")
def test_a_full_disk_leaves_the_old_state_serving(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Index.open(path) as index:
        index.upsert(document(source=OLD))
        before = everything(index, "hotel", ALICE)
        fill_up(index)
        big = "# Big\n\n" + "\n\n".join(f"hotel {n}" for n in range(9999))
        with pytest.raises(StoreUnavailable, match="no room"):
            index.upsert(document(source=big, revision=2))
        assert everything(index, "hotel", ALICE) == before
        assert index.verify() == []


@contract("C-32")
def test_a_read_only_folder_still_answers_and_refuses_writes(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "store"
    folder.mkdir()
    path = folder / "store.db"
    with Index.open(path) as index:
        index.upsert(document())
        before = everything(index, "hotel", ALICE)
    for parent in (tmp_path, *tmp_path.parents):
        if parent != Path(tempfile.gettempdir()) and parent.is_relative_to(
            tempfile.gettempdir()
        ):
            parent.chmod(0o711)
    # Permission bits do not stop root, so the child gives up its rights,
    # after importing what only root may be able to read.
    code = (
        "import os, sys\n"
        "from lab.errors import StoreUnavailable\n"
        "from lab.index import Index\n"
        "import lab.store.sqlite, lab.store.agreement\n"
        "from tests.lab.support import ALICE, document, everything\n"
        "if os.geteuid() == 0: os.setgid(65534); os.setuid(65534)\n"
        "i = Index.open(sys.argv[1])\n"
        "print(everything(i, 'hotel', ALICE), end='')\n"
        "try:\n    i.upsert(document(revision=2))\n"
        "except StoreUnavailable as e:\n    print('|refused', e)\n"
    )
    path.chmod(0o444)
    folder.chmod(0o555)
    try:
        done = subprocess.run(
            [sys.executable, "-c", code, path],
            capture_output=True,
            text=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONIOENCODING": "utf-8"},
            check=False,
        )
    finally:
        folder.chmod(0o755)
    assert done.returncode == 0, done.stderr
    shown, _, refused = done.stdout.partition("|refused")
    assert shown == before
    assert "may only be read" in refused


def test_a_file_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    raw = sqlite3.connect(path)
    raw.execute("CREATE TABLE notes(x)")
    raw.commit()
    raw.close()
    before = path.read_bytes()
    with pytest.raises(StoreUnavailable, match="another program"):
        Index.open(path)
    path.write_bytes(before)
    text = tmp_path / "text.db"
    text.write_text("this is not a database, and long enough to be sure" * 9)
    with pytest.raises(StoreUnavailable, match="no store"):
        Index.open(text)
    with pytest.raises(StoreUnavailable, match="folder"):
        Index.open(tmp_path / "missing" / "store.db")


def test_a_closed_index_says_so(lasting_place: Callable[[], str]) -> None:
    index = Index.open(lasting_place())
    index.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        index.search("hotel", ALICE)


def test_the_number_of_documents_in_a_batch_changes_nothing(
    index: Index,
) -> None:
    sources = [f"# Doc {n}\n\nhotel {n}" for n in range(40)]
    events = [
        {
            "op": "upsert",
            "tenant": "larkspur",
            "doc_id": f"d{n}",
            "revision": 1,
            "format": "markdown",
            "source": source,
            "policy": {"readers": ["alice"]},
        }
        for n, source in enumerate(sources)
    ]
    index.apply(events)
    before = everything(index, "hotel", ALICE)
    for size in (1, 7, 40):
        for start in range(0, 40, size):
            outcomes = index.apply(events[start : start + size])
            assert {o.state for o in outcomes} == {"unchanged"}
    assert everything(index, "hotel", ALICE) == before


def test_a_policy_object_is_required_not_a_dictionary() -> None:
    with pytest.raises(InvalidInput):
        Document(
            "larkspur",
            "a",
            1,
            "markdown",
            "x",
            {"readers": ["bob"]},  # type: ignore[arg-type]
        )
    assert Policy(("bob", "bob", "alice")).readers == ("alice", "bob")
