"""What wrong learners are told, word for word."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.learners import checked, lines, reference

pytestmark = pytest.mark.slow

SORTED = (
    "        ranking.sort(key=lambda scored: (-scored.score, scored.chunk_id))"
)
BM25_LOOP = "                ranking.append(Scored(chunk_id, score))\n"

# Stage, what the learner has instead of what, and what they read.
WRONG = {
    "ranks from 0": (
        "07",
        "enumerate(ranking, 1)",
        "enumerate(ranking)",
        """\
07 Fusion by rank, and a reranker: fails, 9 of 11 tests pass
  claim   shares by hand
  cause   got [('b', 0.03306010928961749), ('a', 0.016666666666666666), ('c',
          0.01639344262295082)], expected [('b', 0.03252247488101534 ±
          3.3e-08), ('a', 0.01639344262295082 ± 1.6e-08), ('c', …
  where   tests/test_07_fusion.py:30
  next    Add 1 / (60 + rank) with ranks from 1; absent adds nothing.
""",
    ),
    "a plain sum": (
        "07",
        "math.fsum(parts)",
        "sum(parts)",
        """\
07 Fusion by rank, and a reranker: fails, 10 of 11 tests pass
  claim   invariant: the order of the rankings makes no difference
  cause   six orders give 2 different results
  where   tests/test_07_fusion.py:54
  next    Add with math.fsum: a plain sum differs in its last bit.
""",
    ),
    "ties by insertion": (
        "05",
        BM25_LOOP + SORTED,
        BM25_LOOP + "        ranking.sort(key=lambda scored: -scored.score)",
        """\
05 BM25 per namespace: fails, 14 of 15 tests pass
  claim   equal scores are in the order of their ids
  cause   got ['memo::3', 'memo::1', 'memo::2'], expected ['memo::1',
          'memo::2', 'memo::3']
  where   tests/test_05_bm25.py:103
  next    Sort by (-score, chunk_id), not by the order of adding.
""",
    ),
    "forgot the filter": (
        "08",
        "if not visible(chunk, caller)",
        "if False",
        """\
08 The authorized retriever: fails, 7 of 15 tests pass
  claim   everyone finds what they may see
  cause   got ['travel::1', 'board::1', 'expenses::1', 'heron::1'], expected
          ['travel::1']
  where   tests/test_08_retriever.py:59
  next    Filter with `visible`, for the caller who asks.
""",
    ),
    "a budget that must not be reached": (
        "10",
        "if tokens <= budget",
        "if tokens < budget",
        """\
10 A context within its budget: fails, 7 of 11 tests pass
  claim   the lowest ranked chunk goes first
  cause   got 15, expected 21
  where   tests/test_10_context.py:61
  next    Drop from the end until the text fits.
""",
    ),
    "forgot the sign": (
        "03",
        "1 if digest[4] % 2 == 0 else -1",
        "1",
        """\
03 Signed feature hashing: fails, 5 of 9 tests pass
  claim   the digest picks dimension and sign (limit-46--1)
  cause   got (46, 1), expected (46, -1)
  where   tests/test_03_hashing.py:44
  next    Bytes 1 to 4, big-endian, modulo 96; the fifth even means +1.
""",
    ),
    "or for and": (
        "04",
        "        and (chunk.barrier",
        "        or (chunk.barrier",
        """\
04 Namespaces and visibility: fails, 5 of 9 tests pass
  claim   clearance must reach the classification
  cause   got True, expected False
  where   tests/test_04_namespaces.py:56
  next    Compare ranks with >=: the same rank is enough, a lower one is not.
""",
    ),
    "forgot to check the classification": (
        "01",
        "    classification_rank(document.classification)\n",
        "",
        """\
01 Documents and citations: fails, 12 of 13 tests pass
  claim   a mistyped classification fails at ingestion
  cause   no ValueError was raised
  where   tests/test_01_documents.py:68
  next    Call classification_rank in ingest, so that a typo cannot get in.
""",
    ),
    "an error of their own": (
        "08",
        "self.chunks[namespace(chunk.tenant), chunk.chunk_id] = chunk",
        "self.chunks[chunk.tenant, chunk.chunk_id] = chunk",
        """\
08 The authorized retriever: fails, 2 of 15 tests pass
  claim   everyone finds what they may see
  cause   KeyError: ('tenant/larkspur', 'travel::1')
  where   authorized_retrieval.py:472
  next    Filter with `visible`, for the caller who asks.
""",
    ),
    "a name that is gone": (
        "05",
        "class Bm25Index:",
        "class BM25Index:",
        """\
05 BM25 per namespace: fails, 0 of 15 tests pass
  claim   authorized_retrieval.py can be imported
  cause   ImportError: cannot import name 'Bm25Index' from
          'authorized_retrieval'
  where   authorized_retrieval.py
  next    put the name back into authorized_retrieval.py; the tests import it
""",
    ),
    "a colon that is missing": (
        "02",
        "    if max_tokens <= 0:\n",
        "    if max_tokens <= 0\n",
        """\
02 Chunks that respect structure: fails, 0 of 16 tests pass
  claim   authorized_retrieval.py can be imported
  cause   SyntaxError: expected ':'
  where   authorized_retrieval.py:138
  next    mend authorized_retrieval.py:138, and check again
""",
    ),
    "a loop that never ends": (
        "02",
        "            if after == len(words):\n                break\n",
        "            after = min(after, len(words) - 1)\n",
        """\
02 Chunks that respect structure: fails, 3 of 16 tests pass
  claim   words are packed up to the size
  cause   it did not finish in 15 seconds, and was stopped; a loop that never
          ends?
  where   tests/test_02_chunks.py
  next    `alpha beta` is 10 characters, 3 tokens; with `gamma` it is 4.
""",
    ),
    "an exit in the middle": (
        "02",
        "    if max_tokens <= 0:\n",
        "    import os; os._exit(0)\n    if max_tokens <= 0:\n",
        """\
02 Chunks that respect structure: was not checked
  cause   Python ended during
          tests/test_02_chunks.py::test_words_are_packed_up_to_the_size with
          exit code 0, before the tests did
  next    read the end of the log; your code may call exit
""",
    ),
    "nothing yet": (
        "09",
        "    return frozenset(tokenize(text)) - STOP_WORDS\n",
        '    raise NotImplementedError("Stage 09: tokens minus stop words")\n',
        """\
09 Grounding claims: fails, 0 of 11 tests pass
  claim   content words are tokens minus stop words
  cause   not written yet: Stage 09: tokens minus stop words
  where   authorized_retrieval.py:501
  next    write `content_words`: Subtract STOP_WORDS from the set of tokens.
""",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_learner_reads_one_cause_and_one_next_action(
    name: str, tmp_path: Path
) -> None:
    stage, old, new, expected = WRONG[name]
    timeout = 15.0 if "never ends" in name else None
    result = checked(tmp_path, stage, reference(old, new), timeout)
    assert "\n".join(lines(result)) + "\n" == expected
