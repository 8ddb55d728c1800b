"""Samples that move together: means over them of kernel rows, features and sums."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from kernelclust.kernels import KernelOperator, row_blocks

SAMPLES_AT_A_TIME = 128  # samples of several blocks whose similarities are computed at a time


class Members:
    """M blocks of m samples; `mean` (M x m) takes weighted means over them, None where every sample is a block."""

    def __init__(self, n_samples: int, mean: sparse.csr_array | None = None):
        self._mean = mean
        self.single = mean is None
        self.n_blocks = n_samples if mean is None else mean.shape[0]

    @property
    def first(self) -> np.ndarray:
        return _EMPTY if self._mean is None else self._mean.indptr.astype(np.intp)

    @property
    def member(self) -> np.ndarray:
        return _EMPTY if self._mean is None else self._mean.indices.astype(np.intp)

    @property
    def share(self) -> np.ndarray:
        return np.empty(0) if self._mean is None else self._mean.data

    @property
    def size(self) -> np.ndarray:
        """Samples of each block (M,)."""
        return np.ones(self.n_blocks, dtype=np.intp) if self._mean is None else np.diff(self._mean.indptr)

    def mean(self, values: np.ndarray, which: np.ndarray | None = None) -> np.ndarray:
        """Means of rows of `values` (m x k) over all blocks, or over some."""
        if self._mean is None:
            return values if which is None else values[which]
        return np.asarray((self._mean if which is None else self._mean[which]) @ values)

    def _samples(self, which: np.ndarray) -> tuple[np.ndarray, sparse.csr_array]:
        """Samples of some blocks (s,), and the means over them (U x s)."""
        assert self._mean is not None
        some = self._mean[which]
        s = len(some.indices)
        return some.indices, sparse.csr_array((some.data, np.arange(s), some.indptr), shape=(len(which), s))

    def mean_rows(self, kernel: KernelOperator, which: np.ndarray) -> np.ndarray:
        """Mean kernel rows of some blocks (U x m)."""
        if self._mean is None:
            return kernel.rows(which)
        samples, mean = self._samples(which)
        parts = (mean[:, part] @ kernel.rows(samples[part]) for part in row_blocks(len(samples), kernel.n_samples))
        return np.asarray(sum(parts, np.zeros((len(which), kernel.n_samples))))

    def similarities(self, kernel: KernelOperator, which: np.ndarray) -> np.ndarray:
        """Similarities of the means of some blocks (U x U)."""
        if self._mean is None:
            return kernel.rows(which, which)
        samples, mean = self._samples(which)
        C = np.zeros((len(which),) * 2)
        for part in row_blocks(len(samples), len(samples)):
            C += mean[:, part] @ (mean @ kernel.rows(samples[part], samples).T).T
        return (C + C.T) / 2

    def own(self, kernel: KernelOperator) -> np.ndarray:
        """Similarity of every block's mean with itself (M,)."""
        diagonal = kernel.diagonal()
        if self._mean is None:
            return diagonal
        own = np.asarray(self._mean @ diagonal)
        several = np.flatnonzero(self.size > 1)
        group = np.cumsum(self.size[several]) // SAMPLES_AT_A_TIME
        for which in np.split(several, np.flatnonzero(np.diff(group)) + 1) if len(several) else []:
            own[which] = np.diagonal(self.similarities(kernel, which))
        return own


_EMPTY = np.empty(0, dtype=np.intp)
