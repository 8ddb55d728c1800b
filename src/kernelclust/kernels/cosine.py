"""k(x, y) = <x, y> / (|x| |y|): for text and wherever only the direction of a row matters."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import safe_sparse_dot


def features(X):
    """Rows of length one; a row of zeros stays zero."""
    if not sparse.issparse(X):
        largest = np.abs(X).max(axis=1, keepdims=True)
        X = X / np.where(largest > 0, largest, 1)  # |x|^2 neither overflows nor vanishes
    return normalize(X)


def block(X, Y) -> np.ndarray:
    return safe_sparse_dot(features(X), features(Y).T, dense_output=True)


def array_features(xp, X):
    """Rows of length one, for arrays of any namespace of the array API."""
    largest = xp.max(xp.abs(X), axis=1, keepdims=True)
    X = X / xp.where(largest > 0, largest, xp.ones_like(largest))
    length = xp.sqrt(xp.sum(X * X, axis=1, keepdims=True))
    return X / xp.where(length > 0, length, xp.ones_like(length))
