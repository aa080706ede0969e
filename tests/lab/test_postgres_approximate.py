"""The approximate index: opt-in, marked, and outside the promise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lab.encoders.counts import TermCounts
from lab.encoders.hashing import SignedHashing
from lab.errors import InvalidInput
from lab.index import Index
from lab.model import Context
from tests.lab.servers import Server
from tests.lab.support import ALICE, BOB, contract, document, everything, found

SERVED = pytest.mark.server


@pytest.fixture
def index(postgres: Server) -> Iterator[Index]:
    with postgres.leases() as lease:
        with Index.open(lease(), encoder=SignedHashing(32)) as index:
            for number in range(40):
                index.upsert(
                    document(
                        f"d{number:02}",
                        f"hotel number {number} of {'night ' * (number % 7)}",
                        format="text",
                        readers=("alice", "bob") if number % 4 else ("alice",),
                    )
                )
            yield index


def build(index: Index) -> int:
    """Build the approximate index of a store that can have one."""
    return index._store.build_approximate()  # type: ignore[attr-defined, no-any-return]


@contract("C-62")
@SERVED
@pytest.mark.parametrize("mode", ["vector", "hybrid"])
def test_approximate_results_are_marked_and_exact_ones_are_not(
    index: Index, mode: str
) -> None:
    assert build(index) == 40
    exact = index.search("hotel night", ALICE, mode=mode)
    near = index.search("hotel night", ALICE, mode=mode, approximate=True)
    assert (exact.approximate, near.approximate) == (False, True)
    assert '"approximate":true' in near.to_json()
    # On a store as small as this both find the same, with equal scores:
    # the index chooses who is scored, and never what the score is.
    assert exact.hits == near.hits


@contract("C-62")
@SERVED
def test_approximate_search_finds_readable_rows_only(index: Index) -> None:
    build(index)
    hits = index.search(
        "hotel number 4", BOB, mode="vector", limit=100, approximate=True
    ).hits
    assert len(hits) == 30
    assert all(int(hit.doc_id[1:]) % 4 for hit in hits)
    stranger = Context("quayside", "bob")
    none = index.search("hotel", stranger, mode="vector", approximate=True)
    assert (none.hits, none.considered) == ((), 0)


@contract("C-62")
@SERVED
def test_a_narrow_view_is_filled_although_most_rows_are_hidden(
    index: Index,
) -> None:
    # Without an iterative scan the walk ends after a hundred rows, all of
    # them somebody else's and nearer.
    index.upsert(
        document(
            "only",
            "hotel alone zebra quota badge",
            format="text",
            readers=("wei",),
        )
    )
    for number in range(300):
        text = f"hotel alone {number} {7 * number + 1000}"
        index.upsert(
            document(f"other-{number}", text, format="text", readers=("dana",))
        )
    build(index)
    wei = Context("larkspur", "wei")
    exact = index.search("hotel alone", wei, mode="vector")
    near = index.search("hotel alone", wei, mode="vector", approximate=True)
    assert found(exact) == found(near) == ["only"]


@SERVED
def test_the_index_keeps_up_with_every_change(index: Index) -> None:
    build(index)
    assert index.verify() == []
    index.upsert(document("d01", "zebra crossing", revision=2, format="text"))
    index.upsert(document("new", "zebra", format="text"))
    index.delete("larkspur", "d02", 2)
    assert index.verify() == []
    for query in ("zebra", "hotel number 2"):
        exact = index.search(query, ALICE, mode="vector", limit=100)
        near = index.search(
            query, ALICE, mode="vector", limit=100, approximate=True
        )
        assert near.hits == exact.hits
    assert index.rebuild(chunker=index._projector.chunker) == 40
    assert index.verify() == []
    near = index.search("zebra", ALICE, mode="vector", approximate=True)
    assert near.hits
    index.purge()


@SERVED
def test_another_encoder_takes_the_index_away(index: Index) -> None:
    build(index)
    index.rebuild(SignedHashing(16))
    assert index.verify() == []
    with pytest.raises(InvalidInput, match="build_approximate"):
        index.search("hotel", ALICE, approximate=True)
    assert build(index) == 40
    assert index.search("hotel", ALICE, approximate=True).hits
    index.rebuild(TermCounts())
    with pytest.raises(InvalidInput, match="dense"):
        index.search("hotel", ALICE, approximate=True)
    with pytest.raises(InvalidInput, match="dense"):
        build(index)


@contract("C-62")
@SERVED
def test_an_approximate_index_changes_no_byte_of_exact_search(
    index: Index,
) -> None:
    before = [everything(index, "hotel night", who) for who in (ALICE, BOB)]
    build(index)
    after = [everything(index, "hotel night", who) for who in (ALICE, BOB)]
    assert after == before


@SERVED
def test_verify_names_a_row_that_the_approximate_index_lost(
    index: Index, postgres: Server
) -> None:
    build(index)
    schema = index._store.schema  # type: ignore[attr-defined]
    with postgres.connect() as owner:
        owner.execute(f"DELETE FROM {schema}.near WHERE doc_id = 'd01'")
    assert [fault.where for fault in index.verify()] == ["approximate index"]


@SERVED
def test_the_second_wall_stands_before_the_approximate_index_too(
    index: Index, postgres: Server
) -> None:
    build(index)
    store: Any = index._store
    with store.read() as snapshot:
        rows = snapshot._reader.execute(
            f"SELECT doc_id FROM {store.schema}.near"
        ).fetchall()
        assert rows == []
        snapshot.readable(BOB)
        rows = snapshot._reader.execute(
            f"SELECT doc_id FROM {store.schema}.near"
        ).fetchall()
        assert len(rows) == 30


@contract("C-62")
@pytest.mark.parametrize("encoder", [SignedHashing(16), TermCounts(), None])
def test_a_store_without_one_refuses_before_it_reads(encoder: Any) -> None:
    with Index.open(":memory:", encoder=encoder) as index:
        index.upsert(document())
        for query in ("hotel", "!?"):
            with pytest.raises(InvalidInput, match="approximate"):
                index.search(query, ALICE, approximate=True)
        with pytest.raises(InvalidInput, match="approximate"):
            index.search("hotel", ALICE, approximate=1)  # type: ignore[arg-type]
        assert index.search("hotel", ALICE).approximate is False


def test_finding_words_cannot_be_made_approximate() -> None:
    with Index.open(":memory:", encoder=SignedHashing(16)) as index:
        with pytest.raises(InvalidInput, match="always exact"):
            index.search("hotel", ALICE, mode="lexical", approximate=True)
