"""The two steps of multiple kernel k-means: eigenvectors for given weights, weights for given eigenvectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelclust.multikernel._eigen import leading_eigenvectors, start_block
from kernelclust.multikernel._kernels import PreparedKernel
from kernelclust.multikernel._simplex import minimize_on_simplex, optimality_gap
from kernelclust.multikernel._task import Relaxed, Task


class Embedding:
    """H (n x k), the leading eigenvectors of a combination of kernels; the next combination starts from the last."""

    def __init__(self, kernels: Sequence[PreparedKernel], k: int, rng: np.random.RandomState):
        self.kernels, self.k = kernels, k
        self._block = start_block(kernels[0].n_samples, k, rng)
        self._images: list[np.ndarray] | None = None

    def update(self, coefficients: np.ndarray) -> np.ndarray:
        """Residuals Tr(K_p) - Tr(H' K_p H) (m,) of the H that suits these coefficients best."""

        def product(V: np.ndarray) -> np.ndarray:
            return sum_of(c * (kernel @ V) for c, kernel in zip(coefficients, self.kernels, strict=True) if c > 0)

        image = None
        if self._images is not None:
            image = sum_of(c * image for c, image in zip(coefficients, self._images, strict=True))
        self._block = leading_eigenvectors(product, self._block, self.k, image)[1]
        self._images = [kernel @ self._block for kernel in self.kernels]
        captured = [np.einsum("ij,ij->", self.H, image[:, : self.k]) for image in self._images]
        return np.maximum([kernel.trace - c for kernel, c in zip(self.kernels, captured, strict=True)], 0.0)

    @property
    def H(self) -> np.ndarray:
        return self._block[:, : self.k]


def sum_of(parts) -> np.ndarray:
    """Sum of arrays, in the memory of the first."""
    parts = iter(parts)
    total = next(parts)
    for part in parts:
        total += part
    return total


def balanced_lam(residuals: np.ndarray, M: np.ndarray) -> float:
    """lambda at which both terms of eq. (8) count the same for a single kernel, on average: scale-free."""
    size = float(np.diag(M).mean())
    return 2 * float(residuals.mean()) / size if size > 0 else 0.0


def quadratic(residuals: np.ndarray, task: Task, lam: float) -> np.ndarray:
    """Q with mu'Q mu = eq. (8) for fixed labels or eigenvectors."""
    return np.diag(residuals + task.ridge * task.traces) + lam / 2 * task.M


def alternate(task: Task, lam: float | str) -> Relaxed:
    """Algorithm 1 of Liu et al.: eigenvectors and weights in turn, until eq. (8) falls by less than tol."""
    embedding = Embedding(task.kernels, task.n_clusters, task.rng)
    m = len(task.kernels)
    mu = np.full(m, 1 / m)
    history: list[float] = []
    converged = False
    while len(history) < task.max_iter and not converged:
        residuals = embedding.update(mu**task.power)
        lam = balanced_lam(residuals, task.M) if isinstance(lam, str) else lam
        Q = quadratic(residuals, task, lam)
        mu = minimize_on_simplex(Q)
        history.append(float(mu @ Q @ mu))
        converged = len(history) > 1 and history[-2] - history[-1] <= task.tol * abs(history[-1])
    return Relaxed(
        weights=mu,
        embedding=embedding.H,
        objective=history[-1],
        history=history,
        converged=converged,
        coefficients=mu**task.power,
        learns=True,
        lam=float(lam),
        gap=optimality_gap(Q, mu),
    )
