"""A sum of kernels over the same samples: what learning from several kernels works with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kernelclust.kernels.operators._base import KernelOperator
from kernelclust.kernels.operators.low_rank import LowRankKernel


class WeightedSumKernel(KernelOperator):
    """sum_p c_p diag(t_p) K_p diag(t_p) of operators over the same samples and sample weights; t_p is column p of
    `by_sample` (m x p), ones without it. No matrix beside those of the kernels.
    """

    def __init__(
        self,
        kernels: Sequence[KernelOperator],
        coefficients: Sequence[float] | np.ndarray,
        by_sample: np.ndarray | None = None,
    ):
        coefficients = np.asarray(coefficients, dtype=float)
        if len(kernels) != len(coefficients):
            raise ValueError(f"{len(kernels)} kernels but {len(coefficients)} coefficients.")
        if len({kernel.n_samples for kernel in kernels}) > 1:
            raise ValueError(f"kernels differ in size: {[kernel.n_samples for kernel in kernels]} samples.")
        if any(not np.array_equal(kernel.weight, kernels[0].weight) for kernel in kernels):
            raise ValueError("kernels differ in the weights of their samples; a sum needs the same for all.")
        if not np.all(coefficients >= 0):
            raise ValueError("coefficients must not be negative, or the sum is no kernel.")
        used = [p for p in range(len(kernels)) if coefficients[p] > 0] or [0]
        self._parts = [(kernels[p], coefficients[p], None if by_sample is None else by_sample[:, p]) for p in used]
        if by_sample is None:
            self._parts = _flattened(self._parts)
        self.weight = kernels[0].weight
        self.cheap = all(kernel.cheap for kernel, _, _ in self._parts)
        self.centred = by_sample is None and all(kernel.centred for kernel, _, _ in self._parts)
        self.factor = self._side_by_side()

    def _side_by_side(self) -> np.ndarray | None:
        """The factors of all parts as one, if all have one."""
        factors = [kernel.factor for kernel, _, _ in self._parts if kernel.factor is not None]
        if len(factors) < len(self._parts):
            return None
        B = np.empty((self.n_samples, sum(B.shape[1] for B in factors)), dtype=np.result_type(*factors))
        pieces = np.split(B, np.cumsum([factor.shape[1] for factor in factors])[:-1], axis=1)
        for (_, c, t), factor, piece in zip(self._parts, factors, pieces, strict=True):
            np.multiply(factor, np.sqrt(c), out=piece, casting="same_kind")
            if t is not None:
                piece *= t[:, None].astype(piece.dtype)
        return B

    def _each(self) -> Iterator[tuple[KernelOperator, float, np.ndarray]]:
        for kernel, c, t in self._parts:
            yield kernel, c, np.ones(self.n_samples) if t is None else t

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        out = np.zeros(V.shape)
        for kernel, c, t in self._parts:
            out += c * (kernel @ V) if t is None else c * t[:, None] * (kernel @ (t[:, None] * V))
        return out

    def rows(self, index, columns=None) -> np.ndarray:
        out = None
        for kernel, c, t in self._each():
            part = kernel.rows(index, columns)
            part *= c * t[index, None] * (t if columns is None else t[columns])
            out = part if out is None else np.add(out, part, out=out)
        assert out is not None
        return out

    def diagonal(self) -> np.ndarray:
        return np.sum([c * t**2 * kernel.diagonal() for kernel, c, t in self._each()], axis=0)

    def raw_size(self) -> float:
        return float(sum(c * np.square(t).max() * kernel.raw_size() for kernel, c, t in self._each()))


def _flattened(parts: list) -> list:
    """A sum of sums as one, each kernel once."""
    found: dict[int, tuple] = {}
    for kernel, c, _ in parts:
        inner = getattr(kernel, "_parts", [])  # of another sum
        if not inner or any(t is not None for _, _, t in inner):
            inner = [(kernel, 1.0, None)]
        for one, share, _ in inner:
            found[id(one)] = (one, c * share + (found[id(one)][1] if id(one) in found else 0.0), None)
    return list(found.values())


PART = WeightedSumKernel


def example(rng: np.random.RandomState, weight: np.ndarray) -> tuple[KernelOperator, np.ndarray]:
    """An operator and the matrix that it is the centred form of, for the contract tests."""
    factors = [rng.standard_normal((len(weight), d)) for d in (2, 3)]
    K = 0.5 * factors[0] @ factors[0].T + 2.0 * factors[1] @ factors[1].T
    return WeightedSumKernel([LowRankKernel(B, weight) for B in factors], [0.5, 2.0]), K
