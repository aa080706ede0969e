"""Derived text dies with its sources, and a cache decides access again."""

from __future__ import annotations

import pytest

from lab.answering.cache import MOST_PER_QUESTION, AnswerCache
from lab.answering.derived import Derived, derived, readable
from lab.errors import InvalidInput
from lab.experiments import Refuted, answer_cache
from lab.fixture import load_fixture, populate
from lab.index import Index
from lab.model import Context, Policy
from tests.lab.support import ALICE, BOB, OUTSIDER, contract, document

ANN = Context("larkspur", "ann")
QUESTION = "What does a hotel night cost?"


def quote(index, doc_id, context=ALICE):
    hits = index.search("hotel night", context, limit=100).hits
    hits = [hit for hit in hits if hit.doc_id == doc_id]
    return index.answer(hits, context).evidence[0]


@pytest.fixture
def two(index):
    """Alice reads both documents, Bob the first, Ann both."""
    index.upsert(document("first", readers=("alice", "bob", "ann")))
    index.upsert(
        document(
            "second",
            "# Secret\n\nA hotel night in the secret place costs 999.",
            readers=("alice", "ann"),
        )
    )
    return index


@pytest.fixture
def summary(two):
    sources = [quote(two, "first"), quote(two, "second")]
    return derived("180 here, 999 there.", sources)


@contract("C-43")
def test_a_derived_text_is_readable_by_who_can_read_all_its_sources(
    two, summary
):
    assert readable(summary, two, ALICE)
    assert readable(summary, two, ANN)
    assert not readable(summary, two, BOB)
    assert not readable(summary, two, OUTSIDER)


@contract("C-43")
def test_a_derived_text_dies_with_a_new_revision_of_any_source(two, summary):
    two.upsert(document("first", "# Hotels\n\nA hotel night.", revision=2))
    assert not readable(summary, two, ALICE)


def test_a_derived_text_dies_even_if_the_quoted_words_stay(two, summary):
    source = "# Travel policy\n\nA hotel night may cost 180 pounds."
    two.upsert(document("first", source + "\n\nBut not now.", revision=2))
    assert not readable(summary, two, ALICE)


@contract("C-43")
def test_a_derived_text_dies_with_a_deletion_of_any_source(two, summary):
    two.delete("larkspur", "second", 2)
    assert not readable(summary, two, ALICE)


@contract("C-43", "C-17")
def test_a_derived_text_is_lost_to_whom_any_source_is_revoked(two, summary):
    two.set_policy("larkspur", "second", Policy(("ann",)), 1)
    assert not readable(summary, two, ALICE)
    assert readable(summary, two, ANN)


def test_a_grant_makes_it_readable_without_touching_it(two, summary):
    two.set_policy("larkspur", "second", Policy(("alice", "bob")), 1)
    assert readable(summary, two, BOB)


def test_a_text_derived_from_a_derived_text_has_all_its_sources(two, summary):
    again = derived("Shorter.", [summary, quote(two, "first")])
    assert again.citations == summary.citations
    assert not readable(again, two, BOB)


@contract("C-07")
@pytest.mark.parametrize("context", [None, "alice", ("larkspur", "alice")])
def test_without_a_context_nothing_is_checked(summary, context):
    class Untouched:
        def check(self, citation, context):
            raise AssertionError("was asked")

    with pytest.raises(PermissionError):
        readable(summary, Untouched(), context)


def test_a_text_without_sources_is_refused(two):
    # It would be readable by everyone.
    with pytest.raises(InvalidInput, match="at least one"):
        derived("text", [])


def test_a_source_must_be_a_citation(two):
    good = quote(two, "first").citation
    with pytest.raises(InvalidInput, match=r"sources\[1\]"):
        derived("text", [good, "larkspur/first"])
    with pytest.raises(InvalidInput, match="list"):
        derived("text", good)


def test_sources_of_two_tenants_are_refused(two):
    good = quote(two, "first").citation
    with pytest.raises(InvalidInput, match="2 tenants"):
        derived("text", [good, good.replace("larkspur", "quayside")])


def test_each_citation_is_kept_once(two):
    one = quote(two, "first")
    assert derived("text", [one, one.citation]).citations == (one.citation,)


# The cache.


@pytest.fixture(params=[False, True], ids=["own", "shared"])
def cache(request, two):
    return AnswerCache(two, shared=request.param)


def test_a_kept_answer_is_returned_to_the_reader_it_was_made_for(
    cache, summary
):
    cache.put(QUESTION, ALICE, summary)
    assert cache.get(QUESTION, ALICE) == summary
    assert cache.get(f"  {QUESTION}\r\n", ALICE) == summary
    assert cache.get("Another?", ALICE) is None


@contract("C-43")
def test_another_reader_never_gets_text_from_what_they_may_not_read(
    cache, summary
):
    cache.put(QUESTION, ALICE, summary)
    assert cache.get(QUESTION, BOB) is None
    # Bob's miss costs Alice nothing.
    assert cache.get(QUESTION, ALICE) == summary


def test_the_same_name_in_another_tenant_is_another_reader(cache, two):
    mine = derived("180.", [quote(two, "first")])
    cache.put(QUESTION, BOB, mine)
    assert cache.get(QUESTION, BOB) == mine
    assert cache.get(QUESTION, OUTSIDER) is None
    two.upsert(document("first", tenant="quayside", readers=("bob",)))
    theirs = derived("theirs", [quote(two, "first", OUTSIDER)])
    cache.put(QUESTION, OUTSIDER, theirs)
    assert cache.get(QUESTION, OUTSIDER) == theirs
    assert cache.get(QUESTION, BOB) == mine


@contract("C-43")
def test_a_cached_answer_ends_with_its_sources(cache, two, summary):
    cache.put(QUESTION, ALICE, summary)
    two.set_policy("larkspur", "second", Policy(("ann",)), 1)
    assert cache.get(QUESTION, ALICE) is None


def test_a_cached_answer_ends_with_an_update(cache, two, summary):
    cache.put(QUESTION, ALICE, summary)
    two.upsert(document("first", "# Hotels\n\nA hotel night.", revision=2))
    assert cache.get(QUESTION, ALICE) is None


def test_a_regrant_brings_it_back_since_nothing_was_decided_before(
    cache, two, summary
):
    cache.put(QUESTION, ALICE, summary)
    two.set_policy("larkspur", "second", Policy(()), 1)
    assert cache.get(QUESTION, ALICE) is None
    two.set_policy("larkspur", "second", Policy(("alice",)), 2)
    assert cache.get(QUESTION, ALICE) == summary


def test_readers_keep_answers_apart_unless_told_to_share(two, summary):
    own, shared = AnswerCache(two), AnswerCache(two, shared=True)
    for cache in (own, shared):
        cache.put(QUESTION, ALICE, summary)
    assert own.get(QUESTION, ANN) is None
    assert shared.get(QUESTION, ANN) == summary


def test_a_poorer_answer_does_not_displace_a_richer_one(two, summary):
    shared = AnswerCache(two, shared=True)
    poorer = derived("180.", [quote(two, "first")])
    shared.put(QUESTION, ALICE, summary)
    shared.put(QUESTION, BOB, poorer)
    assert shared.get(QUESTION, BOB) == poorer
    two.delete("larkspur", "first", 2)
    assert shared.get(QUESTION, BOB) is None


def test_answers_of_one_question_are_bounded(two):
    shared = AnswerCache(two, shared=True)
    source = quote(two, "first")
    for number in range(MOST_PER_QUESTION + 1):
        shared.put(QUESTION, ALICE, derived(str(number), [source]))
    (kept,) = shared._entries.values()
    assert [entry.text for entry in kept] == list("87654321")


def test_the_question_unused_longest_goes_first(two, summary):
    cache = AnswerCache(two, capacity=2)
    for question in ("one", "two"):
        cache.put(question, ALICE, summary)
    assert cache.get("one", ALICE) is not None
    cache.put("three", ALICE, summary)
    assert cache.get("two", ALICE) is None
    assert cache.get("one", ALICE) is not None
    assert cache.get("three", ALICE) is not None


def test_only_text_bound_to_sources_is_kept(cache):
    with pytest.raises(InvalidInput, match="Derived"):
        cache.put(QUESTION, ALICE, "I don't know.")


@pytest.mark.parametrize("question", ["", " \n", None, "a\ud800"])
def test_a_question_must_be_text(cache, summary, question):
    with pytest.raises(InvalidInput, match="question"):
        cache.put(question, ALICE, summary)
    with pytest.raises(InvalidInput, match="question"):
        cache.get(question, ALICE)


@contract("C-07")
def test_a_cache_without_a_context_answers_nobody(cache, summary):
    cache.put(QUESTION, ALICE, summary)
    with pytest.raises(PermissionError):
        cache.get(QUESTION, None)


@pytest.mark.parametrize("capacity", [0, -1, True, 1.5])
def test_a_capacity_is_a_positive_integer(two, capacity):
    with pytest.raises(InvalidInput, match="capacity"):
        AnswerCache(two, capacity=capacity)


def test_a_derived_text_cannot_be_made_around_its_checks():
    with pytest.raises(InvalidInput):
        Derived("text", ())


# The experiment: a cache keyed by the question alone, and the two of ours.


def test_a_cache_keyed_by_the_question_alone_shows_bob_the_board_paper():
    told = attacked("naive")
    assert told == {"bob": True, "other": True, "late": True}


@pytest.mark.parametrize("name", ["shared", "own"])
def test_a_checked_cache_shows_nobody_what_they_may_not_read(name):
    told = attacked(name)
    assert told == {"bob": False, "other": False, "late": False}


def attacked(name):
    with Index.open(":memory:") as index:
        populate(index, load_fixture())
        cache = answer_cache.cache(name, index)
        return answer_cache.attack(answer_cache.Service(index, cache))


def test_the_experiment_is_refuted_by_a_cache_that_leaks():
    naive = {"bob": True, "other": True, "late": True}
    tight = {"bob": False, "other": False, "late": False}
    tight |= {"crossed": 0, "another": 0}
    answer_cache.judge({"naive": naive, "shared": tight, "own": tight})
    for name, forged in [
        ("naive", {**naive, "bob": False}),
        ("shared", {**tight, "bob": True}),
        ("shared", {**tight, "crossed": 1}),
        ("own", {**tight, "late": True}),
        ("own", {**tight, "another": 1}),
    ]:
        claims = {"naive": naive, "shared": tight, "own": tight, name: forged}
        with pytest.raises(Refuted):
            answer_cache.judge(claims)
