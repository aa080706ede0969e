"""Stage 9, offline: a scripted client stands for the model."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from answering import MOST_COST, SOURCES
from live_answer import (
    LiveRun,
    OverBudget,
    Purse,
    Verdict,
    choose,
    judge,
    run_live,
)
from local_models import record_run
from pipeline_types import (
    KINDS,
    REFUSAL,
    Answer,
    Chunk,
    Completion,
    Faithfulness,
    GoldenQuery,
    Hit,
    ModelSettings,
    Prompt,
    Sentence,
    Source,
    load_golden,
)
from reranking import Bm25Reranker, Pipeline
from store import HashingEmbedder

FIGURES = json.loads(
    Path(__file__).with_name("figures.json").read_text("utf-8")
)
FLOOR = FIGURES["support_floor"]
ASKED = {query.query: query for query in load_golden()}
# At $1 for a million: what costs a dollar's hundredth.
CENT = 10_000

Reply = Callable[[str], str] | Exception


class Client:
    """Behaves like a client of a model: answers by script, in order."""

    def __init__(self, *script: Reply, cents: int = 0) -> None:
        self.script = list(script)
        self.cents = cents
        self.asked: list[dict[str, Any]] = []
        self.messages = self

    def create(self, **given: Any) -> Any:
        """Answer with the next of the script; each answer costs the same."""
        self.asked.append(given)
        reply = self.script[len(self.asked) - 1]
        if isinstance(reply, Exception):
            raise reply
        text = reply(given["messages"][0]["content"])
        return SimpleNamespace(
            content=[SimpleNamespace(type="text", text=text)],
            usage=SimpleNamespace(
                input_tokens=self.cents * CENT, output_tokens=0
            ),
        )


def holding(user: str) -> tuple[list[int], list[int]]:
    """Return the sources of a prompt with the anchor, and those without."""
    query = ASKED[user.rpartition("Question: ")[2]]
    found = re.findall(r"<source (\d)>\n(.*?)\n</source \1>", user, re.S)
    good = [int(number) for number, text in found if query.anchor in text]
    bad = [int(number) for number, text in found if query.anchor not in text]
    assert good, "the prompt shows no chunk with the anchor"
    return good, bad


def right(user: str) -> str:
    """Cite a chunk that holds the anchor."""
    return f"So it was. [{holding(user)[0][0]}]"


def elsewhere(user: str) -> str:
    """Cite a chunk that does not."""
    return f"So it was. [{holding(user)[1][0]}]"


def nowhere(user: str) -> str:
    """Cite the right chunk, and one that was never shown."""
    return f"So it was. [{holding(user)[0][0]}] And so it is. [9]"


def bare(user: str) -> str:
    """Cite nothing."""
    return "So it was."


def refusing(user: str) -> str:
    """Say the sentence that the prompt fixes."""
    return f"{REFUSAL}\n"


@pytest.fixture(scope="module")
def pipeline(corpus_store: Any) -> Pipeline:
    """Return the pipeline of stage 5."""
    return Pipeline(corpus_store, HashingEmbedder(), Bm25Reranker())


def query(name: str, kind: str, text: str = "oil lamp") -> GoldenQuery:
    """Return a query whose anchor is its id in brackets."""
    return GoldenQuery(name, kind, text, "memo", f"<{name}>")


def hits(*texts: str) -> list[Hit]:
    """Return hits with these texts."""
    return [
        Hit(Chunk(f"memo#{n:03d}", "memo", n, "", text, 0, len(text)), 1.0, n)
        for n, text in enumerate(texts, 1)
    ]


class Shelf:
    """A pipeline that finds the same for every question, and counts."""

    def __init__(self, *texts: str) -> None:
        self.found = hits(*texts)
        self.searched = 0

    def search(self, query: str) -> list[Hit]:
        """Return everything."""
        self.searched += 1
        return self.found


def test_one_query_of_each_kind_is_chosen_in_the_order_of_kinds() -> None:
    """Go by KINDS, and take the first of each that can be answered."""
    shelf = Shelf("oil lamp <l1> <f1> <f2>", "<c2>")
    queries = [
        query("l1", "lexical"),
        query("c1", "conceptual"),
        query("f1", "factual"),
        query("f2", "factual"),
        query("c2", "conceptual"),
    ]
    found = choose(shelf, queries, 0.5)
    assert [one.id for one, _ in found] == ["f1", "c2", "l1"]
    assert [one for _, one in found] == [shelf.found] * 3
    assert shelf.searched == 4, "search up to the first, and no further"


def test_an_anchor_that_no_model_is_shown_is_not_chosen() -> None:
    """Only the first SOURCES hits become sources."""
    texts = ["oil lamp", "", "", "", "<f2> <c1> <l1>", "<f1>"]
    queries = [query("f1", "factual"), query("f2", "factual")]
    queries += [query("c1", "conceptual"), query("l1", "lexical")]
    found = choose(Shelf(*texts), queries, 0.5)
    assert found[0][0].id == "f2"
    assert texts.index("<f1>") == SOURCES


def test_a_question_below_the_floor_is_not_chosen() -> None:
    """Stage 6 would refuse it, and no model would be asked."""
    texts = ["oil <f1> <f2> <c1> <l1>"]
    queries = [query("f1", "factual", "oil lamp tower"), query("f2", "factual")]
    queries += [query("c1", "conceptual"), query("l1", "lexical")]
    assert choose(Shelf(*texts), queries, 0.5)[0][0].id == "f2"


def test_a_kind_without_a_query_that_can_be_answered_is_named() -> None:
    """Raise ValueError: two questions are not three."""
    queries = [query("f1", "factual"), query("c1", "conceptual")]
    with pytest.raises(ValueError, match="lexical"):
        choose(Shelf("oil lamp <f1> <c1>"), queries, 0.5)


def answered(*cited: tuple[int, ...], paid: bool = True) -> Answer:
    """Return an answer from two sources; the second holds ``<f1>``.

    Each of ``cited`` are the numbers of one sentence; none is a refusal.
    """
    made = tuple(
        Sentence(
            "It was.", numbers, tuple(n for n in numbers if n not in (1, 2))
        )
        for numbers in cited
    )
    valid = sum(one.cited for one in made)
    return Answer(
        question="oil",
        text="It was." if made else REFUSAL,
        refused=not made,
        support=1.0,
        sources=tuple(
            Source(n, hit.chunk)
            for n, hit in enumerate(hits("oil", "oil <f1>"), 1)
        ),
        faithfulness=Faithfulness(
            sentences=made,
            cited=valid,
            uncited=len(made) - valid,
            invalid=tuple(sorted({n for one in made for n in one.invalid})),
            share=valid / len(made) if made else 1.0,
        ),
        completion=Completion("", 10, 5, 0.001) if paid else None,
    )


F1 = query("f1", "factual")


def test_an_answer_is_anchored_by_a_chunk_that_it_cites() -> None:
    """The number means a source; the source must hold the anchor."""
    assert judge(F1, answered((1,), (1, 2))) == Verdict(
        "f1",
        "factual",
        "It was.",
        refused=False,
        anchored=True,
        invalid=(),
        cost=0.001,
    )
    got = judge(F1, answered((1,)))
    assert not got.anchored, "[1] alone is cited, and [2] holds the anchor"
    assert not judge(F1, answered(())).anchored, "nothing is cited"
    other = replace(F1, doc_id="diary")
    assert not judge(other, answered((2,))).anchored, "another document"


def test_invalid_numbers_and_refusals_are_passed_on() -> None:
    """They are counted already, in the answer."""
    got = judge(F1, answered((2,), (7,), (0,)))
    assert (got.anchored, got.invalid) == (True, (0, 7))
    got = judge(F1, answered())
    assert (got.refused, got.anchored, got.cost) == (True, False, 0.001)


def test_nobody_asked_is_nothing_paid() -> None:
    """Below the floor an answer has no completion: the cost is 0."""
    got = judge(F1, answered(paid=False))
    assert (got.refused, got.text, got.cost) == (True, REFUSAL, 0.0)


PROMPT = Prompt("rules", "ask")


def test_a_purse_adds_up_what_calls_have_cost() -> None:
    """Ask by call_model; take the cost from the completion."""
    client = Client(bare, bare, cents=3)
    purse = Purse(client, ModelSettings("m"))
    assert purse(PROMPT) == Completion(
        "So it was.", 3 * CENT, 0, pytest.approx(0.03)
    )
    purse(PROMPT)
    assert purse.spent == pytest.approx(0.06)
    assert [one["model"] for one in client.asked] == ["m", "m"]


def test_a_call_that_the_rest_would_not_pay_is_not_made() -> None:
    """0.16 are spent and a call may cost 0.05: that is more than 0.20."""
    client = Client(bare, bare, bare, cents=8)
    purse = Purse(client)
    purse(PROMPT)
    purse(PROMPT)
    with pytest.raises(OverBudget, match=r"0\.16"):
        purse(PROMPT)
    assert len(client.asked) == 2, "the model was asked a third time"
    assert purse.spent == pytest.approx(0.16)


def test_a_sum_of_floats_is_no_reason_to_refuse() -> None:
    """0.05 + 0.05 + 0.05 is 0.15, and a last bit more."""
    client = Client(bare, bare, bare, bare, cents=5)
    purse = Purse(client, most=0.15)
    for _ in range(3):
        purse(PROMPT)
    with pytest.raises(OverBudget):
        purse(PROMPT)


def test_a_call_that_fails_counts_as_the_dearest() -> None:
    """Nobody knows what it cost: assume MOST_COST."""
    purse = Purse(Client(OSError("gone"), lambda user: " "))
    with pytest.raises(OSError, match="gone"):
        purse(PROMPT)
    assert purse.spent == pytest.approx(MOST_COST)
    with pytest.raises(ValueError, match="no text"):
        purse(PROMPT)
    assert purse.spent == pytest.approx(2 * MOST_COST)


def test_three_right_answers_have_no_fault(pipeline: Pipeline) -> None:
    """One call for each kind, one turn, no tools."""
    client = Client(right, right, right, cents=1)
    run = run_live(pipeline, client, FLOOR, ModelSettings("m"))
    assert run.faults() == []
    assert [one.kind for one in run.verdicts] == list(KINDS)
    assert all(one.anchored for one in run.verdicts)
    assert (run.model, run.stopped) == ("m", "")
    assert run.spent == pytest.approx(0.03)
    for one in client.asked:
        assert set(one) == {"model", "max_tokens", "system", "messages"}
        assert [turn["role"] for turn in one["messages"]] == ["user"]


def test_a_refusal_is_no_fault(pipeline: Pipeline) -> None:
    """A model that does not see it in the sources should say so."""
    run = run_live(pipeline, Client(right, refusing, right), FLOOR)
    assert run.faults() == []
    assert [one.refused for one in run.verdicts] == [False, True, False]


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        (elsewhere, "neither refuses nor cites a chunk with the anchor"),
        (bare, "neither refuses nor cites a chunk with the anchor"),
        (nowhere, "cites [9], which no source has"),
    ],
    ids=["elsewhere", "bare", "nowhere"],
)
def test_a_wrong_citation_is_a_fault_and_the_rest_is_asked(
    pipeline: Pipeline, reply: Reply, fault: str
) -> None:
    """Judge all three; the line begins with the id of the query."""
    client = Client(right, reply, right)
    run = run_live(pipeline, client, FLOOR)
    assert len(client.asked) == 3
    assert run.faults() == [f"{run.verdicts[1].id}: {fault}"]


def test_an_empty_purse_ends_the_run_and_keeps_what_was_paid_for(
    pipeline: Pipeline,
) -> None:
    """Two verdicts, and why there is no third."""
    client = Client(right, right, right, cents=8)
    run = run_live(pipeline, client, FLOOR)
    assert len(client.asked) == len(run.verdicts) == 2
    assert run.spent == pytest.approx(0.16)
    assert run.faults() == [f"stopped after 2 of 3: {run.stopped}"]
    assert "$0.1600 of $0.2" in run.stopped


@pytest.mark.parametrize("error", [ConnectionError, UnicodeError])
def test_an_error_of_the_provider_ends_the_run_by_its_name_alone(
    pipeline: Pipeline, error: type[Exception]
) -> None:
    """Its message may quote the prompt: keep the class, drop the text."""
    client = Client(right, error("the keeper's secret"), right)
    run = run_live(pipeline, client, FLOOR)
    assert len(client.asked) == 2
    assert (len(run.verdicts), run.stopped) == (1, error.__name__)
    assert run.spent == pytest.approx(MOST_COST)


def test_an_answer_without_text_ends_the_run_and_says_so(
    pipeline: Pipeline,
) -> None:
    """A plain ValueError is stage 6's own: keep its message."""
    run = run_live(pipeline, Client(lambda user: " "), FLOOR)
    assert run.verdicts == ()
    assert "gave no text" in run.stopped


def test_what_cost_too_much_is_a_fault_too() -> None:
    """A call may cost more than it could; say so, after the verdicts."""
    bad = Verdict("f01", "factual", "x", False, False, (), 0.25)
    run = LiveRun("m", (bad,), 0.25, "enough")
    assert run.faults() == [
        "f01: neither refuses nor cites a chunk with the anchor",
        "stopped after 1 of 3: enough",
        "cost $0.2500, more than $0.2",
    ]
    # Three times 0.1 less 0.1, in floats, is a last bit more than 0.2.
    assert LiveRun("m", (), 0.1 + 0.1 + 0.1 - 0.1).faults() == []


def recorded(path: Path) -> dict[str, Any]:
    """Return what a file of runs holds."""
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def test_a_run_is_recorded_beside_that_of_the_local_models(
    pipeline: Pipeline, tmp_path: Path
) -> None:
    """One file a day, a part for each stage; faults are kept too."""
    run = run_live(pipeline, Client(right, elsewhere, refusing), FLOOR)
    day = date(2026, 3, 1)
    record_run(tmp_path, day, "local-models", {"pool": 1})
    kept = recorded(record_run(tmp_path, day, "live-answer", run.data()))
    assert kept["local-models"] == {"pool": 1}
    part = kept["live-answer"]
    verdicts: Sequence[dict[str, Any]] = part["verdicts"]
    assert [one["anchored"] for one in verdicts] == [True, False, False]
    assert part["faults"] == run.faults() != []
