"""One view gives the same bytes on both stores, whatever else they hold."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from lab.index import Index
from tests.lab import views
from tests.lab.servers import Server
from tests.lab.support import contract
from tests.lab.test_equal_views import foreign

pytestmark = pytest.mark.server

QUICK = 6
# More on demand: KEEPS_SECRETS_EXAMPLES=5000
EXAMPLES = int(os.environ.get("KEEPS_SECRETS_EXAMPLES", "60"))

DRAWN = st.randoms(use_true_random=False)
SEEDED = st.randoms(use_true_random=True)


@pytest.fixture
def recycled(postgres: Server) -> Iterator[Callable[[], str]]:
    """Return an empty schema each time, the same one emptied again."""
    with postgres.leases() as lease:
        place = lease()

        def emptied() -> str:
            postgres.empty(place.rpartition("#")[2])
            return place

        yield emptied


def compare(
    place: str,
    drawing: random.Random,
    left: random.Random,
    right: random.Random,
) -> None:
    """Build one view on each store and compare all that its reader is told."""
    encoder = views.ENCODERS[drawing.choice(sorted(views.ENCODERS))]
    chunker = views.CHUNKERS[drawing.choice(sorted(views.CHUNKERS))]
    view = views.a_view(drawing)
    note(f"{encoder()} {chunker()} {view}")
    indexes = []
    for where, rng in ((place, left), (":memory:", right)):
        first = views.settings(rng)
        index = Index.open(where, encoder=first[0], chunker=first[1])
        views.build(index, view, rng, encoder(), chunker())
        assert index.verify() == []
        indexes.append(index)
    one, two = indexes
    others = foreign(one, two)
    assert views.observe(one, view, others) == views.observe(two, view, others)
    for index in indexes:
        index.close()


@contract("C-61")
@given(DRAWN, SEEDED, SEEDED)
@settings(
    max_examples=QUICK,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
def test_one_view_gives_the_same_bytes_on_both_stores(
    recycled: Callable[[], str],
    drawing: random.Random,
    left: random.Random,
    right: random.Random,
) -> None:
    compare(recycled(), drawing, left, right)


@contract("C-61")
@pytest.mark.slow
@given(DRAWN, SEEDED, SEEDED)
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
def test_one_view_gives_the_same_bytes_on_both_stores_many_times(
    recycled: Callable[[], str],
    drawing: random.Random,
    left: random.Random,
    right: random.Random,
) -> None:
    compare(recycled(), drawing, left, right)
