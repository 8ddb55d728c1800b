"""The discriminative view: K (K + ridge I)^-1, the kernel of DIFFRAC and of DisKmeans.

Clusters are good when a ridge regression on the kernel predicts them: directions with eigenvalues well above the
ridge all count alike, the others hardly at all.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from kernelclust.kernels.operators._base import KernelOperator, gram
from kernelclust.kernels.operators.dense import DenseKernel
from kernelclust.kernels.operators.low_rank import LowRankKernel


class RidgeKernel(KernelOperator):
    """K (K + ridge I)^-1 of any centred kernel; by solves, never an inverse.

    With sample weights D the matrix is D^-1/2 [K_w (K_w + ridge I)^-1] D^-1/2, K_w = D^1/2 K D^1/2: the regression
    then counts a weight as that many copies. A kernel of few dimensions keeps a factor; any other is held as one
    matrix in double precision.
    """

    def __init__(self, kernel: KernelOperator, ridge: float):
        self.weight, self.centred, self.ridge = kernel.weight, kernel.centred, ridge
        self._half = np.sqrt(kernel.weight)[:, None]
        self._base = kernel
        self._solver: tuple | None = None
        self._inner: KernelOperator
        if kernel.factor is not None:
            values, vectors = np.linalg.eigh(gram(kernel.factor, kernel.weight))
            self._root = (vectors / np.sqrt(np.maximum(values, 0) + ridge)) @ vectors.T
            self._inner = LowRankKernel(kernel.factor @ self._root, kernel.weight, center=False)
        else:
            self._inner = self._solved(kernel, ridge)
        self.factor = self._inner.factor

    def _solved(self, kernel: KernelOperator, ridge: float) -> DenseKernel:
        K = kernel.rows(np.arange(kernel.n_samples))
        K *= self._half * self._half.T
        trace = float(np.trace(K))
        least = len(K) * np.finfo(float).eps * trace
        if ridge < least:
            raise ValueError(
                f"the ridge {ridge:.3g} is lost in rounding next to the kernel's trace of {trace:.3g} (with weights): "
                f"K (K + ridge I)^-1 cannot be computed. Raise it to {least:.3g} at least, or scale the weights down."
            )
        shifted = K + ridge * np.eye(len(K))
        try:
            self._solver = cho_factor(shifted, overwrite_a=True)
        except LinAlgError:
            lowest = float(np.linalg.eigvalsh(K)[0])
            raise ValueError(
                f"the kernel has negative eigenvalues (down to {lowest:.3g}) beyond the ridge {ridge:.3g}, so that "
                "K (K + ridge I)^-1 is no kernel; raise the ridge, or clip the negative eigenvalues."
            ) from None
        K = cho_solve(self._solver, K, overwrite_b=True)
        K = (K + K.T) / (2 * (self._half * self._half.T))
        return DenseKernel(K, kernel.weight, center=False)

    def regression(self, coefficients: np.ndarray) -> np.ndarray:
        """C~ with (this kernel) C = (the kernel it was made of) C~: what new samples are compared with."""
        if self._solver is not None:
            return self._half * cho_solve(self._solver, coefficients / self._half)
        B, w = self._base.factor, self._base.weight[:, None]
        assert B is not None
        # (K + ridge D^-1)^-1 C / D by Woodbury: (C - w B (G + ridge)^-1 B' C) / ridge, sums of weight D
        inner = self._root @ (self._root @ (B.T @ coefficients))
        return (coefficients - w * (B @ inner)) / self.ridge

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        return self._inner @ V

    def rows(self, index, columns=None) -> np.ndarray:
        return self._inner.rows(index, columns)

    @property
    def entries(self):
        return self._inner.entries

    def label_sums(self, labels, n_clusters) -> np.ndarray:
        return self._inner.label_sums(labels, n_clusters)

    def diagonal(self) -> np.ndarray:
        return self._inner.diagonal()

    def raw_size(self) -> float:
        return self._inner.raw_size()

    def squared_norm(self) -> float:
        return self._inner.squared_norm()


PART = RidgeKernel


def example(rng: np.random.RandomState, weight: np.ndarray) -> tuple[KernelOperator, np.ndarray]:
    """An operator and the matrix that it is the centred form of, for the contract tests."""
    X = rng.standard_normal((len(weight), 3))
    X -= weight @ X / weight.sum()
    half = np.sqrt(weight)[:, None]
    K = half * (X @ X.T) * half.T
    whole = np.linalg.solve(K + 0.7 * np.eye(len(K)), K) / half / half.T
    return RidgeKernel(DenseKernel(X @ X.T, weight), 0.7), whole
