"""Hand-worked values for the measures and the faults they must not have."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import pytest

from lab.errors import InvalidInput
from lab.evaluation import metrics
from lab.evaluation.metrics import (
    abstention,
    bootstrap,
    by_document,
    grouped_bootstrap,
    mean,
    ndcg,
    per_query,
    precision,
    ranked,
    recall,
    reciprocal_rank,
)
from tests.lab.support import contract

MEASURES = (recall, precision, reciprocal_rank, ndcg)


@contract("C-44")
def test_recall_is_the_share_of_the_gold_set_in_the_first_k():
    assert recall(["x", "A", "B"], {"A", "B", "C"}, 2) == Fraction(1, 3)
    assert recall(["x", "A", "B"], {"A", "B", "C"}, 3) == Fraction(2, 3)


@contract("C-44")
def test_precision_divides_by_k_even_when_less_came_back():
    assert precision(["A", "x"], {"A", "B"}, 2) == Fraction(1, 2)
    assert precision(["A"], {"A", "B"}, 5) == Fraction(1, 5)


@contract("C-44")
def test_reciprocal_rank_looks_at_the_first_gold_id_within_k():
    assert reciprocal_rank(["x", "y", "A", "B"], {"A", "B"}, 10) == Fraction(
        1, 3
    )
    assert reciprocal_rank(["x", "y", "A"], {"A"}, 2) == 0


def test_ndcg_of_one_gold_id_at_rank_three_is_one_half():
    # 1/log2(3+1) = 0.5 over the ideal 1/log2(1+1) = 1.
    assert ndcg(["x", "y", "A"], {"A"}, 10) == Fraction(1, 2)


@contract("C-44")
def test_ndcg_by_hand_for_two_of_three():
    # DCG = 1/log2(2) + 1/log2(4) = 1.5;
    # ideal = 1 + 1/log2(3) + 1/2 = 2.1309297535714573
    value = ndcg(["A", "x", "B"], {"A", "B", "C"}, 3)
    assert value is not None
    assert math.isclose(value, 1.5 / 2.1309297535714573, abs_tol=1e-11)


def test_ideal_comes_from_the_gold_set_not_from_what_was_retrieved():
    value = ndcg(["A"], {"A", "B", "C"}, 3)
    assert value is not None
    assert math.isclose(value, 1 / 2.1309297535714573, abs_tol=1e-11)


def test_ideal_is_cut_at_k():
    assert ndcg(["A"], {"A", "B", "C"}, 1) == 1


@contract("C-44")
@pytest.mark.parametrize("measure", [recall, reciprocal_rank, ndcg])
def test_a_hit_listed_twice_is_credited_once(measure):
    assert measure(["A", "A"], {"A"}, 2) == 1


def test_a_duplicate_gives_its_place_to_the_next_id():
    assert recall(["A", "A", "B"], ["A", "B"], 2) == 1
    assert precision(["A", "A"], {"A"}, 2) == Fraction(1, 2)


@pytest.mark.parametrize("measure", [recall, reciprocal_rank, ndcg])
def test_a_gold_list_with_duplicates_is_a_set(measure):
    assert measure(["A"], ["A", "A"], 1) == 1


def test_ids_are_compared_as_they_are_and_never_renamed():
    ranking = ["a", "a", "a_bc574ae_2"]
    assert metrics.unique(ranking) == ["a", "a_bc574ae_2"]
    assert recall(ranking, {"a_bc574ae_2"}, 2) == 1
    assert recall(["a", "a"], {"a_bc574ae_2"}, 2) == 0


@pytest.mark.parametrize("measure", MEASURES)
def test_an_empty_gold_set_has_no_value(measure):
    assert measure(["A"], set(), 3) is None
    assert measure([], set(), 3) is None


@contract("C-44")
@pytest.mark.parametrize("measure", MEASURES)
def test_no_results_for_a_labelled_query_is_zero(measure):
    assert measure([], {"A"}, 3) == 0


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("k", [0, -1, True, 2.0])
def test_k_that_is_no_positive_integer_is_refused(measure, k):
    with pytest.raises(InvalidInput, match=r"k: must be an integer"):
        measure(["A"], {"A"}, k)


def test_a_constant_scorer_earns_nothing_from_insertion_order():
    # By id the gold "c" is third of five, whatever came first.
    for names in itertools.permutations("abcde"):
        ranking = ranked(dict.fromkeys(names, 0.5))
        assert reciprocal_rank(ranking, {"c"}, 5) == Fraction(1, 3)


def test_scores_decide_before_ids_do():
    assert ranked({"a": 0.1, "b": 0.9, "c": 0.9}) == ["b", "c", "a"]


@contract("C-44")
def test_a_query_missing_from_the_run_counts_as_zero():
    values = per_query(
        lambda ranking, gold: recall(ranking, gold, 1),
        {"q1": ["A"]},
        {"q1": {"A"}, "q2": {"B"}},
    )
    assert values == {"q1": 1, "q2": 0}
    assert mean(values.values()).value == Fraction(1, 2)


def test_a_ranking_without_labels_is_refused():
    with pytest.raises(InvalidInput, match=r"query q9: ranked but not"):
        per_query(lambda *_: None, {"q9": ["A"]}, {"q1": {"A"}})


def test_undefined_values_leave_the_mean_and_are_counted():
    result = mean([Fraction(1), None, Fraction(0), None])
    assert result.value == Fraction(1, 2)
    assert (result.count, result.undefined) == (2, 2)


def test_a_mean_of_nothing_is_undefined_not_zero_or_one():
    result = mean([None])
    assert result.value is None
    assert (result.count, result.undefined) == (0, 1)
    assert mean([]).value is None


def test_abstention_is_one_for_nothing_and_zero_for_anything():
    assert abstention([]) == 1
    assert abstention(["A"]) == 0


def test_a_document_takes_one_place_however_many_chunks_it_has():
    chunks = [("a", 1), ("a", 2), ("b", 1), ("a", 3), ("c", 9), ("d", 1)]
    assert by_document(chunks) == ["a", "b", "c"]
    assert reciprocal_rank(by_document(chunks), {"c"}, 3) == Fraction(1, 3)
    assert recall(by_document(chunks), {"d"}, 3) == 0


def test_documents_come_from_the_first_ten_chunks_only():
    chunks = [("a", n) for n in range(10)] + [("b", 0)]
    assert by_document(chunks) == ["a"]


def test_the_interval_is_the_same_for_the_same_seed():
    values = [Fraction(1, n + 1) for n in range(40)]
    assert bootstrap(values, seed=7) == bootstrap(values, seed=7)
    assert bootstrap(values, seed=7) != bootstrap(values, seed=8)


def test_the_interval_agrees_with_a_slow_second_reading_of_its_text():
    values = [Fraction(1), Fraction(0), Fraction(1, 2), Fraction(1, 4)]
    generator = random.Random(3)
    means = []
    for _ in range(200):
        drawn = [values[math.floor(generator.random() * 4)] for _ in range(4)]
        means.append((drawn[0] + drawn[1] + drawn[2] + drawn[3]) / 4)
    means.sort()
    # 2.5 % of 200 are 5 means below the interval and 5 above it.
    expected = (means[5], means[194])
    assert bootstrap(values, seed=3, samples=200) == expected


def test_the_interval_of_equal_values_is_that_value():
    assert bootstrap([Fraction(1, 2)] * 9) == (Fraction(1, 2), Fraction(1, 2))


def test_the_interval_narrows_with_more_queries():
    few = bootstrap([Fraction(n % 2) for n in range(10)])
    many = bootstrap([Fraction(n % 2) for n in range(1000)])
    assert many[1] - many[0] < few[1] - few[0]


def test_an_interval_of_no_values_is_refused():
    with pytest.raises(InvalidInput, match=r"bootstrap: no values"):
        bootstrap([])


def test_groups_of_one_are_drawn_like_the_values_themselves() -> None:
    values = [Fraction(n % 3, 2) for n in range(30)]
    grouped = grouped_bootstrap([[value] for value in values], seed=5)
    assert grouped == bootstrap(values, seed=5)


def test_questions_that_agree_within_their_group_widen_the_interval() -> None:
    values = [Fraction(n // 10 % 2) for n in range(100)]
    groups = [values[start : start + 10] for start in range(0, 100, 10)]
    low, high = bootstrap(values)
    wider_low, wider_high = grouped_bootstrap(groups)
    assert wider_low < low < Fraction(1, 2) < high < wider_high


def test_a_large_group_counts_by_its_questions() -> None:
    groups = [[Fraction(1)] * 9, [Fraction(0)]]
    low, high = grouped_bootstrap(groups, samples=500, level=Fraction(1, 50))
    # Drawn both once, half of the time: nine of ten.
    assert low == high == Fraction(9, 10)


def test_an_empty_group_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"grouped_bootstrap: no groups"):
        grouped_bootstrap([[Fraction(1)], []])
