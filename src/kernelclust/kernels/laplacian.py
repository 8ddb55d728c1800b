"""k(x, y) = exp(-gamma |x - y|_1): like rbf with heavier tails, less moved by outlying features."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import manhattan_distances

TRANSLATION_INVARIANT = True
DISTANCE_POWER = 1


def block(X, Y, *, gamma: float) -> np.ndarray:
    K = manhattan_distances(_narrow(X), _narrow(Y))
    K *= -gamma
    np.exp(K, out=K)
    return K


def _narrow(X):
    """Sparse matrices with the 32-bit indices that scikit-learn's distances need."""
    if not sparse.issparse(X):
        return X
    X = sparse.csr_matrix(X)
    parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
    return sparse.csr_matrix(parts, shape=X.shape)


def frequencies(n_features: int, n_components: int, rng: np.random.RandomState, *, gamma: float) -> np.ndarray:
    """Random directions (d, n) whose cosines average to the kernel."""
    return gamma * rng.standard_cauchy((n_features, n_components))


def array_block(xp, X, Y, *, gamma: float):
    """The same for arrays of any namespace of the array API."""
    apart = xp.zeros((X.shape[0], Y.shape[0]), dtype=X.dtype, device=X.device)
    for j in range(X.shape[1]):
        apart = apart + xp.abs(X[:, j][:, None] - Y[:, j][None, :])
    return xp.exp(-gamma * apart)
