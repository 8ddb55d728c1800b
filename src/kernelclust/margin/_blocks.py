"""More samples than a copy of them fits beside: scores and sums of features block by block, wherever the blocks lie.

Nothing grows with the samples but numbers of each: scores, labels and rivals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelclust._arrays import namespace_of, parts, to_host
from kernelclust.margin._features import Features
from kernelclust.margin._weights import SampleWeights

ROWS = 2**15  # that are worked on together


# -- what is computed where the samples are ----------------------------------------------------------------------------


def _double(X: Any, mean: np.ndarray) -> tuple[Any, Any, Callable]:
    """Return the namespace of rows, the rows in double precision minus a mean, and a function to move arrays."""
    xp = namespace_of(X)
    if xp is None:
        return np, np.asarray(X, dtype=np.float64) - mean, np.asarray

    def there(values: np.ndarray) -> Any:
        return xp.asarray(np.ascontiguousarray(values), dtype=xp.float64, device=X.device)

    return xp, xp.astype(X, xp.float64) - there(mean), there


def block_scores(X, w, y, V: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Return (x - mean) . V of all rows."""
    out = np.empty((X.shape[0], *V.shape[1:]))
    for rows in parts(X.shape[0], ROWS):
        _, Z, there = _double(X[rows, ...], mean)
        out[rows] = to_host(Z @ there(V))
    return out


def block_sums(X, w, y, Y: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Return sum_i Y_i (x_i - mean)."""
    out = np.zeros((X.shape[1], *Y.shape[1:]))
    for rows in parts(X.shape[0], ROWS):
        _, Z, there = _double(X[rows, ...], mean)
        out += to_host(Z.T @ there(Y[rows]))
    return out


@dataclass(frozen=True)
class Moments:
    """Sums over some rows: of samples, of squared distances to a point; and the first bad row."""

    total: np.ndarray
    square: float
    largest: float
    bad: int | None


def block_moments(X, w, y, weight: np.ndarray | None, origin: np.ndarray, unit: float) -> Moments:
    """Return weighted sums of (x - origin) / unit and of its squared length."""
    total, square, largest, bad = np.zeros(X.shape[1]), 0.0, 0.0, None
    for rows in parts(X.shape[0], ROWS):
        xp, Z, there = _double(X[rows, ...], origin)
        each = there(np.ones(Z.shape[0]) if weight is None else weight[rows])
        with np.errstate(all="ignore"):
            Z = Z / unit
            total += to_host(Z.T @ each)
            square += float(each @ xp.sum(Z * Z, axis=1))
            largest = max(largest, float(xp.max(xp.abs(Z))))
        if bad is None and not np.isfinite(total).all():
            wrong = ~np.isfinite(to_host(Z)).all(axis=1)
            bad = rows.start + int(np.argmax(wrong))
    return Moments(total, square, largest, bad)


def block_rows(X, w, y, rows: np.ndarray) -> np.ndarray:
    """Return some rows, on the host."""
    xp = namespace_of(X)
    found = X[rows] if xp is None else xp.take(X, xp.asarray(rows, device=X.device), axis=0)
    return np.array(to_host(found), dtype=np.float64)


# -- what is computed by whoever asks ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class BlockFeatures(Features):
    """`Features` of samples in blocks: X has `each` and `sizes`."""

    def scores(self, W: np.ndarray) -> np.ndarray:
        found = self.X.each(block_scores, V=W[: len(self.mean)] / self.scale, mean=self.mean)
        return np.concatenate(found) + (W[-1] if self.bias else 0.0)

    def sums(self, Y: np.ndarray) -> np.ndarray:
        short = Y.astype(np.int8)  # what travels is short where it can be
        given = pieces(self.X, short if np.array_equal(short, Y) else Y)
        out = sum(self.X.each(block_sums, Y=given, mean=self.mean)) / self.scale
        return np.concatenate([out, np.asarray(Y.sum(axis=0))[None]]) if self.bias else out

    def without_bias(self) -> Features:
        return replace(self, bias=False)


def pieces(blocks: Any, values: np.ndarray) -> list[np.ndarray]:
    """Return the rows of an array block by block."""
    return np.split(values, np.cumsum(blocks.sizes)[:-1])


def block_features(blocks: Any, n_features: int, *, center: bool, bias: bool, weights: SampleWeights) -> BlockFeatures:
    """Return the features of samples in blocks; an error names rows that are no numbers."""
    weight = [None] * len(blocks.sizes) if weights.weight is None else pieces(blocks, weights.weight)
    zero = np.zeros(n_features)
    first = blocks.each(block_moments, weight=weight, origin=zero, unit=1.0)
    for number, one in enumerate(first):
        if one.bad is not None:
            where = f"row {one.bad}" if len(first) == 1 else f"partition {number}, row {one.bad} of it"
            raise ValueError(
                f"Input X contains NaN, infinity or numbers whose sums are infinite: {where}. Fill such values in, "
                "leave these rows out, or rescale X."
            )
    unit = max(one.largest for one in first) or 1.0
    mean = sum(one.total for one in first) / weights.total if center else zero
    again = blocks.each(block_moments, weight=weight, origin=mean, unit=unit)
    square = sum(one.square for one in again) / weights.total
    if not square > (4 * np.finfo(float).eps) ** 2 * n_features:
        raise ValueError("all samples are equal: there is nothing to separate.")
    return BlockFeatures(blocks, mean, unit * float(np.sqrt(square)), bias, center, weights)
