"""Point moves in rounds: every sample is judged by the same sums, those that gain move together, F is seen to rise."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernelclust._arrays import parts, to_host
from kernelclust._progress import log_round, set_step
from kernelclust.large._moves import Tables, best_moves, centred, move_tables
from kernelclust.large._rows import Rows
from kernelclust.objectives import ClusterObjective

LEVELS = 16  # weights that are told apart; more of them are rounded in the judgement of moves, not in the sums
ROUND = "round %d over %d samples: F = %.6g, %d moved"


class Pool(ABC):
    """Samples with labels, wherever they are; a round asks for proposals, tries some of them, and takes them or not."""

    levels: np.ndarray  # (l,) weights that samples have, or that stand for theirs

    @property
    @abstractmethod
    def n_samples(self) -> int: ...

    @abstractmethod
    def totals(self) -> tuple[np.ndarray, np.ndarray]:
        """Raw cluster sums S (c, c) and sizes n (c,) at the labels."""

    @abstractmethod
    def propose(self, tables: list[Tables], threshold: float) -> int:
        """Find for every sample the best move that gains more than the threshold; returns how many there are."""

    @abstractmethod
    def halve(self) -> int:
        """Keep the half of the proposals that gains most; returns how many are left."""

    @abstractmethod
    def trial(self) -> tuple[np.ndarray, np.ndarray]:
        """S and n once all proposals were taken."""

    @abstractmethod
    def accept(self) -> None:
        """Take the proposals."""


@dataclass(frozen=True)
class Climbed:
    """What rounds came to: raw S and n, and F after every round."""

    S: np.ndarray
    n: np.ndarray
    history: list[float] = field(default_factory=list)
    stopped_because: str = "max_iter"


def climb(
    pool: Pool,
    objective: ClusterObjective,
    *,
    max_iter: int = 100,
    tol: float = 1e-10,
    allow_empty: bool = False,
    report: Callable[[str], None] = lambda line: None,
) -> Climbed:
    """Raise F by rounds of moves until none gains more than `tol` times the sum of the absolute terms of F.

    Moves that gain one by one may lose together: then the half of them that gains most is tried, and so on down to a
    single one, which gains what it promised. So F never falls.
    """
    S, n = pool.totals()
    history = [objective.value(centred(S, n), n)]
    for number in range(max_iter):
        set_step("searching: F = {:.6g} after {} rounds over all samples", history[-1], number)
        tables = [move_tables(objective, S, n, float(weight), allow_empty) for weight in pool.levels]
        left = pool.propose(tables, tol * float(np.abs(centred(S, n) * objective.weights(n)).sum()))
        while left:
            S_new, n_new = pool.trial()
            value = objective.value(centred(S_new, n_new), n_new)
            if value > history[-1]:
                break
            left = pool.halve() if left > 1 else 0
        if not left:
            return Climbed(S, n, history, "converged")
        pool.accept()
        S, n = S_new, n_new
        history.append(value)
        log_round(report, ROUND, number + 1, pool.n_samples, value, left)
    return Climbed(S, n, history)


class LabelledPool(Pool):
    """Proposals (index, was, to, gain) for samples whose labels (m,) are at hand, arrays of the namespace xp."""

    xp: Any
    labels: Any
    c: int
    _allow_empty: bool
    _proposed: tuple[Any, ...] = ()

    @property
    def n_samples(self) -> int:
        return int(self.labels.shape[0])

    def _keep(self, index: Any, to: Any, gain: Any) -> None:
        """Proposals, but for one of each cluster that all its samples would leave: the one that gains least."""
        xp, was = self.xp, self.xp.take(self.labels, index)
        if not self._allow_empty and index.shape[0]:
            for j in range(self.c):
                leaving = int(xp.sum(xp.astype(was == j, xp.int64)))
                coming = int(xp.sum(xp.astype(to == j, xp.int64)))
                if leaving and not coming and leaving == int(xp.sum(xp.astype(self.labels == j, xp.int64))):
                    stays = xp.argmin(xp.where(was == j, gain, xp.full_like(gain, np.inf)))  # one of them
                    goes = xp.nonzero(xp.arange(was.shape[0], device=was.device) != stays)[0]
                    index, was, to, gain = (xp.take(one, goes) for one in (index, was, to, gain))
        self._proposed = index, was, to, gain

    def halve(self):
        xp, (index, _, to, gain) = self.xp, self._proposed
        best = xp.argsort(gain, descending=True, stable=True)[: max(1, index.shape[0] // 2)]
        best = xp.sort(best)
        self._keep(xp.take(index, best), xp.take(to, best), xp.take(gain, best))
        return self._proposed[0].shape[0]


class DevicePool(LabelledPool):
    """All samples on one device, with their similarity sums G (c, m), kept current by what moves."""

    def __init__(self, rows: Rows, labels: Any, n_clusters: int, free: Any = None, allow_empty: bool = False):
        self.rows, self.xp, self.labels, self.c = rows, rows.xp, labels, n_clusters
        self._free, self._allow_empty = free, allow_empty
        self.G, self.square = rows.sums(labels, n_clusters)  # the latter is sum_ij w_i w_j k_ij^2
        self.own = rows.own()
        self.levels, middle = weight_levels(to_host(rows.xp.unique_values(rows.weight)))
        self._level = level_of(rows.xp, rows.weight, middle)
        self._totals: tuple[np.ndarray, np.ndarray] | None = None

    def totals(self):
        if self._totals is None:
            self._totals = self._sums(self.G)
        return self._totals

    def _sums(self, G: Any) -> tuple[np.ndarray, np.ndarray]:
        """S and n at the labels, from similarity sums."""
        S, n = np.zeros((self.c, self.c)), np.zeros(self.c)
        for part in parts(self.labels.shape[0]):
            P = self.rows.one_hot(self.labels[part], self.c, self.rows.weight[part])
            S += to_host(G[:, part] @ P)
            n += to_host(self.xp.sum(P, axis=0))
        return (S + S.T) / 2, n

    def propose(self, tables, threshold):
        xp = self.xp
        to, gain = best_moves(xp, self.G, self.own, self.labels, self._level, tables)
        wanted = (to != self.labels) & (gain > threshold)
        if self._free is not None:
            wanted = wanted & self._free
        index = xp.nonzero(wanted)[0]
        self._keep(index, xp.take(to, index), xp.take(gain, index))
        return self._proposed[0].shape[0]

    def trial(self):
        index, was, to, _ = self._proposed
        (S, n), weight = self.totals(), self.xp.take(self.rows.weight, index)
        dP = self.rows.one_hot(to, self.c, weight) - self.rows.one_hot(was, self.c, weight)
        first = to_host(self.xp.take(self.G, index, axis=1) @ dP)
        second = to_host(self.rows.change(index, was, to, self.c, among=True) @ dP)
        S, n = S + first + first.T + (second + second.T) / 2, n + to_host(self.xp.sum(dP, axis=0))
        self._tried = S, n
        return S, n

    def accept(self):
        index, was, to, _ = self._proposed
        self.G = self.G + self.rows.change(index, was, to, self.c)
        self.labels = put(self.xp, self.labels, index, to)
        self._totals = self._tried

    def renumber(self, order: np.ndarray) -> None:
        """Let the cluster that is order[j] now be number j."""
        xp, on = self.xp, self.labels.device
        self.labels = xp.take(xp.asarray(np.argsort(order), dtype=self.labels.dtype, device=on), self.labels)
        self.G = xp.take(self.G, xp.asarray(order, device=on), axis=0)
        if self._totals is not None:
            self._totals = self._totals[0][np.ix_(order, order)], self._totals[1][order]

    def settle(self) -> float:
        """Take totals from a new pass; returns how far those that moves kept current were from them, relative."""
        S = self.rows.totals(self.labels, self.c)
        kept, (seen, n) = self.totals()[0], self._sums(self.G)
        self._totals = S, n
        return float(max(np.abs(kept - S).max(), np.abs(seen - S).max()) / (np.abs(S).max() or 1.0))

    def fresh(self) -> None:
        """Take the sums of all samples from a new pass."""
        (self.G, self.square), self._totals = self.rows.sums(self.labels, self.c), None


def put(xp: Any, array: Any, index: Any, values: Any) -> Any:
    """A copy of the array with values at an index that rises; the array API knows no such assignment."""
    every = xp.arange(array.shape[0], dtype=index.dtype, device=array.device)
    rank = xp.searchsorted(index, every)
    rank = xp.minimum(rank, xp.full_like(rank, index.shape[0] - 1))
    return xp.where(xp.take(index, rank) == every, xp.take(values, rank), array)


def weight_levels(different: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights that are told apart of all that there are, and those in the middle between two."""
    levels = different
    if len(different) > LEVELS:
        cuts = np.quantile(different, np.linspace(0, 1, LEVELS + 1))
        levels = np.sqrt(cuts[1:] * cuts[:-1])
    levels = np.sort(levels)
    return levels, (levels[1:] + levels[:-1]) / 2


def level_of(xp: Any, weight: Any, middle: np.ndarray) -> Any:
    """Which level stands for the weight of each sample; None where there is but one."""
    if len(middle) == 0:
        return None
    return xp.searchsorted(xp.asarray(middle, dtype=xp.float64, device=weight.device), weight)
