"""Discrete refinement: labels and kernel weights together, for any structure and loss.

    J = sum_p mu_p^2 (Tr K_p - <S_p, B(n)> / t) + lam / 2 mu' M mu + penalty(n) / t,   S_p = Pi' K_p Pi

with B(n) and the penalty those of `objectives.Dependence`. t is the largest eigenvalue that Pi B(n) Pi' can have, so
the residuals in brackets are never negative and J is convex in mu. For a flat structure without a loss t = 1, B(n) is
diag(1 / n), and J is eq. (8) of multiple kernel k-means with true labels in place of relaxed ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kernelclust.kernels import one_hot
from kernelclust.multikernel._kernels import PlainFactor, PreparedKernel, combine
from kernelclust.multikernel._simplex import minimize_on_simplex, optimality_gap
from kernelclust.multikernel._spectral import quadratic
from kernelclust.multikernel._task import Relaxed, Task
from kernelclust.objectives import Dependence
from kernelclust.solvers._climb import climb
from kernelclust.solvers.placement import best_placement, placement_problem


@dataclass(frozen=True)
class Refined:
    """Labels, and weights where they were learned further."""

    labels: np.ndarray
    weights: np.ndarray
    objective: float
    history: list[float]
    gap: float
    converged: bool


def label_scale(objective: Dependence, n_samples: int) -> float:
    """t: no labeling gives Pi B(n) Pi' a larger eigenvalue."""
    if objective.n_clusters == 1:
        return float(objective.weights(np.array([float(n_samples)]))[0, 0] * n_samples)
    t = replace(objective, penalty=0.0).upper_bound(np.array([1.0]), float(n_samples))
    if not 0 < t < np.inf:
        raise ValueError(
            "kernel weights cannot be learned with this loss and normalize: F has no finite bound. Use normalize='l2'."
        )
    return t


class Unrelaxed:
    """J for a task and an objective."""

    def __init__(self, task: Task, objective: Dependence, lam: float):
        self.task, self.objective, self.lam = task, objective, lam
        self.t = label_scale(objective, task.n_samples)

    def sizes(self, labels: np.ndarray) -> np.ndarray:
        return np.bincount(labels, minlength=self.objective.n_clusters).astype(float)

    def sums(self, labels: np.ndarray) -> np.ndarray:
        """S_p (m, c, c)."""
        return np.array([kernel.cluster_sums(labels, self.objective.n_clusters) for kernel in self.task.kernels])

    def products(self, labels: np.ndarray) -> np.ndarray:
        """(K_p Pi)' (m, c, n), one pass over every kernel: its cluster sums, and where the next climb starts."""
        Pi = one_hot(labels, self.objective.n_clusters, np.ones(len(labels)))
        return np.array([(kernel @ Pi).T for kernel in self.task.kernels])

    def residuals(self, sums: np.ndarray, n: np.ndarray) -> np.ndarray:
        """Tr K_p - <S_p, B(n)> / t (m,)."""
        captured = np.einsum("pij,ij->p", sums, self.objective.weights(n))
        return np.maximum(self.task.traces - captured / self.t, 0.0)

    def penalty(self, n: np.ndarray) -> float:
        return float(n @ self.objective.penalties(n)) / self.t


def refine(
    task: Task, relaxed: Relaxed, labels: np.ndarray, objective: Dependence, *, rule: str = "distance"
) -> Refined:
    """Place the clusters on the structure, then move single samples and relearn the weights in turn until both stay."""
    c = objective.n_clusters
    kernel = _consensus(task, relaxed)
    J = Unrelaxed(task, objective, relaxed.lam)
    S = kernel.cluster_sums(labels, c)
    labels = best_placement(placement_problem(rule, objective, S, J.sizes(labels)))[labels]
    if not relaxed.learns:
        solution = climb(kernel, objective, labels, max_iter=task.max_iter)
        whole = float(kernel.diagonal().sum())
        history = [whole - value / J.t for value in solution.history]
        return Refined(solution.labels, relaxed.weights, history[-1], history, 0.0, solution.converged)
    history, converged, running = [], False, None
    for _ in range(task.max_iter):
        solution = climb(kernel, objective, labels, running=running, max_iter=task.max_iter)
        still = len(history) > 0 and np.array_equal(labels, solution.labels)
        labels, n = solution.labels, J.sizes(solution.labels)
        products = J.products(labels) if kernel.form == "rows" else None
        sums = J.sums(labels) if products is None else products @ one_hot(labels, c, np.ones(len(labels)))
        Q = quadratic(J.residuals(sums, n), task, relaxed.lam)
        mu = minimize_on_simplex(Q)
        history.append(float(mu @ Q @ mu) + J.penalty(n))
        converged = still or (len(history) > 1 and history[-2] - history[-1] <= 1e-12 * abs(history[-1]))
        if converged:
            break
        kernel = combine(task.kernels, mu**task.power)
        running = None if products is None or kernel.form != "rows" else np.tensordot(mu**task.power, products, 1)
    return Refined(labels, mu, history[-1], history, optimality_gap(Q, mu), converged)


def _consensus(task: Task, relaxed: Relaxed):
    if relaxed.coefficients is None:
        return PlainFactor(unit_rows(relaxed.embedding))
    return combine(task.kernels, relaxed.coefficients, relaxed.by_sample)


def alignment(kernels: Sequence[PreparedKernel], T: np.ndarray, labels: np.ndarray, coefficients: np.ndarray) -> float:
    """<K, P P'> / |K| |P P'| for K = sum_p c_p K_p and the normalised labels P = Pi n^-1/2; T_pq = Tr(K_p K_q).

    One if K says nothing but these clusters. A kernel of noise and one with fewer dimensions than there are clusters
    both score low.
    """
    used, labels = np.unique(labels, return_inverse=True)
    n = np.bincount(labels)
    size = np.sqrt(max(float(coefficients @ T @ coefficients), np.finfo(float).tiny) * len(used))
    captured = [float(np.sum(np.diag(kernel.cluster_sums(labels, len(used))) / n)) for kernel in kernels]
    return float(coefficients @ captured) / size


def unit_rows(H: np.ndarray) -> np.ndarray:
    """Rows of length one; zero rows stay."""
    norms = np.linalg.norm(H, axis=1, keepdims=True)
    return H / np.where(norms > 0, norms, 1)
