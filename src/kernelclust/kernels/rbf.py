"""k(x, y) = exp(-gamma |x - y|^2): for clusters that are not too elongated."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from kernelclust.kernels._base import GammaKernel

ROUNDING = 1e-14
FAR = 800.0  # exp(-800) is zero
PAIRS = 8192  # of sparse samples whose differences are held at once
CANCELS = 1e8  # gamma |x|^2 beyond which |x|^2 - 2 x.y + |y|^2 loses near neighbours: distances are taken directly


class RBF(GammaKernel):
    """Compare two samples by k(x, y) = exp(-gamma |x - y|^2).

    Choose it for round clusters under noise, in columns that have the same unit.

    Parameters
    ----------
    gamma : float, "scale" or "median", default="scale"
        "scale" is 1 / mean squared distance between samples, "median" 1 / (2 x squared median distance).
    """

    translation_invariant = True
    has_frequencies = True
    widths = ("scale", "median")

    def block(self, X, Y) -> np.ndarray:
        gamma = self.gamma
        x, y = -gamma * row_norms(X, squared=True), -gamma * row_norms(Y, squared=True)
        cancels = -min(x.min(initial=0.0), y.min(initial=0.0)) > CANCELS
        if sparse.issparse(X) or sparse.issparse(Y):
            K = safe_sparse_dot(X, Y.T, dense_output=True)
            K *= 2 * gamma
            K += x[:, None]
            K += y
            if cancels:
                _mend(K, sparse.csr_matrix(X), sparse.csr_matrix(Y), x, y, gamma)
        elif cancels:
            K = cdist(X, Y, "sqeuclidean")
            K *= -gamma
        else:  # the norms ride along in the product: one pass less over the block
            left = np.empty((len(x), X.shape[1] + 2), dtype=X.dtype)
            np.multiply(X, 2 * gamma, out=left[:, :-2])
            left[:, -2], left[:, -1] = x, 1
            right = np.empty((len(y), Y.shape[1] + 2), dtype=Y.dtype)
            right[:, :-2], right[:, -2], right[:, -1] = Y, 1, y
            K = left @ right.T
        np.minimum(K, 0, out=K)
        np.exp(K, out=K)
        return K

    def frequencies(self, n_features: int, n_components: int, rng: np.random.RandomState) -> np.ndarray:
        return np.sqrt(2 * self.gamma) * rng.standard_normal((n_features, n_components))

    def array_block(self, xp, X, Y):
        squares = xp.sum(X * X, axis=1)[:, None] + xp.sum(Y * Y, axis=1)[None, :]
        apart = squares - 2 * (X @ xp.matrix_transpose(Y))
        return xp.exp(-float(self.gamma) * xp.where(apart > 0, apart, xp.zeros_like(apart)))


def _mend(K: np.ndarray, X, Y, x: np.ndarray, y: np.ndarray, gamma: float) -> None:
    """Take distances directly where |x|^2 - 2 x.y + |y|^2 left nothing certain of them."""
    i, j = np.nonzero(K > ROUNDING * np.add.outer(x, y) - FAR)
    for start in range(0, len(i), PAIRS):
        part = slice(start, start + PAIRS)
        K[i[part], j[part]] = -gamma * row_norms(X[i[part]] - Y[j[part]], squared=True)


PART = RBF
