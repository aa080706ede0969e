"""Other rerankers: pass one of them as ``search(…, rerank=…)``.

Each looks at the candidates of one search and at nothing else, so it can
tell no reader about what another may read; each gives integers, and says
in ``features`` how they came about.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from lab import bm25, exact
from lab.encoders.onnx import Graph, extra
from lab.encoders.specs import ModelSpec
from lab.errors import EncoderError, InvalidInput
from lab.rerank import Fused, Ranked
from lab.store import Key, Posting, Stats
from lab.terms import terms

# A cross-encoder's scores are kept to 1/1024: the last bits of its
# arithmetic differ between processors and must not order anything.
STEP = 1024


class CandidateBM25:
    """BM25 again, with the candidates as the whole collection.

    Among what both channels brought, words that all candidates share count
    little, whatever they are worth in the rest of the view. ``bm25`` is
    the score in units of 2**-40, ``matched_terms`` how many distinct query
    terms the chunk holds.
    """

    name = "candidate-bm25"

    def rank(
        self, query: str, query_terms: Sequence[str], items: Sequence[Fused]
    ) -> list[Ranked]:
        """Return each item with its score among the items."""
        counts = {_key(item): _counts(item) for item in items}
        lengths = {key: found.total() for key, found in counts.items()}
        postings = {
            term: [
                Posting(*key, found[term], lengths[key])
                for key, found in counts.items()
                if found[term]
            ]
            for term in dict.fromkeys(query_terms)
        }
        stats = Stats(len(counts), sum(lengths.values()))
        scores = bm25.score(list(postings), postings, stats)
        ranked = []
        for item in items:
            found = scores.get(_key(item))
            score = found.score if found else 0
            matched = len(found.terms) if found else 0
            ranked.append(
                Ranked(
                    item, (score,), {"bm25": score, "matched_terms": matched}
                )
            )
        return ranked


class MMR:
    """Maximal marginal relevance: near, and unlike what stands above.

    Carbonell and Goldstein 1998. One after the other, the candidate with
    the largest ``relevance * 7/10 - similarity * 3/10`` is taken (or other
    ``tenths``), where relevance is the fused score over the largest one and
    similarity the largest cosine, by term counts, with a chunk already
    taken. The first ``depth`` are chosen so, the others keep their order
    below. Features are in units of 2**-40.
    """

    name = "mmr"

    def __init__(self, tenths: int = 7, depth: int = 20) -> None:
        if not 0 <= tenths <= 10:
            raise InvalidInput("tenths: must lie from 0 to 10")
        if depth < 1:
            raise InvalidInput("depth: must be at least 1")
        self._tenths = tenths
        self._depth = depth

    def rank(
        self, query: str, query_terms: Sequence[str], items: Sequence[Fused]
    ) -> list[Ranked]:
        """Return each item with its place in the order of taking."""
        waiting = sorted(items, key=lambda i: (-i.fused, _key(i)))
        counts = {_key(item): _counts(item) for item in waiting}
        norms = {
            key: sum(n * n for n in found.values())
            for key, found in counts.items()
        }
        most = max((item.fused for item in waiting), default=1) or 1
        relevance = {
            _key(item): exact.ratio(item.fused * exact.UNIT, most)
            for item in waiting
        }
        similar = dict.fromkeys(relevance, 0)
        ranked: list[Ranked] = []
        while waiting:
            place = len(waiting)
            if len(ranked) < self._depth:
                # max keeps the first of equals, which fused order put first.
                taken = max(
                    waiting,
                    key=lambda i: self._score(
                        relevance[_key(i)], similar[_key(i)]
                    ),
                )
            else:
                taken = waiting[0]
            waiting.remove(taken)
            key = _key(taken)
            ranked.append(
                Ranked(
                    taken,
                    (place,),
                    {
                        "mmr_place": len(ranked) + 1,
                        "relevance": relevance[key],
                        "similarity": similar[key],
                    },
                )
            )
            if len(ranked) < self._depth:
                for item in waiting:
                    other = _key(item)
                    near = exact.cosine(
                        _dot(counts[key], counts[other]),
                        norms[key],
                        norms[other],
                    )
                    similar[other] = max(similar[other], near)
        return ranked

    def _score(self, relevance: int, similarity: int) -> int:
        return self._tenths * relevance - (10 - self._tenths) * similarity


class CrossEncoder:
    """A model that reads query and passage together; the plug-in.

    ``spec`` names a cross-encoder's files; the passage is cut where the
    model's limit is, never the query. The best ``depth`` by fused score
    are read, one pair a call, the others stay below them. The graph's
    output is one number a pair, kept in steps of 1/1024. Needs the extra
    ``onnx``; raises ``EncoderError`` for another output or none finite.
    """

    name = "cross-encoder"

    def __init__(
        self, spec: ModelSpec, folder: Path | None = None, depth: int = 30
    ) -> None:
        if spec.role != "cross-encoder":
            raise InvalidInput(f"{spec.name}: is no cross-encoder")
        if depth < 1:
            raise InvalidInput("depth: must be at least 1")
        self._graph = Graph(spec, folder)
        self._depth = depth
        self.fingerprint = spec.fingerprint

    def rank(
        self, query: str, query_terms: Sequence[str], items: Sequence[Fused]
    ) -> list[Ranked]:
        """Return each item with what the model said of it."""
        first = sorted(items, key=lambda i: (-i.fused, _key(i)))
        scores = {
            _key(item): self._score(query, item.candidate.text)
            for item in first[: self._depth]
        }
        ranked = []
        for item in items:
            score = scores.get(_key(item))
            if score is None:
                ranked.append(Ranked(item, (0, 0), {"read": 0}))
            else:
                features = {"read": 1, "cross_encoder": score}
                ranked.append(Ranked(item, (1, score), features))
        return ranked

    def _score(self, query: str, text: str) -> int:
        np = extra("numpy")
        out = np.asarray(self._graph.run(self._graph.tokens(query, text)))
        if out.size != 1:
            raise EncoderError(
                f"{self._graph.spec.name}: returned {out.size} numbers for a"
                " pair, not one"
            )
        value = float(out.reshape(()))
        if not math.isfinite(value):
            raise EncoderError(
                f"{self._graph.spec.name}: returned a value that is not finite"
            )
        return round(value * STEP)


def _key(item: Fused) -> Key:
    return item.candidate.doc_id, item.candidate.number


def _counts(item: Fused) -> Counter[str]:
    return Counter(terms(item.candidate.text))


def _dot(one: Mapping[str, int], other: Mapping[str, int]) -> int:
    if len(one) > len(other):
        one, other = other, one
    return sum(n * other[name] for name, n in one.items() if name in other)
