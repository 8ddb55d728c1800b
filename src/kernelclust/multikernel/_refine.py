"""Discrete refinement: labels and kernel weights together, for any structure and loss.

    J = sum_p mu_p^2 (Tr K_p - <S_p, B(n)> / t) + lam / 2 mu' M mu + penalty(n) / t,   S_p = Pi' K_p Pi

with B(n) and the penalty those of `ClusterObjective`. t is the largest eigenvalue that Pi B(n) Pi' can have, so
the residuals in brackets are never negative and J is convex in mu. For a flat structure without a loss t = 1, B(n) is
diag(1 / n), and J is eq. (8) of multiple kernel k-means with true labels in place of relaxed ones. Sample weights count
as copies. What soft labels add to F lowers J by that over t.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from sklearn.cluster import KMeans

from kernelclust.constraints import Constraints, numbered, repair
from kernelclust.kernels import KernelOperator, LowRankKernel, WeightedSumKernel, leading_spectrum, one_hot
from kernelclust.multikernel._base import Relaxed, Task
from kernelclust.multikernel._spectral import minimize_on_simplex, optimality_gap, quadratic
from kernelclust.objectives import ClusterObjective
from kernelclust.solvers import Problem, climb, fill_empty, place_known, placement_problem, seeded_start


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


def cluster_sums(kernels: Sequence[KernelOperator], labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """S_p (m, c, c)."""
    return np.array([kernel.cluster_sums(labels, n_clusters) for kernel in kernels])


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
        return cluster_sums(self.task.kernels, labels, self.objective.n_clusters)

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


def explained(sums: np.ndarray, n: np.ndarray, traces: np.ndarray) -> np.ndarray:
    """sum_j S_jj / n_j over the trace (m,): the share of every kernel's trace that lies between clusters."""
    between = (np.einsum("pjj->pj", sums) / np.where(n > 0, n, np.inf)).sum(axis=1)
    return np.clip(between / np.where(traces > 0, traces, np.inf), 0.0, 1.0)


@dataclass
class Alternation:
    """Weights and labels in turn: whoever moves samples calls `learn` with the cluster sums after every round."""

    J: Unrelaxed
    relaxed: Relaxed
    weights: np.ndarray  # now
    tol: float = 1e-12  # relative fall of the objective that ends it
    history: list[float] = field(default_factory=list)
    objective: float = np.inf  # the last of the history, without what soft labels add
    gap: float = 0.0
    converged: bool = True
    sums: np.ndarray | None = None

    @property
    def coefficients(self) -> np.ndarray:
        return self.weights**self.relaxed.power

    def learn(self, sums: np.ndarray, n: np.ndarray, moved: bool, gain: float = 0.0) -> bool:
        """Learn weights at the clusters as they are; return whether to go on. `gain` is what soft labels add to F."""
        self.sums, first = sums, not self.history
        if not self.relaxed.learns:
            self.objective = float(np.tensordot(self.weights, self.J.residuals(sums, n), 1)) + self.J.penalty(n)
            self.history.append(self.objective)
            return False
        self.weights, self.objective, self.gap = self.J.best(sums, n, self.relaxed)
        self.history.append(self.objective - gain / self.J.t)
        fall = np.inf if first else self.history[-2] - self.history[-1]
        self.converged = not (moved or first) or fall <= self.tol * abs(self.history[-1])
        return not self.converged and len(self.history) < self.J.task.max_iter

    def refined(self, labels: np.ndarray) -> Refined:
        return Refined(labels, self.weights, self.objective, self.history, self.gap, self.converged, self.sums)


def consensus(task: Task, relaxed: Relaxed) -> KernelOperator:
    """The kernel that a relaxed solution stands for."""
    if relaxed.coefficients is None:
        return LowRankKernel(unit_rows(relaxed.embedding), task.weight, center=False)
    return WeightedSumKernel(task.kernels, relaxed.coefficients, relaxed.by_sample)


def pulled(
    known: Constraints, kernel: KernelOperator, objective: ClusterObjective, rng: np.random.RandomState
) -> Constraints | None:
    """Return the constraints with soft labels in units of F: its bound for equal sizes, per sample."""
    c = objective.n_clusters
    spectrum = leading_spectrum(kernel, c, max(c - 1, 1), rng)
    return Problem(kernel, spectrum, objective, objective, known).constraints_for(objective)


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
    state, warm = Alternation(J, relaxed, relaxed.weights), None
    while True:
        solution = climb(kernel, objective, labels, warm_start_sums=warm, constraints=known, max_iter=task.max_iter)
        moved, labels = not np.array_equal(labels, solution.labels), solution.labels
        products = J.products(labels) if kernel.factor is None else None
        sums = J.sums(labels) if products is None else products @ one_hot(labels, J.objective.n_clusters, task.weight)
        if not state.learn(sums, J.sizes(labels), moved, 0.0 if known is None else known.gain(labels)):
            return state.refined(labels)
        kernel, warm = WeightedSumKernel(task.kernels, state.coefficients), None
        if products is not None and kernel.factor is None:
            warm = np.tensordot(state.coefficients, products, 1)


def alignment(sums: np.ndarray, n: np.ndarray, T: np.ndarray, coefficients: np.ndarray) -> float:
    """<K, P P'> / |K| |P P'| for K = sum_p c_p K_p and the normalised labels P = Pi n^-1/2; T_pq = Tr(K_p K_q).

    From the cluster sums (m, c, c) and sizes n. One if K says nothing but these clusters. A kernel of noise and one
    with fewer dimensions than there are clusters both score low.
    """
    used = n > 0
    size = np.sqrt(max(float(coefficients @ T @ coefficients), np.finfo(float).tiny) * used.sum())
    captured = np.einsum("pjj,j->p", sums, np.where(used, 1 / np.where(used, n, 1.0), 0.0))
    return float(coefficients @ captured) / size


# -- from an embedding to labels ---------------------------------------------------------------------------------------


def unit_rows(H: np.ndarray) -> np.ndarray:
    """Rows of length one; zero rows stay."""
    norms = np.linalg.norm(H, axis=1, keepdims=True)
    return H / np.where(norms > 0, norms, 1)


def k_means(E: np.ndarray, task: Task, n_init: int) -> np.ndarray:
    """Labels of the rows, no cluster empty."""
    c = task.n_clusters
    model = KMeans(c, n_init=n_init, random_state=task.rng)
    return fill_empty(model.fit_predict(E, sample_weight=None if task.root is None else task.weight), E, c)


def candidates(task: Task, relaxed: Relaxed, known: Constraints | None, n_init: int) -> list[np.ndarray]:
    """Labelings to go on from, the first without a look at known labels; all keep what is known."""
    E = unit_rows(relaxed.embedding)
    found = [k_means(E, task, n_init) if relaxed.labels is None else relaxed.labels]
    if known is None:
        return found
    if (known.seeds >= 0).any():
        found.append(seeded_start(E, task.weight, known.seeds, task.n_clusters, task.rng))
    return [repair(known, numbered(known, labels, E), E) for labels in found]
