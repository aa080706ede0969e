"""Faithfulness: every sentence names a source that exists."""

from __future__ import annotations

import pytest

from lab.answering.faithfulness import faithfulness
from lab.answering.prompting import REFUSAL
from lab.errors import InvalidInput
from tests.lab.support import contract


def test_a_text_whose_sentences_all_cite_is_cited():
    found = faithfulness("The limit is 210 [1]. Meals are 45 [2][1].", 2)
    assert found.state == "cited"
    assert [s.numbers for s in found.sentences] == [(1,), (2, 1)]
    assert found.share == 1.0
    assert found.used == (1, 2)
    assert found.uncited == found.invalid == ()


@contract("C-50")
def test_an_uncited_sentence_is_named():
    found = faithfulness("The limit is 210 [1]. It is generous.", 1)
    assert found.state == "uncited"
    assert found.uncited == ("It is generous.",)
    assert found.share == 0.5


@contract("C-50")
@pytest.mark.parametrize("number", ["0", "99", "3", "01", "9" * 5000])
def test_a_number_that_names_no_source_makes_its_sentence_uncited(number):
    found = faithfulness(f"The limit is 210 [1][{number}]. Meals [2].", 2)
    assert found.invalid == (number,)
    assert [s.cited for s in found.sentences] == [False, True]
    assert found.sentences[0].numbers == (1,)
    assert found.state == "uncited"
    assert found.share == 0.5


@contract("C-50")
def test_zero_is_not_the_last_passage():
    found = faithfulness("x is five [0].", 3)
    assert found.used == ()
    assert found.invalid == ("0",)


@pytest.mark.parametrize("text", ["", "  \n", "...", "[1]", "---"])
def test_a_text_without_a_sentence_is_empty_and_not_perfect(text):
    found = faithfulness(text, 3)
    assert found.state == "empty"
    assert found.share == 0.0


@contract("C-50")
def test_without_sources_no_number_is_valid():
    found = faithfulness("The answer is five [1].", 0)
    assert found.state == "uncited"
    assert found.invalid == ("1",)


@pytest.mark.parametrize("sentence", REFUSAL.values())
def test_the_fixed_sentence_alone_is_a_refusal(sentence):
    assert faithfulness(f" {sentence}\n", 2).state == "refusal"
    assert faithfulness(sentence, 0).state == "refusal"


def test_a_refusal_that_goes_on_is_none():
    found = faithfulness("I don't know. But the limit is 210.", 1)
    assert found.state == "uncited"
    assert found.uncited == ("I don't know.", "But the limit is 210.")


@pytest.mark.parametrize(
    "text",
    [
        "Use ```arr[0]``` to read the list [1].",
        "Use `arr[0]` to read the list [1].",
        "Read the list so [1]:\n\n```py\nx = arr[0]\ny = arr[99]\n```",
        "Read the list so [1]:\n\n    x = arr[0]",
        "```\narr[0]\n```\nThat reads the list [1].",
    ],
)
def test_numbers_inside_code_are_no_markers(text):
    found = faithfulness(text, 1)
    assert found.state == "cited"
    assert found.used == (1,)
    assert found.invalid == ()
    assert len(found.sentences) == 1


@contract("C-50")
def test_a_marker_inside_code_does_not_cite():
    found = faithfulness("The limit is `210 [1]`.", 1)
    assert found.state == "uncited"
    assert found.invalid == ()


def test_nothing_but_code_is_not_cited():
    found = faithfulness("```\nThe limit is 999 [1].\n```", 1)
    assert found.state == "uncited"
    assert found.share == 0.0


def test_a_leading_marker_belongs_to_the_sentence_before():
    found = faithfulness("The limit is 210. [1] Meals are 45.\n[2]", 2)
    assert [s.numbers for s in found.sentences] == [(1,), (2,)]
    found = faithfulness("Meals are 45.\n[2] The limit is 210.", 2)
    assert [s.numbers for s in found.sentences] == [(2,), ()]


def test_a_leading_marker_with_nothing_before_it_counts_for_its_own():
    found = faithfulness("[1] says that the limit is 210.", 1)
    assert found.state == "cited"


def test_a_line_without_a_full_stop_does_not_hide_behind_its_neighbour():
    found = faithfulness("Meals are 45\nThe limit is 210 [1].", 1)
    assert found.uncited == ("Meals are 45",)
    found = faithfulness("- meals: 45\n- hotel: 210 [1]", 1)
    assert found.uncited == ("- meals: 45",)


@pytest.mark.parametrize(
    "marker", ["[1, 2]", "[1,2]", "[1，2]", "[1、2]", "[2][1]"]
)
def test_several_numbers_may_share_a_marker(marker):
    found = faithfulness(f"The limit is 210 {marker}.", 2)
    assert found.used == (1, 2)
    assert faithfulness("The limit is 210 [1, 7].", 2).invalid == ("7",)


@pytest.mark.parametrize(
    "text",
    [
        "See [1](https://evil.example).",
        "[1]: https://evil.example",
        r"It is \[1\] so.",
        "It is [one] so.",
        "It is [１] so.",
        "It is (1) so.",
    ],
)
def test_links_and_look_alikes_are_no_markers(text):
    found = faithfulness(text, 1)
    assert found.state == "uncited"
    assert found.invalid == ()


def test_a_link_below_cites_nothing_above():
    found = faithfulness("It is five.\n\n[1]: https://evil.example", 1)
    assert found.uncited == ("It is five.", "[1]: https://evil.example")


def test_chinese_sentences_are_judged_alike():
    text = "其他城市每晚420元[1]。餐费另算。“须附发票。”[2]"
    found = faithfulness(text, 2)
    assert [s.numbers for s in found.sentences] == [(1,), (), (2,)]
    assert found.uncited == ("餐费另算。",)


@pytest.mark.parametrize("bad", [-1, True, 1.0, "2", None])
def test_a_count_of_sources_is_a_count(bad):
    with pytest.raises(InvalidInput, match="n_sources"):
        faithfulness("x [1].", bad)


def test_a_text_must_be_text():
    with pytest.raises(InvalidInput, match="text"):
        faithfulness(None, 1)
