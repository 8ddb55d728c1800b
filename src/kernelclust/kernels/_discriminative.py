"""The discriminative view: K (K + ridge I)^-1, the kernel of DIFFRAC and of DisKmeans.

Clusters are good when a ridge regression on the kernel predicts them: directions with eigenvalues well above the
ridge all count alike, the others hardly at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from kernelclust.kernels._extension import DenseExtension, FeatureExtension
from kernelclust.kernels._fitted import FittedKernel
from kernelclust.kernels._operators import DenseKernel, LowRankKernel, one_hot


@dataclass
class RidgeKernel(FittedKernel):
    """A fitted kernel whose operator has been transformed, with what new samples need."""

    base: FittedKernel | None = None
    factor: tuple | None = None  # Cholesky factor of D^1/2 K D^1/2 + ridge I, for a dense base
    root: np.ndarray | None = None  # (G + ridge I)^-1/2, for a factor B with B'DB = G

    def extension(self, labels: np.ndarray, n_clusters: int) -> Callable:
        if self.searches:
            return super().extension(labels, n_clusters)
        assert self.base is not None
        old = self.base.extension(labels, n_clusters)
        if self.operator.form == "low_rank":
            assert isinstance(old, FeatureExtension)
            sums = self.operator.feature_sums(labels, n_clusters) @ self.root
            return FeatureExtension(old.features, old.offset, sums)
        assert isinstance(old, DenseExtension)
        half = np.sqrt(self.operator.weight)[:, None]
        coefficients = half * cho_solve(self.factor, one_hot(labels, n_clusters, self.operator.weight) / half)
        return DenseExtension(old.function, old.X, coefficients, old.share, old.row_mean, old.mean)


def discriminative(fitted: FittedKernel, ridge: float) -> RidgeKernel:
    """The same samples under K (K + ridge I)^-1, K centred; by solves, never an inverse.

    With sample weights D the matrix is D^-1/2 [K_w (K_w + ridge I)^-1] D^-1/2, K_w = D^1/2 K D^1/2: the regression
    then counts a weight as that many copies.
    """
    operator = fitted.operator
    common = {"function": fitted.function, "X": fitted.X, "features": fitted.features, "searches": fitted.searches}
    if operator.form == "low_rank":
        values, vectors = np.linalg.eigh(operator.gram())
        root = (vectors / np.sqrt(np.maximum(values, 0) + ridge)) @ vectors.T
        transformed: DenseKernel | LowRankKernel = LowRankKernel(operator.B @ root, operator.weight, overwrite=True)
        return RidgeKernel(transformed, **common, gamma=fitted.gamma, base=fitted, root=root)
    half = np.sqrt(operator.weight)
    K = half[:, None] * (operator.K - operator.row_mean - (operator.row_mean[:, None] - operator.mean)) * half
    factor = cho_factor(K + ridge * np.eye(len(K)), overwrite_a=True)
    K = cho_solve(factor, K, overwrite_b=True)
    K = (K + K.T) / (2 * np.outer(half, half))
    return RidgeKernel(DenseKernel(K, operator.weight), **common, gamma=fitted.gamma, base=fitted, factor=factor)
