"""The readable set: names of two kinds, and of two tenants, never mix.

A person and a group may have one name, and so may the groups and people of
two tenants. Each test here fails when one condition is struck out of the
statement that decides.
"""

from __future__ import annotations

from lab.index import Index
from lab.model import Context
from tests.lab.support import ALICE, BOB, document, see


def test_a_person_is_not_the_group_of_their_name(index: Index) -> None:
    index.directory.set_group("larkspur", "bob", ["alice"])
    index.upsert(document(readers=("group:bob",)))
    assert see(index, "hotel", ALICE) == ["travel-policy"]
    assert see(index, "hotel", BOB) == []


def test_a_person_is_not_in_what_holds_the_group_of_their_name(
    index: Index,
) -> None:
    index.directory.set_group("larkspur", "bob", ["alice"])
    index.directory.set_group("larkspur", "outer", ["group:bob"])
    index.upsert(document(readers=("group:outer",)))
    assert see(index, "hotel", ALICE) == ["travel-policy"]
    assert see(index, "hotel", BOB) == []


def test_a_group_is_not_the_person_of_its_name(index: Index) -> None:
    index.directory.set_group("larkspur", "inner", ["bob"])
    index.directory.set_group("larkspur", "outer", ["inner"])
    index.upsert(document(readers=("group:outer",)))
    assert see(index, "hotel", BOB) == []
    assert see(index, "hotel", Context("larkspur", "inner")) != []
    index.upsert(document("note", "# Note\n\nhotel", readers=("inner",)))
    assert see(index, "hotel", BOB) == []


def test_a_member_in_another_tenant_is_no_member_here(index: Index) -> None:
    index.directory.set_group("larkspur", "finance", ["alice"])
    index.directory.set_group("quayside", "finance", ["bob"])
    index.upsert(document(readers=("group:finance",)))
    assert see(index, "hotel", ALICE) == ["travel-policy"]
    assert see(index, "hotel", BOB) == []


def test_an_inner_group_of_another_tenant_leads_nowhere_here(
    index: Index,
) -> None:
    index.directory.set_group("larkspur", "inner", ["bob"])
    index.directory.set_group("larkspur", "outer", ["alice"])
    index.directory.set_group("quayside", "inner", ["grace"])
    index.directory.set_group("quayside", "outer", ["group:inner"])
    index.upsert(document(readers=("group:outer",)))
    assert see(index, "hotel", BOB) == []


def test_a_clearance_in_another_tenant_does_not_count_here(
    index: Index,
) -> None:
    index.directory.set("quayside", "bob", "restricted")
    index.upsert(document(readers=("bob",), classification="confidential"))
    assert see(index, "hotel", BOB) == []
    index.directory.set("larkspur", "bob", "confidential")
    assert see(index, "hotel", BOB) == ["travel-policy"]


def test_being_inside_a_barrier_of_another_tenant_does_not_count_here(
    index: Index,
) -> None:
    index.directory.set("quayside", "bob", "internal", ["heron"])
    index.upsert(document(readers=("bob",), barrier="heron"))
    assert see(index, "hotel", BOB) == []


def test_being_inside_one_barrier_is_not_being_inside_another(
    index: Index,
) -> None:
    index.directory.set("larkspur", "bob", "internal", ["osprey"])
    index.upsert(document(readers=("bob",), barrier="heron"))
    assert see(index, "hotel", BOB) == []


def test_another_tenant_s_group_does_not_revive_a_lost_one(
    index: Index,
) -> None:
    directory = index.directory
    directory.set_group("quayside", "finance", ["grace"])
    first = directory.set_group("larkspur", "finance", ["alice"])
    index.upsert(document(readers=("group:finance",)))
    gone = directory.delete_group("larkspur", "finance", first)
    directory.set_group("larkspur", "finance", ["bob"], gone)
    # Quayside's group is of the incarnation that Larkspur's once was.
    assert see(index, "hotel", BOB) == []


def test_nor_does_it_through_an_inner_group(index: Index) -> None:
    directory = index.directory
    directory.set_group("quayside", "outer", ["grace"])
    directory.set_group("larkspur", "inner", ["bob"])
    first = directory.set_group("larkspur", "outer", ["alice"])
    index.upsert(document(readers=("group:outer",)))
    gone = directory.delete_group("larkspur", "outer", first)
    directory.set_group("larkspur", "outer", ["group:inner"], gone)
    assert see(index, "hotel", BOB) == []
