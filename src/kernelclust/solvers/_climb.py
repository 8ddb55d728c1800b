"""Greedy ascent: point moves to convergence, alternated with placement where one is given."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelclust._solution import Solution
from kernelclust.kernels import DenseKernel, LowRankKernel, one_hot, sum_rows
from kernelclust.objectives import Dependence
from kernelclust.objectives.dependence import POWER
from kernelclust.solvers._loops import sweep_dense, sweep_low_rank

REBUILD = 10  # sweeps after which running sums are computed afresh, so that rounding cannot add up
UNEVEN = 1e3  # ratio of weights from which this is done after every sweep: heavy samples leave rounding behind

Placement = Callable[[np.ndarray, np.ndarray], np.ndarray]  # (S, n) -> node of each cluster


class _Dense:
    """Running similarity sums G = (K D Pi)' (c x m)."""

    def __init__(self, kernel: DenseKernel, labels: np.ndarray, n_clusters: int, running: np.ndarray | None):
        self.kernel, self.diagonal = kernel, kernel.diagonal()
        self.sums = self.rebuilt(labels, n_clusters) if running is None else running

    def rebuilt(self, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        kernel = self.kernel
        G = np.zeros((n_clusters, kernel.n_samples))
        sum_rows(kernel.K, kernel.weight, labels, G)
        n = np.bincount(labels, kernel.weight, minlength=n_clusters)
        means = np.bincount(labels, kernel.weight * kernel.row_mean, minlength=n_clusters)
        G -= np.outer(n, kernel.row_mean)
        G -= (means - kernel.mean * n)[:, None]
        return G

    def cluster_sums(self, labels: np.ndarray) -> np.ndarray:
        S = self.sums @ one_hot(labels, len(self.sums), self.kernel.weight)
        return (S + S.T) / 2

    def sweep(self, labels, count, S, n, x, *objective) -> int:
        K = self.kernel
        return sweep_dense(
            K.K, K.row_mean, K.mean, K.weight, self.diagonal, labels, count, self.sums, S, n, x, *objective
        )


class _LowRank:
    """Running feature sums Pi' D B (c x d)."""

    def __init__(self, kernel: LowRankKernel, labels: np.ndarray, n_clusters: int, running: np.ndarray | None):
        self.kernel, self.diagonal = kernel, kernel.diagonal()
        self.sums = self.rebuilt(labels, n_clusters) if running is None else running

    def rebuilt(self, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        return self.kernel.feature_sums(labels, n_clusters)

    def cluster_sums(self, labels: np.ndarray) -> np.ndarray:
        return self.sums @ self.sums.T

    def sweep(self, labels, count, S, n, x, *objective) -> int:
        data = (self.kernel.B, self.kernel.weight, self.diagonal)
        return sweep_low_rank(*data, labels, count, self.sums, S, n, x, *objective)


STATES = {"dense": _Dense, "low_rank": _LowRank}


def climb(
    kernel: DenseKernel | LowRankKernel,
    objective: Dependence,
    labels: np.ndarray,
    *,
    placement: Placement | None = None,
    running: np.ndarray | None = None,
    max_iter: int = 100,
    tol: float = 1e-10,
    allow_empty: bool = False,
) -> Solution:
    """Raise F from a labeling by moving single samples, and whole clusters where a placement is given.

    A sweep visits every sample once and moves it where F rises most, if it rises by more than `tol` times the sum
    of the absolute terms of F. A placement is taken when it raises F. Stops when neither moves anything. `running`
    are the sums of an earlier climb that ended at these labels; they are used up.
    """
    c = objective.n_clusters
    labels = np.array(labels, dtype=np.intp)
    state = STATES[kernel.form](kernel, labels, c, running)
    objective_arrays = _arrays(objective, float(kernel.weight.sum()))
    S = state.cluster_sums(labels)
    n = np.bincount(labels, kernel.weight, minlength=c)
    history = [objective.value(S, n)]
    stopped_because = "max_iter"
    rebuild = REBUILD if kernel.weight.max() < UNEVEN * kernel.weight.min() else 1
    n_iter = 0
    while n_iter < max_iter:
        n_iter += 1
        threshold = tol * float(np.abs(S * objective.weights(n)).sum())
        count = np.bincount(labels, minlength=c)
        T = objective.T
        previous = labels.copy()
        inner = np.array(T.T @ S @ T if objective.has_loss else S, order="C")
        moves = state.sweep(
            labels, count, inner, n.copy(), objective.inverse_norms(n), *objective_arrays, allow_empty, threshold
        )
        if n_iter % rebuild == 0:
            state.sums = state.rebuilt(labels, c)
        S = state.cluster_sums(labels)
        n = np.bincount(labels, kernel.weight, minlength=c)
        value = objective.value(S, n)
        if moves and value < history[-1]:  # gains were made of rounding
            labels, stopped_because = previous, "converged"
            state.sums = state.rebuilt(labels, c)
            S = state.cluster_sums(labels)
            break
        if moves:
            history.append(value)
            continue
        if placement is not None:
            node = placement(S, n)
            order = np.argsort(node)
            placed = objective.value(S[np.ix_(order, order)], n[order])
            if placed > value + threshold:
                labels, S, n = node[labels], S[np.ix_(order, order)], n[order]
                state.sums = np.ascontiguousarray(state.sums[order])
                history.append(placed)
                continue
        stopped_because = "converged"
        break
    return Solution(labels, history[-1], S, n_iter, stopped_because, history, running=state.sums)


def _arrays(objective: Dependence, total: float) -> tuple:
    """The objective as plain arrays and numbers for the compiled loops; `total` is the weight of all samples."""
    A = np.ascontiguousarray(objective.A)
    off_diagonal = (A != 0) & ~np.eye(len(A), dtype=bool)
    first = np.concatenate([[0], np.cumsum(off_diagonal.sum(axis=1))])
    neighbour = np.nonzero(off_diagonal)[1]
    T = np.ascontiguousarray(objective.T)
    norms = POWER[objective.normalize], objective.added_size(total)
    return A, T, first, neighbour, *norms, objective.coef, objective.penalty, objective.has_loss
