"""Stage 8: search in a namespace, filter before fusion, count."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import authorized_retrieval
import pytest
from authorized_retrieval import AuthorizedRetriever, Document
from retrieval_types import Caller, Retrieval

ERIN = Caller("larkspur", "public")
BOB = Caller("larkspur", "internal")
ALICE = Caller("larkspur", "confidential", frozenset({"heron"}))

# One chunk each. `board` and `heron` are not for everybody; the tenants
# share a document id.
DOCUMENTS = (
    Document("larkspur", "travel", "Hotel limit 180.", 1, "public"),
    Document("larkspur", "expenses", "Hotel receipts are kept.", 1),
    Document("larkspur", "board", "Hotel sale approved.", 1, "confidential"),
    Document(
        "larkspur", "heron", "Hotel for the heron talks.", 1, "public", "heron"
    ),
    Document("quayside", "travel", "Hotel limit 95.", 1, "public"),
)


def retriever(
    documents: tuple[Document, ...] = DOCUMENTS, **settings: object
) -> AuthorizedRetriever:
    """Return a retriever that holds these documents."""
    made = AuthorizedRetriever(**settings)
    for document in documents:
        made.add(document)
    return made


def ids(found: Retrieval) -> list[str]:
    """Return the ids of the results, best first."""
    return [one.chunk_id for one in found.results]


def test_adding_ingests_and_counts_chunks() -> None:
    """Call ingest, then chunk_document; return how many chunks there are."""
    made = AuthorizedRetriever()
    text = "One.\n## A\nTwo."
    assert made.add(Document("larkspur", "memo", text)) == 2
    with pytest.raises(ValueError, match="classification"):
        made.add(Document("larkspur", "memo", text, 1, "intern"))


def test_everyone_finds_what_they_may_see() -> None:
    """Filter with `visible`, for the caller who asks."""
    made = retriever()
    assert ids(made.retrieve("hotel limit", ERIN)) == ["travel::1"]
    assert ids(made.retrieve("hotel limit", BOB)) == [
        "travel::1",
        "expenses::1",
    ]
    assert set(ids(made.retrieve("hotel limit", ALICE))) == {
        "travel::1",
        "expenses::1",
        "board::1",
        "heron::1",
    }


def test_invariant_another_tenant_is_neither_returned_nor_counted() -> None:
    """Search both indexes in namespace(caller.tenant), nowhere else."""
    alone = retriever(DOCUMENTS[:4]).retrieve("hotel limit", ALICE)
    beside = retriever().retrieve("hotel limit", ALICE)
    assert beside.considered == 4
    assert beside == alone
    frank = retriever().retrieve("hotel limit", Caller("quayside"))
    assert (frank.considered, frank.invisible) == (1, 0)
    assert [chunk.text for chunk in frank.chunks] == ["Hotel limit 95."]


def test_invariant_the_filter_is_observable() -> None:
    """Count every removal, once for each ranking it is removed from."""
    found = retriever().retrieve("hotel", BOB)
    # board and heron are in the lexical ranking and in the dense one.
    assert (found.considered, found.invisible, found.stale) == (4, 4, 0)


def test_filtering_comes_before_fusion() -> None:
    """Fuse what is left: a hidden chunk must not hold a rank."""
    hidden = Document("larkspur", "a", "hotel", 1, "restricted")
    shown = Document("larkspur", "b", "hotel limit", 1, "public")
    made = retriever((hidden, shown), reranking=False)
    (found,) = made.retrieve("hotel", ERIN).results
    # First in both rankings once `a` is gone: 2 / 61, not 2 / 62.
    assert found.score == pytest.approx(2 / 61)


def test_what_is_too_old_is_stale() -> None:
    """Stale means now - updated_at > max_age; count it apart."""
    documents = (
        Document("larkspur", "new", "hotel", 1, "public", None, 90),
        Document("larkspur", "old", "hotel", 1, "public", None, 89),
        Document("larkspur", "both", "hotel", 1, "restricted", None, 0),
    )
    found = retriever(documents, max_age=10).retrieve("hotel", ERIN, now=100)
    assert ids(found) == ["new::1"]
    # `both` is invisible first, and counts there alone.
    assert (found.considered, found.invisible, found.stale) == (3, 2, 2)


def test_without_a_limit_nothing_is_stale() -> None:
    """max_age None means no limit."""
    found = retriever().retrieve("hotel", BOB, now=10**9)
    assert found.stale == 0


def test_results_carry_their_chunks() -> None:
    """Look chunks up by namespace and id: ids repeat between tenants."""
    found = retriever().retrieve("hotel limit", ERIN)
    (chunk,) = found.chunks
    assert chunk.citation() == "travel@v1#body[0:16]"


def test_reranking_is_the_last_word() -> None:
    """Rerank what was fused; the scores are the reranker's."""
    found = retriever().retrieve("hotel limit", BOB)
    # travel: 1 + 0.25 * 2 / 3. expenses: 0.5 + 0.25 / 4.
    assert [one.score for one in found.results] == [
        pytest.approx(1 + 0.5 / 3),
        pytest.approx(0.5625),
    ]
    assert found.degraded == ()


def test_without_reranking_the_fused_order_comes_back_and_says_so() -> None:
    """No floor then, and degraded is ("rerank",)."""
    made = retriever(reranking=False, min_score=9.0)
    found = made.retrieve("hotel limit", BOB)
    assert ids(found) == ["travel::1", "expenses::1"]
    assert [one.score for one in found.results] == [
        pytest.approx(2 / 61),
        pytest.approx(2 / 62),
    ]
    assert found.degraded == ("rerank",)


def test_the_floor_is_handed_to_the_reranker() -> None:
    """Pass min_score on."""
    found = retriever(min_score=0.6).retrieve("hotel limit", BOB)
    assert ids(found) == ["travel::1"]


def test_limits_cut_candidates_and_results() -> None:
    """candidate_limit bounds each index's ranking, result_limit the end."""
    texts = [
        Document("larkspur", f"d{number}", "hotel", 1, "public")
        for number in range(20)
    ]
    found = retriever(tuple(texts)).retrieve("hotel", ERIN)
    assert (found.considered, len(found.results)) == (12, 5)
    small = retriever(tuple(texts), candidate_limit=3, result_limit=2)
    found = small.retrieve("hotel", ERIN)
    assert (found.considered, len(found.results)) == (3, 2)


def test_invariant_nothing_relevant_is_an_empty_result() -> None:
    """Return an empty Retrieval: no error, no filler."""
    # train shares no token with any document, and in the dense index none
    # points its way: it is at 82, +1.
    documents = (
        Document("larkspur", "a", "hotel", 1, "public"),
        Document("larkspur", "b", "limit", 1, "public"),
    )
    found = retriever(documents).retrieve("train", ERIN)
    assert found == Retrieval((), (), 0, 0, 0)
    found = retriever(documents).retrieve("", ERIN)
    assert found.results == ()
    assert retriever(()).retrieve("hotel", ERIN).results == ()


def test_nothing_visible_is_an_empty_result_too() -> None:
    """When every candidate is removed, there is nothing to fuse."""
    found = retriever(DOCUMENTS[2:3]).retrieve("hotel", ERIN)
    assert found == Retrieval((), (), 1, 2, 0)


PROGRAM = """\
import sys
sys.path.insert(0, sys.argv[1])
from authorized_retrieval import AuthorizedRetriever, Document
from retrieval_types import Caller
made = AuthorizedRetriever()
for number in range(9):
    text = f"hotel limit {number} " * (number % 3 + 1)
    made.add(Document("larkspur", f"d{number}", text, 1, "public"))
caller = Caller("larkspur")
print(made.retrieve("hotel limit of 180", caller))
print(made.retrieve("hotel limit of 180", caller))
"""


def test_invariant_identical_inputs_give_identical_outputs() -> None:
    """No hash(), no set order, no state: two processes must agree."""
    AuthorizedRetriever()
    folder = Path(authorized_retrieval.__file__).parent
    told = []
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(folder)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            check=True,
            timeout=60,
        )
        told += done.stdout.splitlines()
    assert len(told) == 4
    assert len(set(told)) == 1
