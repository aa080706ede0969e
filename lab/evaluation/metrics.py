"""Measures of one ranking against its gold set, and their means.

A *ranking* is a sequence of ids, best first; *gold* the ids that should be
found. Ids are compared as they are and never renamed; an id that occurs
twice, on either side, counts once, at its first place. A query whose gold
is empty has no value (``None``): it leaves the mean and is counted beside
it. A query with gold and no results is worth 0.

Values are exact fractions, so a mean does not depend on the order of the
queries or on how a Python version adds floats.
"""

from __future__ import annotations

import decimal
import random
from collections.abc import (
    Callable,
    Collection,
    Hashable,
    Iterable,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol, TypeVar

from lab.errors import InvalidInput
from lab.exact import UNIT

_DECIMAL = decimal.Context(prec=50, rounding=decimal.ROUND_HALF_EVEN)


class _Ordered(Hashable, Protocol):
    def __lt__(self, other: Any, /) -> bool: ...


Id = TypeVar("Id", bound=Hashable)
OrderedId = TypeVar("OrderedId", bound=_Ordered)


def ranked(scores: Mapping[OrderedId, float]) -> list[OrderedId]:
    """Return ids by score, highest first; equal scores by id, ascending.

    The order in which the scores were inserted says nothing.
    """
    return sorted(sorted(scores), key=lambda id_: -scores[id_])


def unique(ranking: Iterable[Id]) -> list[Id]:
    """Return the ids in order, each at its first place only."""
    return list(dict.fromkeys(ranking))


def recall(
    ranking: Sequence[Id], gold: Collection[Id], k: int
) -> Fraction | None:
    """Return recall@k: ``|gold in the first k| / |gold|``."""
    wanted = set(gold)
    if not wanted:
        return None
    return Fraction(len(wanted & set(_top(ranking, k))), len(wanted))


def precision(
    ranking: Sequence[Id], gold: Collection[Id], k: int
) -> Fraction | None:
    """Return precision@k: ``|gold in the first k| / k``.

    The divisor is k also when fewer results came back, as in trec_eval.
    """
    wanted = set(gold)
    if not wanted:
        return None
    return Fraction(len(wanted & set(_top(ranking, k))), k)


def reciprocal_rank(
    ranking: Sequence[Id], gold: Collection[Id], k: int
) -> Fraction | None:
    """Return ``1 / rank`` of the first gold id in the first k, else 0.

    Its mean over queries is MRR@k (Voorhees 1999).
    """
    wanted = set(gold)
    if not wanted:
        return None
    for rank, id_ in enumerate(_top(ranking, k), start=1):
        if id_ in wanted:
            return Fraction(1, rank)
    return Fraction(0)


def ndcg(
    ranking: Sequence[Id], gold: Collection[Id], k: int
) -> Fraction | None:
    """Return nDCG@k with binary gains: ``DCG / ideal DCG``.

    ``DCG = sum over gold ids in the first k of 1 / log2(rank + 1)``
    (Jarvelin and Kekalainen 2002). The ideal puts ``min(k, |gold|)`` gold
    ids first; it comes from the gold set, never from what was retrieved.
    Discounts are rounded to 2**-40 once, which makes the quotient exact.
    """
    wanted = set(gold)
    if not wanted:
        return None
    found = sum(
        discount(rank)
        for rank, id_ in enumerate(_top(ranking, k), start=1)
        if id_ in wanted
    )
    ideal = sum(discount(r) for r in range(1, min(k, len(wanted)) + 1))
    return Fraction(found, ideal)


def abstention(ranking: Sequence[Id]) -> Fraction:
    """Return 1 when nothing came back, else 0: the score of a negative."""
    return Fraction(int(not ranking))


def by_document(
    chunks: Sequence[tuple[str, int]], depth: int = 10, keep: int = 3
) -> list[str]:
    """Return the documents behind a ranking of ``(document, number)``.

    The first ``depth`` chunks, each document at its first place, cut to
    ``keep``. Recall@3 and MRR@3 over this list are the document measures.
    """
    return unique(document for document, _ in _top(chunks, depth))[:keep]


@lru_cache(maxsize=4096)
def discount(rank: int) -> int:
    """Return ``1 / log2(rank + 1)`` in units of 2**-40; ranks from 1."""
    if rank < 1:
        raise ValueError("ranks count from 1")
    quotient = _DECIMAL.divide(
        _DECIMAL.ln(decimal.Decimal(2)), _DECIMAL.ln(decimal.Decimal(rank + 1))
    )
    scaled = _DECIMAL.multiply(quotient, decimal.Decimal(UNIT))
    return int(scaled.to_integral_value(rounding=decimal.ROUND_HALF_EVEN))


Measure = Callable[[Sequence[Id], Collection[Id]], Fraction | None]


def per_query(
    measure: Measure[Id],
    run: Mapping[str, Sequence[Id]],
    gold: Mapping[str, Collection[Id]],
) -> dict[str, Fraction | None]:
    """Return one value for every *labelled* query, by query id.

    The labels decide what is averaged: a query missing from the run is one
    with no results, and a query without labels is refused.
    """
    if unlabelled := sorted(set(run) - set(gold)):
        raise InvalidInput(f"query {unlabelled[0]}: ranked but not labelled")
    return {name: measure(run.get(name, ()), gold[name]) for name in gold}


@dataclass(frozen=True)
class Mean:
    """A mean over queries, with what it leaves out and how sure it is.

    ``value`` is ``None`` when no query has one. ``low`` and ``high`` bound
    the bootstrap interval. ``count`` queries went in, ``undefined`` had an
    empty gold set and did not.
    """

    value: Fraction | None
    low: Fraction | None
    high: Fraction | None
    count: int
    undefined: int

    def to_data(self) -> dict[str, Any]:
        """Return the mean as JSON-ready data, rounded to six digits."""
        return {
            "value": rounded(self.value),
            "low": rounded(self.low),
            "high": rounded(self.high),
            "count": self.count,
            "undefined": self.undefined,
        }


def mean(
    values: Iterable[Fraction | None], seed: int = 0, samples: int = 1000
) -> Mean:
    """Return the mean of the defined values with its 95 % interval."""
    everything = list(values)
    defined = [value for value in everything if value is not None]
    undefined = len(everything) - len(defined)
    if not defined:
        return Mean(None, None, None, 0, undefined)
    low, high = bootstrap(defined, seed=seed, samples=samples)
    total = sum(defined, Fraction(0)) / len(defined)
    return Mean(total, low, high, len(defined), undefined)


def bootstrap(
    values: Sequence[Fraction],
    *,
    seed: int = 0,
    samples: int = 1000,
    level: Fraction = Fraction(95, 100),
) -> tuple[Fraction, Fraction]:
    """Return the percentile bootstrap interval of the mean (Efron 1979).

    ``samples`` times, as many queries as there are values are drawn with
    replacement; the interval holds the middle ``level`` of their means.
    The same seed gives the same interval on every Python: only the integer
    seeding and ``random()`` of the Mersenne Twister are used, which the
    language keeps stable, and the means are sums of integers. For the
    difference of two systems, pass the differences query by query.
    """
    if not values:
        raise InvalidInput("bootstrap: no values")
    if samples < 1 or not 0 < level < 1:
        raise InvalidInput("bootstrap: samples >= 1 and 0 < level < 1")
    draw = random.Random(seed).random
    units = [round(value * UNIT) for value in values]
    n = len(units)
    sums = sorted(
        sum(units[int(draw() * n)] for _ in range(n)) for _ in range(samples)
    )
    outside = int((1 - level) / 2 * samples)
    return (
        Fraction(sums[outside], n * UNIT),
        Fraction(sums[samples - 1 - outside], n * UNIT),
    )


def grouped_bootstrap(
    groups: Sequence[Sequence[Fraction]],
    *,
    seed: int = 0,
    samples: int = 1000,
    level: Fraction = Fraction(95, 100),
) -> tuple[Fraction, Fraction]:
    """Return the interval of the mean when whole groups are drawn.

    For questions that are not independent, such as all those about one
    article: as many groups as there are are drawn with replacement, and the
    mean is over the questions of those drawn (the cluster bootstrap of
    Davison and Hinkley 1997, section 3.8). Groups of one question each give
    what ``bootstrap`` gives.
    """
    if not groups or not all(groups):
        raise InvalidInput("grouped_bootstrap: no groups, or an empty one")
    if samples < 1 or not 0 < level < 1:
        raise InvalidInput("grouped_bootstrap: samples >= 1 and 0 < level < 1")
    draw = random.Random(seed).random
    units = [
        (sum(round(value * UNIT) for value in group), len(group))
        for group in groups
    ]
    n = len(units)
    means = []
    for _ in range(samples):
        drawn = [units[int(draw() * n)] for _ in range(n)]
        total = sum(part for part, _ in drawn)
        means.append(Fraction(total, sum(count for _, count in drawn) * UNIT))
    means.sort()
    outside = int((1 - level) / 2 * samples)
    return means[outside], means[samples - 1 - outside]


def rounded(value: Fraction | None, digits: int = 6) -> float | None:
    """Return a value as a float of at most ``digits`` decimals."""
    return None if value is None else float(round(value, digits))


def _top(ranking: Sequence[Id], k: int) -> list[Id]:
    """Return the first k distinct ids."""
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise InvalidInput(f"k: must be an integer of at least 1, got {k!r}")
    return unique(ranking)[:k]
