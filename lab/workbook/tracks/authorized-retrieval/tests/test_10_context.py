"""Stage 10: a context within its budget."""

from __future__ import annotations

import math

import pytest
from authorized_retrieval import Chunk, assemble, render
from retrieval_types import Parts

QUESTION = Parts("How much?")
FULL = Parts("How much?", "Answer briefly.", "search(q)", "No secrets.", "UK")


def chunks(*texts: str) -> list[Chunk]:
    """Return the chunks m::1, m::2, … with these texts."""
    return [
        Chunk(f"m::{n}", "larkspur", "m", 1, "body", 0, len(text), text)
        for n, text in enumerate(texts, 1)
    ]


def test_blocks_have_a_name_and_an_empty_line_between() -> None:
    """Leave out empty values; join blocks by an empty line."""
    blocks = [("policy", "No secrets."), ("memory", ""), ("question", "Why?")]
    assert render(blocks) == "[policy]\nNo secrets.\n\n[question]\nWhy?"
    assert render([]) == ""


def test_the_blocks_stand_in_their_order() -> None:
    """instructions, tool_schemas, policy, memory, retrieved, question."""
    found = assemble(FULL, chunks("Hotel 180.", "Train."), 1000)
    assert found.text == (
        "[instructions]\nAnswer briefly.\n\n"
        "[tool_schemas]\nsearch(q)\n\n"
        "[policy]\nNo secrets.\n\n"
        "[memory]\nUK\n\n"
        "[retrieved]\n"
        "<<m@v1#body[0:10]>>\nHotel 180.\n\n"
        "<<m@v1#body[0:6]>>\nTrain.\n\n"
        "[question]\nHow much?"
    )


def test_the_text_as_it_is_sent_is_measured() -> None:
    """Estimate the tokens of the assembled text, headers and all."""
    found = assemble(QUESTION, [], 1000)
    assert found.text == "[question]\nHow much?"  # 20 characters
    assert found.tokens == 5


def test_the_lowest_ranked_chunk_goes_first() -> None:
    """Drop from the end until the text fits."""
    # With one chunk: [retrieved] and a break are 12, <<m@v1#body[0:4]>>
    # and a break 19, its text 4, an empty line 2, the question 20: 57
    # characters, 15 tokens. A second chunk adds 2 + 19 + 4: 82, 21 tokens.
    found = assemble(QUESTION, chunks("aaaa", "bbbb", "cccc"), 20)
    assert found.tokens == 15
    assert (found.included, found.dropped) == (("m::1",), ("m::2", "m::3"))
    found = assemble(QUESTION, chunks("aaaa", "bbbb", "cccc"), 21)
    assert found.tokens == 21
    assert (found.included, found.dropped) == (("m::1", "m::2"), ("m::3",))


def test_invariant_the_budget_is_never_exceeded() -> None:
    """Measure after every drop; raise when the fixed parts do not fit."""
    found = chunks("Hotel 180.", "Second class.", "x" * 300)
    fixed = assemble(FULL, [], 1000).tokens
    for budget in range(1, 160):
        if budget < fixed:
            with pytest.raises(ValueError, match="budget"):
                assemble(FULL, found, budget)
        else:
            made = assemble(FULL, found, budget)
            assert made.tokens == math.ceil(len(made.text) / 4) <= budget


def test_invariant_included_and_dropped_partition_the_chunks() -> None:
    """Every chunk is in one of the two, best first."""
    found = chunks("Hotel 180.", "Second class.", "Visa.", "x" * 300)
    names = tuple(chunk.chunk_id for chunk in found)
    fixed = assemble(FULL, [], 1000).tokens
    for budget in range(fixed, 200):
        made = assemble(FULL, found, budget)
        assert made.included + made.dropped == names


def test_the_question_is_never_dropped() -> None:
    """Drop chunks only: the question stays to the last."""
    made = assemble(QUESTION, chunks("x" * 400), 5)
    assert made.text.endswith("[question]\nHow much?")
    assert (made.included, made.dropped) == ((), ("m::1",))


@pytest.mark.parametrize("budget", [0, -1])
def test_a_budget_must_be_positive(budget: int) -> None:
    """Raise ValueError unless budget > 0."""
    with pytest.raises(ValueError, match="budget"):
        assemble(Parts(""), [], budget)


def test_the_stable_prefix_is_measured_as_rendered() -> None:
    """Render instructions, tool_schemas and policy; leave memory out."""
    # 15 + 15, 2, 15 + 9, 2, 9 + 11 characters: 78, 20 tokens.
    made = assemble(FULL, [], 1000)
    assert made.stable_prefix_tokens == 20
    # 2 and [memory] UK, 11, then 2 and the question, 20: 113, 29 tokens.
    assert made.tokens == 29
    assert made.cacheable_fraction == pytest.approx(20 / 29)


def test_without_fixed_parts_nothing_is_stable() -> None:
    """An empty prefix is 0 tokens, and nothing at all divides nothing."""
    assert assemble(QUESTION, [], 10).cacheable_fraction == 0.0
    made = assemble(Parts(""), [], 10)
    assert (made.text, made.tokens, made.cacheable_fraction) == ("", 0, 0.0)
