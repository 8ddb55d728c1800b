"""All views side by side: what no view says alone, and what samples that miss a view are seen by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from kernelclust.kernels import FittedKernel, KernelOperator, NewSamples, Source, WeightedSumKernel
from kernelclust.multikernel._views import Views


@dataclass(frozen=True)
class Columns:
    """The columns of all views as one table, each minus its mean and in units of its standard deviation over the
    samples that hold it; zero, its mean, where a view does not hold a sample. Sparse views keep their zeros.
    """

    means: list[np.ndarray]
    units: list[np.ndarray]

    @classmethod
    def of(cls, views: Views, weight: np.ndarray) -> Columns:
        means, units = [], []
        for v in range(len(views.arrays)):
            X, w = views.held(v), weight[views.observed[:, v]]
            largest = abs(X).max(axis=0)  # whose square may be beyond floating point
            largest = np.asarray(largest.toarray() if sparse.issparse(X) else largest, dtype=float).ravel()
            largest[largest == 0] = 1.0
            if sparse.issparse(X):
                X = sparse.csr_array(X)
                X = sparse.csr_array((X.data / largest[X.indices], X.indices, X.indptr), shape=X.shape)
                mean, variance = mean_variance_axis(X, axis=0, weights=w)
                mean, root = np.zeros(X.shape[1]), largest * np.sqrt(variance + mean**2)
            else:
                mean = w @ (X / largest) / w.sum()
                root = largest * np.sqrt(w @ (X / largest - mean) ** 2 / w.sum())
                mean = largest * mean
            means.append(mean)
            units.append(np.where(root > 0, root, 1.0))
        return cls(means, units)

    def __call__(self, views: Views) -> Any:
        parts = []
        for X, mean, unit, held in zip(views.arrays, self.means, self.units, views.observed.T, strict=True):
            if sparse.issparse(X):
                parts.append(sparse.diags_array(held.astype(float)) @ X @ sparse.diags_array(1 / unit))
            else:
                parts.append(np.where(held[:, None], (X - mean) / unit, 0.0))
        if any(sparse.issparse(part) for part in parts):
            return sparse.csr_array(sparse.hstack(parts))
        return np.hstack(parts)


@dataclass(frozen=True)
class SeenTogether(Source):
    """New samples of all views, compared by the table of all their columns."""

    columns: Columns
    source: Source

    def combination(self, operator, C, image=None) -> NewSamples:
        return _Together(self.columns, self.source.combination(operator, C, image))


@dataclass(frozen=True)
class _Together(NewSamples):
    columns: Columns
    similarities: NewSamples

    def both(self, X_new: Views) -> tuple[np.ndarray, np.ndarray]:
        return self.similarities.both(self.columns(X_new))


def over_all_views(fitted: FittedKernel, columns: Columns) -> FittedKernel:
    """A kernel of the table of all columns, whose new samples come as `Views`."""
    return replace(fitted, source=SeenTogether(columns, fitted.source))


def beside(kernels: Sequence[KernelOperator], whole: KernelOperator) -> list[KernelOperator]:
    """Every kernel beside that of all views: (K_p + K) / 2."""
    return [WeightedSumKernel([kernel, whole], [0.5, 0.5]) for kernel in kernels]


def shared(coefficients: np.ndarray) -> np.ndarray:
    """Coefficients of the kernels, and of the whole, where `coefficients` are those of `beside`."""
    return np.append(coefficients / 2, coefficients.sum() / 2)
