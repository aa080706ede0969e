"""Fitting a table of pieces to the teacher's vectors.

A text's vector is to be the weighted mean of its pieces' rows. Three steps
lead there: the teacher's vector of each piece alone; one linear map of all
of them, by least squares over the texts; then for every piece its own
correction, by ridge regression over the same texts, which stays near zero
for a piece that few texts hold. Before, each language's mean is removed;
after, principal axes are kept and mildly evened out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

ENGLISH: Final = 0
CHINESE: Final = 1
NEITHER: Final = 2


@dataclass(frozen=True)
class Settings:
    """What may be chosen.

    ``smooth`` is the a of the weights a / (a + frequency) of Arora, Liang
    and Ma 2017. ``map_ridge`` and ``piece_ridge`` hold the two fits back.
    Axes are divided by their singular values to the power ``whiten``.
    """

    dims: int = 256
    smooth: float = 1e-3
    map_ridge: float = 0.1
    piece_ridge: float = 0.5
    steps: int = 20
    whiten: float = 0.5


class Counts:
    """A sparse matrix of texts by pieces, each row with sum one."""

    def __init__(
        self, rows: Sequence[Sequence[int]], weights: Any, pieces: int
    ) -> None:
        columns = np.array([c for row in rows for c in row], dtype=np.int64)
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        owners = np.repeat(np.arange(len(rows)), lengths)
        values = weights[columns].astype(np.float64)
        sums = np.bincount(owners, values, len(rows))
        values /= sums[owners]
        self._shape = (len(rows), pieces)
        self._by_row = (owners, columns, values)
        order = np.argsort(columns, kind="stable")
        self._by_column = (columns[order], owners[order], values[order])

    def times(self, table: Any) -> Any:
        """Return this matrix times ``table``, ``(texts, dims)``."""
        return _product(self._by_row, table, self._shape[0])

    def transposed_times(self, rows: Any) -> Any:
        """Return the transpose times ``rows``, ``(pieces, dims)``."""
        return _product(self._by_column, rows, self._shape[1])


def _product(entries: tuple[Any, Any, Any], table: Any, count: int) -> Any:
    targets, places, values = entries
    out = np.zeros((count, table.shape[1]))
    starts = np.flatnonzero(np.r_[True, targets[1:] != targets[:-1]])
    # A few thousand sums at a time keep the gathered rows small.
    for first in range(0, len(starts), 4096):
        some = starts[first : first + 4096]
        end = starts[first + 4096] if first + 4096 < len(starts) else None
        part = slice(some[0], end)
        rows = table[places[part]] * values[part, None]
        out[targets[some]] = np.add.reduceat(rows, some - some[0], axis=0)
    return out


def fit(
    pieces: Any,
    frequency: Any,
    language: Any,
    ids: Sequence[Sequence[int]],
    targets: Any,
    text_language: Any,
    settings: Settings,
) -> Any:
    """Return the table, ``(pieces, dims) float64``, weights included.

    ``pieces`` are the teacher's rows of the pieces alone, ``targets`` those
    of the texts, ``ids`` each text's pieces (at least one).
    """
    weights = settings.smooth / (settings.smooth + frequency)
    table = centred(pieces.astype(np.float64), language)
    wanted = centred(targets.astype(np.float64), text_language)
    counts = Counts(ids, weights, len(pieces))
    table = table @ _least_squares(
        counts.times(table), wanted, settings.map_ridge
    )
    table += _corrections(
        counts,
        wanted - counts.times(table),
        settings.piece_ridge,
        settings.steps,
    )
    return (table @ axes(table, settings)) * weights[:, None]


def centred(rows: Any, language: Any) -> Any:
    """Return rows less the mean of their language.

    What belongs to neither loses the mean of the two means.
    """
    means = [rows[language == lang].mean(axis=0) for lang in (0, 1)]
    means.append((means[0] + means[1]) / 2)
    return rows - np.stack(means)[language]


def _least_squares(rows: Any, wanted: Any, ridge: float) -> Any:
    """Return the matrix B with ``rows @ B`` nearest ``wanted``."""
    square = rows.T @ rows
    held = ridge * np.trace(square) / len(square)
    return np.linalg.solve(square + held * np.eye(len(square)), rows.T @ wanted)


def _corrections(counts: Counts, rest: Any, ridge: float, steps: int) -> Any:
    """Return Z minimising ``|counts Z - rest|² + ridge |Z|²``.

    Conjugate gradients (Hestenes and Stiefel 1952), all columns at once.
    """
    gradient = counts.transposed_times(rest)
    found = np.zeros_like(gradient)
    direction = gradient.copy()
    size = float(np.sum(gradient * gradient))
    start = size
    for _ in range(steps):
        if size <= 1e-24 * start:
            break
        image = counts.transposed_times(counts.times(direction))
        image += ridge * direction
        pace = size / float(np.sum(direction * image))
        found += pace * direction
        gradient -= pace * image
        new = float(np.sum(gradient * gradient))
        direction = gradient + new / size * direction
        size = new
    return found


def axes(table: Any, settings: Settings) -> Any:
    """Return the matrix that keeps the principal axes, evened out."""
    values, vectors = np.linalg.eigh(table.T @ table)
    best = np.argsort(-values, kind="stable")[: settings.dims]
    kept = vectors[:, best]
    # A vector and its negative are the same axis: the sign is fixed, so
    # that another linear algebra library gives the same table.
    largest = np.abs(kept).argmax(axis=0)
    kept = kept * np.sign(kept[largest, np.arange(len(best))])
    singular = np.sqrt(np.maximum(values[best], 1e-12))
    return kept / singular**settings.whiten


def quantised(table: Any) -> tuple[Any, Any]:
    """Return int8 rows and one float32 scale a row."""
    scales = np.abs(table).max(axis=1, keepdims=True) / 127
    scales[scales == 0] = 1.0
    rows = np.clip(np.rint(table / scales), -127, 127).astype(np.int8)
    return rows, scales.astype(np.float32)
