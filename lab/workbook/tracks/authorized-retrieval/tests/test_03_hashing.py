"""Stage 3: signed feature hashing."""

from __future__ import annotations

import math

import pytest
from authorized_retrieval import (
    DIMENSIONS,
    embed,
    feature,
    similarity,
    tokenize,
)


def words(first: int) -> str:
    """Return a text of twenty words that no other number shares."""
    return " ".join(f"w{number}" for number in range(first, first + 20))


def test_tokens_are_lower_case_ascii_words_with_hyphens() -> None:
    """Use findall with the pattern TOKEN on the lower-cased text."""
    assert tokenize("The VPN-Gateway, v2 -x _y!") == [
        "the",
        "vpn-gateway",
        "v2",
        "x",
        "y",
    ]
    assert tokenize("差旅 …") == []


# What `printf hotel | b2sum -l 64` says, by hand: 45e5a991 f0 …; the first
# four bytes are 1172679057, modulo 96 that is 81, and f0 is even.
@pytest.mark.parametrize(
    ("token", "place", "sign"),
    [("hotel", 81, 1), ("limit", 46, -1), ("train", 82, 1), ("vpn", 64, -1)],
)
def test_the_digest_picks_dimension_and_sign(
    token: str, place: int, sign: int
) -> None:
    """Bytes 1 to 4, big-endian, modulo 96; the fifth even means +1."""
    assert feature(token) == (place, sign)


def test_an_embedding_counts_signs_and_has_length_1() -> None:
    """Add the sign for every occurrence, then divide by the length."""
    # hotel twice: +2 at 81; limit once: -1 at 46; length sqrt(4 + 1).
    vector = embed("Hotel limit hotel")
    assert len(vector) == DIMENSIONS == 96
    expected = {81: 2 / math.sqrt(5), 46: -1 / math.sqrt(5)}
    for place, value in enumerate(vector):
        assert value == pytest.approx(expected.get(place, 0.0))


def test_a_text_without_tokens_stays_all_zero() -> None:
    """Do not divide by a length of zero: return the zeros."""
    assert embed("…") == (0.0,) * 96
    assert similarity(embed(""), embed("hotel")) == 0


def test_similarity_is_the_cosine() -> None:
    """The embeddings have length 1: multiply and add up."""
    assert similarity(embed("hotel"), embed("HOTEL")) == pytest.approx(1)
    # (2 * 1) / sqrt(5) for hotel; limit is not shared.
    found = similarity(embed("hotel limit hotel"), embed("hotel"))
    assert found == pytest.approx(2 / math.sqrt(5))


def test_invariant_negative_similarity_exists() -> None:
    """Without the sign every collision counts as likeness."""
    pairs = [(words(n * 40), words(n * 40 + 20)) for n in range(40)]
    found = [similarity(embed(left), embed(right)) for left, right in pairs]
    assert min(found) < 0
    # Unrelated texts are unlike on average: about as many above as below.
    assert 10 <= sum(value <= 0 for value in found) <= 30
