"""Our measures against ir_measures, an implementation we did not write."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.evaluation import metrics
from tests.lab.support import contract

ir_measures = pytest.importorskip("ir_measures")

IDS = st.sampled_from([f"d{n:02d}" for n in range(12)])
GOLD = st.sets(IDS, min_size=1, max_size=8)
RANKING = st.lists(IDS, max_size=12, unique=True)
K = st.integers(1, 15)


def oracle(measure, run, gold):
    """Score with ir_measures; ranks become strictly decreasing scores.

    Its tie rule (by document name, descending) is then never consulted.
    """
    qrels = [
        ir_measures.Qrel(query, document, 1)
        for query, documents in gold.items()
        for document in sorted(documents)
    ]
    scored = [
        ir_measures.ScoredDoc(query, document, float(len(ranking) - place))
        for query, ranking in run.items()
        for place, document in enumerate(ranking)
    ]
    return ir_measures.calc_aggregate([measure], qrels, scored)[measure]


# ir_measures loads its providers on first use, which takes a while.
@contract("C-44")
@settings(deadline=None)
@given(ranking=RANKING, gold=GOLD, k=K)
def test_every_measure_agrees_with_the_oracle(ranking, gold, k):
    pairs = [
        (ir_measures.R @ k, metrics.recall),
        (ir_measures.P @ k, metrics.precision),
        (ir_measures.RR @ k, metrics.reciprocal_rank),
        (ir_measures.nDCG @ k, metrics.ndcg),
    ]
    for theirs, ours in pairs:
        expected = oracle(theirs, {"q": ranking}, {"q": gold})
        value = ours(ranking, gold, k)
        assert math.isclose(value, expected, abs_tol=1e-9), theirs


@settings(deadline=None)
@given(
    run=st.dictionaries(st.sampled_from("pqrs"), RANKING),
    gold=st.fixed_dictionaries(dict.fromkeys("pqrs", GOLD)),
    k=K,
)
def test_the_mean_counts_queries_without_results_as_the_oracle_does(
    run, gold, k
):
    values = metrics.per_query(
        lambda ranking, wanted: metrics.ndcg(ranking, wanted, k), run, gold
    )
    ours = metrics.mean(values.values(), samples=1).value
    expected = oracle(ir_measures.nDCG @ k, run, gold)
    assert math.isclose(ours, expected, abs_tol=1e-9)


@given(ranking=st.lists(IDS, max_size=20), gold=GOLD, k=K)
def test_no_measure_leaves_the_unit_interval_even_with_duplicates(
    ranking, gold, k
):
    for measure in (
        metrics.recall,
        metrics.precision,
        metrics.reciprocal_rank,
        metrics.ndcg,
    ):
        assert 0 <= measure(ranking, gold, k) <= 1


@given(rank=st.integers(1, 2000))
def test_discounts_are_the_logarithm_to_forty_bits(rank):
    assert abs(metrics.discount(rank) / 2**40 - 1 / math.log2(rank + 1)) < 1e-11


@given(
    scores=st.dictionaries(IDS, st.sampled_from([0.0, 0.5, 1.0])),
    data=st.data(),
)
def test_order_never_depends_on_insertion(scores, data):
    shuffled = dict(data.draw(st.permutations(list(scores.items()))))
    assert metrics.ranked(shuffled) == metrics.ranked(scores)
