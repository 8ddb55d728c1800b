"""The protocol of kernel operators: products, rows and a diagonal, whatever the storage.

No code depends on how an operator stores K. Solvers, bounds and the assignment of clusters to nodes use the members of
`KernelOperator` alone. A part that needs more lists it in `needs`, and a fit with an operator that lacks it raises an
error before it starts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from kernelclust._threads import in_order

BLOCK = 2**22  # entries of a kernel block that are computed at a time (32 MB)


def row_blocks(n_rows: int, n_columns: int, entries: int = BLOCK) -> Iterator[slice]:
    """Return slices over rows such that a block of `n_columns` columns has about `entries` entries."""
    step = max(1, entries // max(1, n_columns))
    return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


def one_hot(labels: np.ndarray, n_clusters: int, weight: np.ndarray) -> np.ndarray:
    """Return the weighted label matrix (m, c)."""
    Pi = np.zeros((len(labels), n_clusters))
    Pi[np.arange(len(labels)), labels] = weight
    return Pi


def weighted_product(kernel: Any, root: np.ndarray | None, V: np.ndarray) -> np.ndarray:
    """Return D^1/2 K D^1/2 V, with `root` (m, 1) the square roots of the weights D; None where all are one."""
    return kernel @ V if root is None else root * (kernel @ (root * V))


def gram(B: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return B' D B (d x d), which has the non-zero eigenvalues of the weighted kernel matrix."""
    even = bool(np.all(weight == 1))

    def part(rows: slice) -> np.ndarray:
        block = B[rows]
        return block.T @ (block if even else block * weight[rows, None].astype(block.dtype))

    return sum(in_order(part, row_blocks(*B.shape)), np.zeros((B.shape[1],) * 2))


class KernelOperator(ABC):
    """Base class of symmetric kernels over m samples with weights w, centred: H K H', H = I - 1 w' / sum(w).

    Weights are part of the kernel: a weight counts as that many copies of a sample. `factor` is B (m x d), centred,
    with K = B B' exactly, for kernels of few dimensions, else None. `cheap` is True if a pass over K costs little
    compared with computing K; otherwise searches start from a few rows and make one pass. `centred` is True if K w = 0.
    It is False for kernels that are scaled per sample after centring: they leave c directions to c clusters, not c - 1.

    The file of an operator also has `example(rng, weight)`, for the contract tests: a small operator over
    ``len(weight)`` samples (1 to 700) with these weights, and the matrix K (m x m), not centred, that it represents.
    K must be positive semidefinite with a fast decaying spectrum, because the tests compare bounds after three passes
    with the true eigenvalues within 2 %. ``exp(-0.3 |x - y|^2)`` of three columns is an example.
    """

    weight: np.ndarray  # (m,)
    factor: np.ndarray | None = None
    cheap: bool = True
    centred: bool = True

    @property
    def entries(self) -> tuple[np.ndarray, np.ndarray, float] | None:
        """(R, r, t) with K_ij = R_ij - r_i - r_j + t if that matrix is in memory in double precision, else None."""
        return None

    @property
    def n_samples(self) -> int:
        return len(self.weight)

    @property
    def held(self) -> np.ndarray:
        """Mask (m,) of the samples that this kernel covers."""
        return np.ones(self.n_samples, dtype=bool)

    @abstractmethod
    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        """Return K V for V (m, k), in one pass."""

    @abstractmethod
    def rows(self, index: np.ndarray | slice, columns: np.ndarray | None = None) -> np.ndarray:
        """Return K[index], or K[index][:, columns], as a new float64 array."""

    @abstractmethod
    def diagonal(self) -> np.ndarray:
        """Return K_ii (m,)."""

    @abstractmethod
    def raw_size(self) -> float:
        """Return the largest |K_ii| before centring, the scale of rounding errors."""

    def trace(self) -> float:
        """Return sum_i w_i K_ii."""
        return float(self.weight @ self.diagonal())

    def squared_norm(self) -> float:
        """Return the squared Frobenius norm of D^1/2 K D^1/2, D = diag(w), in one pass."""
        if self.factor is not None:
            return float(np.square(gram(self.factor, self.weight)).sum())
        total = 0.0
        for block in row_blocks(self.n_samples, self.n_samples, BLOCK // 4):
            total += float(self.weight[block] @ (np.square(self.rows(block)) @ self.weight))
        return total

    def sketch(self, index: np.ndarray) -> np.ndarray:
        """Return K[index], centred exactly, or with means estimated from these rows if exact ones would take a pass."""
        return self.rows(index)

    def label_sums(self, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        """Return (K D Pi)' (c x m), the similarity sums of every sample with the clusters, in one pass."""
        return np.ascontiguousarray((self @ one_hot(labels, n_clusters, self.weight)).T)

    def cluster_sums(self, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        """Return S = Pi' D K D Pi (c x c)."""
        Pi = one_hot(labels, n_clusters, self.weight)
        S = Pi.T @ (self @ Pi)
        return (S + S.T) / 2


class Centring:
    """H = I - 1 share' for products and rows of a raw matrix, given its row means r = K share and t = share' r."""

    def __init__(self, weight: np.ndarray, center: bool = True):
        self.share = weight / weight.sum() if center else np.zeros(len(weight))
        self.row_mean: np.ndarray = np.zeros(len(weight))
        self.mean = 0.0

    def known(self, row_mean: np.ndarray) -> None:
        self.row_mean, self.mean = row_mean, float(self.share @ row_mean)

    def before(self, V: np.ndarray) -> np.ndarray:
        """H' V: what the raw matrix is multiplied with."""
        return V - np.multiply.outer(self.share, V.sum(axis=0))

    def after(self, Y: np.ndarray) -> np.ndarray:
        """H Y, in place."""
        Y -= self.share @ Y
        return Y

    def rows(self, raw: np.ndarray, index, columns=None) -> np.ndarray:
        """Centred rows from raw ones, in place."""
        raw -= self.row_mean if columns is None else self.row_mean[columns]
        raw -= (self.row_mean[index] - self.mean)[:, None]
        return raw

    def squared(self, raw: float, weight: np.ndarray) -> float:
        """Squared norm of D^1/2 H K H' D^1/2 from that of D^1/2 K D^1/2."""
        if not self.share.any():
            return raw
        total = weight.sum()
        return max(raw - 2 * total * float(weight @ self.row_mean**2) + (total * self.mean) ** 2, 0.0)
