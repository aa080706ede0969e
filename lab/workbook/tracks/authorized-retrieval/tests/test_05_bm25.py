"""Stage 5: BM25, one namespace at a time."""

from __future__ import annotations

import math

import pytest
from authorized_retrieval import Bm25Index, Chunk

LARKSPUR = "tenant/larkspur"


def chunk(chunk_id: str, text: str, tenant: str = "larkspur") -> Chunk:
    """Return a chunk with an id and a text."""
    return Chunk(chunk_id, tenant, "memo", 1, "body", 0, len(text), text)


def index(*texts: str, k1: float = 1.5, b: float = 0.75) -> Bm25Index:
    """Return an index of chunks a, b, c … with these texts."""
    made = Bm25Index(k1, b)
    for name, text in zip("abcdef", texts, strict=False):
        made.add(chunk(name, text))
    return made


def scores(made: Bm25Index, query: str) -> dict[str, float]:
    """Return the score of every chunk that a query finds."""
    return {one.chunk_id: one.score for one in made.search(LARKSPUR, query)}


def test_idf_by_hand() -> None:
    """ln((N - df + 0.5) / (df + 0.5) + 1), N and df of one namespace."""
    made = index("hotel limit", "hotel hotel train", "train")
    # N = 3. hotel: df 2, 1.5 / 2.5 + 1. limit: df 1, 2.5 / 1.5 + 1.
    assert made.idf(LARKSPUR, "hotel") == pytest.approx(math.log(1.6))
    assert made.idf(LARKSPUR, "limit") == pytest.approx(math.log(8 / 3))


def test_df_counts_chunks_not_occurrences() -> None:
    """A chunk with ten occurrences counts once: use `token in counts`."""
    once = index("pink", "grey", "grey")
    often = index("pink " * 10, "grey", "grey")
    assert often.idf(LARKSPUR, "pink") == once.idf(LARKSPUR, "pink")


def test_invariant_idf_is_never_negative() -> None:
    """The 1 is added under the logarithm: a word in every chunk is > 0."""
    made = index("duckdb", "duckdb", "duckdb")
    # N = df = 3: ln(0.5 / 3.5 + 1).
    assert made.idf(LARKSPUR, "duckdb") == pytest.approx(math.log(8 / 7))
    assert set(scores(made, "duckdb")) == {"a", "b", "c"}


def test_scores_by_hand() -> None:
    """Check idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / avg))."""
    found = scores(
        index("hotel limit", "hotel hotel train", "train"), "Hotel limit"
    )
    # Lengths 2, 3, 1: average 2. In a both words have tf 1 and weight 1.
    # In b: 2 * 2.5 / (2 + 1.5 * (0.25 + 0.75 * 3 / 2)) = 5 / 4.0625.
    assert found == {
        "a": pytest.approx(math.log(1.6) + math.log(8 / 3)),
        "b": pytest.approx(math.log(1.6) * 5 / 4.0625),
    }


def test_a_word_asked_twice_counts_once() -> None:
    """Add up over the distinct tokens of the query."""
    made = index("hotel limit", "train")
    assert scores(made, "hotel hotel") == scores(made, "hotel")


def test_invariant_occurrences_saturate() -> None:
    """tf stands above and below the fraction bar: growth slows down."""
    texts = ["pink " * count for count in (1, 2, 9, 10)]
    found = scores(index(*texts, k1=1.5, b=0.0), "pink")
    # Without length: tf * 2.5 / (tf + 1.5), times the same idf.
    weight = math.log(0.5 / 4.5 + 1)
    assert found["b"] - found["a"] == pytest.approx(weight * (5 / 3.5 - 1))
    assert found["d"] - found["c"] < (found["b"] - found["a"]) / 10


def test_k1_of_zero_only_asks_whether_a_word_is_there() -> None:
    """With k1 = 0 every tf gives the idf itself."""
    found = scores(index("pink", "pink pink pink", "grey", k1=0), "pink")
    assert found["a"] == found["b"] == pytest.approx(math.log(1.6))


def test_chunks_without_the_words_are_left_out() -> None:
    """Keep scores above zero only."""
    made = index("hotel", "train", "train")
    assert list(scores(made, "hotel")) == ["a"]
    assert scores(made, "visa") == {}
    assert scores(made, "") == {}


def test_equal_scores_are_in_the_order_of_their_ids() -> None:
    """Sort by (-score, chunk_id), not by the order of adding."""
    made = Bm25Index()
    for name in ("memo::3", "memo::1", "memo::2"):
        made.add(chunk(name, "hotel limit"))
    found = [one.chunk_id for one in made.search(LARKSPUR, "hotel")]
    assert found == ["memo::1", "memo::2", "memo::3"]


def test_the_limit_cuts_after_sorting() -> None:
    """Sort first, then take `limit` entries."""
    made = index("train hotel", "hotel", "hotel hotel")
    found = made.search(LARKSPUR, "hotel", 2)
    # Lengths 2, 1, 2, average 5 / 3: two occurrences beat a short chunk
    # (5 / 3.725 against 2.5 / 2.05), which beats one in two.
    assert [one.chunk_id for one in found] == ["c", "b"]


def test_statistics_stay_in_their_namespace() -> None:
    """Count N, df and the average in the asked namespace alone."""
    made = index("hotel limit", "train")
    before = made.search(LARKSPUR, "hotel")
    for number in range(20):
        made.add(chunk(f"x::{number}", "hotel " * 9, "quayside"))
    assert made.search(LARKSPUR, "hotel") == before


def test_an_unknown_or_empty_namespace_gives_nothing() -> None:
    """Return [] before dividing by the number of chunks."""
    made = index("…")
    assert made.search("tenant/nobody", "hotel") == []
    assert made.search(LARKSPUR, "hotel") == []


@pytest.mark.parametrize(("k1", "b"), [(-0.1, 0.5), (1.5, -0.1), (1.5, 1.1)])
def test_impossible_settings_are_refused(k1: float, b: float) -> None:
    """Raise ValueError unless k1 >= 0 and 0 <= b <= 1."""
    with pytest.raises(ValueError, match=r"k1|b"):
        Bm25Index(k1, b)
