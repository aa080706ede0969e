"""Equal views, equal bytes: drawn and shrunk by hypothesis."""

from __future__ import annotations

import os
import random
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from lab import vectors
from lab.index import Index
from tests.lab import views
from tests.lab.support import contract
from tests.lab.test_equal_views import foreign

QUICK = 12
# More on demand, and new ones every time: KEEPS_SECRETS_EXAMPLES=5000
SAME = "KEEPS_SECRETS_EXAMPLES" not in os.environ
EXAMPLES = int(os.environ.get("KEEPS_SECRETS_EXAMPLES", "150"))

# The view is drawn choice by choice, so that it shrinks; all the rest from
# a seed, because histories need more choices than hypothesis gives.
DRAWN = st.randoms(use_true_random=False)
SEEDED = st.randoms(use_true_random=True)


def compare(
    drawing: random.Random, left: random.Random, right: random.Random
) -> None:
    """Build one view twice and compare all that its reader is told."""
    encoder = views.ENCODERS[drawing.choice(sorted(views.ENCODERS))]
    chunker = views.CHUNKERS[drawing.choice(sorted(views.CHUNKERS))]
    view = views.a_view(drawing)
    note(f"{encoder()} {chunker()} {view}")
    indexes = []
    for rng in (left, right):
        first = views.settings(rng)
        index = Index.open(":memory:", encoder=first[0], chunker=first[1])
        views.build(index, view, rng, encoder(), chunker())
        indexes.append(index)
    one, two = indexes
    others = foreign(one, two)
    seen = views.observe(one, view, others)
    assert views.observe(two, view, others) == seen
    with mock.patch.object(vectors, "numpy", return_value=None):
        assert views.observe(two, view, others) == seen
    for index in indexes:
        assert index.verify() == []
        index.close()


@contract("C-13")
@given(DRAWN, SEEDED, SEEDED)
@settings(
    max_examples=QUICK,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
def test_equal_views_give_equal_bytes(
    drawing: random.Random, left: random.Random, right: random.Random
) -> None:
    compare(drawing, left, right)


@contract("C-13")
@pytest.mark.slow
@given(DRAWN, SEEDED, SEEDED)
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=SAME,
    suppress_health_check=list(HealthCheck),
)
def test_equal_views_give_equal_bytes_many_times(
    drawing: random.Random, left: random.Random, right: random.Random
) -> None:
    compare(drawing, left, right)
