"""Robust multi-view spectral clustering (Xia, Pan, Du and Yin, 2014): one low-rank random walk behind all views.

    min over P >= 0 with P 1 = 1, E_v:  |P|_* + sparsity sum_v |E_v|_1   such that  D_v^-1 K_v = P + E_v

For views with gross errors in single similarities. Reads the kernels as they were given, as affinities, and needs
several n x n matrices and a full decomposition a step: for a few thousand samples. Solved by alternating multipliers,
so `history` (the objective of P) need not fall.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelclust._names import check_number
from kernelclust.multikernel import Method, Relaxed, Task
from reproduction.multikernel._affinity import degrees
from reproduction.multikernel._simplex import project_on_simplex

FIRST_PENALTY = 1e-3
LARGEST_PENALTY = 1e10


@dataclass(eq=False, repr=False)
class RMSC(Method):
    """Find the low-rank random walk behind all views.

    `sparsity` is 10 / n if None: the authors' 0.005 for 2000 samples, and as strong beside the norm of P for any
    number of them. `growth` of the penalty a step; stops when no entry breaks a constraint by more than `accuracy`.

    The other parameters are those of all methods (see `kernelclust.multikernel.Method`).
    """

    needs = ("affinity",)
    unweighted = "its errors are counted entry by entry of a walk between samples, which has none for copies."
    may_rise = True
    extra_matrices = (3, 10)  # walks, errors and multipliers of every view; the walk, its copies and the steps between

    sparsity: float | None = None
    growth: float = 1.9
    accuracy: float = 1e-6

    def check(self) -> None:
        super().check()
        if self.sparsity is not None:
            check_number("sparsity", self.sparsity, above=True)
        check_number("growth", self.growth, least=1.0, above=True)
        check_number("accuracy", self.accuracy, above=True)

    def solve(self, task: Task) -> Relaxed:
        sparsity = 10 / task.n_samples if self.sparsity is None else self.sparsity
        n, m = task.n_samples, len(task.kernels)
        walks = _walks(task)
        P, Q, Z = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
        E, Y = np.zeros((m, n, n)), np.zeros((m, n, n))
        history: list[float] = []
        penalty, converged = FIRST_PENALTY, False
        while len(history) < task.max_iter and not converged:
            P = Q - Z / penalty
            for v in range(m):
                P += walks[v] - E[v] - Y[v] / penalty
            P = project_on_simplex(P / (m + 1))
            Q, size = _shrink_singular_values(P + Z / penalty, 1 / penalty)
            worst, errors = float(np.abs(P - Q).max()), 0.0
            for v in range(m):
                rest = walks[v] - P
                E[v] = rest - Y[v] / penalty
                E[v] = np.sign(E[v]) * np.maximum(np.abs(E[v]) - sparsity / penalty, 0)
                Y[v] += penalty * (E[v] - rest)
                worst = max(worst, float(np.abs(E[v] - rest).max()))
                errors += float(np.abs(rest).sum())
            Z += penalty * (P - Q)
            history.append(size + sparsity * errors)
            penalty = min(self.growth * penalty, LARGEST_PENALTY)
            converged = worst < self.accuracy
        U = _walk_eigenvectors(P, task.n_clusters)
        return Relaxed(np.full(m, 1 / m), U, history[-1], history, converged)


def _walks(task: Task) -> np.ndarray:
    """Transition matrices D_v^-1 K_v (m, n, n); a sample that a view does not hold stays where it is."""
    n = task.n_samples
    degree = degrees(task, "rmsc")
    walks = np.stack([kernel.affinity(np.eye(n)) for kernel in task.kernels])  # type: ignore[attr-defined]
    if walks.min() < -1e-12 * np.abs(walks).max():
        raise ValueError("method='rmsc' reads kernels as affinities, and these have negative entries; use 'rbf'.")
    for v in range(len(walks)):
        alone = np.flatnonzero(~walks[v].any(axis=1))
        walks[v, alone, alone] = 1.0
        walks[v] /= degree[:, [v]]
    return walks


def _shrink_singular_values(X: np.ndarray, threshold: float) -> tuple[np.ndarray, float]:
    """X with singular values lowered by the threshold, and their sum."""
    values, V = np.linalg.eigh(X.T @ X)
    values = np.sqrt(np.maximum(values, 0))
    keep = values > threshold
    V, values = V[:, keep], values[keep]
    return (X @ (V * ((values - threshold) / values))) @ V.T, float((values - threshold).sum())


def _walk_eigenvectors(P: np.ndarray, k: int) -> np.ndarray:
    """Leading eigenvectors of (D^1/2 P D^-1/2 + its transpose) / 2, D the walk's long-run shares (Zhou et al. 2005)."""
    n = len(P)
    share = np.full(n, 1 / n)
    for _ in range(1000):
        new = 0.99 * (share @ P) + 0.01 / n
        if np.abs(new - share).sum() < 1e-12:
            break
        share = new
    root = np.sqrt(share)
    L = root[:, None] * P / root
    return np.linalg.eigh((L + L.T) / 2)[1][:, ::-1][:, :k]


PART = RMSC
