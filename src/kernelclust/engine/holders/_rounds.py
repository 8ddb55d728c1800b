"""Point moves in rounds: every sample is judged by the same sums, those that gain move together, F is seen to rise."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernelclust._progress import log_round, set_step
from kernelclust.engine._places import Whole
from kernelclust.engine.holders._moves import Centring, centred, move_tables
from kernelclust.engine.holders._subsample import Subsample
from kernelclust.objectives import ClusterObjective

LEVELS = 16  # weights that are told apart; more of them are rounded in the judgement of moves, not in the sums
ROUND = "round %d over %d samples: F = %.6g, %d moved"


class Pool(ABC):
    """All samples with labels, wherever they lie: in memory, on a device, in partitions.

    A round asks for proposals, tries some of them, and takes them or not. In the end the clusters are numbered, and the
    pool says what it alone can: similarities of samples, old and new, with the clusters.
    """

    c: int
    center: bool = True  # whether the kernel is centred; raw sums are not in any case
    same_kernel: bool = True  # whether bounds of the kernel that the search began with hold for it
    settled: float = 0.0  # rounds end when a smaller share of the samples moves
    rounds_before: int = 0  # rounds over a part of the samples, on the way to all of them

    @property
    @abstractmethod
    def n_samples(self) -> int: ...

    @abstractmethod
    def totals(self) -> tuple[np.ndarray, np.ndarray]:
        """Return raw cluster sums S (c, c) and sizes n (c,) at the labels."""

    @abstractmethod
    def propose(self, objective: ClusterObjective, tol: float, allow_empty: bool) -> int:
        """Find moves by which F rises, every sample for itself, and return how many there are."""

    @abstractmethod
    def halve(self) -> int:
        """Keep the proposals that gain most, and return how many are left."""

    @abstractmethod
    def trial(self) -> tuple[np.ndarray, np.ndarray]:
        """Return S and n once all proposals were taken."""

    @abstractmethod
    def accept(self) -> None:
        """Take the proposals."""

    def settle(self) -> float:
        """Take totals from a new pass, and return how far those that moves kept current were from them, relative."""
        return 0.0

    def fresh(self) -> None:
        """Take the sums of all samples from a new pass."""
        raise NotImplementedError

    @abstractmethod
    def renumber(self, order: np.ndarray) -> None:
        """Let the cluster that is order[j] now be number j."""

    @abstractmethod
    def bounds(self) -> tuple[np.ndarray, float]:
        """Return upper bounds on the leading eigenvalues of the kernel of all samples, and its trace."""

    @abstractmethod
    def finish(self, some: Subsample, objective: ClusterObjective) -> Whole:
        """Return what is known of all samples at their final labels."""

    @property
    def centring(self) -> Centring:
        return Centring.of(*self.totals(), self.center)


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
    history = [objective.value(centred(S, n, pool.center), n)]
    for number in range(max_iter):
        set_step("searching: F = {:.6g} after {} rounds over all samples", history[-1], number)
        left = pool.propose(objective, tol, allow_empty)
        while left:
            S_new, n_new = pool.trial()
            emptied = not allow_empty and bool(((n_new <= 0) & (n > 0)).any())
            value = -np.inf if emptied else objective.value(centred(S_new, n_new, pool.center), n_new)
            if value > history[-1]:
                break
            left = pool.halve() if left > 1 else 0
        if not left:
            return Climbed(S, n, history, "converged")
        pool.accept()
        S, n = S_new, n_new
        history.append(value)
        log_round(report, ROUND, number + 1, pool.n_samples, value, left)
        if left <= pool.settled * pool.n_samples:
            return Climbed(S, n, history, "converged")
    return Climbed(S, n, history)


def tables_of(pool: Pool, objective: ClusterObjective, levels: np.ndarray, tol: float, allow_empty: bool):
    """Return tables for samples of these weights, and the least gain that counts."""
    S, n = pool.totals()
    tables = tuple(move_tables(objective, S, n, float(weight), allow_empty) for weight in levels)
    return tables, tol * float(np.abs(centred(S, n) * objective.weights(n)).sum())


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
