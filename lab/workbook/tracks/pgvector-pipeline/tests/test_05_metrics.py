"""Stage 5: measures by hand, the report, and figures that are pinned."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from metrics import (
    Run,
    bound,
    evaluate,
    main,
    measure,
    misses,
    ndcg,
    precision,
    recall,
    reciprocal_rank,
    run_queries,
)
from pipeline_types import Chunk, GoldenQuery, Hit, Scores
from reranking import Pipeline
from store import HashingEmbedder

FIGURES = json.loads(
    Path(__file__).with_name("figures.json").read_text("utf-8")
)
# How far a learner's pipeline may be from the reference.
NEAR = 0.02


def marks(text: str) -> list[bool]:
    """Return the marks of a text like ``.x..x``."""
    return [sign == "x" for sign in text]


def ranking(text: str, query: GoldenQuery) -> tuple[Hit, ...]:
    """Return hits that are relevant where the text has an ``x``."""
    return tuple(
        Hit(
            Chunk(f"memo#{n}", "memo", n, "", sign and query.anchor, 0, 1)
            if sign == "x"
            else Chunk(f"memo#{n}", "memo", n, "", "no", 0, 1),
            1.0,
            n,
        )
        for n, sign in enumerate(text, 1)
    )


def run(
    final: str,
    relevant: int = 1,
    kind: str = "factual",
    fused: str = "",
    name: str = "f01",
) -> Run:
    """Return a run with these rankings."""
    query = GoldenQuery(name, kind, "Why?", "memo", "because")
    return Run(query, ranking(final, query), ranking(fused, query), relevant)


@pytest.mark.parametrize(
    ("text", "relevant", "k", "expected"),
    [
        ("x..x", 2, 4, 1.0),
        ("x..x", 2, 3, 0.5),
        ("x..x", 4, 9, 0.5),
        ("....", 1, 4, 0.0),
        ("", 0, 4, 0.0),
    ],
)
def test_recall_is_a_share_of_what_there_is(
    text: str, relevant: int, k: int, expected: float
) -> None:
    """Divide by all relevant chunks, found or not."""
    assert recall(marks(text), relevant, k) == expected


@pytest.mark.parametrize(
    ("text", "k", "expected"),
    [("x..x", 4, 0.5), ("x..x", 2, 0.5), ("x", 4, 0.25), ("", 5, 0.0)],
)
def test_precision_is_a_share_of_k(text: str, k: int, expected: float) -> None:
    """Divide by k, even when fewer were found."""
    assert precision(marks(text), k) == expected


@pytest.mark.parametrize(
    ("text", "k", "expected"),
    [("x..x", 4, 1.0), ("..xx", 4, 1 / 3), ("..x", 2, 0.0), ("", 4, 0.0)],
)
def test_the_reciprocal_rank_is_of_the_first(
    text: str, k: int, expected: float
) -> None:
    """Ranks count from 1, and only the first relevant one matters."""
    assert reciprocal_rank(marks(text), k) == pytest.approx(expected)


def test_ndcg_by_hand() -> None:
    """1 / log2(rank + 1), divided by the best order's sum."""
    # Relevant at 2 and 3 of two: (1/log2 3 + 1/2) / (1 + 1/log2 3).
    third = 1 / math.log2(3)
    assert ndcg(marks(".xx"), 2, 3) == pytest.approx(
        (third + 0.5) / (1 + third)
    )
    assert ndcg(marks("xx."), 2, 3) == pytest.approx(1)
    assert ndcg(marks("..x"), 1, 2) == 0
    assert ndcg([], 0, 3) == 0


def test_ndcg_is_highest_for_the_best_order() -> None:
    """Fewer places than relevant chunks: the ideal fills k places."""
    assert ndcg(marks("xx"), 5, 2) == pytest.approx(1)
    values = {
        "".join(order): ndcg(marks("".join(order)), 3, 5)
        for order in itertools.permutations("xxx..")
    }
    assert max(values.values()) == pytest.approx(1)
    assert [text for text, one in values.items() if one > 0.9999] == ["xxx.."]


def test_means_are_over_queries() -> None:
    """Every query weighs the same, however many chunks it has."""
    made = evaluate([run("x."), run("..x", 2)], 3)
    assert made["all"] == Scores(
        queries=2,
        k=3,
        recall=pytest.approx((1 + 0.5) / 2),
        precision=pytest.approx(1 / 3),
        mrr=pytest.approx((1 + 1 / 3) / 2),
        ndcg=pytest.approx((1 + 0.5 / (1 + 1 / math.log2(3))) / 2),
    )


def test_kinds_are_counted_apart() -> None:
    """One entry for each kind that occurs, and `all` over everything."""
    made = evaluate([run("x"), run("."), run("x", kind="lexical")], 1)
    assert list(made) == ["all", "factual", "lexical"]
    assert [one.queries for one in made.values()] == [3, 2, 1]
    assert [one.recall for one in made.values()] == pytest.approx(
        [2 / 3, 0.5, 1]
    )


def test_nothing_to_evaluate_is_refused() -> None:
    """Raise ValueError: a mean of nothing is no zero."""
    with pytest.raises(ValueError, match="nothing"):
        evaluate([])


def test_the_bound_is_the_recall_of_the_pool() -> None:
    """Look at the whole depth, not at the first ten."""
    deep = "." * 48 + "x"
    runs = [run(deep), run("x", 2), run("." * 50 + "x")]
    assert bound(runs) == pytest.approx((1 + 0.5 + 0) / 3)
    assert bound(runs, 10) == pytest.approx(0.5 / 3)


def test_a_miss_has_its_best_rank_before_and_after() -> None:
    """Beyond k is a miss; rank 10 is none. Search the full pool."""
    far = "." * 11 + "x"
    runs = [
        run("." * 9 + "x", fused=far, name="f01"),
        run("." * 10 + "x.x", fused="..x", name="f02"),
        run("...", fused="...", name="f03"),
    ]
    found = misses(runs)
    assert [(one.query.id, one.best_rank, one.fused_rank) for one in found] == [
        ("f02", 11, 3),
        ("f03", None, None),
    ]
    assert len(misses(runs, 9)) == 3


class Backwards:
    """A reranker that turns its candidates round."""

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits in reverse."""
        return [
            Hit(hit.chunk, hit.score, rank)
            for rank, hit in enumerate(reversed(hits), 1)
        ]


def test_a_run_has_both_orders_and_counts_in_the_corpus(
    corpus_store: Any,
) -> None:
    """hits are reranked, fused are not; relevant is counted in chunks."""
    made = Pipeline(corpus_store, HashingEmbedder(), Backwards(), depth=20)
    query = GoldenQuery("f01", "factual", "the lamp", "memo", "lamp")
    chunks = [
        Chunk("memo#000", "memo", 0, "", "the lamp", 0, 8),
        Chunk("memo#001", "memo", 1, "", "a lamp", 8, 14),
        Chunk("memo#002", "memo", 2, "", "no light", 14, 22),
        Chunk("other#000", "other", 0, "", "a lamp", 0, 6),
    ]
    (one,) = run_queries(made, [query], chunks)
    assert one.relevant == 2
    assert [hit.chunk for hit in one.hits] == [
        hit.chunk for hit in reversed(one.fused)
    ]
    assert len(one.fused) == 20


@pytest.fixture(scope="module")
def runs(connection: Any, schema: str) -> list[Run]:
    """Return the runs of the report."""
    return measure(connection, schema)


@pytest.mark.parametrize("name", FIGURES["scores"])
def test_the_figures_are_those_of_the_reference(
    runs: list[Run], name: str
) -> None:
    """Within 0.02, all together and kind by kind."""
    made = evaluate(runs)[name]
    expected = FIGURES["scores"][name]
    for measured in ("recall", "precision", "mrr", "ndcg"):
        value = getattr(made, measured)
        assert value == pytest.approx(expected[measured], abs=NEAR), measured
    assert made.queries == expected["queries"]


def test_the_figures_are_above_the_floors(runs: list[Run]) -> None:
    """A floor is the reference's own figure, rounded down to 0.05."""
    made = evaluate(runs)["all"]
    for measured, floor in FIGURES["floors"].items():
        value = bound(runs) if measured == "pool" else getattr(made, measured)
        assert value >= floor, measured


def test_the_pool_bounds_what_a_reranker_can_reach(runs: list[Run]) -> None:
    """Recall at 10 never exceeds recall at 50."""
    assert bound(runs) >= evaluate(runs)["all"].recall
    assert bound(runs) == pytest.approx(FIGURES["pool"], abs=NEAR)


def schemas(connection: Any) -> set[str]:
    """Return the names of all schemas."""
    found = connection.execute("SELECT nspname FROM pg_namespace").fetchall()
    return {name for (name,) in found}


def test_the_report_leaves_nothing_behind(
    connection: Any,
    dsn: str,
    runs: list[Run],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A schema of its own, dropped again; the bound is published."""
    before = schemas(connection)
    assert main(["--dsn", dsn]) == 0
    assert schemas(connection) == before
    said = capsys.readouterr().out
    assert f"pool recall@50: {bound(runs):.3f}" in said
    assert "misses" not in said


def test_the_report_keeps_a_schema_that_was_named(
    connection: Any,
    dsn: str,
    schema: str,
    runs: list[Run],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """--schema keeps the tables; --failures lists each miss."""
    name = f"{schema}_kept"
    try:
        assert main(["--dsn", dsn, "--schema", name, "--failures"]) == 0
        assert name in schemas(connection)
    finally:
        connection.execute(f'DROP SCHEMA IF EXISTS "{name}" CASCADE')
    _, _, listed = capsys.readouterr().out.partition("\n\n")
    lines = listed.splitlines()
    missed = misses(runs)
    assert lines[0].startswith(f"{len(missed)} misses")
    assert [line.split()[0] for line in lines[1:]] == [
        one.query.id for one in missed
    ]
    assert any(" none " in line for line in lines)
