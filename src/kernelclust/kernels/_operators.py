"""Kernel matrices known by their products, centred without a second m x m matrix.

Sample weights w are part of the kernel: centring subtracts weighted means, so that a weight counts as that many
copies of a sample. An operator offers `form`, `weight`, `diagonal`, `@`, `squared_norm`, `cluster_sums`, `collapse`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from kernelclust.kernels._loops import sum_rows

BLOCK = 2**22  # entries of a kernel block made at a time (32 MB)


def row_blocks(n_rows: int, n_columns: int, entries: int = BLOCK) -> Iterator[slice]:
    """Slices over rows such that a block of that many columns has about `entries` entries."""
    step = max(1, entries // max(1, n_columns))
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


def one_hot(labels: np.ndarray, n_clusters: int, weight: np.ndarray) -> np.ndarray:
    """Weighted partition matrix (m, c)."""
    Pi = np.zeros((len(labels), n_clusters))
    Pi[np.arange(len(labels)), labels] = weight
    return Pi


class DenseKernel:
    """A symmetric matrix K (m x m), kept as it is and centred on the way:

    (H K H)_ij = K_ij - r_i - r_j + t with row means r and grand mean t.
    """

    form: Literal["dense"] = "dense"

    def __init__(self, K: np.ndarray, weight: np.ndarray | None = None):
        self.K = np.ascontiguousarray(K)
        self.weight = np.ones(len(K)) if weight is None else weight
        share = self.weight / self.weight.sum()
        self.row_mean = self._product(share)
        self.mean = float(share @ self.row_mean)

    @property
    def n_samples(self) -> int:
        return len(self.K)

    def _product(self, V: np.ndarray) -> np.ndarray:
        if self.K.dtype == np.float64:
            return self.K @ V
        return np.concatenate([self.K[rows].astype(np.float64) @ V for rows in row_blocks(*self.K.shape)])

    def __matmul__(self, V: np.ndarray) -> np.ndarray:  # (m, k) -> (m, k), one pass over K
        columns = V.sum(axis=0)
        return self._product(V) - np.outer(self.row_mean, columns) - (self.row_mean @ V - self.mean * columns)

    def diagonal(self) -> np.ndarray:
        return np.einsum("ii->i", self.K) - 2 * self.row_mean + self.mean

    def squared_norm(self) -> float:
        """Squared Frobenius norm of D^1/2 H K H D^1/2, D = diag(weight); one pass."""
        w, total = self.weight, self.weight.sum()
        raw, even = 0.0, bool(np.all(w == 1))
        for rows in row_blocks(*self.K.shape):
            block = self.K[rows].astype(np.float64, copy=False)
            raw += float(np.vdot(block, block) if even else w[rows] @ (np.square(block) @ w))
        return max(raw - 2 * total * float(w @ self.row_mean**2) + (total * self.mean) ** 2, 0.0)

    def cluster_sums(self, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        """S = Pi' D K D Pi (c x c)."""
        Pi = one_hot(labels, n_clusters, self.weight)
        S = Pi.T @ (self @ Pi)
        return (S + S.T) / 2

    def collapse(self) -> DenseKernel:
        return self


class LowRankKernel:
    """K = B B' with B (m x d); its columns are centred once, in a copy only when they are not centred yet."""

    form: Literal["low_rank"] = "low_rank"

    def __init__(self, B: np.ndarray, weight: np.ndarray | None = None, *, overwrite: bool = False):
        self.weight = np.ones(len(B)) if weight is None else weight
        self.offset = (self.weight / self.weight.sum()) @ B
        if overwrite:
            B -= self.offset.astype(B.dtype)
            self.B = np.ascontiguousarray(B)
        else:
            self.B = np.ascontiguousarray(B - self.offset, dtype=B.dtype)

    @property
    def n_samples(self) -> int:
        return len(self.B)

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        return self.B @ (self.B.T @ V)

    def diagonal(self) -> np.ndarray:
        return np.einsum("ij,ij->i", self.B, self.B, dtype=np.float64)

    def gram(self) -> np.ndarray:
        """B' D B (d x d): the same non-zero eigenvalues as the weighted kernel matrix."""
        gram = np.zeros((self.B.shape[1],) * 2)
        even = bool(np.all(self.weight == 1))
        for rows in row_blocks(*self.B.shape):
            block = self.B[rows]
            gram += block.T @ (block if even else block * self.weight[rows, None].astype(block.dtype))
        return gram

    def squared_norm(self) -> float:
        return float(np.square(self.gram()).sum())

    def feature_sums(self, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        """Pi' D B (c x d)."""
        sums = np.zeros((n_clusters, self.B.shape[1]))
        sum_rows(self.B, self.weight, labels, sums)
        return sums

    def cluster_sums(self, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        sums = self.feature_sums(labels, n_clusters)
        return sums @ sums.T

    def collapse(self) -> LowRankKernel:
        return self


class WeightedSumKernel:
    """sum_p mu_p K_p of operators over the same samples and sample weights."""

    form: Literal["sum"] = "sum"

    def __init__(self, kernels: Sequence[DenseKernel | LowRankKernel], coefficients: Sequence[float]):
        self.kernels, self.coefficients = list(kernels), [float(mu) for mu in coefficients]
        self.weight = self.kernels[0].weight
        if len(self.kernels) != len(self.coefficients):
            raise ValueError(f"{len(self.kernels)} kernels but {len(self.coefficients)} coefficients.")
        if any(kernel.n_samples != self.n_samples for kernel in self.kernels):
            raise ValueError(f"kernels differ in size: {[kernel.n_samples for kernel in self.kernels]} samples.")
        if min(self.coefficients) < 0:
            raise ValueError("coefficients must not be negative, or the sum is no kernel.")

    @property
    def n_samples(self) -> int:
        return self.kernels[0].n_samples

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        return np.sum([mu * (kernel @ V) for mu, kernel in self._pairs()], axis=0)

    def diagonal(self) -> np.ndarray:
        return np.sum([mu * kernel.diagonal() for mu, kernel in self._pairs()], axis=0)

    def squared_norm(self) -> float:
        return self.collapse().squared_norm()

    def cluster_sums(self, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        return np.sum([mu * kernel.cluster_sums(labels, n_clusters) for mu, kernel in self._pairs()], axis=0)

    def collapse(self) -> DenseKernel | LowRankKernel:
        """One operator with the same products: factors side by side, or one dense matrix if any part is dense."""
        factors = [np.sqrt(mu) * kernel.B for mu, kernel in self._pairs() if kernel.form == "low_rank"]
        if len(factors) == len(self.kernels):
            return LowRankKernel(np.hstack(factors), self.weight, overwrite=True)
        K = np.zeros((self.n_samples,) * 2)
        for mu, kernel in self._pairs():
            for rows in row_blocks(*K.shape):
                part = kernel.K[rows] if kernel.form == "dense" else kernel.B[rows] @ kernel.B.T
                K[rows] += mu * part
        return DenseKernel(K, self.weight)

    def _pairs(self) -> Iterator[tuple[float, DenseKernel | LowRankKernel]]:
        return zip(self.coefficients, self.kernels, strict=True)


Kernel = DenseKernel | LowRankKernel | WeightedSumKernel
