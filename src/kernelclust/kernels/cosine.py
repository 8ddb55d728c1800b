"""k(x, y) = <x, y> / (|x| |y|): for text and wherever only the direction of a row matters."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import safe_sparse_dot

from kernelclust.kernels._base import Kernel


class Cosine(Kernel):
    """Compare two samples by k(x, y) = <x, y> / (|x| |y|), and 0 if x or y is zero. For text."""

    example = "Cosine()"
    has_features = True

    def features(self, X):
        """Return rows of length one; a row of zeros stays zero."""
        if not sparse.issparse(X):
            largest = np.abs(X).max(axis=1, keepdims=True)
            X = X / np.where(largest > 0, largest, 1)  # |x|^2 neither overflows nor vanishes
        return normalize(X)

    def block(self, X, Y) -> np.ndarray:
        return safe_sparse_dot(self.features(X), self.features(Y).T, dense_output=True)

    def array_features(self, xp, X):
        largest = xp.max(xp.abs(X), axis=1, keepdims=True)
        X = X / xp.where(largest > 0, largest, xp.ones_like(largest))
        length = xp.sqrt(xp.sum(X * X, axis=1, keepdims=True))
        return X / xp.where(length > 0, length, xp.ones_like(length))


PART = Cosine
