"""Dense vectors stored as int8, so that their dot products are exact."""

from __future__ import annotations

import array
import math
from collections.abc import Iterable, Sequence
from typing import Any

from lab import exact
from lab.errors import EncoderError

SCALE = 127

# Above this many dimensions a float32 matrix product of int8 values could
# pass 2**24 and round: 127 * 127 * 1040 < 2**24 <= 127 * 127 * 1041.
FLOAT32_DIMS = 1040


def numpy() -> Any:
    """Return the NumPy module, or ``None`` where it is not installed."""
    try:
        import numpy as module
    except ImportError:
        return None
    return module


def quantise(row: Sequence[float]) -> bytes:
    """Return an L2-normalised row as one signed byte per dimension.

    ``round(127 * x)``, halves to even. A zero row stays zero. Raises
    ``EncoderError`` when a value is not finite or lies outside [-1, 1]
    by more than a rounding error.
    """
    out = array.array("b")
    for value in row:
        number = float(value)
        if not math.isfinite(number):
            raise EncoderError("encoder returned a value that is not finite")
        if abs(number) > 1.001:
            raise EncoderError("encoder returned a row that is not normalised")
        out.append(max(-SCALE, min(SCALE, round(number * SCALE))))
    return out.tobytes()


def norm(data: bytes) -> int:
    """Return the squared length of a stored row, an exact integer."""
    return sum(v * v for v in _signed(data))


def _signed(data: bytes) -> array.array[int]:
    return array.array("b", data)


def cosines(query: bytes, rows: Iterable[tuple[bytes, int]]) -> list[int]:
    """Return the cosine of ``query`` with each row in units of 2**-40.

    ``rows`` holds ``(data, norm)`` pairs. NumPy, where present, gives the
    same integers faster: products of int8 are exact in float32 up to
    ``FLOAT32_DIMS`` dimensions and in int64 above, and root and division
    are correctly rounded in both.
    """
    stored = list(rows)
    np = numpy()
    if np is not None and stored:
        return _cosines_numpy(np, query, stored)
    mine = _signed(query)
    mine_norm = norm(query)
    result = []
    for data, row_norm in stored:
        dot = sum(a * b for a, b in zip(mine, _signed(data), strict=True))
        result.append(exact.cosine(dot, mine_norm, row_norm))
    return result


def _cosines_numpy(
    np: Any, query: bytes, stored: list[tuple[bytes, int]]
) -> list[int]:
    dims = len(query)
    if any(len(data) != dims for data, _ in stored):
        raise ValueError("rows of different dimensions")
    matrix = np.frombuffer(
        b"".join(data for data, _ in stored), dtype=np.int8
    ).reshape(len(stored), dims)
    mine = np.frombuffer(query, dtype=np.int8)
    kind = np.float32 if dims <= FLOAT32_DIMS else np.int64
    dots = (matrix.astype(kind) @ mine.astype(kind)).astype(np.int64)
    norms = np.array([n for _, n in stored], dtype=np.int64)
    product = (norms * norm(query)).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = dots.astype(np.float64) / np.sqrt(product)
    values[product == 0] = 0.0
    found: list[int] = np.rint(values * exact.UNIT).astype(np.int64).tolist()
    return found
