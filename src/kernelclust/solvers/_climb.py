"""Greedy ascent: point moves to convergence, alternated with placement where one is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernelclust._solution import Solution
from kernelclust.kernels import DenseKernel, LowRankKernel, feature_sums, one_hot
from kernelclust.kernels._loops import sum_rows
from kernelclust.objectives import POWER, Dependence
from kernelclust.solvers._allowed_loops import count_blocked
from kernelclust.solvers._block_loops import (
    exchange_chains,
    exchange_pairs,
    self_similarities,
    sweep_blocks,
)
from kernelclust.solvers._constraints import Constraints
from kernelclust.solvers._loops import next_move, sweep_dense, sweep_low_rank

REBUILD = 10  # sweeps after which running sums are computed afresh, so that rounding cannot add up
UNEVEN = 1e3  # ratio of weights from which this is done after every sweep: heavy samples leave rounding behind

ALL_PAIRS = 30  # up to so many blocks every swap is tried
LISTED, CROSSED, TRIPLES = (
    200,
    10,
    2,
)  # beyond: blocks of a cluster in line for another, tried each with each, in threes

Placement = Callable[..., np.ndarray]  # (S, n), and what is known about places -> node of each cluster


class _Dense:
    """Running similarity sums G = (K D Pi)' (c x m)."""

    def __init__(self, kernel: DenseKernel, labels: np.ndarray, n_clusters: int, running: np.ndarray | None):
        self.kernel, self.diagonal = kernel, kernel.diagonal()
        self.sums = self.rebuilt(labels, n_clusters) if running is None else running

    def rebuilt(self, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        kernel = self.kernel
        G = np.zeros((n_clusters, kernel.n_samples))
        sum_rows(kernel._K, kernel.weight, labels, G)
        n = np.bincount(labels, kernel.weight, minlength=n_clusters)
        means = np.bincount(labels, kernel.weight * kernel._centring.row_mean, minlength=n_clusters)
        G -= np.outer(n, kernel._centring.row_mean)
        G -= (means - kernel._centring.mean * n)[:, None]
        return G

    def cluster_sums(self, labels: np.ndarray) -> np.ndarray:
        S = self.sums @ one_hot(labels, len(self.sums), self.kernel.weight)
        return (S + S.T) / 2

    def sweep(self, labels, count, S, n, x, *objective) -> int:
        K = self.kernel
        return sweep_dense(
            K._K,
            K._centring.row_mean,
            K._centring.mean,
            K.weight,
            self.diagonal,
            labels,
            count,
            self.sums,
            S,
            n,
            x,
            *objective,
        )

    def data(self) -> tuple:
        K = self.kernel
        return K._K, K._centring.row_mean, K._centring.mean, True, K.weight

    def block_gains(self, mean) -> np.ndarray:
        return np.asarray(mean @ self.sums.T)


class _LowRank:
    """Running feature sums Pi' D B (c x d)."""

    def __init__(self, kernel: LowRankKernel, labels: np.ndarray, n_clusters: int, running: np.ndarray | None):
        self.kernel, self.diagonal = kernel, kernel.diagonal()
        self.sums = self.rebuilt(labels, n_clusters) if running is None else running

    def rebuilt(self, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        return feature_sums(self.kernel.factor, self.kernel.weight, labels, n_clusters)

    def cluster_sums(self, labels: np.ndarray) -> np.ndarray:
        return self.sums @ self.sums.T

    def sweep(self, labels, count, S, n, x, *objective) -> int:
        data = (self.kernel.factor, self.kernel.weight, self.diagonal)
        return sweep_low_rank(*data, labels, count, self.sums, S, n, x, *objective)

    def data(self) -> tuple:
        return self.kernel.factor, np.empty(0), 0.0, False, self.kernel.weight

    def block_gains(self, mean) -> np.ndarray:
        return np.asarray(mean @ self.kernel.factor) @ self.sums.T


class _Rows:
    """Running similarity sums of a kernel whose rows are made when a sample moves; no matrix is held."""

    def __init__(self, kernel, labels: np.ndarray, n_clusters: int, running: np.ndarray | None):
        self.kernel, self.diagonal = kernel, kernel.diagonal()
        self.sums = self.rebuilt(labels, n_clusters) if running is None else running

    def rebuilt(self, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        return np.ascontiguousarray((self.kernel @ one_hot(labels, n_clusters, self.kernel.weight)).T)

    def cluster_sums(self, labels: np.ndarray) -> np.ndarray:
        S = self.sums @ one_hot(labels, len(self.sums), self.kernel.weight)
        return (S + S.T) / 2

    def sweep(self, labels, count, S, n, x, *objective) -> int:
        weight, moves, i = self.kernel.weight, 0, -1
        while True:
            i, a = next_move(i + 1, weight, self.diagonal, labels, count, self.sums, S, n, x, *objective)
            if i == len(labels):
                return moves
            moved = weight[i] * self.kernel.rows(np.array([i]))[0]
            self.sums[a] -= moved
            self.sums[labels[i]] += moved
            moves += 1


STATES = {"dense": _Dense, "low_rank": _LowRank, "rows": _Rows}


def climb(
    kernel: Any,
    objective: Dependence,
    labels: np.ndarray,
    *,
    placement: Placement | None = None,
    running: np.ndarray | None = None,
    constraints: Constraints | None = None,
    max_iter: int = 100,
    tol: float = 1e-10,
    allow_empty: bool = False,
) -> Solution:
    """Raise F from a labeling by moving single samples, and whole clusters where a placement is given.

    `kernel` has one of the forms of `STATES`.

    A sweep visits every sample once and moves it where F rises most, if it rises by more than `tol` times the sum
    of the absolute terms of F. A placement is taken when it raises F. Stops when neither moves anything. `running`
    are the sums of an earlier climb that ended at these labels; they are used up. With `constraints`, which the labels
    must keep, blocks move instead of samples and are exchanged where links or sizes stand in the way; what soft labels
    add counts as part of F.
    """
    c = objective.n_clusters
    labels = np.array(labels, dtype=np.intp)
    state = (_LowRank if kernel.factor is not None else _Dense if hasattr(kernel, "_K") else _Rows)(
        kernel, labels, c, running
    )
    objective_arrays = _arrays(objective, float(kernel.weight.sum()))
    S = state.cluster_sums(labels)
    n = np.bincount(labels, kernel.weight, minlength=c)
    blocks = None if constraints is None else _Blocks(state, constraints, objective_arrays, allow_empty)
    history = [objective.value(S, n) + (0.0 if constraints is None else constraints.gain(labels))]
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
        norms = objective.inverse_norms(n)
        if blocks is None:
            moves = state.sweep(labels, count, inner, n.copy(), norms, *objective_arrays, allow_empty, threshold)
        else:
            moves = blocks.sweep(labels, count, inner, n.copy(), norms, threshold)
            moves = moves or blocks.exchange(labels, count, S.copy(), n.copy(), objective, threshold)
        if n_iter % rebuild == 0:
            state.sums = state.rebuilt(labels, c)
        S = state.cluster_sums(labels)
        n = np.bincount(labels, kernel.weight, minlength=c)
        value = objective.value(S, n) + (0.0 if constraints is None else constraints.gain(labels))
        if moves and value < history[-1]:  # gains were made of rounding
            labels, stopped_because = previous, "converged"
            state.sums = state.rebuilt(labels, c)
            S = state.cluster_sums(labels)
            break
        if moves:
            history.append(value)
            continue
        if placement is not None:
            node = placement(S, n) if constraints is None else placement(S, n, **constraints.placing(labels))
            order = np.argsort(node)
            placed = objective.value(S[np.ix_(order, order)], n[order])
            placed += 0.0 if constraints is None else constraints.gain(node[labels])
            if placed > value + threshold:
                labels, S, n = node[labels], S[np.ix_(order, order)], n[order]
                state.sums = np.ascontiguousarray(state.sums[order])
                history.append(placed)
                continue
        stopped_because = "converged"
        break
    return Solution(labels, history[-1], S, n_iter, stopped_because, history, running=state.sums)


class _Blocks:
    """Sweeps and exchanges of blocks, beside the running sums of a climb."""

    def __init__(self, state, constraints: Constraints, form: tuple, allow_empty: bool):
        self.state, self.constraints, self.form = state, constraints, form
        self.data = state.data()
        blocks = *constraints.members, constraints.weight
        self.own = self_similarities(self.data, blocks, state.diagonal)
        self.blocks = *blocks, self.own, constraints.place, *constraints.linked
        slack = constraints.slack
        self.limits = constraints.lower, constraints.upper, constraints.pull, bool(allow_empty), slack

    def _now(self, labels: np.ndarray, count: np.ndarray, n: np.ndarray) -> tuple:
        """State for the loops; `count` becomes the number of blocks in each cluster."""
        label = self.constraints.of_blocks(labels)
        count[:] = np.bincount(label, minlength=len(n))
        blocked = count_blocked(label, *self.constraints.linked, len(n))
        return labels, label, count, self.state.sums, n, blocked

    def sweep(self, labels, count, S, n, x, threshold) -> int:
        now = self._now(labels, count, n)
        return sweep_blocks(self.data, self.blocks, now, self.limits, self.form, S, x, threshold)

    def exchange(self, labels, count, S, n, objective: Dependence, threshold) -> int:
        """Chains of cannot-linked blocks, and swaps where sizes are bounded; S and n are used up."""
        constraints, moves = self.constraints, 0
        now = self._now(labels, count, n)
        arguments = self.data, self.blocks, now, self.limits, self.form, S, threshold
        if constraints.has_links:
            moves += exchange_chains(*arguments)
        small = constraints.n_blocks <= ALL_PAIRS and (constraints.has_links or constraints.has_sizes)
        if small or self._sizes_bind(n):
            crossed, triples = (constraints.n_blocks, ALL_PAIRS // len(n)) if small else (CROSSED, TRIPLES)
            depth = constraints.n_blocks if small else LISTED
            for _ in range(REBUILD):
                tops, gain = self._in_line(now[1], S, n, objective, depth)
                made = exchange_pairs(tops, gain, crossed, triples, -np.inf if small else 0.0, *arguments)
                moves += made
                if not made:
                    break
        return moves

    def _sizes_bind(self, n: np.ndarray) -> bool:
        """Whether the heaviest block would not fit everywhere."""
        lower, upper, heaviest = self.constraints.lower, self.constraints.upper, self.constraints.weight.max()
        return bool(np.any(n + heaviest > upper) or np.any((n - heaviest < lower) & (lower > 0)))

    def _in_line(self, label, S, n, objective: Dependence, depth: int) -> tuple[np.ndarray, np.ndarray]:
        """(c, c, depth) free blocks of cluster a that would gain most from b, -1 at the end, and about how much."""
        constraints, c = self.constraints, len(n)
        M, h = objective.slopes(S, n)
        rise = self.state.block_gains(constraints.mean) @ M + np.where(n > 0, h, 0.0)
        rise = rise * constraints.weight[:, None] + constraints.pull
        rise -= rise[np.arange(len(label)), label][:, None]
        tops, gain = np.full((c, c, depth), -1, dtype=np.intp), np.full((c, c, depth), -np.inf)
        for a in range(c):
            here = np.flatnonzero((label == a) & (constraints.place < 0))
            loss = -rise[here]
            if len(here) > depth:
                best = np.argpartition(loss, depth - 1, axis=0)[:depth]
                order = np.take_along_axis(best, np.argsort(np.take_along_axis(loss, best, axis=0), axis=0), axis=0)
            else:
                order = np.argsort(loss, axis=0, kind="stable")
            tops[a, :, : len(order)] = here[order].T
            gain[a, :, : len(order)] = -np.take_along_axis(loss, order, axis=0).T
        return tops, gain


def _arrays(objective: Dependence, total: float) -> tuple:
    """The objective as plain arrays and numbers for the compiled loops; `total` is the weight of all samples."""
    A = np.ascontiguousarray(objective.A)
    off_diagonal = (A != 0) & ~np.eye(len(A), dtype=bool)
    first = np.concatenate([[0], np.cumsum(off_diagonal.sum(axis=1))])
    neighbour = np.nonzero(off_diagonal)[1]
    T = np.ascontiguousarray(objective.T)
    norms = POWER[objective.normalize], objective.added_size(total)
    return A, T, first, neighbour, *norms, objective.coef, objective.penalty, objective.has_loss
