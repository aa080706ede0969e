"""What the experiments with encoders on the fixture have in common."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from typing import Any, Final

from lab import encoders, exact, vectors
from lab.chunking import WindowChunker
from lab.encoders import Encoder
from lab.evaluation.runner import Report, difference, evaluate
from lab.experiments import Emit, Uses
from lab.experiments._reports import claims, signed
from lab.fixture import load_fixture, populate
from lab.index import Index
from lab.text import project

LIMITATIONS: Final = (
    "The fixture was written for this book by the people who built the"
    " search: the numbers compare encoders on it and predict nothing about"
    " other collections.",
    "A dozen or a few dozen questions of a kind: look at the intervals.",
)

# A question, a passage that answers it, and one that does not.
TRIPLES: Final = (
    (
        "a night in a hotel, how much may I spend",
        "The lodging limit for Britain is 210 pounds.",
        "Calibrate the balance with two standard weights.",
    ),
    (
        "absence through illness",
        "Sick leave is paid from the first day.",
        "Firmware is rolled out in three stages.",
    ),
    (
        "出差住宿能花多少钱",
        "酒店每晚的上限是六百元。",
        "天平应在使用前预热三十分钟。",
    ),
    (
        "生病了要请假",
        "员工因身体不适缺勤，应告知主管。",
        "固件分三个阶段发布。",
    ),
    (
        "how much may a hotel cost",
        "住宿费每晚不得超过六百元。",
        "天平应在使用前预热三十分钟。",
    ),
    (
        "病假期间的工资",
        "Sick leave is paid from the first day.",
        "Calibrate the balance with two standard weights.",
    ),
)


def uses(encoder: Encoder | None) -> Uses:
    """Return what the questions were asked of."""
    return Uses(
        load_fixture().digest,
        encoder.fingerprint if encoder else None,
        WindowChunker().fingerprint,
    )


def measure(
    emit: Emit, compared: Mapping[str, Encoder], fused: str
) -> dict[str, Any]:
    """Ask the fixture's questions of each encoder, alone and fused.

    Nothing reranks, except in ``default``. ``fused`` is compared with the
    lexical channel and with its own encoder, question by question.
    """
    fixture = load_fixture()
    reports: dict[str, Report] = {}
    for name, encoder in compared.items():
        with Index.open(":memory:", encoder=encoder) as index:
            populate(index, fixture)
            for mode in ("vector", "hybrid"):
                reports[f"{name}_{mode}"] = evaluate(
                    index, fixture, mode=mode, rerank=False
                )
            if name == fused:
                reports["lexical"] = evaluate(
                    index, fixture, mode="lexical", rerank=False
                )
                # What `evaluate --encoder NAME` says, nothing else asked.
                reports["default"] = evaluate(index, fixture)
    order = ["lexical", *(name for name in reports if name != "lexical")]
    for name in order:
        emit(f"{name.replace('_', ', ')}")
        for line in reports[name].to_lines()[1:]:
            emit(line)
        emit("")
    pairs: dict[str, dict[str, Any]] = {}
    emit("mrr@10, paired difference with its 95 % interval")
    for other in ("lexical", f"{fused}_vector"):
        for kind in (None, "paraphrase", "cross-language"):
            mean = difference(
                reports[f"{fused}_hybrid"], reports[other], "mrr@10", kind
            )
            place = (kind or "overall").replace("-", "_")
            pairs.setdefault(f"hybrid_minus_{other}", {})[place] = (
                mean.to_data()
            )
            emit(f"hybrid - {other.replace('_', ', ')}, {place}:")
            emit(f"  {signed(mean)}")
    return {
        "reports": {name: claims(reports[name]) for name in order},
        "differences": pairs,
        "meanings": meanings(emit, compared),
    }


def meanings(emit: Emit, compared: Mapping[str, Encoder]) -> dict[str, Any]:
    """Compare what means the same in other words with what does not."""
    found: dict[str, Any] = {}
    emit("")
    emit("cosine of a question with a passage that answers it / does not")
    for name, encoder in compared.items():
        rows = []
        for question, right, wrong in TRIPLES:
            (query,) = encoders.encode(encoder, [question], query=True)
            near, far = (
                _cosine(query, passage)
                for passage in encoders.encode(encoder, [right, wrong])
            )
            rows.append({"answers": near, "does_not": far})
            emit(f"{name}: {near:.2f} / {far:.2f}  {question}")
        found[name] = {
            "triples": rows,
            "right": sum(row["answers"] > row["does_not"] for row in rows),
            "of": len(rows),
        }
    return found


def _cosine(one: encoders.Encoded, other: encoders.Encoded) -> float:
    if one.vector is not None and other.vector is not None:
        units = vectors.cosines(one.vector, [(other.vector, other.norm)])[0]
    else:
        mine, theirs = one.features or {}, other.features or {}
        dot = sum(n * theirs.get(name, 0) for name, n in mine.items())
        units = exact.cosine(dot, one.norm, other.norm)
    return round(units / exact.UNIT, 3)


def speed(compared: Mapping[str, Encoder], count: int = 500) -> dict[str, Any]:
    """Return milliseconds a text, for the fixture's chunks, one by one."""
    chunker = WindowChunker()
    texts: list[str] = []
    for document in load_fixture().documents:
        made = project(document.format, document.source)
        texts += [chunk.text for chunk in chunker.chunk(made)]
    texts = texts[:count]
    found: dict[str, Any] = {}
    for name, encoder in compared.items():
        encoder.encode(texts[:20])
        seconds = []
        for text in texts:
            started = time.perf_counter()
            encoder.encode([text])
            seconds.append(time.perf_counter() - started)
        found[name] = {
            "texts": len(texts),
            "median_ms": round(statistics.median(seconds) * 1000, 3),
        }
    return found
