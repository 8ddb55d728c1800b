"""A kernel of few dimensions: K = B B'."""

from __future__ import annotations

import numpy as np

from kernelclust._threads import in_order
from kernelclust.kernels._loops import sum_rows
from kernelclust.kernels.operators._base import KernelOperator, row_blocks


class LowRankKernel(KernelOperator):
    """K = B B' with B (m x d); its columns are centred once, in a copy unless `overwrite` lets B itself be changed.

    `offset` (d,) is what was subtracted from the rows of B.
    """

    factor: np.ndarray

    def __init__(
        self, B: np.ndarray, weight: np.ndarray | None = None, *, center: bool = True, overwrite: bool = False
    ):
        self.weight = np.ones(len(B)) if weight is None else weight
        self.centred = center
        self.offset = (self.weight / self.weight.sum()) @ B if center else np.zeros(B.shape[1])
        if overwrite and center:
            B -= self.offset.astype(B.dtype)
        elif center:
            B = np.asarray(B - self.offset, dtype=B.dtype)
        self.factor = np.ascontiguousarray(B)

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        return _times(self.factor, _times_transposed(self.factor, V))

    def affinity(self, V: np.ndarray) -> np.ndarray:
        """The kernel as it was given, not centred, times V."""
        inner = _times_transposed(self.factor, V) + np.outer(self.offset, V.sum(axis=0))
        return _times(self.factor, inner) + self.offset @ inner

    def rows(self, index, columns=None) -> np.ndarray:
        other = self.factor if columns is None else self.factor[columns]
        return self.factor[index].astype(np.float64) @ other.T

    def diagonal(self) -> np.ndarray:
        return np.einsum("ij,ij->i", self.factor, self.factor, dtype=np.float64)

    def raw_size(self) -> float:
        return float(np.square(self.offset).sum() + self.diagonal().max())

    def cluster_sums(self, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        sums = feature_sums(self.factor, self.weight, labels, n_clusters)
        return sums @ sums.T


def feature_sums(B: np.ndarray, weight: np.ndarray, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Pi' D B (c x d)."""
    sums = np.zeros((n_clusters, B.shape[1]))
    sum_rows(B, weight, labels, sums)
    return sums


def _times(B: np.ndarray, V: np.ndarray) -> np.ndarray:
    parts = in_order(lambda rows: B[rows].astype(np.float64, copy=False) @ V, row_blocks(*B.shape))
    return np.concatenate(list(parts))


def _times_transposed(B: np.ndarray, V: np.ndarray) -> np.ndarray:
    parts = in_order(lambda rows: B[rows].astype(np.float64, copy=False).T @ V[rows], row_blocks(*B.shape))
    return sum(parts, np.zeros((B.shape[1], V.shape[1])))


PART = LowRankKernel


def example(rng: np.random.RandomState, weight: np.ndarray) -> tuple[KernelOperator, np.ndarray]:
    """An operator and the matrix that it is the centred form of, for the contract tests."""
    B = rng.standard_normal((len(weight), 4)) + 1.0
    return LowRankKernel(B, weight), B @ B.T
