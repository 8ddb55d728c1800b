"""Pools that store the label of every sample, and weights in levels."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelclust._arrays import like
from kernelclust.engine._moves import centred, move_tables
from kernelclust.engine._rounds import Pool
from kernelclust.objectives import ClusterObjective

LEVELS = 16  # weights that are told apart; more of them are rounded in the judgement of moves, not in the sums


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
        """Keep proposals, but for one of each cluster that all its samples would leave: the one that gains least."""
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
    """Return a copy of the array with values at an index that rises; the array API knows no such assignment."""
    every = xp.arange(array.shape[0], dtype=index.dtype, device=array.device)
    rank = xp.searchsorted(index, every)
    rank = xp.minimum(rank, xp.full_like(rank, index.shape[0] - 1))
    return xp.where(xp.take(index, rank) == every, xp.take(values, rank), array)


def weight_levels(different: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the levels that weights are rounded to, and the midpoints between two of them."""
    levels = different
    if len(different) > LEVELS:
        cuts = np.quantile(different, np.linspace(0, 1, LEVELS + 1))
        levels = np.sqrt(cuts[1:] * cuts[:-1])
    levels = np.sort(levels)
    return levels, (levels[1:] + levels[:-1]) / 2


def level_of(xp: Any, weight: Any, middle: np.ndarray) -> Any:
    """Return which level stands for the weight of each sample; None where there is but one."""
    if len(middle) == 0:
        return None
    return xp.searchsorted(like(middle, weight), weight)
