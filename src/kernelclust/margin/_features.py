"""Samples as the margin sees them: centred, scaled to mean square length one, with a constant for the bias."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from kernelclust.margin._weights import SampleWeights

LARGE = 1e300  # entries whose differences may overflow
RESCALE = "rescale X, e.g. with sklearn.preprocessing.StandardScaler."


@dataclass(frozen=True)
class Features:
    """phi(x) = ((x - mean) / scale, 1 if bias). Sparse X stays sparse: the mean is subtracted from the products."""

    X: Any  # (n, d): phi(x) itself where dense, x as given where sparse
    mean: np.ndarray  # (d,)
    scale: float
    bias: bool
    centred: bool
    weights: SampleWeights

    @property
    def n_features(self) -> int:
        return len(self.mean) + self.bias

    def scores(self, W: np.ndarray) -> np.ndarray:  # (d,) or (d, k) -> (n,) or (n, k)
        """Return phi(x_i) . w for every sample."""
        if not sparse.issparse(self.X):
            return self.X @ W
        V, b = self.raw(W)
        return self.X @ V + b

    def sums(self, Y: np.ndarray) -> np.ndarray:  # (n,) or (n, k) -> (d,) or (d, k)
        """Return sum_i y_i phi(x_i)."""
        if not sparse.issparse(self.X):
            return self.X.T @ Y
        total = Y.sum(axis=0)
        out = (self.X.T @ Y - np.multiply.outer(self.mean, total)) / self.scale
        return np.concatenate([out, np.asarray(total)[None]]) if self.bias else out

    def without_bias(self) -> Features:
        if not self.bias:
            return self
        X = self.X if sparse.issparse(self.X) else np.ascontiguousarray(self.X[:, :-1])
        return replace(self, X=X, bias=False)

    def raw(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return V, b with phi(x) . w = x . v + b for x as given."""
        with np.errstate(all="ignore"):
            V = W[: len(self.mean)] / self.scale
            b = (W[-1] if self.bias else 0.0) - self.mean @ V
        if not (np.isfinite(V).all() and np.isfinite(b).all()):
            raise ValueError(f"the hyperplane's weights overflow: {RESCALE}")
        return V, b

    def balanced(self, w: np.ndarray) -> np.ndarray:
        """Return w less its part along the mean of phi, so that the hyperplane runs through the mean."""
        if self.centred and not self.bias:
            return w
        s = self.sums(self.weights.each)
        size = float(s @ s)
        return w - (w @ s / size) * s if size > 0 else w

    def principal(self, w: np.ndarray, steps: int = 30) -> np.ndarray:
        """Return the direction of the largest scatter about the mean, by power steps from w."""
        w = self.balanced(w)
        for _ in range(steps):
            w = self.balanced(self.sums(self.weights.times(self.scores(w))))
            w = w / max(np.abs(w).max(), np.finfo(float).tiny)
        return w


def make_features(X, *, center: bool = True, bias: bool = False, weights: SampleWeights | None = None) -> Features:
    """Return the features of samples X (n, d), dense or sparse; raise an error if all samples are equal."""
    n = X.shape[0]
    weights = SampleWeights(n) if weights is None else weights
    X = X.astype(float)
    unit = float(abs(X).max()) or 1.0
    with np.errstate(over="ignore"):
        mean = _mean(X, weights) if center else np.zeros(X.shape[1])
    if not np.isfinite(mean).all():
        raise ValueError(f"sums of samples overflow: {RESCALE}")
    if sparse.issparse(X):
        lengths = np.asarray((X / unit).power(2).sum(axis=1)).ravel()
        square = float(weights.times(lengths).sum()) / weights.total - float(np.square(mean / unit).sum())
        rounding = 1e-14
    else:
        X = X / unit - mean / unit if unit > LARGE else (X - mean) / unit
        square = float(np.einsum("ij,ij->", X, weights.times(X))) / weights.total
        rounding = (4 * np.finfo(float).eps) ** 2 * X.shape[1]
    if not square > rounding:
        raise ValueError("all samples are equal: there is nothing to separate.")
    if not sparse.issparse(X):
        X = X / np.sqrt(square)
        X = np.column_stack([X, np.ones(n)]) if bias else X
    return Features(X, mean, unit * float(np.sqrt(square)), bias, center, weights)


def _mean(X, weights: SampleWeights) -> np.ndarray:
    if weights.weight is None:
        return np.asarray(X.mean(axis=0)).ravel()
    return np.asarray(X.T @ (weights.weight / weights.total)).ravel()
