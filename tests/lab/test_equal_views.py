"""Equal views give equal bytes, whatever else the two indexes hold."""

from __future__ import annotations

import dataclasses
import random

import pytest

from lab import vectors
from lab.index import Index
from lab.model import Context
from tests.lab.conftest import Opener
from tests.lab.support import contract
from tests.lab.views import (
    CHUNKERS,
    ENCODERS,
    READER,
    Seen,
    a_view,
    build,
    citations_of,
    observe,
    settings,
)

OTHER_READERS = (
    Context("larkspur", "alice"),
    Context("larkspur", "dana"),
    Context("quayside", "bob"),
)


def foreign(*indexes: Index) -> list[str]:
    """Return citations that hold for somebody else in one of them."""
    return sorted(
        {
            citation
            for index in indexes
            for context in OTHER_READERS
            for citation in citations_of(index, context)
        }
    )


def twin(
    open_index: Opener, view: tuple[Seen, ...], seed: int, how: tuple[str, str]
) -> Index:
    """Build one index with this view; the seed decides all the rest."""
    rng = random.Random(f"{seed} {how}")
    encoder, chunker = settings(rng)
    index = open_index(encoder=encoder, chunker=chunker)
    build(index, view, rng, ENCODERS[how[0]](), CHUNKERS[how[1]]())
    assert index.verify() == []
    return index


@contract("C-13")
@pytest.mark.parametrize("chunker", sorted(CHUNKERS))
@pytest.mark.parametrize("encoder", sorted(ENCODERS))
@pytest.mark.parametrize("seed", [11, 12])
def test_two_indexes_with_one_view_give_the_same_bytes(
    open_index: Opener,
    monkeypatch: pytest.MonkeyPatch,
    encoder: str,
    chunker: str,
    seed: int,
) -> None:
    view = a_view(random.Random(f"{seed} {encoder} {chunker}"))
    one = twin(open_index, view, 100 + seed, (encoder, chunker))
    two = twin(open_index, view, 200 + seed, (encoder, chunker))
    others = foreign(one, two)
    seen = observe(one, view, others)
    assert observe(two, view, others) == seen
    # And the same again where there is no NumPy.
    monkeypatch.setattr(vectors, "numpy", lambda: None)
    assert observe(two, view, others) == seen


@contract("C-13")
def test_what_is_hidden_would_be_seen_if_it_were_not(
    open_index: Opener,
) -> None:
    # The comparison above would be worth nothing if the two indexes were
    # alike: others see different things in them.
    differing = 0
    for seed in range(4):
        view = a_view(random.Random(seed))
        one = twin(open_index, view, 300 + seed, ("sparse", "window"))
        two = twin(open_index, view, 400 + seed, ("sparse", "window"))
        differing += any(
            citations_of(one, context) != citations_of(two, context)
            for context in OTHER_READERS
        )
        # And the reader sees exactly the view, nothing less.
        for seen in view:
            reading = one.read(seen.doc_id, READER)
            assert (reading.revision, reading.updated_at, reading.origin) == (
                seen.revision,
                seen.updated_at,
                seen.origin,
            )
        found = one.search("hotel zebra the 38 layoffs", READER, limit=100)
        assert {hit.doc_id for hit in found.hits} <= {s.doc_id for s in view}
    assert differing == 4


@contract("C-13")
@pytest.mark.parametrize(
    "changed",
    [
        {"revision": 9},
        {"source": "hotel and one more word"},
        {"updated_at": 901},
        {"origin": "elsewhere.md"},
    ],
)
def test_a_view_that_differs_in_one_thing_is_told_apart(
    open_index: Opener, changed: dict[str, object]
) -> None:
    seen = Seen("doc-0", 4, "text", "hotel", 900, "a.md")
    bytes_ = []
    for one in (seen, dataclasses.replace(seen, **changed)):  # type: ignore[arg-type]
        index = twin(open_index, (one,), 7, ("sparse", "window"))
        bytes_.append(observe(index, (one,)))
    assert bytes_[0] != bytes_[1]
