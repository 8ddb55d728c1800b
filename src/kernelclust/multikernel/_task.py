"""What a method is given and what it returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kernelclust.kernels import KernelOperator


@dataclass(frozen=True)
class Task:
    """Prepared kernels over the same samples, and how to search.

    `M` (m x m) compares kernels; `space` is a `Subspace` to go on in.
    """

    kernels: Sequence[KernelOperator]
    n_clusters: int
    rng: np.random.RandomState
    M: np.ndarray
    max_iter: int = 100
    space: Any = None

    @property
    def n_samples(self) -> int:
        return self.kernels[0].n_samples

    @property
    def weight(self) -> np.ndarray:
        """(n,) weights of the samples."""
        return self.kernels[0].weight

    @cached_property
    def root(self) -> np.ndarray | None:
        """(n, 1) square roots of the weights; None where all are one."""
        return None if np.all(self.weight == 1) else np.sqrt(self.weight)[:, None]

    @cached_property
    def traces(self) -> np.ndarray:
        return np.array([kernel.trace() for kernel in self.kernels])


@dataclass(frozen=True)
class Relaxed:
    """Weights and embedding, and how they were reached.

    `weights` (m,) add up to one; kernels are combined with `coefficients` (m,), or with `by_sample` (n, m) for every
    sample its own; neither where the embedding is all there is. The rows of `embedding` H belong to samples, the same
    for a sample and its copies, so that H' D H = I with sample weights D. `learns`: the weights are those of eq. (8)
    with `lam`, and with `ridge` added to every residual in units of its kernel's trace, and discrete moves may learn
    them further; kernels are combined as sum_p mu_p^power K_p. `gap` is the optimality gap of the weights.
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
    power: int = 1
    ridge: float = 0.0
    gap: float = 0.0
