"""k(x, y) = exp(-gamma |x - y|^2): the usual choice for clouds of any shape that are not too elongated."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms, safe_sparse_dot

PARAMETERS = ("gamma",)
TRANSLATION_INVARIANT = True


def block(X, Y, *, gamma: float) -> np.ndarray:
    x, y = -gamma * row_norms(X, squared=True), -gamma * row_norms(Y, squared=True)
    if sparse.issparse(X) or sparse.issparse(Y):
        K = safe_sparse_dot(X, Y.T, dense_output=True)
        K *= 2 * gamma
        K += x[:, None]
        K += y
    else:  # the norms ride along in the product: one pass less over the block
        left = np.column_stack([2 * gamma * X, x, np.ones_like(x)])
        right = np.column_stack([Y, np.ones_like(y), y])
        K = left @ right.T
    np.minimum(K, 0, out=K)
    np.exp(K, out=K)
    return K


def frequencies(n_features: int, n_components: int, rng: np.random.RandomState, *, gamma: float) -> np.ndarray:
    """Random directions (d, n) whose cosines average to the kernel."""
    return np.sqrt(2 * gamma) * rng.standard_normal((n_features, n_components))
