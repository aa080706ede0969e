"""Whose vote counts how much: fusion by rank with other weights, on XQuAD.

What ships gives both channels one vote, ``1 / (60 + rank)``. The others
give the lexical vote a fixed weight, or the share of the query's terms that
the passage holds, so that a chance name in a question of another language
counts for little.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from lab.encoders import named
from lab.errors import EncoderError
from lab.evaluation import xquad
from lab.evaluation.xquad import DIRECTIONS, LIMIT, READER, Run
from lab.experiments import Emit, Unavailable, Uses, _xquad
from lab.experiments._reports import ends, signed
from lab.index import Index
from lab.terms import terms

KIND = "model"
PAGE = False
LIMITATIONS = (
    *_xquad.LIMITATIONS,
    "The weights were tried on these questions: which of them is best here"
    " need not be best elsewhere, and none of them ships.",
)

# So deep that the first ten of every way are among them.
DEPTH: Final = 60
K: Final = 60
EQUAL: Final = "equal"
COVERAGE: Final = "coverage"
# The weight of the lexical vote: a constant, or that times the share.
WAYS: Final[Mapping[str, tuple[int, bool]]] = {
    EQUAL: (1, False),
    "double": (2, False),
    "triple": (3, False),
    COVERAGE: (1, True),
    "double_coverage": (2, True),
    "triple_coverage": (3, True),
}


@dataclass(frozen=True)
class Candidate:
    """A passage, its rank in each channel (0: none), its share of terms."""

    doc_id: str
    lexical: int
    vector: int
    share: Fraction


def uses() -> Uses:
    """Return what the questions were asked of."""
    return _xquad.uses(named("shipped"))


def score(candidate: Candidate, weight: int, by_share: bool) -> Fraction:
    """Return the fused score, exact; a channel without a rank is silent."""
    lexical = Fraction(weight) * (candidate.share if by_share else 1)
    return (
        lexical / (K + candidate.lexical) if candidate.lexical else Fraction(0)
    ) + (Fraction(1, K + candidate.vector) if candidate.vector else 0)


def ranked(
    candidates: Sequence[Candidate], weight: int, by_share: bool
) -> tuple[str, ...]:
    """Return the first ten, best first, ties by name."""
    order = sorted(
        candidates, key=lambda c: (-score(c, weight, by_share), c.doc_id)
    )
    return tuple(candidate.doc_id for candidate in order[:LIMIT])


def run(emit: Emit) -> dict[str, Any]:
    """Ask every question once, and fuse what both channels said each way."""
    try:
        encoder = named("shipped")
    except EncoderError as error:
        raise Unavailable(str(error)) from None
    assert encoder is not None
    found: dict[str, Any] = {}
    for asked, passages in DIRECTIONS:
        with xquad.opened(encoder, passages) as index:
            candidates = _candidates(index, asked)
        gold = {q.id: q.doc_id for q in xquad.collection(asked).questions}
        runs = {
            "lexical": Run(
                {n: _channel(c, "lexical") for n, c in candidates.items()},
                gold,
            ),
            "shipped": Run(
                {n: _channel(c, "vector") for n, c in candidates.items()}, gold
            ),
        }
        for name, (weight, by_share) in WAYS.items():
            runs[name] = Run(
                {n: ranked(c, weight, by_share) for n, c in candidates.items()},
                gold,
            )
        if found:
            emit("")
        emit(f"{asked} questions, {passages} passages")
        emit(xquad.HEADER)
        for name, made in runs.items():
            emit(xquad.to_line(name.replace("_", " "), made))
        better = max(
            ("lexical", "shipped"),
            key=lambda n: runs[n].means()["mrr_at_10"].value or 0,
        )
        apart = {}
        for way in (EQUAL, COVERAGE, "double_coverage"):
            mean = xquad.difference(runs[way], runs[better], "mrr_at_10")
            apart[way] = ends(mean)
            emit(f"mrr, {way.replace('_', ' ')} - {better}: {signed(mean)}")
        found[f"{asked}_{passages}"] = {
            "ways": {name: xquad.to_claims(run) for name, run in runs.items()},
            "better_part": better,
            "way_minus_better_part": apart,
        }
    return found


def _candidates(index: Index, lang: str) -> dict[str, list[Candidate]]:
    found = {}
    for question in xquad.collection(lang).questions:
        asked = len(set(terms(question.text))) or 1
        results = index.search(
            question.text, READER, limit=DEPTH, mode="hybrid", rerank=False
        )
        rows = []
        for hit in results.hits:
            lexical = hit.channels.get("lexical")
            vector = hit.channels.get("vector")
            held = len(lexical.terms or ()) if lexical else 0
            rows.append(
                Candidate(
                    hit.doc_id,
                    lexical.rank if lexical else 0,
                    vector.rank if vector else 0,
                    Fraction(held, asked),
                )
            )
        found[question.id] = rows
    return found


def _channel(candidates: Sequence[Candidate], name: str) -> tuple[str, ...]:
    """Return one channel's first ten, as far as fusion kept them."""
    placed = [
        (rank, c.doc_id) for c in candidates if (rank := getattr(c, name))
    ]
    return tuple(doc_id for _, doc_id in sorted(placed)[:LIMIT])
