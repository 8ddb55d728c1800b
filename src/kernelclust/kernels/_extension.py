"""New samples: their centred similarity sums with the clusters found, without the kernel matrix of the fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

import kernelclust.kernels as package
from kernelclust._names import load
from kernelclust.kernels._operators import row_blocks


@dataclass
class SimilarityFunction:
    """A kernel function with its parameters: a named module of this package, or the user's own k(X, Y)."""

    kernel: str | Callable
    params: dict[str, Any] = field(default_factory=dict)
    shift: np.ndarray | None = None
    scale: float = 1.0

    @property
    def part(self) -> ModuleType | SimpleNamespace:
        if callable(self.kernel):
            return SimpleNamespace(block=self.kernel)
        return load(package, self.kernel)

    def prepare(self, X):
        """X in the units that the kernel is computed in."""
        with np.errstate(over="ignore"):
            if self.shift is not None:
                X = (X.toarray() if sparse.issparse(X) else X) - self.shift
            return X if self.scale == 1.0 else X / self.scale

    def __call__(self, X, Y) -> np.ndarray:  # prepared X (n, d), Y (m, d) -> (n, m)
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused by name later
            K = self.part.block(X, Y, **self.params)
        if callable(self.kernel):
            try:
                K = np.asarray(K, dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise ValueError(
                    f"the kernel function returned something that is no matrix of numbers: {error}"
                ) from None
            if K.shape != (X.shape[0], Y.shape[0]):
                raise ValueError(
                    f"the kernel function returned shape {K.shape} for {X.shape[0]} and {Y.shape[0]} samples; it must "
                    f"take two arrays (n, d), (m, d) and return the (n, m) matrix of similarities, as in sklearn.svm."
                )
        return K


@dataclass
class DenseExtension:
    """Centred similarity sums (n, c) of new samples, from k(new, fitted) made in blocks."""

    function: SimilarityFunction | None  # None: the user brings k(new, fitted)
    X: Any
    coefficients: np.ndarray  # (m, c): D Pi
    share: np.ndarray  # (m,): weights that add up to one
    row_mean: np.ndarray
    mean: float

    def __call__(self, X_new) -> np.ndarray:
        columns = np.column_stack([self.coefficients, self.share])
        raw = np.empty((X_new.shape[0], columns.shape[1]))
        if self.function is not None:
            X_new = self.function.prepare(X_new)
        for rows in row_blocks(X_new.shape[0], len(self.share)):
            block = X_new[rows] if self.function is None else self.function(X_new[rows], self.X)
            with np.errstate(over="ignore", invalid="ignore"):
                raw[rows] = block @ columns
        _check_overflow(raw)
        totals = self.coefficients.sum(axis=0)
        return raw[:, :-1] - raw[:, -1:] * totals - self.row_mean @ self.coefficients + self.mean * totals


@dataclass
class FeatureExtension:
    """The same from features b(x): <b(x) - offset, sum of a cluster's features>."""

    features: Callable
    offset: np.ndarray
    sums: np.ndarray

    def __call__(self, X_new) -> np.ndarray:
        out = np.empty((X_new.shape[0], len(self.sums)))
        for rows in row_blocks(X_new.shape[0], max(self.sums.shape[1], X_new.shape[1])):
            B = self.features(X_new[rows])
            with np.errstate(over="ignore", invalid="ignore"):
                out[rows] = ((B.toarray() if sparse.issparse(B) else B) - self.offset) @ self.sums.T
        _check_overflow(out)
        return out


@dataclass
class NeighbourSearch:
    """The nearest of the fitted samples, as one view of the samples sees them."""

    prepare: Callable
    nearest: NearestNeighbors
    samples: np.ndarray  # which fitted sample a found row is

    @classmethod
    def over(cls, Z, samples: np.ndarray, prepare: Callable) -> NeighbourSearch:
        return cls(prepare, NearestNeighbors(n_neighbors=min(5, Z.shape[0])).fit(Z), samples)

    def __call__(self, X_new) -> tuple[np.ndarray, np.ndarray]:
        """Weights (n, k) that fall with distance, and the samples (n, k) they belong to."""
        Z = self.prepare(X_new)
        if not sparse.issparse(Z):
            far = np.sqrt(np.finfo(Z.dtype).max) / 1e4  # squares of distances beyond would overflow
            Z = np.clip(Z, -far, far)
        distance, index = self.nearest.kneighbors(Z)
        closest = distance[:, :1]
        weight = np.where(closest > 0, closest, 1.0) / np.where(closest > 0, distance, 1.0)
        weight = np.where(closest > 0, weight, distance == 0)  # on a fitted sample: that sample alone
        return weight / weight.sum(axis=1, keepdims=True), self.samples[index]


@dataclass
class NeighbourExtension:
    """For kernels that exist only between fitted samples: similarities of the nearest ones, averaged by distance and
    over views."""

    searches: list[NeighbourSearch]
    G: np.ndarray

    def __call__(self, X_new) -> np.ndarray:
        total = np.zeros((X_new.shape[0], self.G.shape[1]))
        for search in self.searches:
            weight, index = search(X_new)
            total += np.einsum("nk,nkc->nc", weight, self.G[index])
        return total / len(self.searches)


@dataclass
class LandmarkFeatures:
    """b(x) = k(x, landmarks) M."""

    function: SimilarityFunction | None
    landmarks: Any  # prepared samples, or column numbers of a given matrix
    M: np.ndarray

    def __call__(self, X_new) -> np.ndarray:
        if self.function is None:
            return X_new[:, self.landmarks] @ self.M
        return self.function(self.function.prepare(X_new), self.landmarks) @ self.M


@dataclass
class RandomFeatures:
    """b(x) = [cos(x W), sin(x W)] / sqrt(number of frequencies)."""

    function: SimilarityFunction
    W: np.ndarray

    def __call__(self, X_new) -> np.ndarray:
        Z = self.function.prepare(X_new) @ self.W
        return np.hstack([np.cos(Z), np.sin(Z)]) / np.sqrt(self.W.shape[1])


@dataclass
class ExactFeatures:
    """b(x) of a kernel that is an inner product of features."""

    function: SimilarityFunction

    def __call__(self, X_new):
        return self.function.part.features(self.function.prepare(X_new))


def _check_overflow(sums: np.ndarray) -> None:
    if not np.isfinite(sums).all():
        row = int(np.flatnonzero(~np.isfinite(sums).all(axis=1))[0])
        raise ValueError(f"similarities of new sample {row} are beyond floating point: it is too far away.")
