"""Stage 4: the tenant partitions; clearance and barriers act inside."""

from __future__ import annotations

import itertools

import pytest
from authorized_retrieval import Chunk, namespace, visible
from retrieval_types import CLASSIFICATIONS, Caller


def chunk(
    tenant: str = "larkspur",
    classification: str = "internal",
    barrier: str | None = None,
) -> Chunk:
    """Return a chunk that differs only in who may see it."""
    return Chunk(
        chunk_id="memo::1",
        tenant=tenant,
        doc_id="memo",
        version=1,
        section="body",
        start=0,
        end=5,
        text="Hotel",
        classification=classification,
        barrier=barrier,
    )


def test_the_tenant_names_the_namespace() -> None:
    """Return f"tenant/{tenant}"."""
    assert namespace("larkspur") == "tenant/larkspur"
    assert namespace("larkspur") != namespace("quayside")


@pytest.mark.parametrize(
    "blank", ["", " ", "\t"], ids=["empty", "space", "tab"]
)
def test_a_blank_tenant_is_no_namespace(blank: str) -> None:
    """Raise ValueError: a missing tenant must never mean all tenants."""
    with pytest.raises(ValueError, match="tenant"):
        namespace(blank)


def test_clearance_must_reach_the_classification() -> None:
    """Compare ranks with >=: the same rank is enough, a lower one is not."""
    for clearance, classification in itertools.product(
        CLASSIFICATIONS, CLASSIFICATIONS
    ):
        enough = CLASSIFICATIONS.index(clearance) >= CLASSIFICATIONS.index(
            classification
        )
        caller = Caller("larkspur", clearance)
        assert visible(chunk(classification=classification), caller) is enough


def test_a_barrier_hides_from_those_outside_it() -> None:
    """A chunk behind a barrier needs a caller inside that very barrier."""
    behind = chunk(barrier="heron")
    inside = Caller("larkspur", "restricted", frozenset({"heron", "other"}))
    outside = Caller("larkspur", "restricted", frozenset({"other"}))
    assert visible(behind, inside) is True
    assert visible(behind, outside) is False
    assert visible(chunk(), outside) is True


def test_another_tenant_sees_nothing() -> None:
    """Compare the tenants, however high the clearance."""
    caller = Caller("quayside", "restricted", frozenset({"heron"}))
    assert visible(chunk(classification="public"), caller) is False


def test_invariant_visibility_is_a_conjunction() -> None:
    """Join the three conditions by `and`: one that fails is enough."""
    for tenant, clearance, inside in itertools.product([True, False], repeat=3):
        caller = Caller(
            "larkspur" if tenant else "quayside",
            "confidential" if clearance else "internal",
            frozenset({"heron"}) if inside else frozenset(),
        )
        found = visible(chunk("larkspur", "confidential", "heron"), caller)
        assert found is (tenant and clearance and inside)


def test_a_mistyped_clearance_is_an_error_not_a_rank() -> None:
    """Use classification_rank for the caller's clearance too."""
    with pytest.raises(ValueError, match="classification"):
        visible(chunk(), Caller("larkspur", "Restricted"))
