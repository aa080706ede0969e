"""Stage 9: claims held against the retrieved chunks."""

from __future__ import annotations

import pytest
from authorized_retrieval import Chunk, content_words, ground


def chunk(number: int, text: str) -> Chunk:
    """Return the chunk ``memo::number``."""
    return Chunk(
        f"memo::{number}", "larkspur", "memo", 1, "body", 0, len(text), text
    )


HOTEL = chunk(1, "The hotel limit is 210 pounds a night.")
TRAIN = chunk(2, "Second class trains are booked early.")


def test_content_words_are_tokens_minus_stop_words() -> None:
    """Subtract STOP_WORDS from the set of tokens."""
    assert content_words("The limit of the hotel is 210") == {
        "limit",
        "hotel",
        "210",
    }


def test_a_supported_claim_carries_its_citation() -> None:
    """Take the chunk with the best overlap, and its citation."""
    found = ground(["The hotel limit is 210."], [TRAIN, HOTEL])
    (claim,) = found.claims
    assert claim.supported is True
    assert claim.overlap == 1.0
    assert claim.citation == "memo@v1#body[0:38]"
    assert found.coverage == 1.0


def test_overlap_is_a_share_of_the_claims_words() -> None:
    """Divide by the claim's content words, not by the chunk's."""
    # hotel, limit, 210 of hotel, limit, 210, euros, breakfast: 3 / 5.
    (claim,) = ground(
        ["Hotel limit: 210 euros, with breakfast."], [HOTEL]
    ).claims
    assert claim.overlap == pytest.approx(0.6)
    assert claim.supported is True


def test_below_the_threshold_nothing_is_supported() -> None:
    """>= min_overlap supports; what does not carries no citation."""
    claim = "Hotel limit: 180 euros, with breakfast."  # 2 / 5
    (found,) = ground([claim], [HOTEL]).claims
    assert (found.supported, found.citation) == (False, None)
    assert found.overlap == pytest.approx(0.4)
    (found,) = ground([claim], [HOTEL], 0.4).claims
    assert found.supported is True


def test_two_halves_in_two_chunks_are_no_support() -> None:
    """Take the best single chunk; do not join the chunks' words."""
    (claim,) = ground(["hotel trains"], [HOTEL, TRAIN], 0.6).claims
    assert claim.overlap == pytest.approx(0.5)
    assert claim.supported is False


def test_the_first_of_equal_chunks_is_cited() -> None:
    """Replace the best only by something better: use >."""
    twin = chunk(3, "hotel limit, longer")
    (claim,) = ground(["hotel limit"], [HOTEL, twin]).claims
    assert claim.citation == HOTEL.citation()


def test_a_claim_without_content_is_trivially_supported() -> None:
    """No content words: supported, overlap 1, no citation."""
    (claim,) = ground(["It is."], []).claims
    assert (claim.supported, claim.citation, claim.overlap) == (True, None, 1)


def test_coverage_is_the_share_of_supported_claims() -> None:
    """Supported claims by all claims, and 1.0 when there are none."""
    found = ground(["hotel limit", "visa office", "It is."], [HOTEL])
    assert found.coverage == pytest.approx(2 / 3)
    assert ground([], [HOTEL]).coverage == 1.0
    assert ground(["hotel limit"], []).coverage == 0.0


@pytest.mark.parametrize("threshold", [0, -0.1, 1.1])
def test_an_impossible_threshold_is_refused(threshold: float) -> None:
    """Raise ValueError unless 0 < min_overlap <= 1."""
    with pytest.raises(ValueError, match="min_overlap"):
        ground(["hotel"], [HOTEL], threshold)
    assert ground(["hotel"], [HOTEL], 1).coverage == 1.0
