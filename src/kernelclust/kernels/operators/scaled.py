"""A kernel scaled from both sides, over more samples than it holds: one view of samples that not all have it."""

from __future__ import annotations

import numpy as np

from kernelclust.kernels.operators._base import KernelOperator
from kernelclust.kernels.operators.low_rank import LowRankKernel


class ScaledKernel(KernelOperator):
    """K~ = E D K D E' (n x n): D = diag(scale) over the samples that K holds, E puts them at `samples` of n (all by
    default). Samples that are not held have rows of zeros. Not centred again.
    """

    def __init__(
        self,
        kernel: KernelOperator,
        scale: np.ndarray,
        weight: np.ndarray | None = None,
        samples: np.ndarray | None = None,
    ):
        self._kernel, self._scale, self._samples = kernel, scale, samples
        self.weight = kernel.weight if weight is None else weight
        self.cheap = kernel.cheap
        self.centred = kernel.centred and bool(np.all(scale == scale[0]))
        if kernel.factor is not None:
            self.factor = self._spread(kernel.factor * scale[:, None].astype(kernel.factor.dtype))

    def _spread(self, held: np.ndarray) -> np.ndarray:
        """Rows for all samples from rows for those held."""
        if self._samples is None:
            return held
        out = np.zeros((self.n_samples, *held.shape[1:]), dtype=held.dtype)
        out[self._samples] = held
        return out

    def _held(self, V: np.ndarray) -> np.ndarray:
        return V if self._samples is None else V[self._samples]

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        scale = self._scale[:, None]
        return self._spread(scale * (self._kernel @ (scale * self._held(V))))

    def affinity(self, V: np.ndarray) -> np.ndarray:
        """The kernel as it was given, neither centred nor scaled, times V."""
        return self._spread(self._kernel.affinity(self._held(V)))  # type: ignore[attr-defined]

    @property
    def held(self) -> np.ndarray:
        """(n,) which samples this kernel knows."""
        return self._spread(np.ones(len(self._scale), dtype=bool))

    def rows(self, index, columns=None) -> np.ndarray:
        if self._samples is None:
            out = self._kernel.rows(index, columns)
            out *= self._scale[index, None]
            out *= self._scale if columns is None else self._scale[columns]
            return out
        at = np.full(self.n_samples, -1)
        at[self._samples] = np.arange(len(self._samples))
        down, across = at[index], at if columns is None else at[columns]
        some = np.flatnonzero(down >= 0)
        there = np.flatnonzero(across >= 0)
        out = np.zeros((len(down), len(across)))
        if len(some) and len(there):
            part = self._kernel.rows(down[some], across[there])
            part *= self._scale[down[some], None]
            part *= self._scale[across[there]]
            out[np.ix_(some, there)] = part
        return out

    def diagonal(self) -> np.ndarray:
        return self._spread(self._kernel.diagonal() * self._scale * self._scale)

    def raw_size(self) -> float:
        largest = float(self._scale.max())
        return self._kernel.raw_size() * largest * largest


PART = ScaledKernel


def example(rng: np.random.RandomState, weight: np.ndarray) -> tuple[KernelOperator, np.ndarray]:
    """An operator and the matrix that it is the centred form of, for the contract tests."""
    B = rng.standard_normal((len(weight), 3))
    B -= weight @ B / weight.sum()
    scale = np.full(len(weight), 1.5)
    return ScaledKernel(LowRankKernel(B, weight), scale), 2.25 * B @ B.T
