"""Robust multiple kernel clustering (Zhou, Du, Shi, Wang and Shen, 2015): one low-rank kernel behind corrupted ones.

    min over K psd, E_p:  1/2 sum_p |K_p - K - E_p - E_p'|^2 + rank_cost Tr(K) + row_cost sum_p |E_p|_{2,1}

A bad sample spoils a row and the same column of a kernel; E_p holds such rows, all of one at once. For views in which
some samples are broken. Needs an n x n matrix of errors for each kernel. Both steps fall: eigenvalues of the cleaned
mean kernel are lowered, then rows are shrunk.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelclust._names import check_number
from kernelclust.multikernel import Method, Relaxed, Task
from kernelclust.multikernel._spectral import start_block, sum_of
from reproduction.multikernel._eigen import leading_eigenvectors

SPARE = 10  # eigenvectors beyond the dimensions of the first K that are computed


@dataclass(eq=False, repr=False)
class RMKC(Method):
    """Find the low-rank kernel behind corrupted ones.

    `bad_share` of the rows count as broken at first, which sets row_cost; rank_cost is set so that the first K has
    `extra_rank` dimensions more than there are clusters. `n_steps` of shrinking rows between two kernels.

    The other parameters are those of all methods (see `kernelclust.multikernel.Method`).
    """

    unweighted = "its errors are rows of kernels, of which copies would have one each."
    extra_matrices = (3, 8)  # kernels, errors and their difference; the low-rank kernel and the steps between

    bad_share: float = 0.1
    extra_rank: int = 0
    n_steps: int = 5
    tol: float = 1e-6

    def check(self) -> None:
        super().check()
        check_number("bad_share", self.bad_share, above=True)
        check_number("extra_rank", self.extra_rank, whole=True, least=0)
        check_number("n_steps", self.n_steps, whole=True, least=1)

    def solve(self, task: Task) -> Relaxed:
        kernels, n, m = task.kernels, task.n_samples, len(task.kernels)
        matrices = np.empty((m, n, n))
        for kernel, matrix in zip(kernels, matrices, strict=True):
            matrix[:] = kernel.rows(slice(0, n))
        first_rank = task.n_clusters + int(self.extra_rank)
        k = min(first_rank + SPARE, n)
        block = start_block(n, k, task.rng)
        E = np.zeros((m, n, n))
        rank_cost = row_cost = 0.0
        history: list[float] = []
        converged = False
        while len(history) < task.max_iter and not converged:

            def product(V: np.ndarray) -> np.ndarray:
                return sum_of(matrix @ V - e @ V - e.T @ V for matrix, e in zip(matrices, E, strict=True)) / m

            values, block = leading_eigenvectors(product, block, k)
            if not history:
                rank_cost = m * max(float(values[min(first_rank, len(values) - 1)]), 0.0)
            kept = np.maximum(values[:k] - rank_cost / m, 0)
            K = (block[:, :k] * kept) @ block[:, :k].T
            if not history:
                norms = np.linalg.norm(matrices - K, axis=2)
                row_cost = 2 * float(np.quantile(norms, max(1 - self.bad_share, 0.0)))
            value = rank_cost * float(kept.sum())
            for p in range(m):
                rest = matrices[p] - K
                E[p] = _bad_rows(E[p], rest, row_cost, self.n_steps)
                value += 0.5 * float(np.square(rest - E[p] - E[p].T).sum()) + row_cost * _row_norms(E[p]).sum()
            history.append(float(value))
            converged = len(history) > 1 and history[-2] - history[-1] <= self.tol * abs(history[-1])
        return Relaxed(np.full(m, 1 / m), block[:, : task.n_clusters], history[-1], history, converged)


def _bad_rows(E: np.ndarray, rest: np.ndarray, row_cost: float, n_steps: int) -> np.ndarray:
    """Towards the least 1/2 |rest - E - E'|^2 + row_cost |E|_{2,1}, by proximal steps of 1 / 4."""
    for _ in range(n_steps):
        E = _shrink_rows(E + (rest - E - E.T) / 2, row_cost / 4)
    return E


def _row_norms(E: np.ndarray) -> np.ndarray:
    return np.sqrt(np.einsum("ij,ij->i", E, E))


def _shrink_rows(E: np.ndarray, threshold: float) -> np.ndarray:
    norms = _row_norms(E)
    return E * np.maximum(1 - threshold / np.where(norms > 0, norms, 1), 0)[:, None]


PART = RMKC
