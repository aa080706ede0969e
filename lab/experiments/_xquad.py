"""What the experiments on XQuAD have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lab.encoders import Encoder
from lab.evaluation import xquad
from lab.evaluation.public import XQUAD
from lab.evaluation.xquad import CHUNKER, DIRECTIONS, Remembering, Run
from lab.experiments import Emit, Uses
from lab.experiments._reports import ends, signed

LIMITATIONS: Final = (
    "Questions were written while looking at the passage, so they share"
    " more words with it than a searcher's would.",
    "240 passages of an encyclopedia, each whole: finding one among 240 is"
    " easier than among millions, and says nothing about chunking.",
    "The Chinese is translated from the English.",
)


def uses(encoder: Encoder | None = None) -> Uses:
    """Return what the questions were asked of."""
    return Uses(
        XQUAD.fingerprint,
        encoder.fingerprint if encoder else None,
        CHUNKER.fingerprint,
    )


def measure(
    emit: Emit,
    encoders: Mapping[str, Encoder],
    fused: str,
) -> dict[str, Any]:
    """Ask in every direction: terms, each encoder alone, one of them fused.

    ``fused`` names the encoder whose channel is also fused with the
    lexical one. Fusion is compared, question by question, with each of its
    parts.
    """
    found: dict[str, Any] = {}
    remembered = {n: Remembering(e) for n, e in encoders.items()}
    for asked, passages in DIRECTIONS:
        runs: dict[str, Run] = {}
        for name, encoder in remembered.items():
            with xquad.opened(encoder, passages) as index:
                runs[name] = xquad.run(index, asked, mode="vector")
                if name == fused:
                    runs["lexical"] = xquad.run(index, asked, mode="lexical")
                    runs["hybrid"] = xquad.run(index, asked, mode="hybrid")
        if found:
            emit("")
        emit(f"{asked} questions, {passages} passages")
        emit(xquad.HEADER)
        for name in ("lexical", *encoders, "hybrid"):
            emit(xquad.to_line(name, runs[name]))
        better: dict[str, dict[str, Any]] = {}
        for other in ("lexical", fused):
            for key in ("mrr_at_10", "recall_at_10"):
                mean = xquad.difference(runs["hybrid"], runs[other], key)
                better.setdefault(f"hybrid_minus_{other}", {})[key] = ends(mean)
                if key == "mrr_at_10":
                    emit(f"mrr, hybrid - {other}: {signed(mean)}")
        found[f"{asked}_{passages}"] = {
            **{name: xquad.to_claims(run) for name, run in runs.items()},
            "differences": better,
        }
    return found
