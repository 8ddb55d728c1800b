"""The labeling into k clusters that violates the margin most, by batches of moves from several starts.

For k > 2 no exact search is known that is fast. With the sizes of y' fixed the value is concave in the table, so a
relaxation gives good starts and steps that change one or two cells at a time finish: on tiny problems they find what
enumeration finds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from kernelclust.margin._table_loss import TableLoss

LEAST_RISE = 1e-12
MAX_STEPS = 1000
RELAXED_STEPS = 20
PAIR_CELLS = 100_000  # cells of the tables that pairs of batches may make
START_SAMPLES = 100  # samples that all starts together may have, but for the two of the relaxation


def search_table(
    F: np.ndarray, y: np.ndarray, loss: TableLoss, least_rise: float = LEAST_RISE, weight: np.ndarray | None = None
) -> tuple[np.ndarray, float]:
    """Return the best y' found and sum_i s_i F[i, y'_i] + Delta(y', y); F (n, k), y (n,) labels, s (n,) weights.

    Steps that raise the value by less than `least_rise` are not taken. Samples are not parted: repeat them for that.
    """
    task = _Task(F, y, loss, weight)
    n, k = F.shape
    if loss.only_diagonal:  # a sum over samples: each for itself
        gain = float(loss.affine(np.zeros(1), 0.0)[1][0] * loss.phi_at(np.ones(1))[0])
        z = (F + np.where(np.arange(k) == y[:, None], 0.0, gain)).argmax(axis=1)
        return z, task.value(z)
    starts = _starts(task)[: max(2, START_SAMPLES // n)]
    return max((_climb(task, start, least_rise) for start in starts), key=lambda found: found[1])


def table(z: np.ndarray, y: np.ndarray, k: int, weight: np.ndarray | None = None) -> np.ndarray:
    """Return the table (k, k) of counts or weights, rows z."""
    return np.bincount(z * k + y, weight, minlength=k * k).reshape(k, k)


class _Task(NamedTuple):
    """Input of the search."""

    F: np.ndarray  # (n, k)
    y: np.ndarray
    loss: TableLoss
    weight: np.ndarray | None

    def table(self, z: np.ndarray) -> np.ndarray:
        return table(z, self.y, self.F.shape[1], self.weight)

    def score(self, z: np.ndarray) -> float:
        scores = self.F[np.arange(len(z)), z]
        return float(scores.sum() if self.weight is None else self.weight @ scores)

    def value(self, z: np.ndarray) -> float:
        return self.score(z) + float(self.loss.of_tables(self.table(z)))


# -- starts -----------------------------------------------------------------------------------------------------------


def _starts(task: _Task) -> list[np.ndarray]:
    """List starts: two of a relaxation, all second choices, half of these, all samples in one cluster, y itself."""
    F, y = task.F, task.y
    n, k = F.shape
    others = F.copy()
    others[np.arange(n), y] = -np.inf
    second = others.argmax(axis=1)
    margin = F[np.arange(n), y] - others.max(axis=1)
    half = np.where(_share_below(margin, y, k) < 0.5, second, y)
    return [*_relaxed(task), half, second, *(np.full(n, c) for c in range(k)), y]


def _share_below(margin: np.ndarray, y: np.ndarray, k: int) -> np.ndarray:
    """Return the fraction of the samples of the same label with a smaller margin."""
    order = np.lexsort((margin, y))
    sizes = np.bincount(y, minlength=k)
    share = np.empty(len(y))
    share[order] = (np.arange(len(y)) - np.repeat(np.cumsum(sizes) - sizes, sizes)) / np.repeat(sizes, sizes)
    return share


def _relaxed(task: _Task) -> list[np.ndarray]:
    """Return the two best labelings of conditional gradients: each sample in its best cluster at the mean slope."""
    sizes = task.table(task.y).sum(axis=0)
    outer = np.outer(sizes, sizes) / sizes.sum()
    slope = _slopes(np.round(outer).astype(int) if task.weight is None else outer, task)
    found = []
    for step in range(RELAXED_STEPS):
        z = (task.F + slope[:, task.y].T).argmax(axis=1)
        found.append((task.value(z), -step, z))
        slope = slope + 2 / (step + 3) * (_slopes(task.table(z), task) - slope)
    found.sort(key=lambda one: one[:2], reverse=True)
    return [z for _, _, z in found[:2]]


def _slopes(N: np.ndarray, task: _Task) -> np.ndarray:
    """Return Delta, for a weight of one, with one more sample of mean weight in each cell of the table (k, k)."""
    k, loss = len(N), task.loss
    step = 1 if task.weight is None else float(task.weight.mean())
    most = len(task.y) if task.weight is None else np.inf  # counts are looked up
    more = np.minimum(N + step * np.eye(k * k, dtype=N.dtype).reshape(k, k, k, k), most).astype(N.dtype)
    cells = loss.phi_at(more)
    joint = np.einsum("...ii->...", cells) if loss.only_diagonal else cells.sum(axis=(-2, -1))
    own = loss.phi_at(np.minimum(more.sum(axis=-1), most).astype(N.dtype)).sum(axis=-1)
    given = loss.phi_at(np.minimum(N.sum(axis=0), most).astype(N.dtype))
    base, rate = loss.affine(own, float(given.sum()))
    return (base - rate * joint) / step


# -- steps ------------------------------------------------------------------------------------------------------------


def _climb(task: _Task, z: np.ndarray, least_rise: float) -> tuple[np.ndarray, float]:
    """Move batches while the value rises; where none helps, try other names for the clusters, then two batches."""
    value = task.value(z)
    for _ in range(MAX_STEPS):
        batches = _batches(task, z)
        for step in (_one_batch, _new_names, _two_batches):
            moved = step(batches, task, z)
            reached = task.value(moved)
            if reached > value + least_rise:
                break
        else:
            break
        z, value = moved, reached
    return z, value


def _one_batch(batches: _Batches, task: _Task, z: np.ndarray) -> np.ndarray:
    target, at = np.unravel_index(int(batches.values.argmax()), batches.values.shape)
    return batches.apply(z, [(target, at)])


def _new_names(batches: _Batches | None, task: _Task, z: np.ndarray) -> np.ndarray:
    """Rename the clusters of y' by an assignment that maximises the scores."""
    k = task.F.shape[1]
    sums = np.zeros((k, k))
    np.add.at(sums, z, task.F if task.weight is None else task.F * task.weight[:, None])
    return linear_sum_assignment(sums, maximize=True)[1][z]


def _two_batches(batches: _Batches, task: _Task, z: np.ndarray) -> np.ndarray:
    """Move the best two batches of different cells, among the best single sample and the best batch of each cell."""
    values, (n, k) = batches.values, task.F.shape
    N = task.table(z)
    begins = np.unique(batches.first)
    ends = np.append(begins[1:], n)
    largest = np.array([s + values[:, s:t].argmax(axis=1) for s, t in zip(begins, ends, strict=True)])  # (cells, k)
    at = np.unique(np.concatenate([np.repeat(begins, k), largest.ravel()]) * k + np.tile(np.arange(k), 2 * len(begins)))
    at, e = at // k, at % k
    top = np.argsort(-values[e, at], kind="stable")[: int(np.sqrt(PAIR_CELLS) / k)]
    top = top[values[e[top], at[top]] > -np.inf]
    at, e = at[top], e[top]
    c, j, t = batches.cell[at] // k, batches.cell[at] % k, batches.sizes[e, at]
    steps = np.zeros((len(at), k, k), dtype=N.dtype)
    steps[np.arange(len(at)), c, j], steps[np.arange(len(at)), e, j] = -t, t
    apart = batches.first[at][:, None] != batches.first[at]
    tables = np.where(apart[..., None, None], N + steps[:, None] + steps, N)
    gains = batches.gains[e, at]
    paired = np.where(apart, gains[:, None] + gains + task.loss.of_tables(tables), -np.inf)
    one, other = np.unravel_index(int(paired.argmax()), paired.shape)
    return batches.apply(z, [(e[one], at[one]), (e[other], at[other])])


class _Batches(NamedTuple):
    """Entry (e, at): samples order[e, first[at] : at + 1], all of one cell, move to cluster e."""

    values: np.ndarray  # (k, n): of the labeling with this batch moved
    gains: np.ndarray  # (k, n): rise of its sum of F
    sizes: np.ndarray  # (k, n): its samples, or their weight
    order: np.ndarray  # (k, n): samples cell by cell, those that gain most first
    first: np.ndarray  # (n,): where the cell begins
    cell: np.ndarray  # (n,): cluster * k + column

    def apply(self, z: np.ndarray, entries) -> np.ndarray:
        moved = z.copy()
        for target, at in entries:
            moved[self.order[target, self.first[at] : at + 1]] = target
        return moved


def _batches(task: _Task, z: np.ndarray) -> _Batches:
    """Return all batches: the t samples of a cell (c, j) that gain most by a move to e, for every c, j, e and t."""
    F, weight = task.F, task.weight
    n, k = F.shape
    gain = (F - F[np.arange(n), z][:, None]).T
    cell = z * k + task.y
    order = np.argsort(-gain, axis=1)
    by_cell = np.argsort(cell.astype(np.int16)[order] if k < 182 else cell[order], axis=1, kind="stable")
    order = np.take_along_axis(order, by_cell, axis=1)
    cell = np.sort(cell)
    first = np.searchsorted(cell, cell)
    if weight is None:
        t, most = np.arange(n) - first + 1, n  # counts are looked up
    else:
        t, most, gain = _from_first(weight[order], first), np.inf, gain * weight
    gains = _from_first(np.take_along_axis(gain, order, axis=1), first)
    values = task.score(z) + gains + _moved_loss(task.table(z), cell, t, most, task.loss)
    values[cell // k == np.arange(k)[:, None]] = -np.inf
    return _Batches(values, gains, np.broadcast_to(t, (k, n)), order, first, cell)


def _from_first(rows: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return sums along rows (k, n) from where the cell begins."""
    sums = np.cumsum(rows, axis=1)
    return sums - np.where(first > 0, sums[:, first - 1], 0.0)


def _moved_loss(N: np.ndarray, cell: np.ndarray, t: np.ndarray, most: float, loss: TableLoss) -> np.ndarray:
    """Return Delta (k, n) with t of a cell of the table N moved to cluster e = 0..k-1."""
    k = len(N)
    c, j, e = cell // k, cell % k, np.arange(k)[:, None]
    sizes, here, there, phi = N.sum(axis=1), N[c, j], N[e, j], loss.phi_at

    def after(before: np.ndarray) -> np.ndarray:
        return np.minimum(before + t, most).astype(N.dtype)

    own = phi(sizes).sum() + (phi(sizes[c] - t) - phi(sizes[c])) + (phi(after(sizes[e])) - phi(sizes[e]))
    joint = phi(N).sum() + (phi(here - t) - phi(here)) + (phi(after(there)) - phi(there))
    base, rate = loss.affine(own, float(phi(N.sum(axis=0)).sum()))
    return base - rate * joint
