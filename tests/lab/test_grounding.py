"""Grounding: which piece of evidence holds the words of a claim."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from lab.answering.grounding import content_words, ground
from lab.errors import InvalidInput
from tests.lab.support import contract


@dataclass(frozen=True)
class Quote:
    citation: str
    text: str


UK = Quote("uk", "The hotel limit in the United Kingdom is 210 pounds a night.")
TAXI = Quote("taxi", "Take a taxi after a flight of six hours and claim it.")
ZH = Quote("zh", "其他城市的酒店每晚上限为420元，须附发票。")


@contract("C-39")
def test_a_claim_in_the_words_of_the_evidence_is_supported_and_cited():
    grounding = ground(["The hotel limit is 210 pounds."], [TAXI, UK])
    (verdict,) = grounding.verdicts
    assert verdict.supported
    assert verdict.citation == "uk"
    # hotel, limit, 210, pounds: four of four.
    assert verdict.overlap == 1.0
    assert verdict.missing == ()
    assert grounding.coverage == 1.0


@contract("C-39")
def test_without_evidence_an_invented_answer_is_not_grounded():
    grounding = ground(["x is 5"], [])
    (verdict,) = grounding.verdicts
    assert not verdict.supported
    assert verdict.citation is None
    assert verdict.overlap == 0.0
    assert verdict.missing == ("x", "5")
    assert grounding.coverage == 0.0
    assert grounding.unsupported == ("x is 5",)


@contract("C-39")
def test_the_least_overlap_itself_is_enough():
    # hotel, limit, night held; breakfast, included not: 3 of 5.
    claim = "Hotel limit night breakfast included."
    (verdict,) = ground([claim], [UK], min_overlap=0.6).verdicts
    assert verdict.overlap == 0.6
    assert verdict.supported
    assert verdict.missing == ("breakfast", "included")
    (verdict,) = ground([claim], [UK], min_overlap=0.61).verdicts
    assert not verdict.supported
    assert verdict.citation is None


@contract("C-39")
def test_pieces_are_not_added_together():
    claim = "The hotel limit covers a taxi and a flight."
    # hotel, limit, covers, taxi, flight: two of five in each piece.
    (verdict,) = ground([claim], [UK, TAXI]).verdicts
    assert not verdict.supported
    assert verdict.overlap == 2 / 5


def test_the_earlier_of_equal_pieces_is_cited():
    twin = Quote("twin", UK.text)
    (verdict,) = ground(["hotel limit"], [UK, twin]).verdicts
    assert verdict.citation == "uk"
    (verdict,) = ground(["hotel limit"], [twin, UK]).verdicts
    assert verdict.citation == "twin"


def test_the_better_piece_is_cited_wherever_it_stands():
    (verdict,) = ground(["taxi after the flight"], [UK, TAXI]).verdicts
    assert verdict.citation == "taxi"


@pytest.mark.parametrize("claim", ["", "  ", "This is it.", "是的吗？", "！"])
def test_a_claim_without_content_words_is_trivially_supported(claim):
    (verdict,) = ground([claim], []).verdicts
    assert verdict.supported
    assert verdict.trivial
    assert verdict.citation is None


def test_no_claims_are_covered_entirely():
    assert ground([], []).coverage == 1.0
    assert ground([], [UK]).verdicts == ()


def test_coverage_is_the_share_of_supported_claims():
    claims = ["hotel limit", "salary bands", "taxi", "board paper"]
    grounding = ground(claims, [UK, TAXI])
    assert grounding.coverage == 0.5
    assert grounding.unsupported == ("salary bands", "board paper")


@contract("C-39")
def test_repeating_a_word_does_not_buy_support():
    (verdict,) = ground(["hotel hotel hotel bonus"], [UK]).verdicts
    assert verdict.overlap == 0.5


@contract("C-39")
def test_chinese_claims_are_judged_by_their_terms():
    # 其他 他城 城市 酒店 店每 每晚 420 元; 市酒 is not in the evidence,
    # where 的 stands between the words. The claim's terms: 其他 他城 城市
    # 市酒 酒店 店每 每晚 420 元, eight of nine.
    (verdict,) = ground(["其他城市酒店每晚420元。"], [UK, ZH]).verdicts
    assert verdict.citation == "zh"
    assert verdict.missing == ("市酒",)
    assert verdict.overlap == 8 / 9
    (verdict,) = ground(["董事会讨论了裁员计划。"], [UK, ZH]).verdicts
    assert not verdict.supported


def test_particles_between_chinese_words_do_not_count():
    assert content_words("酒店的限额是") == ("酒店", "限额")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Staff may not drive.", "not"),
        ("Nobody drives, never.", "never"),
        ("You must book.", "must"),
        ("员工不是司机", "不是"),
        ("没有", "没有"),
    ],
)
def test_negations_and_modals_are_content(text, word):
    assert word in content_words(text)


def test_a_wrong_number_is_named_even_where_the_share_suffices():
    (verdict,) = ground(["The hotel limit is 180 pounds."], [UK]).verdicts
    assert verdict.supported
    assert verdict.missing == ("180",)


@pytest.mark.parametrize(
    "bad", [0, -0.1, 1.01, float("nan"), float("inf"), True, "0.6", None]
)
def test_a_least_overlap_outside_zero_to_one_is_refused(bad):
    with pytest.raises(InvalidInput, match="min_overlap"):
        ground(["a claim"], [UK], min_overlap=bad)


def test_one_whole_is_a_legal_least_overlap():
    (verdict,) = ground(["hotel limit 210"], [UK], min_overlap=1).verdicts
    assert verdict.supported


def test_claims_must_be_a_list_of_strings():
    with pytest.raises(InvalidInput, match="claims"):
        ground("one claim", [UK])
    with pytest.raises(InvalidInput, match=r"claims\[1\]"):
        ground(["fine", 5], [UK])
