"""Which chunker, and whether to fuse and rerank: measured, then chosen."""

from __future__ import annotations

from typing import Any, Final

from lab.chunking import BlockChunker, Chunker, SectionChunker, WindowChunker
from lab.encoders import named
from lab.errors import EncoderError
from lab.evaluation.runner import evaluate
from lab.experiments import Emit, Unavailable, Uses, _models
from lab.experiments._reports import claims
from lab.fixture import load_fixture, populate
from lab.index import Index, Status

KIND = "model"
PAGE = False
LIMITATIONS = (
    *_models.LIMITATIONS,
    "Chunkers cut different passages, so their chunk measures do not compare"
    " like with like: a larger chunk holds an anchor more easily and a reader"
    " then has more to read. Document measures do compare.",
)

CHUNKERS: Final[dict[str, Chunker]] = {
    "window_220": WindowChunker(),
    "window_480": WindowChunker(480, 80),
    "section": SectionChunker(),
    "block": BlockChunker(),
}
ENCODERS: Final = ("counts", "shipped")


def uses() -> Uses:
    """Return what the questions were asked of."""
    return _models.uses(named("shipped"))


def run(emit: Emit) -> dict[str, Any]:
    """Ask every question of every chunker with each encoder."""
    fixture = load_fixture()
    found: dict[str, Any] = {}
    emit(
        f"{'':<30}{'chunks':>8}{'recall@10':>11}{'mrr@10':>8}"
        f"{'doc r@3':>9}{'doc mrr@3':>11}"
    )
    for chunker_name, chunker in CHUNKERS.items():
        for encoder_name in ENCODERS:
            try:
                encoder = named(encoder_name)
            except EncoderError as error:
                raise Unavailable(str(error)) from None
            with Index.open(
                ":memory:", encoder=encoder, chunker=chunker
            ) as index:
                populate(index, fixture)
                status = index.status()
                assert isinstance(status, Status)
                chunks = status.chunks
                modes = ["hybrid"]
                if encoder_name == "counts":
                    modes.insert(0, "lexical")
                for mode in modes:
                    report = evaluate(index, fixture, mode=mode, rerank=False)
                    made = claims(report)
                    kept = {
                        key: made[key]
                        for key in (
                            "recall_at_10",
                            "mrr_at_10",
                            "document_recall_at_3",
                            "document_mrr_at_3",
                            "intervals",
                        )
                    }
                    label = mode if mode == "lexical" else encoder_name
                    found.setdefault(chunker_name, {})[label] = {
                        **kept,
                        "chunks": chunks,
                    }
                    emit(
                        f"{chunker_name + ', ' + label:<30}{chunks:>8}"
                        f"{kept['recall_at_10']:>11.3f}"
                        f"{kept['mrr_at_10']:>8.3f}"
                        f"{kept['document_recall_at_3']:>9.3f}"
                        f"{kept['document_mrr_at_3']:>11.3f}"
                    )
    return found
