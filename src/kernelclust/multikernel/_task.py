"""What a method is given and what it returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelclust.multikernel._kernels import PreparedKernel


@dataclass(frozen=True)
class Task:
    """Prepared kernels over the same samples, and how to search.

    `M` (m x m) compares kernels; `lam` is lambda of eq. (8) or "auto"; `ridge` is added to every residual in units of
    its kernel's trace; kernels are combined as sum_p mu_p^power K_p. `space` is a `Subspace` to go on in.
    """

    kernels: Sequence[PreparedKernel]
    n_clusters: int
    rng: np.random.RandomState
    M: np.ndarray
    lam: float | str = "auto"
    power: int = 2
    ridge: float = 0.0
    max_iter: int = 100
    tol: float = 1e-6
    space: Any = None

    @property
    def n_samples(self) -> int:
        return self.kernels[0].n_samples

    @property
    def traces(self) -> np.ndarray:
        return np.array([kernel.trace for kernel in self.kernels])


@dataclass(frozen=True)
class Relaxed:
    """Weights and embedding, and how they were reached.

    `weights` (m,) add up to one; kernels are combined with `coefficients` (m,), or with `by_sample` (n, m) for every
    sample its own; neither where the embedding is all there is. `learns`: the weights are those of eq. (8), and
    discrete moves may learn them further. `gap` is the optimality gap of the weights.
    """

    weights: np.ndarray
    embedding: np.ndarray
    objective: float
    history: list[float]
    converged: bool
    coefficients: np.ndarray | None = None
    by_sample: np.ndarray | None = None
    labels: np.ndarray | None = None
    learns: bool = False
    lam: float = 0.0
    gap: float = 0.0
