"""Laws of grounding."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from lab.answering.grounding import content_words, ground
from tests.lab.support import contract


@dataclass(frozen=True)
class Quote:
    citation: str
    text: str


WORDS = st.lists(
    st.sampled_from(
        "hotel limit 210 taxi not the is 酒店 限额 不是 的 board".split()
    ),
    max_size=8,
).map(" ".join)
PIECES = st.lists(WORDS, max_size=4).map(
    lambda texts: [Quote(str(n), text) for n, text in enumerate(texts)]
)


@contract("C-39")
@given(WORDS, PIECES)
def test_more_evidence_never_unsupports_a_claim(claim, pieces):
    (all_of_them,) = ground([claim], pieces).verdicts
    for count in range(len(pieces)):
        (fewer,) = ground([claim], pieces[:count]).verdicts
        assert fewer.overlap <= all_of_them.overlap
        assert not fewer.supported or all_of_them.supported


@given(WORDS)
def test_every_text_supports_itself(text):
    (verdict,) = ground([text], [Quote("self", text)]).verdicts
    assert verdict.supported
    assert verdict.missing == ()


@contract("C-39")
@given(WORDS, PIECES)
def test_the_overlap_is_the_best_share_of_distinct_words(claim, pieces):
    words = set(content_words(claim))
    (verdict,) = ground([claim], pieces).verdicts
    if not words:
        assert verdict.trivial
        return
    shares = [
        len(words & set(content_words(piece.text))) / len(words)
        for piece in pieces
    ]
    assert verdict.overlap == max(shares, default=0.0)
    assert verdict.supported == (max(shares, default=0.0) >= 0.6)
