"""Discrete refinement: labels and kernel weights together, for any structure and loss.

    J = sum_p mu_p^2 (Tr K_p - <S_p, B(n)> / t) + lam / 2 mu' M mu + penalty(n) / t,   S_p = Pi' K_p Pi

with B(n) and the penalty those of `ClusterObjective`. t is the largest eigenvalue that Pi B(n) Pi' can have, so
the residuals in brackets are never negative and J is convex in mu. For a flat structure without a loss t = 1, B(n) is
diag(1 / n), and J is eq. (8) of multiple kernel k-means with true labels in place of relaxed ones. Sample weights count
as copies. What soft labels add to F lowers J by that over t.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kernelclust.constraints import Constraints, repair
from kernelclust.kernels import KernelOperator, LowRankKernel, WeightedSumKernel, leading_spectrum, one_hot
from kernelclust.multikernel._rounding import unit_rows
from kernelclust.multikernel._simplex import minimize_on_simplex, optimality_gap
from kernelclust.multikernel._spectral import quadratic
from kernelclust.multikernel._task import Relaxed, Task
from kernelclust.objectives import ClusterObjective
from kernelclust.solvers import climb, place_known, placement_problem


@dataclass(frozen=True)
class Refined:
    """Labels, and weights where they were learned further; `sums` are S_p (m, c, c) at the labels, where known."""

    labels: np.ndarray
    weights: np.ndarray
    objective: float
    history: list[float]
    gap: float
    converged: bool
    sums: np.ndarray | None = None


def label_scale(objective: ClusterObjective, total: float, smallest: float = 1.0) -> float:
    """t: no labeling gives Pi B(n) Pi' a larger eigenvalue, for samples of this weight together, and at least."""
    if objective.n_clusters == 1:
        t = float(objective.weights(np.array([total]))[0, 0] * total)
        return t if t > 0 else 1.0  # a loss between one cluster and itself: F is zero
    t = replace(objective, penalty=0.0).upper_bound(np.array([1.0]), total, smallest)
    if not 0 < t < np.inf:
        raise ValueError(
            "kernel weights cannot be learned with this loss and normalize: F has no finite bound. Use normalize='l2'."
        )
    return t


def cluster_sums(task: Task, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """S_p (m, c, c)."""
    return np.array([kernel.cluster_sums(labels, n_clusters) for kernel in task.kernels])


class Unrelaxed:
    """J for a task and an objective."""

    def __init__(
        self, task: Task, objective: ClusterObjective, total: float | None = None, lightest: float | None = None
    ):
        """`total` and `lightest` are weights of the samples, where those of the task stand for others."""
        self.task, self.objective = task, objective
        total = float(task.weight.sum()) if total is None else total
        lightest = float(task.weight.min()) if lightest is None else lightest
        self.t = label_scale(objective, total, min(lightest, 1.0))

    def sizes(self, labels: np.ndarray) -> np.ndarray:
        return np.bincount(labels, self.task.weight, minlength=self.objective.n_clusters)

    def sums(self, labels: np.ndarray) -> np.ndarray:
        """S_p (m, c, c)."""
        return cluster_sums(self.task, labels, self.objective.n_clusters)

    def products(self, labels: np.ndarray) -> np.ndarray:
        """(K_p D Pi)' (m, c, n), one pass over every kernel: its cluster sums, and where the next climb starts."""
        Pi = one_hot(labels, self.objective.n_clusters, self.task.weight)
        return np.array([(kernel @ Pi).T for kernel in self.task.kernels])

    def residuals(self, sums: np.ndarray, n: np.ndarray) -> np.ndarray:
        """Tr K_p - <S_p, B(n)> / t (m,)."""
        captured = np.einsum("pij,ij->p", sums, self.objective.weights(n))
        return np.maximum(self.task.traces - captured / self.t, 0.0)

    def penalty(self, n: np.ndarray) -> float:
        return float(n @ self.objective.penalties(n)) / self.t

    def best(self, sums: np.ndarray, n: np.ndarray, relaxed: Relaxed) -> tuple[np.ndarray, float, float]:
        """The best weights (m,) at cluster sums and sizes, J with these lam and ridge, and the optimality gap."""
        Q = quadratic(self.residuals(sums, n), self.task, relaxed.lam, relaxed.ridge)
        mu = minimize_on_simplex(Q)
        return mu, float(mu @ Q @ mu) + self.penalty(n), optimality_gap(Q, mu)


def consensus(task: Task, relaxed: Relaxed) -> KernelOperator:
    """The kernel that a relaxed solution stands for."""
    if relaxed.coefficients is None:
        return LowRankKernel(unit_rows(relaxed.embedding), task.weight, center=False)
    return WeightedSumKernel(task.kernels, relaxed.coefficients, relaxed.by_sample)


def pulled(
    known: Constraints, kernel: KernelOperator, objective: ClusterObjective, rng: np.random.RandomState
) -> Constraints:
    """With soft labels in units of F: its bound for equal sizes, a sample."""
    c, total = objective.n_clusters, float(kernel.weight.sum())
    bounds = leading_spectrum(kernel, c, max(c - 1, 1), rng).bounds
    bound = objective.size_bound(bounds, np.full(c, total / c))
    return known.with_bonus_unit(bound / total if bound > 0 else 1.0)


def place(
    kernel: KernelOperator,
    relaxed: Relaxed,
    labels: np.ndarray,
    objective: ClusterObjective,
    known: Constraints | None = None,
    rule: str = "distance",
    power: float = 1.0,
) -> np.ndarray:
    """Labels with every cluster at its best place in the structure, and labelled samples at theirs."""
    c = objective.n_clusters
    S, n = kernel.cluster_sums(labels, c), np.bincount(labels, kernel.weight, minlength=c)
    problem = placement_problem(rule, objective, S, n, movable=None if known is None else known.alike, power=power)
    if problem.symmetric:
        return labels
    E = unit_rows(relaxed.embedding)
    labels = place_known(problem, known, labels, E)[labels]
    return labels if known is None else repair(known, labels, E)


def refine(
    task: Task,
    relaxed: Relaxed,
    labels: np.ndarray,
    objective: ClusterObjective,
    *,
    rule: str = "distance",
    known: Constraints | None = None,
) -> Refined:
    """Place the clusters on the structure, then move single samples and relearn the weights in turn until both stay.

    `known`, which the labels must keep, is kept.
    """
    kernel = consensus(task, relaxed)
    labels = place(kernel, relaxed, labels, objective, known, rule)
    J = Unrelaxed(task, objective)
    if not relaxed.learns:
        solution = climb(kernel, objective, labels, constraints=known, max_iter=task.max_iter)
        whole = kernel.trace()
        history = [whole - value / J.t for value in solution.history]
        value = whole - objective.value(solution.cluster_sums, J.sizes(solution.labels)) / J.t
        return Refined(solution.labels, relaxed.weights, value, history, 0.0, solution.converged)
    history, converged, warm = [], False, None
    for _ in range(task.max_iter):
        solution = climb(kernel, objective, labels, warm_start_sums=warm, constraints=known, max_iter=task.max_iter)
        still = len(history) > 0 and np.array_equal(labels, solution.labels)
        labels, n = solution.labels, J.sizes(solution.labels)
        products = J.products(labels) if kernel.factor is None else None
        sums = J.sums(labels) if products is None else products @ one_hot(labels, J.objective.n_clusters, task.weight)
        mu, value, gap = J.best(sums, n, relaxed)
        history.append(value - (0.0 if known is None else known.gain(labels)) / J.t)
        converged = still or (len(history) > 1 and history[-2] - history[-1] <= 1e-12 * abs(history[-1]))
        if converged:
            break
        kernel = WeightedSumKernel(task.kernels, mu**relaxed.power)
        warm = None
        if products is not None and kernel.factor is None:
            warm = np.tensordot(mu**relaxed.power, products, 1)
    return Refined(labels, mu, value, history, gap, converged, sums)


def alignment(sums: np.ndarray, n: np.ndarray, T: np.ndarray, coefficients: np.ndarray) -> float:
    """<K, P P'> / |K| |P P'| for K = sum_p c_p K_p and the normalised labels P = Pi n^-1/2; T_pq = Tr(K_p K_q).

    From the cluster sums (m, c, c) and sizes n. One if K says nothing but these clusters. A kernel of noise and one
    with fewer dimensions than there are clusters both score low.
    """
    used = n > 0
    size = np.sqrt(max(float(coefficients @ T @ coefficients), np.finfo(float).tiny) * used.sum())
    captured = np.einsum("pjj,j->p", sums, np.where(used, 1 / np.where(used, n, 1.0), 0.0))
    return float(coefficients @ captured) / size
