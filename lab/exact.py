"""Scores as integers, so that equal views give equal bytes.

Every score is an integer count of ``1 / UNIT`` (2**-40). Floating-point
sums depend on the order of their terms and on the Python version; integer
sums do not. Nothing here adds two floats.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache

UNIT = 2**40
K1 = (3, 2)  # 1.5
B = (3, 4)  # 0.75
RANK_CONSTANT = 60

_DECIMAL = Context(prec=50, rounding=ROUND_HALF_EVEN)


def ratio(numerator: int, denominator: int) -> int:
    """Return ``numerator / denominator`` rounded to the nearest integer.

    Halves round up. ``denominator`` is positive.
    """
    return (2 * numerator + denominator) // (2 * denominator)


@lru_cache(maxsize=65536)
def idf(chunks: int, df: int) -> int:
    """Return the inverse document frequency in units of 2**-40.

    ``ln(1 + (N - df + 0.5) / (df + 0.5))``, the BM25 form that never goes
    negative (Robertson and Zaragoza 2009, with the added one that Lucene
    uses); equal to ``ln((2N + 2) / (2df + 1))``. ``decimal`` rounds its
    logarithm correctly, so the integer is the same on every machine.
    """
    if not 0 <= df <= chunks:
        raise ValueError("document frequency must lie in [0, N]")
    quotient = _DECIMAL.divide(Decimal(2 * chunks + 2), Decimal(2 * df + 1))
    scaled = _DECIMAL.multiply(_DECIMAL.ln(quotient), Decimal(UNIT))
    return int(scaled.to_integral_value(rounding=ROUND_HALF_EVEN))


def bm25_term(idf_units: int, tf: int, length: int, n: int, total: int) -> int:
    """Return one term's BM25 contribution in units of 2**-40.

    ``idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / average))``
    with k1 = 3/2, b = 3/4 and average = total / n, as one rounded quotient
    of integers. ``length`` counts the chunk's terms, ``n`` the readable
    chunks, ``total`` the terms of all of them; ``total`` is positive.
    """
    (kp, kq), (bp, bq) = K1, B
    # Both sides multiplied by kq * bq * total clear every fraction.
    top = idf_units * tf * (kp + kq) * bq * total
    bottom = tf * kq * bq * total + kp * ((bq - bp) * total + bp * length * n)
    return ratio(top, bottom)


def reciprocal_rank(rank: int) -> int:
    """Return ``1 / (60 + rank)`` in units of 2**-40; ranks count from 1.

    Reciprocal rank fusion, Cormack, Clarke and Buettcher 2009.
    """
    if rank < 1:
        raise ValueError("ranks count from 1")
    return ratio(UNIT, RANK_CONSTANT + rank)


def cosine(dot: int, norm_a: int, norm_b: int) -> int:
    """Return a cosine in units of 2**-40 from an exact integer dot product.

    ``norm_a`` and ``norm_b`` are squared lengths. One correctly rounded
    root, one correctly rounded division, one rounding to units: IEEE 754
    makes all three the same everywhere, in NumPy too. A zero norm gives 0.
    """
    if norm_a == 0 or norm_b == 0:
        return 0
    return round(dot / math.sqrt(norm_a * norm_b) * UNIT)


def units(value: float) -> int:
    """Return a float in units of 2**-40 (for thresholds and settings)."""
    return round(value * UNIT)
