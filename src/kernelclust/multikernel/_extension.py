"""New samples: their prepared similarity sums with the clusters found, without the kernel matrix of the fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from kernelclust.kernels import FittedKernel, one_hot, row_blocks
from kernelclust.multikernel._kernels import SMALL, PreparedDense, PreparedKernel, PreparedLowRank

CLOSE = 256  # new samples whose own similarity is computed at a time


@dataclass
class _DenseExtension:
    """From k(new, fitted), made in blocks or given."""

    function: Any  # None: the user brings k(new, fitted)
    X: Any
    coefficients: np.ndarray  # (held, c): scale times one-hot labels
    row_mean: np.ndarray
    mean: float
    own: float  # k(x, x) where it cannot be computed
    size: float
    unit: bool
    center: bool

    def __call__(self, X_new) -> np.ndarray:
        held = len(self.row_mean)
        columns = np.column_stack([self.coefficients, np.full(held, 1 / held)])
        if self.function is not None:
            X_new = self.function.prepare(X_new)
        n = X_new.shape[0]
        raw, own = np.empty((n, columns.shape[1])), np.full(n, self.own)
        for rows in row_blocks(n, held):
            raw[rows] = (X_new[rows] if self.function is None else self.function(X_new[rows], self.X)) @ columns
        if self.function is not None:
            for at in range(0, n, CLOSE):
                few = X_new[at : at + CLOSE]
                own[at : at + CLOSE] = np.diagonal(self.function(few, few))
        _check_finite(raw)
        sums, near = raw[:, :-1], raw[:, -1:]
        if self.center:
            totals = self.coefficients.sum(axis=0)
            sums = sums - near * totals - self.row_mean @ self.coefficients + self.mean * totals
            own = own - 2 * near[:, 0] + self.mean
        return _scaled(sums, own, self.size, self.unit, self.own)


@dataclass
class _FeatureExtension:
    """From features b(x): <b(x) - offset, sum of a cluster's features>."""

    features: Callable
    offset: np.ndarray
    sums: np.ndarray
    size: float
    unit: bool

    def __call__(self, X_new) -> np.ndarray:
        n = X_new.shape[0]
        sums, own = np.empty((n, len(self.sums))), np.empty(n)
        for rows in row_blocks(n, max(self.sums.shape[1], X_new.shape[1])):
            B = self.features(X_new[rows])
            B = (B.toarray() if sparse.issparse(B) else B) - self.offset
            sums[rows], own[rows] = B @ self.sums.T, np.einsum("ij,ij->i", B, B)
        _check_finite(sums)
        return _scaled(sums, own, self.size, self.unit, float(own.max(initial=0.0)))


def extension(fitted: FittedKernel, kernel: PreparedKernel, labels: np.ndarray, n_clusters: int, *, unit, center):
    """Function from new samples to their sums (n, c) of prepared similarities with the clusters."""
    held = labels if kernel.samples is None else labels[kernel.samples]
    if fitted.searches:  # a kernel that exists between fitted samples only: that of the nearest ones
        everyone = one_hot(labels, n_clusters, np.ones(len(labels)))
        G = kernel @ everyone
        neighbours: Any = fitted.extension(held, n_clusters)
        neighbours.G = G if kernel.samples is None else G[kernel.samples]
        return neighbours
    size = float(np.sqrt(len(labels) / len(held)))
    if isinstance(kernel, PreparedLowRank):
        assert fitted.features is not None
        return _FeatureExtension(fitted.features, kernel.offset, kernel.feature_sums(labels, n_clusters), size, unit)
    assert isinstance(kernel, PreparedDense)
    own = float(np.mean(np.diagonal(kernel.K)))
    coefficients = kernel.scale[:, None] * one_hot(held, n_clusters, np.ones(len(held)))
    return _DenseExtension(
        fitted.function, fitted.X, coefficients, kernel.row_mean, kernel.mean, own, size, unit, center
    )


def _scaled(sums: np.ndarray, own: np.ndarray, size: float, unit: bool, typical: float) -> np.ndarray:
    if not unit:
        return size * sums
    some = own > SMALL * abs(typical)
    return sums * (size * some / np.sqrt(np.where(some, own, 1.0)))[:, None]


def _check_finite(sums: np.ndarray) -> None:
    if not np.isfinite(sums).all():
        row = int(np.flatnonzero(~np.isfinite(sums).all(axis=1))[0])
        raise ValueError(f"similarities of new sample {row} are beyond floating point: it is too far away.")
