"""What wrong learners of the track on PostgreSQL are told, word for word."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.workbook.manifest import track
from lab.workbook.serverroom import ServerRoom
from tests.lab.learners import lines, reference, solved

pytestmark = [pytest.mark.slow, pytest.mark.server]

TRACK = track("pgvector-pipeline")

# Stage, file, what the learner has instead of what, and what they read.
WRONG = {
    "one block too late": (
        "01",
        "chunker.py",
        "        if following.end - section[first].start <= max_chars:",
        "        if block.end - section[first].start <= max_chars:",
        """\
01 Blocks, sections, chunks: fails, 20 of 25 tests pass
  claim   blocks are packed up to the size
  cause   got ['aaaa\\n\\nbbbb'], expected ['aaaa', 'bbbb']
  where   tests/test_01_chunker.py:133
  next    Measure the stretch with its blank lines: it may equal max_chars.
""",
    ),
    "no way back from the overlap": (
        "01",
        "chunker.py",
        "            first < after and",
        "            False and",
        """\
01 Blocks, sections, chunks: fails, 24 of 25 tests pass
  claim   a block is repeated only where the new one still fits
  cause   got ['a\\n\\nbbbbbb', 'bbbbbb\\n\\ncc'], expected ['a\\n\\nbbbbbb', 'cc']
  where   tests/test_01_chunker.py:163
  next    Step forward again until the new block fits, or stands alone.
""",  # noqa: E501
    ),
    "a fence closed by anything": (
        "01",
        "chunker.py",
        "            if closing.fullmatch(line):",
        "            if FENCE.match(line):",
        """\
01 Blocks, sections, chunks: fails, 24 of 25 tests pass
  claim   a fence is one block whatever it holds
  cause   got ['a', '````python\\n# no heading\\n\\n```', '~~~~\\n`````', 'b'],
          expected ['a', '````python\\n# no heading\\n\\n```\\n~~~~\\n`````', 'b']
  where   tests/test_01_chunker.py:106
  next    Only as many of the same sign close it, or the end of the text.
""",  # noqa: E501
    ),
    "the other end first": (
        "02",
        "store.py",
        '    number = int.from_bytes(digest, "big")\n',
        '    number = int.from_bytes(digest, "little")\n',
        """\
02 Embed and store: fails, 16 of 21 tests pass
  claim   the hash picks index and sign (lamp)
  cause   got (42, 1), expected (107, 1)
  where   tests/test_02_store.py:74
  next    h % dims is the index; the top bit of the 64 means minus.
""",
    ),
    "insert and ignore": (
        "02",
        "store.py",
        """ ON CONFLICT (chunk_id) DO UPDATE SET"
            " doc_id = excluded.doc_id, index = excluded.index,"
            " heading_path = excluded.heading_path, text = excluded.text,"
            " char_start = excluded.char_start,"
            " char_end = excluded.char_end, embedding = excluded.embedding"
""",
        ' ON CONFLICT (chunk_id) DO NOTHING"\n',
        """\
02 Embed and store: fails, 20 of 21 tests pass
  claim   upserting again replaces
  cause   got ('A lamp.', 0, 7, '[1,0,0]'), expected ('A mirror.', 0, 9,
          '[0,0,1]')
  where   tests/test_02_store.py:189
  next    ON CONFLICT (chunk_id) DO UPDATE, every column and the vector.
""",
    ),
    "one transaction for each batch": (
        "02",
        "store.py",
        "    with store.connection.transaction():\n        for start in",
        "    if True:\n        for start in",
        """\
02 Embed and store: fails, 20 of 21 tests pass
  claim   a failure half way leaves the table as it was
  cause   got 64, expected 0
  where   tests/test_02_store.py:242
  next    One transaction around all batches.
""",
    ),
    "the index as it is": (
        "03",
        "retrieval.py",
        "(str(min(max(n, LEAST_EF), MOST_EF)),)",
        "(str(LEAST_EF),)",
        """\
03 Hybrid retrieval: fails, 31 of 32 tests pass
  claim   the index may return as many as are wanted
  cause   got 40, expected 90
  where   tests/test_03_retrieval.py:113
  next    Raise hnsw.ef_search to n in a transaction; 40 is its default.
""",
    ),
    "forgot the exclusions": (
        "03",
        "retrieval.py",
        '" & ".join([f"( {\' | \'.join(wanted)} )", *unwanted])',
        "f\"( {' | '.join(wanted)} )\"",
        """\
03 Hybrid retrieval: fails, 29 of 32 tests pass
  claim   one positive term is enough (without)
  cause   got "( 'lamp' )", expected "( 'lamp' ) & !'oil'"
  where   tests/test_03_retrieval.py:141
  next    OR what is wanted; AND every exclusion; nothing wanted is "".
""",
    ),
    "ranks from 0": (
        "03",
        "retrieval.py",
        "        for place, hit in enumerate(ranking, 1):",
        "        for place, hit in enumerate(ranking):",
        """\
03 Hybrid retrieval: fails, 30 of 32 tests pass
  claim   shares by hand
  cause   got [('b', 0.03306010928961749), ('a', 0.016666666666666666), ('c',
          0.01639344262295082)], expected [('b', 0.03252247488101534 ±
          3.3e-08), ('a', 0.01639344262295082 ± 1.6e-08), ('c', …
  where   tests/test_03_retrieval.py:224
  next    Add 1 / (60 + rank), ranks from 1; absent adds nothing.
""",
    ),
    "ties the other way round": (
        "04",
        "reranking.py",
        "key=lambda place: -scores[place])",
        "key=lambda p: scores[p], reverse=False)[::-1]",
        """\
04 Rerankers: fails, 24 of 26 tests pass
  claim   equal scores keep the order in which they came
  cause   got ['3', '1', '2', '0'], expected ['1', '3', '0', '2']
  where   tests/test_04_reranking.py:62
  next    Sort stably by the negated score; reversed() would turn ties.
""",
    ),
    "only the last pick counts": (
        "04",
        "reranking.py",
        "                closest[place] = max(closest[place], near)",
        "                closest[place] = near",
        """\
04 Rerankers: fails, 25 of 26 tests pass
  claim   mmr penalises by the closest pick
  cause   got ['0', '1', '2', '3'], expected ['0', '1', '3', '2']
  where   tests/test_04_reranking.py:148
  next    Compare with every pick so far and take the highest cosine.
""",
    ),
    "reranked what was cut": (
        "04",
        "reranking.py",
        "        return self.pool(query)[:top_k]",
        "        found = hybrid_search(\n"
        "            self.store, self.embedder, query, top_k\n"
        "        )\n"
        "        return self.reranker.rerank(query, found)",
        """\
04 Rerankers: fails, 23 of 26 tests pass
  claim   a smaller top k is a prefix
  cause   with top_k 3 others come first
  where   tests/test_04_reranking.py:262
  next    Rerank the whole pool, then cut: top_k must not change the order.
""",
    ),
    "precision of what came back": (
        "05",
        "metrics.py",
        "    return sum(marks[:k]) / k\n",
        "    return sum(marks[:k]) / len(marks[:k])\n",
        """\
05 Metrics and a report: fails, 26 of 29 tests pass
  claim   precision is a share of k (x-4-0.25)
  cause   got 1.0, expected 0.25
  where   tests/test_05_metrics.py:91
  next    Divide by k, even when fewer were found.
""",
    ),
    "the ideal of any depth": (
        "05",
        "metrics.py",
        "    best = math.fsum(gains[:relevant])",
        "    best = math.fsum(1 / math.log2(r + 2) for r in range(relevant))",
        """\
05 Metrics and a report: fails, 28 of 29 tests pass
  claim   ndcg is highest for the best order
  cause   got 0.5531464700081437, expected 1 ± 1.0e-06
  where   tests/test_05_metrics.py:119
  next    Fewer places than relevant chunks: the ideal fills k places.
""",
    ),
    "misses of the first ten alone": (
        "05",
        "metrics.py",
        "        best = first(run.query, run.hits)\n",
        "        best = first(run.query, run.hits[:k])\n",
        """\
05 Metrics and a report: fails, 28 of 29 tests pass
  claim   a miss has its best rank before and after
  cause   got [('f02', None, 3), ('f03', None, None)], expected [('f02', 11,
          3), ('f03', None, None)]
  where   tests/test_05_metrics.py:174
  next    Beyond k is a miss; rank 10 is none. Search the full pool.
""",
    ),
    "several chunks support together": (
        "06",
        "answering.py",
        """    return max(
        (
            len(wanted & stems(hit.chunk.text)) / len(wanted)
            for hit in hits[:SOURCES]
        ),
        default=0.0,
    )
""",
        """    text = " ".join(hit.chunk.text for hit in hits[:SOURCES])
    return len(wanted & stems(text)) / len(wanted)
""",
        """\
06 Answers that cite or refuse: fails, 20 of 21 tests pass
  claim   support is the best share of one hit
  cause   got 1.0, expected (3 / 4)
  where   tests/test_06_answering.py:68
  next    Do not join hits: two halves of a question are no support.
""",
    ),
    "a marker for the sentence after": (
        "06",
        "answering.py",
        "        rest = piece[leading.end() :] if leading else piece\n",
        "        rest, before = piece, []\n",
        """\
06 Answers that cite or refuse: fails, 20 of 21 tests pass
  claim   a leading marker belongs to the sentence before
  cause   got [('It burned oil.', ()), ('Then gas.', (1, 2)), ('Then none.',
          (2,))], expected [('It burned oil.', (1,)), ('Then gas.', (2, 1)),
          ('Then none.', ())]
  where   tests/test_06_answering.py:223
  next    `A. [1] B. [2]` cites 1 for A, 2 for B.
""",
    ),
    "asked before refusing": (
        "06",
        "answering.py",
        "    backing = support(question, hits)\n",
        "    backing = support(question, hits)\n"
        "    ask(build_prompt(question, number_sources(hits)))\n",
        """\
06 Answers that cite or refuse: fails, 18 of 21 tests pass
  claim   below the floor no model is called
  cause   the model was asked
  where   tests/test_06_answering.py:278
  next    Refuse first; a refusal has no sources and no completion.
""",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_learner_reads_one_cause_and_one_next_action(
    name: str, tmp_path: Path, server_room: ServerRoom
) -> None:
    stage, file, old, new, expected = WRONG[name]
    text = reference(old, new, file, TRACK)
    result = solved(tmp_path, TRACK, stage, file, text, server_room)
    assert "\n".join(lines(result)) + "\n" == expected
