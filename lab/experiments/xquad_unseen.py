"""What others may read changes no metric and no byte, on public data.

The English passages for one reader; then the same, with the Chinese ones
and a copy of every English one that only somebody else may read.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

from lab.encoders.counts import TermCounts
from lab.evaluation import xquad
from lab.evaluation.xquad import READER, TENANT
from lab.experiments import Emit, Refuted, Uses, _xquad
from lab.index import Index
from lab.model import Context, Document, Policy

KIND = "data"
PAGE = False
LIMITATIONS = (
    *_xquad.LIMITATIONS,
    "Every fifth question is asked, in three modes; times are not compared.",
)

OTHER: Final = Context(TENANT, "somebody-else")
MODES: Final = ("lexical", "vector", "hybrid")
EVERY: Final = 5


def uses() -> Uses:
    """Return what the questions were asked of."""
    return _xquad.uses(TermCounts())


def run(emit: Emit) -> dict[str, Any]:
    """Ask before and after; ``Refuted`` when one byte differs."""
    questions = xquad.collection("en").questions[::EVERY]
    digests: list[list[str]] = []
    right: list[int] = []
    with xquad.opened(TermCounts(), "en") as index:
        for hidden in (0, _hide):
            added = hidden(index) if callable(hidden) else hidden
            found = []
            first = 0
            for question in questions:
                for mode in MODES:
                    results = index.search(
                        question.text, READER, mode=mode, limit=10
                    )
                    text = results.to_json().encode()
                    found.append(hashlib.sha256(text).hexdigest())
                    first += results.hits[0].doc_id == question.doc_id
            digests.append(found)
            right.append(first)
            emit(
                f"{added:>4} passages unseen: {len(found)} searches,"
                f" {first} with the right passage first"
            )
        shown = index.search(questions[0].text, OTHER, limit=1).hits
    same = sum(a == b for a, b in zip(*digests, strict=True))
    emit(f"byte for byte the same: {same} of {len(digests[0])}")
    if same != len(digests[0]) or not shown:
        raise Refuted("what others may read changes nothing")
    return {
        "searches": len(digests[0]),
        "unseen": added,
        "same": same,
        "right_first": right,
    }


def _hide(index: Index) -> int:
    """Add what only somebody else may read; return how many passages."""
    added = 0
    for lang in ("en", "zh"):
        for passage in xquad.collection(lang).passages:
            index.upsert(
                Document(
                    TENANT,
                    f"other-{lang}-{passage.doc_id}",
                    1,
                    "markdown",
                    passage.text,
                    Policy((OTHER.principal,)),
                )
            )
            added += 1
    return added
