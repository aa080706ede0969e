"""Laws of faithfulness."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lab.answering.faithfulness import faithfulness

PARTS = (
    ["The limit is 210", ".", " ", "\n", "[1]", "[0]", "[3]", "[1, 2]"],
    ["`", "。", "限额", "- ", "I don't know."],
)
PROSE = st.lists(st.sampled_from([*PARTS[0], *PARTS[1]]), max_size=14).map(
    "".join
)
TEXT = st.tuples(PROSE, st.sampled_from(["", "\n```\n"]), PROSE).map("".join)


@given(TEXT, st.integers(0, 3))
def test_only_numbers_of_sources_are_ever_used(text, count):
    found = faithfulness(text, count)
    assert all(1 <= number <= count for number in found.used)
    assert 0.0 <= found.share <= 1.0
    assert (found.state == "empty") <= (not found.sentences)
    if found.state == "cited":
        assert found.share == 1.0
        assert found.sentences


@given(TEXT, st.integers(1, 3))
def test_without_sources_nothing_is_cited(text, count):
    assert faithfulness(text, 0).state != "cited"
    if faithfulness(text, 0).state == "refusal":
        assert faithfulness(text, count).state == "refusal"


# Prose only: what follows an open fence is code, which counts with the
# sentence before it.
@given(PROSE)
def test_an_uncited_line_added_is_always_noticed(text):
    assert faithfulness(f"{text}\n\nAn invented claim.", 3).state == "uncited"
