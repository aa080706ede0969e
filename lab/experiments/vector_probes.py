"""Vectors by hashing: what the sign is for, and two encoders of one size."""

from __future__ import annotations

import math
import tempfile
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from lab import encoders, exact, vectors
from lab.chunking import WindowChunker
from lab.encoders import Encoded, Encoder
from lab.encoders.counts import TermCounts
from lab.encoders.hashing import SignedHashing
from lab.errors import ProjectionChanged
from lab.evaluation.runner import evaluate
from lab.experiments import Emit, Refuted, Uses, _models
from lab.experiments._reports import claims
from lab.fixture import load_fixture, populate
from lab.index import Index
from lab.terms import terms
from lab.text import project

KIND = "core"
PAGE = False
LIMITATIONS = (
    "One hash function and one collection: an expectation over all hash"
    " functions is a statement of probability, and this is one draw.",
    "The fixture was written for this book, in English and in Chinese; most"
    " pairs of chunks that share no term are one of each.",
    "The second encoder is a hash as well; two trained models may agree by"
    " chance on some texts and disagree on others.",
)

DIMS: Final = 256
SIZES: Final = (64, 256, 1024, 4096)
# Two texts that share no term, and whose terms meet in one place.
COLLISIONS: Final = (("sick leave", "new firmware"), ("hotel", "fine powder"))


class Hashing:
    """The laboratory's hashing, with its signs or with all of them plus."""

    minimum_score = SignedHashing.minimum_score

    def __init__(self, dims: int, signed: bool) -> None:
        self.dims: int | None = dims
        self._signed = signed
        self._dims = dims
        self._one = SignedHashing(dims)
        self._place = cache(self._find)

    @property
    def fingerprint(self) -> str:
        """Name of the encoder and whether it has signs."""
        return f"{self._one.fingerprint}+{'signs' if self._signed else 'plus'}"

    def spec(self) -> Mapping[str, Any]:
        """Return a name; an experiment's index is opened once."""
        return {"kind": self.fingerprint}

    def place(self, term: str) -> tuple[int, int]:
        """Return where one term goes, and with which sign."""
        return self._place(term)

    def _find(self, term: str) -> tuple[int, int]:
        (row,) = self._one.encode([term])
        ((index, value),) = ((i, v) for i, v in enumerate(row) if v)
        return index, int(value)

    def encode(
        self, texts: Sequence[str], *, query: bool = False
    ) -> list[list[float]]:
        """Return one row per text, L2-normalised or all zero."""
        return [self._row(text) for text in texts]

    def _row(self, text: str) -> list[float]:
        sums = [0] * self._dims
        for term, count in Counter(terms(text)).items():
            index, sign = self._place(term)
            sums[index] += count * (sign if self._signed else 1)
        length = math.sqrt(sum(n * n for n in sums))
        return [n / length if length else 0.0 for n in sums]


class Backwards:
    """Another encoder of the same size: it spells every term backwards."""

    dims: int | None = DIMS
    minimum_score = SignedHashing.minimum_score
    fingerprint = f"backwards/1({DIMS})"

    def spec(self) -> Mapping[str, Any]:
        """Return a name; an experiment's index is opened once."""
        return {"kind": self.fingerprint}

    def encode(self, texts: Sequence[str], *, query: bool = False) -> Any:
        """Return one row per text, L2-normalised or all zero."""
        return SignedHashing(DIMS).encode(
            [" ".join(term[::-1] for term in terms(text)) for text in texts]
        )


def uses() -> Uses:
    """Return what was encoded."""
    return _models.uses(SignedHashing(DIMS))


def run(emit: Emit) -> dict[str, Any]:
    """Collide, compare strangers, mix two encoders, and round.

    ``Refuted`` when an index can be opened with another encoder.
    """
    texts = _texts()
    found = {
        "chunks": len(texts),
        "distinct_terms": len({t for text in texts for t in terms(text)}),
        "dims": DIMS,
        "collisions": _collisions(emit),
        "strangers": _strangers(emit, texts),
        "questions": _questions(emit),
        "mixed": _mixed(emit, texts),
    }
    found["rounding"] = _rounding(emit, texts)
    return found


def _texts() -> list[str]:
    chunker = WindowChunker()
    return [
        chunk.text
        for document in load_fixture().documents
        for chunk in chunker.chunk(project(document.format, document.source))
    ]


def _cosine(one: Encoded, other: Encoded) -> float:
    assert one.vector is not None
    assert other.vector is not None
    (units,) = vectors.cosines(one.vector, [(other.vector, other.norm)])
    return round(units / exact.UNIT, 3)


def _collisions(emit: Emit) -> list[dict[str, Any]]:
    """Return what two texts without a common term score."""
    ways = {
        "signed": Hashing(DIMS, signed=True),
        "unsigned": Hashing(DIMS, signed=False),
    }
    found: list[dict[str, Any]] = []
    for pair in COLLISIONS:
        row: dict[str, Any] = {"texts": list(pair), "places": {}}
        emit(f"{pair[0]} / {pair[1]}")
        for term in sorted({t for text in pair for t in terms(text)}):
            index, sign = ways["signed"].place(term)
            row["places"][term] = [index, sign]
            emit(f"  {term:<10} place {index:>3}, sign {'+-'[sign < 0]}")
        for name, way in ways.items():
            row[name] = _cosine(*encoders.encode(way, list(pair)))
        emit(
            f"  cosine without signs {row['unsigned']:+.3f},"
            f" with signs {row['signed']:+.3f}"
        )
        found.append(row)
    return found


def _strangers(emit: Emit, texts: list[str]) -> list[dict[str, Any]]:
    """Return, by size, the cosines of chunks that share no term."""
    sets = [frozenset(terms(text)) for text in texts]
    apart = [
        [j for j in range(i + 1, len(texts)) if not sets[i] & sets[j]]
        for i in range(len(texts))
    ]
    pairs = sum(map(len, apart))
    least = exact.units(SignedHashing.minimum_score)
    emit("")
    emit(f"{pairs} pairs of chunks without a common term")
    emit("            without signs          with signs")
    emit("dims      mean   candidates      mean   candidates")
    found: list[dict[str, Any]] = []
    for dims in SIZES:
        row: dict[str, Any] = {"dims": dims, "pairs": pairs}
        for name in ("unsigned", "signed"):
            way = Hashing(dims, signed=name == "signed")
            rows = encoders.encode(way, texts)
            total = candidates = 0
            for one, others in zip(rows, apart, strict=True):
                assert one.vector is not None
                cosines = vectors.cosines(
                    one.vector,
                    [(rows[j].vector or b"", rows[j].norm) for j in others],
                )
                total += sum(cosines)
                candidates += sum(units >= least for units in cosines)
            row[name] = {
                "mean": round(total / pairs / exact.UNIT, 4) + 0.0,
                "candidates": round(candidates / pairs, 3),
            }
        emit(
            f"{dims:>4}   {row['unsigned']['mean']:+.4f}"
            f"   {row['unsigned']['candidates']:>10.3f}"
            f"   {row['signed']['mean']:+.4f}"
            f"   {row['signed']['candidates']:>10.3f}"
        )
        found.append(row)
    return found


def _questions(emit: Emit) -> dict[str, Any]:
    """Return how the fixture's questions fare, by vectors alone."""
    fixture = load_fixture()
    ways: dict[str, Encoder] = {
        "counts": TermCounts(),
        "unsigned": Hashing(DIMS, signed=False),
        "signed": Hashing(DIMS, signed=True),
        "signed_4096": Hashing(SIZES[-1], signed=True),
    }
    found: dict[str, Any] = {}
    emit("")
    emit("the fixture's questions, vector channel alone")
    emit(f"{'':<14}{'recall@10':>10}{'mrr@10':>9}")
    for name, way in ways.items():
        with Index.open(":memory:", encoder=way) as index:
            populate(index, fixture)
            report = evaluate(index, fixture, mode="vector", rerank=False)
        made = claims(report)
        found[name] = {key: made[key] for key in ("recall_at_10", "mrr_at_10")}
        emit(
            f"{name.replace('_', ', '):<14}"
            f"{found[name]['recall_at_10']:>10.3f}"
            f"{found[name]['mrr_at_10']:>9.3f}"
        )
    return found


def _mixed(emit: Emit, texts: list[str]) -> dict[str, Any]:
    """Ask rows of one encoder with rows of another; then try to open."""
    stored = encoders.encode(SignedHashing(DIMS), texts)
    rows = [(row.vector or b"", row.norm) for row in stored]
    least = exact.units(SignedHashing.minimum_score)
    found: dict[str, Any] = {"asked": len(texts)}
    emit("")
    emit(f"{len(texts)} chunks, each asked for with its own text")
    asking: dict[str, Encoder] = {
        "same": SignedHashing(DIMS),
        "other": Backwards(),
    }
    for name, encoder in asking.items():
        first = candidates = 0
        for number, query in enumerate(
            encoders.encode(encoder, texts, query=True)
        ):
            cosines = vectors.cosines(query.vector or b"", rows)
            first += cosines[number] == max(cosines)
            candidates += sum(units >= least for units in cosines)
        found[name] = {
            "first": first,
            "candidates": round(candidates / len(texts), 1),
        }
        emit(
            f"{name + ' encoder':<14} itself first {first:>3},"
            f" candidates {found[name]['candidates']:>5.1f} a question"
        )
    found["refusal"] = _opened()
    emit("opening the index with the other encoder:")
    for line in textwrap.wrap(found["refusal"], 70):
        emit(f"  {line}")
    return found


def _opened() -> str:
    """Return what the lab says to an index and another encoder."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.db"
        with Index.open(path, encoder=SignedHashing(DIMS)) as index:
            populate(index, load_fixture())
        try:
            Index.open(path, encoder=Backwards()).close()
        except ProjectionChanged as error:
            return f"{type(error).__name__}: {error}"
    raise Refuted("An index is never opened with another encoder.")


def _rounding(emit: Emit, texts: list[str]) -> dict[str, Any]:
    """Return the largest difference that int8 makes to a cosine."""
    rows = SignedHashing(DIMS).encode(texts)
    stored = encoders.encode(SignedHashing(DIMS), texts)
    pairs = [(row.vector or b"", row.norm) for row in stored]
    largest = 0.0
    for one, row in zip(rows, stored, strict=True):
        units = vectors.cosines(row.vector or b"", pairs)
        for other, value in zip(rows, units, strict=True):
            true = math.fsum(a * b for a, b in zip(one, other, strict=True))
            largest = max(largest, abs(true - value / exact.UNIT))
    emit("")
    emit(
        f"int8 against float32, {len(texts) ** 2} cosines:"
        f" largest difference {largest:.4f}"
    )
    return {"cosines": len(texts) ** 2, "largest": round(largest, 4)}
