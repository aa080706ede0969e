"""Who may see what: every wall, in every channel."""

from __future__ import annotations

import pytest

from lab.errors import InvalidInput, NotFound, StalePolicy
from lab.index import Index
from lab.model import CLASSES, Context, Policy
from tests.lab.support import (
    ALICE,
    BOB,
    OUTSIDER,
    contract,
    document,
    everything,
    found,
    see,
)


@contract("C-07")
@pytest.mark.parametrize(
    "context", [None, "alice", {"tenant": "larkspur"}, ("larkspur", "alice")]
)
def test_no_reading_call_answers_without_a_context(
    index: Index, context: object
) -> None:
    index.upsert(document())
    calls = (
        lambda: index.search("hotel", context),  # type: ignore[arg-type]
        lambda: index.answer([], context),  # type: ignore[arg-type]
        lambda: index.check("x", context),  # type: ignore[arg-type]
        lambda: index.read("travel-policy", context),  # type: ignore[arg-type]
    )
    for call in calls:
        with pytest.raises(PermissionError):
            call()


@contract("C-07")
@pytest.mark.parametrize(
    "tenant", [None, "", " ", "A\x00", "a b", "租户", "x/y"]
)
def test_a_missing_or_odd_tenant_is_an_error_and_never_means_all(
    tenant: object,
) -> None:
    with pytest.raises(InvalidInput):
        Context(tenant, "alice")  # type: ignore[arg-type]


def test_an_unknown_argument_is_not_silently_ignored(index: Index) -> None:
    with pytest.raises(TypeError):
        index.search("hotel", ALICE, datset="x")  # type: ignore[call-arg]


@contract("C-08")
def test_the_same_document_id_in_another_tenant_is_another_document(
    index: Index,
) -> None:
    index.upsert(document(readers=("*",)))
    index.upsert(
        document(
            source="# Rules\n\nPilots claim 95 dollars.",
            tenant="quayside",
            readers=("*",),
        )
    )
    assert see(index, "hotel", OUTSIDER) == []
    assert see(index, "dollars", BOB) == []
    assert "dollars" in index.read("travel-policy", OUTSIDER).body
    assert "pounds" in index.read("travel-policy", BOB).body


@contract("C-08")
def test_a_principal_of_the_same_name_in_another_tenant_is_a_stranger(
    index: Index,
) -> None:
    index.upsert(document(readers=("bob",)))
    hits = index.search("hotel", BOB).hits
    assert hits
    assert see(index, "hotel", OUTSIDER) == []
    assert index.answer(hits, OUTSIDER).state == "abstain"
    assert index.check(hits[0].citation, OUTSIDER).state == "unavailable"


@contract("C-09")
@pytest.mark.parametrize("mode", ["lexical", "vector", "hybrid"])
def test_a_channel_never_proposes_what_the_reader_may_not_read(
    index: Index, mode: str
) -> None:
    index.upsert(document("open", "# A\n\nzebra quota", readers=("bob",)))
    for n in range(150):
        index.upsert(document(f"hidden-{n}", "# zebra\n\nzebra quota zebra"))
    results = index.search("zebra quota", BOB, mode=mode, limit=100)
    # Had the filter come after the cut at 100 candidates, the hidden ones
    # would have crowded the readable one out.
    assert found(results) == ["open"]
    assert results.considered == 1


@contract("C-10")
def test_an_empty_list_of_readers_denies_everyone(index: Index) -> None:
    index.upsert(document(readers=()))
    index.directory.set("larkspur", "dana", "restricted")
    for name in ("alice", "bob", "dana"):
        assert see(index, "hotel", Context("larkspur", name)) == []


@contract("C-10")
def test_a_bare_string_is_no_list_of_readers() -> None:
    with pytest.raises(InvalidInput):
        Policy("alice")  # type: ignore[arg-type]


@contract("C-11")
def test_everyone_means_everyone_in_this_tenant(index: Index) -> None:
    index.upsert(document(readers=("*",)))
    assert see(index, "hotel", ALICE) == ["travel-policy"]
    assert see(index, "hotel", Context("larkspur", "new")) == ["travel-policy"]
    assert see(index, "hotel", OUTSIDER) == []


@contract("C-12")
@pytest.mark.parametrize("held", CLASSES)
@pytest.mark.parametrize("needed", CLASSES)
def test_clearance_must_reach_the_classification(
    index: Index, held: str, needed: str
) -> None:
    order = ["public", "internal", "confidential", "restricted"]
    index.directory.set("larkspur", "alice", held)
    index.upsert(document(classification=needed))
    allowed = order.index(held) >= order.index(needed)
    assert see(index, "hotel", ALICE) == ["travel-policy"] * allowed


@contract("C-12")
def test_an_unknown_principal_has_the_clearance_internal(
    index: Index,
) -> None:
    index.upsert(document("a", "# hotel a"))
    index.upsert(document("b", "# hotel b", classification="confidential"))
    assert see(index, "hotel", ALICE) == ["a"]


@contract("C-12")
def test_a_barrier_keeps_out_even_a_named_and_cleared_reader(
    index: Index,
) -> None:
    index.directory.set("larkspur", "alice", "restricted")
    index.upsert(document(barrier="heron"))
    assert see(index, "hotel", ALICE) == []
    index.directory.set("larkspur", "alice", "restricted", ["heron"], 1)
    assert see(index, "hotel", ALICE) == ["travel-policy"]


@contract("C-12")
def test_being_inside_a_barrier_is_not_being_named(index: Index) -> None:
    index.directory.set("larkspur", "bob", "restricted", ["heron"])
    index.upsert(document(barrier="heron"))
    assert see(index, "hotel", BOB) == []


@contract("C-12")
@pytest.mark.parametrize("wrong", ["secret", "Internal", "", None, 1])
def test_an_unknown_class_is_refused_at_the_door(
    index: Index, wrong: object
) -> None:
    with pytest.raises(InvalidInput):
        Policy(("alice",), wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        index.directory.set("larkspur", "alice", wrong)  # type: ignore[arg-type]


@contract("C-13")
def test_a_thousand_hidden_documents_change_no_byte(index: Index) -> None:
    for n, words in enumerate(("layoffs budget", "budget plan", "layoffs")):
        index.upsert(
            document(f"open-{n}", f"# Note {n}\n\n{words}", readers=("bob",))
        )
    before = [everything(index, q, BOB) for q in ("layoffs", "budget plan")]
    for n in range(1000):
        index.upsert(document(f"hidden-{n}", "# layoffs\n\nlayoffs layoffs"))
    after = [everything(index, q, BOB) for q in ("layoffs", "budget plan")]
    assert before == after


@contract("C-13")
def test_another_tenant_s_documents_change_no_byte(index: Index) -> None:
    index.upsert(document("a", "# hotel\n\nhotel rate", readers=("bob",)))
    before = everything(index, "hotel rate", BOB)
    for n in range(50):
        index.upsert(
            document(f"x-{n}", "# hotel", tenant="quayside", readers=("*",))
        )
    assert everything(index, "hotel rate", BOB) == before


@contract("C-14")
@pytest.mark.parametrize(
    "query",
    [
        *("multi-agent", "a-b", "-x", "38.101", "AMF -band", "Mr. Jones"),
        *('"Hi there"', 'a"b', '"', "pad ---", "(" * 100 + "pad"),
        *("NEAR(a b)", "terms: x", "a OR", "a AND", "NOT", "^x", "x*", "{a}"),
        *("TS01-H-18011-005", "-" * 33, "' OR 1=1 --", "; DROP TABLE chunks"),
        *(f"a{mark}b" for mark in "!#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"),
        *("!#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"),
    ],
)
def test_no_query_text_is_syntax(index: Index, query: str) -> None:
    index.upsert(document("a", "# Nothing\n\nto see", readers=("bob",)))
    for mode in ("lexical", "vector", "hybrid"):
        index.search(query, BOB, mode=mode)


@contract("C-14")
@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("band 38.101 applies", "38.101"),
        ("a multi-agent plan", "multi-agent"),
        ("serial TS01-H-18011-005 ships", "TS01-H-18011-005"),
        ("ask Mr. Jones", "Mr. Jones"),
        ("pad and paper", "(" * 100 + "pad"),
    ],
)
def test_odd_strings_find_the_text_that_holds_them(
    index: Index, text: str, query: str
) -> None:
    index.upsert(document("a", text, readers=("bob",), format="text"))
    index.upsert(
        document("b", "something else", readers=("bob",), format="text")
    )
    assert found(index.search(query, BOB, mode="lexical")) == ["a"]


@contract("C-15")
def test_the_second_of_two_policy_changes_on_one_revision_loses(
    index: Index,
) -> None:
    made = index.upsert(document())
    first = index.set_policy(
        "larkspur", "travel-policy", Policy(("bob",)), made.policy_revision
    )
    assert first == made.policy_revision + 1
    with pytest.raises(StalePolicy):
        index.set_policy(
            "larkspur",
            "travel-policy",
            Policy(("alice", "bob")),
            made.policy_revision,
        )
    assert see(index, "hotel", ALICE) == []
    assert see(index, "hotel", BOB) == ["travel-policy"]


@contract("C-15")
def test_directory_changes_compare_and_swap_too(index: Index) -> None:
    directory = index.directory
    assert directory.set("larkspur", "alice") == 1
    with pytest.raises(StalePolicy):
        directory.set("larkspur", "alice", "restricted")
    assert directory.set_group("larkspur", "finance", ["alice"]) == 1
    with pytest.raises(StalePolicy):
        directory.set_group("larkspur", "finance", ["bob"])
    with pytest.raises(StalePolicy):
        directory.delete_group("larkspur", "finance", 2)
    entry = directory.get("larkspur", "alice")
    assert entry is not None
    assert entry.clearance == "internal"


@contract("C-15")
def test_a_policy_change_of_a_missing_document_is_not_found(
    index: Index,
) -> None:
    with pytest.raises(NotFound):
        index.set_policy("larkspur", "nothing", Policy(("bob",)), 0)
    index.upsert(document())
    index.delete("larkspur", "travel-policy", 2)
    with pytest.raises(NotFound):
        index.set_policy("larkspur", "travel-policy", Policy(("bob",)), 2)


@contract("C-16")
def test_a_content_event_never_changes_the_policy(index: Index) -> None:
    made = index.upsert(document(readers=("bob",)))
    for revision, readers in ((2, None), (3, ("alice",)), (4, ("*",))):
        after = index.upsert(
            document(
                source=f"# Travel\n\nhotel {revision}",
                revision=revision,
                readers=readers,
                classification="public",
            )
        )
        assert after.policy_revision == made.policy_revision
    assert see(index, "hotel", ALICE) == []
    assert see(index, "hotel", BOB) == ["travel-policy"]


@contract("C-17")
def test_a_revocation_reaches_hits_in_hand_and_saved_citations(
    index: Index,
) -> None:
    made = index.upsert(document(readers=("alice", "bob")))
    hits = index.search("hotel", ALICE).hits
    citation = hits[0].citation
    index.set_policy(
        "larkspur", "travel-policy", Policy(("bob",)), made.policy_revision
    )
    assert see(index, "hotel", ALICE) == []
    assert index.answer(hits, ALICE).state == "abstain"
    assert index.check(citation, ALICE).state == "unavailable"
    with pytest.raises(NotFound):
        index.read("travel-policy", ALICE)


@contract("C-17")
def test_a_removed_member_loses_access_on_the_next_call(
    index: Index,
) -> None:
    index.directory.set_group("larkspur", "finance", ["alice", "dana"])
    index.upsert(document(readers=("group:finance",)))
    hits = index.search("hotel", ALICE).hits
    assert hits
    index.directory.set_group("larkspur", "finance", ["dana"], 1)
    assert see(index, "hotel", ALICE) == []
    assert index.answer(hits, ALICE).state == "abstain"
    assert index.check(hits[0].citation, ALICE).state == "unavailable"


@contract("C-17")
def test_leaving_an_inner_group_closes_what_the_outer_opened(
    index: Index,
) -> None:
    directory = index.directory
    directory.set_group("larkspur", "finance", ["alice"])
    directory.set_group("larkspur", "staff", ["group:finance"])
    index.upsert(document(readers=("group:staff",)))
    assert see(index, "hotel", ALICE) == ["travel-policy"]
    directory.set_group("larkspur", "finance", [], 1)
    assert see(index, "hotel", ALICE) == []


@contract("C-18")
def test_a_revocation_leaves_the_others_and_their_citations_alone(
    index: Index,
) -> None:
    made = index.upsert(document(readers=("alice", "bob")))
    hits = index.search("hotel", BOB).hits
    before = everything(index, "hotel", BOB)
    index.set_policy(
        "larkspur", "travel-policy", Policy(("bob",)), made.policy_revision
    )
    assert everything(index, "hotel", BOB) == before
    assert index.answer(hits, BOB).state == "extractive"
    assert index.check(hits[0].citation, BOB).state == "valid"


@contract("C-18")
def test_granting_somebody_access_breaks_nobody_s_evidence(
    index: Index,
) -> None:
    made = index.upsert(document(readers=("alice",)))
    before = everything(index, "hotel", ALICE)
    index.set_policy(
        "larkspur",
        "travel-policy",
        Policy(("alice", "bob")),
        made.policy_revision,
    )
    assert everything(index, "hotel", ALICE) == before


@contract("C-19")
def test_a_group_made_again_under_its_name_is_another_group(
    index: Index,
) -> None:
    directory = index.directory
    first = directory.set_group("larkspur", "finance", ["alice"])
    index.upsert(document(readers=("group:finance",)))
    gone = directory.delete_group("larkspur", "finance", first)
    assert see(index, "hotel", ALICE) == []
    directory.set_group("larkspur", "finance", ["bob", "alice"], gone)
    assert see(index, "hotel", BOB) == []
    assert see(index, "hotel", ALICE) == []
    index.set_policy("larkspur", "travel-policy", Policy(("group:finance",)), 1)
    assert see(index, "hotel", BOB) == ["travel-policy"]


@contract("C-19")
def test_a_member_group_made_again_is_another_group_too(
    index: Index,
) -> None:
    directory = index.directory
    directory.set_group("larkspur", "inner", ["alice"])
    directory.set_group("larkspur", "outer", ["group:inner"])
    index.upsert(document(readers=("group:outer",)))
    directory.delete_group("larkspur", "inner", 1)
    directory.set_group("larkspur", "inner", ["alice"])
    assert see(index, "hotel", ALICE) == []
    directory.set_group("larkspur", "outer", ["group:inner"], 1)
    assert see(index, "hotel", ALICE) == ["travel-policy"]


@contract("C-19")
def test_a_policy_naming_an_unknown_group_grants_nobody_until_set_again(
    index: Index,
) -> None:
    index.upsert(document(readers=("group:later",)))
    index.directory.set_group("larkspur", "later", ["alice"])
    assert see(index, "hotel", ALICE) == []
    index.set_policy("larkspur", "travel-policy", Policy(("group:later",)), 1)
    assert see(index, "hotel", ALICE) == ["travel-policy"]


@contract("C-19")
def test_two_groups_of_the_same_age_do_not_share_their_parents(
    index: Index,
) -> None:
    directory = index.directory
    directory.set_group("larkspur", "inner", ["bob"])
    directory.set_group("larkspur", "other", ["alice"])
    directory.set_group("larkspur", "outer", ["group:inner"])
    index.upsert(document(readers=("group:outer",)))
    assert see(index, "hotel", BOB) == ["travel-policy"]
    assert see(index, "hotel", ALICE) == []


@contract("C-19")
def test_groups_in_a_circle_end_and_still_grant(index: Index) -> None:
    directory = index.directory
    directory.set_group("larkspur", "a", ["alice"])
    directory.set_group("larkspur", "b", ["group:a"])
    directory.set_group("larkspur", "a", ["alice", "group:b", "group:a"], 1)
    index.upsert(document(readers=("group:b",)))
    assert see(index, "hotel", ALICE) == ["travel-policy"]
    assert see(index, "hotel", BOB) == []


@contract("C-47")
def test_unreadable_deleted_and_unknown_read_alike(index: Index) -> None:
    index.upsert(document("hidden", "# Hidden\n\nhotel"))
    index.upsert(document("gone", "# Gone\n\nhotel", readers=("bob",)))
    index.delete("larkspur", "gone", 2)
    messages = set()
    for name in ("hidden", "gone", "never"):
        with pytest.raises(NotFound) as error:
            index.read(name, BOB)
        messages.add(str(error.value).replace(name, "NAME"))
    assert len(messages) == 1
