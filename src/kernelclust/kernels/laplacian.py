"""k(x, y) = exp(-gamma |x - y|_1): like rbf with heavier tails, less moved by outlying features."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import manhattan_distances

from kernelclust.kernels._base import GammaKernel


class Laplacian(GammaKernel):
    """Compare two samples by k(x, y) = exp(-gamma |x - y|_1).

    It has heavier tails than rbf, and single columns with outliers have less influence.

    Parameters
    ----------
    gamma : float or "scale", default="scale"
        "scale" is 1 / mean distance |x - y|_1 between samples.
    """

    translation_invariant = True
    distance_exponent = 1
    has_frequencies = True

    def block(self, X, Y) -> np.ndarray:
        K = manhattan_distances(_narrow(X), _narrow(Y))
        K *= -self.gamma
        np.exp(K, out=K)
        return K

    def frequencies(self, n_features: int, n_components: int, rng: np.random.RandomState) -> np.ndarray:
        return self.gamma * rng.standard_cauchy((n_features, n_components))

    def array_block(self, xp, X, Y):
        apart = xp.zeros((X.shape[0], Y.shape[0]), dtype=X.dtype, device=X.device)
        for j in range(X.shape[1]):
            apart = apart + xp.abs(X[:, j][:, None] - Y[:, j][None, :])
        return xp.exp(-float(self.gamma) * apart)


def _narrow(X):
    """Sparse matrices with the 32-bit indices that scikit-learn's distances need."""
    if not sparse.issparse(X):
        return X
    X = sparse.csr_matrix(X)
    parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
    return sparse.csr_matrix(parts, shape=X.shape)


PART = Laplacian
