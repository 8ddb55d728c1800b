"""A kernel whose entries are all in memory, in double or single precision."""

from __future__ import annotations

import numpy as np

from kernelclust._threads import in_order
from kernelclust.kernels._loops import sum_rows
from kernelclust.kernels.operators._base import Centring, KernelOperator, row_blocks

DOUBLE_UP_TO = 4096  # samples up to which products are in double precision, whatever the entries are
WIDTH = 2048  # entries that single precision adds up before double precision takes over
UNEVEN = 1e3  # ratio of weights from which sums are centred before they are added up: less is lost to rounding
STRIPE = 2**22  # entries of a stripe that a thread works on


class DenseKernel(KernelOperator):
    """A symmetric matrix K (m x m), stored as it is and centred in every product, with no second m x m matrix.

    (H K H')_ij = K_ij - r_i - r_j + t with row means r and grand mean t.

    `sums` are K share (m,) and the sum of w_i w_j K_ij^2, where the maker of K knows them already.
    """

    def __init__(
        self,
        K: np.ndarray,
        weight: np.ndarray | None = None,
        *,
        center: bool = True,
        sums: tuple[np.ndarray, float] | None = None,
    ):
        self._K = np.ascontiguousarray(K)
        self.weight = np.ones(len(K)) if weight is None else weight
        self.centred = center
        self._centring = Centring(self.weight, center)
        self._square: float | None = None
        if sums is not None:
            row_mean, self._square = sums
        else:
            row_mean = self.affinity(self._centring.share[:, None])[:, 0]
        self._centring.known(row_mean if center else np.zeros(len(K)))

    def affinity(self, V: np.ndarray) -> np.ndarray:
        """The matrix as it was given, not centred, times V."""
        K, single = self._K, self._K.dtype != np.float64 and self.n_samples > DOUBLE_UP_TO
        if single:
            V = V.astype(np.float32)

        def stripe(rows: slice) -> np.ndarray:
            if not single:
                return K[rows].astype(np.float64, copy=False) @ V
            parts = (K[rows, at : at + WIDTH] @ V[at : at + WIDTH] for at in range(0, len(V), WIDTH))
            return sum(parts, np.zeros((rows.stop - rows.start, V.shape[1])))

        return np.concatenate(list(in_order(stripe, row_blocks(len(K), len(K), STRIPE))))

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        return self._centring.after(self.affinity(self._centring.before(V)))

    def rows(self, index, columns=None) -> np.ndarray:
        if isinstance(index, slice):
            index = np.arange(*index.indices(self.n_samples))
        raw = self._K[index] if columns is None else self._K[np.ix_(index, columns)]
        return self._centring.rows(raw.astype(np.float64, copy=False), index, columns)

    @property
    def entries(self) -> tuple[np.ndarray, np.ndarray, float] | None:
        centring = self._centring
        return (self._K, centring.row_mean, centring.mean) if self._K.dtype == np.float64 else None

    def label_sums(self, labels, n_clusters) -> np.ndarray:
        if self._K.dtype != np.float64 or self.weight.max() > UNEVEN * self.weight.min():
            return super().label_sums(labels, n_clusters)
        G, w = np.zeros((n_clusters, self.n_samples)), self.weight
        sum_rows(self._K, w, labels, G)
        row_mean = self._centring.row_mean
        n = np.bincount(labels, w, minlength=n_clusters)
        G -= np.outer(n, row_mean)
        G -= (np.bincount(labels, w * row_mean, minlength=n_clusters) - self._centring.mean * n)[:, None]
        return G

    def diagonal(self) -> np.ndarray:
        return self.raw_diagonal() - 2 * self._centring.row_mean + self._centring.mean

    def raw_diagonal(self) -> np.ndarray:
        """K_ii of every sample, not centred."""
        return np.array(np.einsum("ii->i", self._K), dtype=np.float64)

    @property
    def share(self) -> np.ndarray:
        """(m,) weights of the samples in the mean that is subtracted."""
        return self._centring.share

    @property
    def mean(self) -> float:
        """Grand mean of the kernel."""
        return self._centring.mean

    def mean_sums(self, C: np.ndarray) -> np.ndarray:
        """Return what centring subtracts from the sums of every new sample with coefficients C (m, c), apart from its
        own mean.
        """
        return self._centring.row_mean @ C - self._centring.mean * C.sum(axis=0)

    def raw_size(self) -> float:
        return float(np.abs(self.raw_diagonal()).max())

    def squared_norm(self) -> float:
        if self._square is None:
            w, even = self.weight, bool(np.all(self.weight == 1))
            self._square = 0.0
            for rows in row_blocks(*self._K.shape):
                block = self._K[rows].astype(np.float64, copy=False)
                self._square += float(np.vdot(block, block) if even else w[rows] @ (np.square(block) @ w))
        return self._centring.squared(self._square, self.weight)


PART = DenseKernel


def example(rng: np.random.RandomState, weight: np.ndarray) -> tuple[KernelOperator, np.ndarray]:
    """An operator and the matrix that it is the centred form of, for the contract tests."""
    X = rng.standard_normal((len(weight), 3))
    K = np.exp(-0.3 * np.square(X[:, None] - X).sum(axis=2))
    return DenseKernel(K, weight), K
