"""The trained encoders, looked at closely: rounding, order, languages."""

from __future__ import annotations

import re
import sqlite3
import tempfile
from pathlib import Path
from typing import Any, Final

from lab import canonical, encoders, exact, vectors
from lab.chunking import WindowChunker
from lab.encoders import Encoder, named, specs
from lab.encoders.hashing import SignedHashing
from lab.encoders.shipped_pieces import PieceTokenizer
from lab.errors import EncoderError, ProjectionChanged
from lab.evaluation.runner import evaluate
from lab.experiments import Emit, Refuted, Unavailable, Uses, _models
from lab.experiments._reports import claims
from lab.fixture import load_fixture, populate
from lab.index import Index
from lab.text import project

KIND = "model"
PAGE = False
LIMITATIONS = (
    "A handful of sentences chosen because they show a weakness; not a"
    " sample of anything.",
    "A chunk counts as Chinese when it has more than half as many Han"
    " characters as Latin letters.",
    "The fixture was written for this book and has far more English chunks"
    " than Chinese ones.",
)

# What a sum of pieces does not tell apart.
PAIRS: Final = (
    ("Leeds pays Suzhou", "Suzhou pays Leeds"),
    ("Alcohol is not allowed", "Alcohol is allowed"),
    ("报销不得超过六百元", "报销可以超过六百元"),
)
NAMES: Final = ("E-417", "LX-200", "Heron", "Larkspur", "Suzhou")
FIRST: Final = 10


def uses() -> Uses:
    """Return what was encoded."""
    return _models.uses(named("shipped"))


def run(emit: Emit) -> dict[str, Any]:
    """Probe the shipped model, and count languages for both models.

    ``Refuted`` when an index opens with another encoder of equal size.
    """
    try:
        both = {name: named(name) for name in ("shipped", "e5")}
    except EncoderError as error:
        raise Unavailable(str(error)) from None
    shipped, e5 = both["shipped"], both["e5"]
    assert shipped is not None
    assert e5 is not None
    return {
        "pairs": _pairs(emit, shipped),
        "pieces": _pieces(emit),
        "rounding": _rounding(emit, shipped),
        "languages": {
            "shipped": _languages(emit, "shipped", shipped),
            "e5": _languages(emit, "e5", e5),
        },
        "forged": _forged(emit, shipped),
    }


def _pairs(emit: Emit, encoder: Encoder) -> list[dict[str, Any]]:
    found = []
    emit("cosine, shipped model")
    for one, other in PAIRS:
        a, b = encoders.encode(encoder, [one, other])
        (units,) = vectors.cosines(a.vector or b"", [(b.vector or b"", b.norm)])
        cosine = round(units / exact.UNIT, 3)
        found.append({"texts": [one, other], "cosine": cosine})
        emit(f"{cosine:.3f}  {one} / {other}")
    return found


def _pieces(emit: Emit) -> dict[str, list[str]]:
    """Return the pieces that the shipped model cuts names into."""
    spec = specs.shipped()
    text = specs.read_verified(spec, specs.folder_of(spec))[
        spec.tokenizer.name
    ].decode()
    tokenizer = PieceTokenizer(text, spec.tokenizer.name)
    lines = text.split("\n")
    found = {
        name: [lines[number] for number in tokenizer.ids(name)]
        for name in NAMES
    }
    emit("")
    emit("pieces of a name")
    for name, pieces in found.items():
        emit(f"{name:<10} {' '.join(pieces) or 'none'}")
    return found


def _rounding(emit: Emit, encoder: Encoder) -> dict[str, Any]:
    """Compare int8 with float32 cosines, questions against chunks."""
    fixture = load_fixture()
    chunker = WindowChunker()
    texts = [
        chunk.text
        for document in fixture.documents
        for chunk in chunker.chunk(project(document.format, document.source))
    ]
    queries = [query.query for query in fixture.queries]
    np = vectors.numpy()
    plain = (
        np.asarray(encoder.encode(queries, query=True), dtype=np.float64)
        @ np.asarray(encoder.encode(texts), dtype=np.float64).T
    )
    stored = encoders.encode(encoder, texts)
    rows = [(row.vector or b"", row.norm) for row in stored]
    largest, changed = 0.0, 0
    asked = encoders.encode(encoder, queries, query=True)
    for floats, query in zip(plain, asked, strict=True):
        whole = np.array(vectors.cosines(query.vector or b"", rows))
        largest = max(largest, float(abs(floats - whole / exact.UNIT).max()))
        changed += int(floats.argmax() != whole.argmax())
    found = {
        "questions": len(queries),
        "largest": round(largest, 3),
        "first_changed": changed,
    }
    emit("")
    emit(
        f"int8 against float32, {len(queries)} questions: largest difference"
        f" {found['largest']:.3f}"
    )
    emit(f"another chunk first: {changed}")
    return found


def _languages(emit: Emit, name: str, encoder: Encoder) -> dict[str, int]:
    """Count hits in a question's language where the answer is in another."""
    fixture = load_fixture()
    same = hits = 0
    with Index.open(":memory:", encoder=encoder) as index:
        populate(index, fixture)
        for query in fixture.queries:
            if query.kind != "cross-language":
                continue
            for hit in index.search(
                query.query,
                query.context,
                limit=FIRST,
                mode="vector",
                rerank=False,
            ).hits:
                hits += 1
                same += _chinese(hit.text) == _chinese(query.query)
    emit("")
    emit(f"{name}: {same} of {hits} hits are in the question's own language")
    return {"hits": hits, "same": same}


def _chinese(text: str) -> bool:
    han = len(re.findall(r"[\u4e00-\u9fff]", text))
    return 2 * han > len(re.findall(r"[A-Za-z]", text))


def _forged(emit: Emit, encoder: Encoder) -> dict[str, Any]:
    """Open hashed rows with the model: honestly, then by a forged name."""
    fixture = load_fixture()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.db"
        with Index.open(path, encoder=SignedHashing(256)) as index:
            populate(index, fixture)
        try:
            Index.open(path, encoder=encoder).close()
        except ProjectionChanged as error:
            refusal = type(error).__name__
        else:
            raise Refuted("An index is never opened with another encoder.")
        db = sqlite3.connect(path)
        with db:
            db.execute(
                "UPDATE settings SET encoder = ?, encoder_spec = ?",
                (encoder.fingerprint, canonical.dumps(dict(encoder.spec()))),
            )
        db.close()
        with Index.open(path, encoder=encoder) as index:
            faults = len(index.verify())
            report = evaluate(index, fixture, mode="vector", rerank=False)
    found = {
        "refusal": refusal,
        "faults": faults,
        "mrr_at_10": round(claims(report)["mrr_at_10"], 3),
    }
    emit("")
    emit(f"hashed rows, opened with the model: {refusal}")
    emit(
        f"with a forged name: opened; verify names {faults} faults;"
        f" mrr@10 {found['mrr_at_10']:.3f}"
    )
    return found
