"""Cutting planes with CCCP inside (Zhao, Kwok and Zhang, 2009, algorithms 1 and 2), for two clusters and for more.

    min_w |w|^2 / 2 + C xi(w),   xi(w) = max_y' Delta(y', y) - w . (Psi(y) - Psi(y')),   |w . s| <= limit

with the labels y that w gives. A *machine* says what scores, labels and Psi are; see `TwoClusters`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kernelclust.margin._features import Features
from kernelclust.margin._losses import TableLoss
from kernelclust.margin._qp import solve_cuts
from kernelclust.margin._search import search, two_by_two
from kernelclust.margin._table_search import search_table, table

CCCP_TOL = 0.01  # relative fall of the objective that ends an inner loop
CCCP_STEPS = 20
ROUNDS = 20
PATIENCE = 8  # cuts without a lower objective after which a run that follows its labels is given up


class Machine(Protocol):
    """Labels from weights; w is flat."""

    def scores(self, w: np.ndarray) -> np.ndarray: ...
    def labels(self, scores: np.ndarray) -> np.ndarray: ...
    def psi(self, labels: np.ndarray) -> np.ndarray: ...
    def most_violated(self, scores: np.ndarray, labels: np.ndarray) -> np.ndarray: ...
    def losses(self, others: np.ndarray, labels: np.ndarray) -> np.ndarray: ...
    def sides(self) -> np.ndarray: ...


@dataclass(frozen=True)
class TwoClusters:
    """y_i = sgn(w . x_i) as True and False, Psi(y) = sum_i y_i x_i."""

    features: Features
    loss: TableLoss

    def scores(self, w: np.ndarray) -> np.ndarray:
        return self.features.scores(w)

    def labels(self, scores: np.ndarray) -> np.ndarray:
        return scores >= 0

    def psi(self, labels: np.ndarray) -> np.ndarray:
        return self.features.sums(np.where(labels, 1.0, -1.0))

    def most_violated(self, scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return search(scores, labels, self.loss)

    def losses(self, others: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return self.loss.of_tables(two_by_two(others, labels))

    def sides(self) -> np.ndarray:
        """s with the balance |w . s| <= limit."""
        return self.features.sums(np.ones(self.features.n_samples))[None]


@dataclass(frozen=True)
class ManyClusters:
    """y_i = argmax_c w_c . x_i, Psi(y) = the sums of x over every cluster (Crammer and Singer, 2001)."""

    features: Features
    loss: TableLoss
    n_clusters: int
    least_rise: float = 1e-12  # steps of the search for y' that raise its value by less are not taken

    def scores(self, w: np.ndarray) -> np.ndarray:  # (n, k)
        return self.features.scores(w.reshape(-1, self.n_clusters))

    def labels(self, scores: np.ndarray) -> np.ndarray:
        return scores.argmax(axis=1)

    def psi(self, labels: np.ndarray) -> np.ndarray:
        return self.features.sums((labels[:, None] == np.arange(self.n_clusters)).astype(float)).ravel()

    def most_violated(self, scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return search_table(scores, labels, self.loss, self.least_rise)[0]

    def losses(self, others: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return self.loss.of_tables(np.array([table(other, labels, self.n_clusters) for other in others]))

    def sides(self) -> np.ndarray:
        """s_cd with the balance |sum_i f_ic - f_id| <= limit for every two clusters."""
        s = self.features.sums(np.ones(self.features.n_samples))
        c, d = np.triu_indices(self.n_clusters, 1)
        signs = np.eye(self.n_clusters)[c] - np.eye(self.n_clusters)[d]
        return np.einsum("f,pc->pfc", s, signs).reshape(len(c), -1)


@dataclass(frozen=True)
class Options:
    """C, the limit of the balance (None: no balance), epsilon of theorem 1, and cuts at most."""

    C: float
    limit: float | None = None
    epsilon: float = 0.03
    max_cuts: int = 60


@dataclass(frozen=True)
class MarginFit:
    """The iterate with the lowest true objective among those with the most clusters in use, and how the run went."""

    w: np.ndarray
    labels: np.ndarray
    objective: float  # |w|^2 / 2 + C slack
    slack: float
    n_cuts: int
    stopped_because: str  # "converged" or "max_cuts"
    history: list[float]  # true objective after every cut, or after every round of labels


_Iterate = tuple[np.ndarray, np.ndarray, float, float]  # w, labels, objective, slack


def _better(best: _Iterate | None, new: _Iterate) -> _Iterate:
    """The one with more clusters in use, then with the lower objective."""
    if best is None:
        return new
    rank, new_rank = ((-len(np.unique(labels)), objective) for _, labels, objective, _ in (best, new))
    return new if new_rank < rank else best


class _Cuts:
    """The working set: labelings y'_k and their Psi."""

    def __init__(self, machine: Machine, options: Options):
        self.machine, self.C, self.limit = machine, options.C, options.limit
        self.sides = None if options.limit is None else machine.sides()
        self.weights: np.ndarray | None = None  # of the cuts, in the last program
        self.others: list[np.ndarray] = []
        self.psis: list[np.ndarray] = []

    def __len__(self) -> int:
        return len(self.others)

    def add(self, other: np.ndarray, psi: np.ndarray) -> None:
        self.others.append(other)
        self.psis.append(psi)

    def gaps(self, labels: np.ndarray, psi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """g_k = Psi(y) - Psi(y'_k) and Delta(y'_k, y)."""
        return psi - np.array(self.psis), self.machine.losses(np.array(self.others), labels)

    def solve(self, labels: np.ndarray, psi: np.ndarray) -> tuple[np.ndarray, float]:
        """w for these labels and cuts, and its objective (eq. 17)."""
        sides = np.zeros((0, len(psi))) if self.sides is None else self.sides
        w, slack, self.weights = solve_cuts(
            *self.gaps(labels, psi), self.C, sides, self.limit or 0.0, start=self.weights
        )
        return w, float(w @ w / 2 + self.C * slack)

    def slack(self, w: np.ndarray, labels: np.ndarray, psi: np.ndarray) -> float:
        """xi that the working set asks for."""
        if not self.others:
            return 0.0
        cuts, losses = self.gaps(labels, psi)
        return max(float((losses - cuts @ w).max()), 0.0)

    def worst(self, w: np.ndarray, scores: np.ndarray, labels: np.ndarray, psi: np.ndarray):
        """The most violated labeling, its Psi, and xi(w)."""
        other = self.machine.most_violated(scores, labels)
        psi_other = self.machine.psi(other)
        loss = float(self.machine.losses(other[None], labels)[0])
        return other, psi_other, max(loss - float(w @ (psi - psi_other)), 0.0)


def from_weights(machine: Machine, w: np.ndarray, options: Options) -> MarginFit:
    """Cuts outside, CCCP inside: for every new cut, weights and labels take turns until the objective settles.

    Ends when no labeling violates the margin by more than epsilon beyond the working set: then (w, xi + epsilon) is
    feasible for all labelings (theorem 1). Labels follow w through jumps of Delta, so the objective need not fall from
    cut to cut; the best iterate is kept.
    """
    cuts = _Cuts(machine, options)
    scores = machine.scores(w)
    labels = machine.labels(scores)
    psi = machine.psi(labels)
    cuts.add(*cuts.worst(w, scores, labels, psi)[:2])
    history: list[float] = []
    best: _Iterate | None = None
    while True:
        before = np.inf
        for _ in range(CCCP_STEPS):
            w, value = cuts.solve(labels, psi)
            scores = machine.scores(w)
            given, labels = labels, machine.labels(scores)
            if np.array_equal(given, labels):
                break
            psi = machine.psi(labels)
            if before - value <= CCCP_TOL * value:
                break
            before = value
        other, psi_other, slack = cuts.worst(w, scores, labels, psi)
        history.append(float(w @ w / 2 + options.C * slack))
        best = _better(best, (w, labels, history[-1], slack))
        if slack <= cuts.slack(w, labels, psi) + options.epsilon:
            return MarginFit(*best, len(cuts), "converged", history)
        if len(cuts) >= options.max_cuts or len(history) - history.index(best[2]) > PATIENCE:
            return MarginFit(*best, len(cuts), "max_cuts", history)
        cuts.add(other, psi_other)


def from_labels(machine: Machine, labels: np.ndarray, options: Options) -> MarginFit:
    """CCCP outside, cuts inside: the weights are found for the labels given, then label anew.

    Keeps a good start (of k-means, say) where `from_weights` would wander. For a loss that depends on the number of
    different labels alone (error rate, and Rand for two clusters) the objective never rises from round to round, but
    for epsilon.
    """
    cuts = _Cuts(machine, options)
    psi = machine.psi(labels)
    w = np.zeros_like(psi)
    history: list[float] = []
    best: _Iterate | None = None
    stopped = "converged"
    for _ in range(ROUNDS):
        while True:
            scores = machine.scores(w)
            other, psi_other, slack = cuts.worst(w, scores, labels, psi)
            if len(cuts) and slack <= cuts.slack(w, labels, psi) + options.epsilon:
                break
            if len(cuts) >= options.max_cuts:
                stopped = "max_cuts"
                break
            cuts.add(other, psi_other)
            w, _ = cuts.solve(labels, psi)
        given, labels = labels, machine.labels(scores)
        same = np.array_equal(given, labels)
        if not same:
            psi = machine.psi(labels)
            slack = cuts.worst(w, scores, labels, psi)[2]
        history.append(float(w @ w / 2 + options.C * slack))
        best = _better(best, (w, labels, history[-1], slack))
        if same or stopped == "max_cuts":
            break
    assert best is not None  # there is at least one round
    return MarginFit(*best, len(cuts), stopped, history)
