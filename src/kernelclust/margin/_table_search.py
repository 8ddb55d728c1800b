"""The labeling into k clusters that violates the margin most, by batches of moves from several starts.

For k > 2 no exact search is known that is fast. With the sizes of y' fixed the value is concave in the table, so a
relaxation gives good starts and steps that change one or two cells at a time finish: on tiny problems they find what
enumeration finds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from kernelclust.margin._losses import TableLoss

LEAST_RISE = 1e-12
MAX_STEPS = 1000
RELAXED_STEPS = 20
PAIR_CELLS = 100_000  # cells of the tables that pairs of batches may make
START_SAMPLES = 100  # samples that all starts together may have, but for the two of the relaxation


def search_table(
    F: np.ndarray, y: np.ndarray, loss: TableLoss, least_rise: float = LEAST_RISE
) -> tuple[np.ndarray, float]:
    """The best y' found and sum_i F[i, y'_i] + Delta(y', y); F (n, k), y (n,) labels 0..k-1.

    Steps that raise the value by less than `least_rise` are not taken.
    """
    n, k = F.shape
    if loss.only_diagonal:  # a sum over samples: each for itself
        gain = float(loss.affine(np.zeros(1), 0.0)[1][0] * loss.phi[1])
        z = (F + np.where(np.arange(k) == y[:, None], 0.0, gain)).argmax(axis=1)
        return z, _value(F, z, y, loss)
    starts = _starts(F, y, loss)[: max(2, START_SAMPLES // n)]
    return max((_climb(F, y, loss, start, least_rise) for start in starts), key=lambda found: found[1])


def table(z: np.ndarray, y: np.ndarray, k: int) -> np.ndarray:
    """(k, k) counts, rows z."""
    return np.bincount(z * k + y, minlength=k * k).reshape(k, k)


def _value(F: np.ndarray, z: np.ndarray, y: np.ndarray, loss: TableLoss) -> float:
    return _score(F, z) + float(loss.of_tables(table(z, y, F.shape[1])))


def _score(F: np.ndarray, z: np.ndarray) -> float:
    return float(F[np.arange(len(z)), z].sum())


# -- starts -----------------------------------------------------------------------------------------------------------


def _starts(F: np.ndarray, y: np.ndarray, loss: TableLoss) -> list[np.ndarray]:
    """Two of a relaxation, everybody's second choice, half of these, all samples in one cluster, y itself."""
    n, k = F.shape
    others = F.copy()
    others[np.arange(n), y] = -np.inf
    second = others.argmax(axis=1)
    margin = F[np.arange(n), y] - others.max(axis=1)
    half = np.where(_share_below(margin, y, k) < 0.5, second, y)
    return [*_relaxed(F, y, loss), half, second, *(np.full(n, c) for c in range(k)), y]


def _share_below(margin: np.ndarray, y: np.ndarray, k: int) -> np.ndarray:
    """Share of the samples of the same label with a smaller margin."""
    order = np.lexsort((margin, y))
    sizes = np.bincount(y, minlength=k)
    share = np.empty(len(y))
    share[order] = (np.arange(len(y)) - np.repeat(np.cumsum(sizes) - sizes, sizes)) / np.repeat(sizes, sizes)
    return share


def _relaxed(F: np.ndarray, y: np.ndarray, loss: TableLoss) -> list[np.ndarray]:
    """The two best labelings on the way of conditional gradients: each sample in its best cluster at the mean slope."""
    n, k = F.shape
    sizes = np.bincount(y, minlength=k)
    slope = _slopes(np.round(np.outer(sizes, sizes) / n).astype(int), loss)
    found = []
    for step in range(RELAXED_STEPS):
        z = (F + slope[:, y].T).argmax(axis=1)
        found.append((_value(F, z, y, loss), -step, z))
        slope = slope + 2 / (step + 3) * (_slopes(table(z, y, k), loss) - slope)
    found.sort(key=lambda one: one[:2], reverse=True)
    return [z for _, _, z in found[:2]]


def _slopes(N: np.ndarray, loss: TableLoss) -> np.ndarray:
    """Delta with one more sample in each cell of the table (k, k)."""
    k = len(N)
    more = np.minimum(N + np.eye(k * k, dtype=int).reshape(k, k, k, k), loss.n)
    cells = loss.phi[more]
    joint = np.einsum("...ii->...", cells) if loss.only_diagonal else cells.sum(axis=(-2, -1))
    own = loss.phi[np.minimum(more.sum(axis=-1), loss.n)].sum(axis=-1)
    base, rate = loss.affine(own, float(loss.phi[np.minimum(N.sum(axis=0), loss.n)].sum()))
    return base - rate * joint


# -- steps ------------------------------------------------------------------------------------------------------------


def _climb(F: np.ndarray, y: np.ndarray, loss: TableLoss, z: np.ndarray, least_rise: float) -> tuple[np.ndarray, float]:
    """Batches of moves while the value rises; where none helps, other names for the clusters, then two batches."""
    value = _value(F, z, y, loss)
    for _ in range(MAX_STEPS):
        batches = _batches(F, z, y, loss)
        for step in (_one_batch, _new_names, _two_batches):
            moved = step(batches, F, z, y, loss)
            reached = _value(F, moved, y, loss)
            if reached > value + least_rise:
                break
        else:
            break
        z, value = moved, reached
    return z, value


def _one_batch(batches: _Batches, F: np.ndarray, z: np.ndarray, y: np.ndarray, loss: TableLoss) -> np.ndarray:
    target, at = np.unravel_index(int(batches.values.argmax()), batches.values.shape)
    return batches.apply(z, [(target, at)])


def _new_names(batches: _Batches, F: np.ndarray, z: np.ndarray, y: np.ndarray, loss: TableLoss) -> np.ndarray:
    """The names of the clusters of y' are free: an assignment by scores."""
    k = F.shape[1]
    sums = np.zeros((k, k))
    np.add.at(sums, z, F)
    return linear_sum_assignment(sums, maximize=True)[1][z]


def _two_batches(batches: _Batches, F: np.ndarray, z: np.ndarray, y: np.ndarray, loss: TableLoss) -> np.ndarray:
    """The best two batches of different cells at once, among the best single sample and the best batch of each cell."""
    values, k, n = batches.values, F.shape[1], loss.n
    N = table(z, y, k)
    begins = np.unique(batches.first)
    ends = np.append(begins[1:], n)
    largest = np.array([s + values[:, s:t].argmax(axis=1) for s, t in zip(begins, ends, strict=True)])  # (cells, k)
    at = np.unique(np.concatenate([np.repeat(begins, k), largest.ravel()]) * k + np.tile(np.arange(k), 2 * len(begins)))
    at, e = at // k, at % k
    top = np.argsort(-values[e, at], kind="stable")[: int(np.sqrt(PAIR_CELLS) / k)]
    top = top[values[e[top], at[top]] > -np.inf]
    at, e = at[top], e[top]
    c, j, t = batches.cell[at] // k, batches.cell[at] % k, at - batches.first[at] + 1
    steps = np.zeros((len(at), k, k), dtype=int)
    steps[np.arange(len(at)), c, j], steps[np.arange(len(at)), e, j] = -t, t
    apart = batches.first[at][:, None] != batches.first[at]
    tables = np.where(apart[..., None, None], N + steps[:, None] + steps, N)
    gains = batches.gains[e, at]
    paired = np.where(apart, gains[:, None] + gains + loss.of_tables(tables), -np.inf)
    one, other = np.unravel_index(int(paired.argmax()), paired.shape)
    return batches.apply(z, [(e[one], at[one]), (e[other], at[other])])


class _Batches(NamedTuple):
    """Entry (e, at): samples order[e, first[at] : at + 1], all of one cell, move to cluster e."""

    values: np.ndarray  # (k, n): of the labeling with this batch moved
    gains: np.ndarray  # (k, n): rise of its sum of F
    order: np.ndarray  # (k, n): samples cell by cell, those that gain most first
    first: np.ndarray  # (n,): where the cell begins
    cell: np.ndarray  # (n,): cluster * k + column

    def apply(self, z: np.ndarray, entries) -> np.ndarray:
        moved = z.copy()
        for target, at in entries:
            moved[self.order[target, self.first[at] : at + 1]] = target
        return moved


def _batches(F: np.ndarray, z: np.ndarray, y: np.ndarray, loss: TableLoss) -> _Batches:
    """All batches: the t samples of a cell (c, j) that gain most by a move to e, for every c, j, e and t."""
    n, k = F.shape
    gain = (F - F[np.arange(n), z][:, None]).T
    cell = z * k + y
    order = np.argsort(-gain, axis=1)
    by_cell = np.argsort(cell.astype(np.int16)[order] if k < 182 else cell[order], axis=1, kind="stable")
    order = np.take_along_axis(order, by_cell, axis=1)
    cell = np.sort(cell)
    first = np.searchsorted(cell, cell)
    t = np.arange(n) - first + 1
    sums = np.cumsum(np.take_along_axis(gain, order, axis=1), axis=1)
    gains = sums - np.where(first > 0, sums[:, first - 1], 0.0)
    c, j, e = cell // k, cell % k, np.arange(k)[:, None]
    N, phi = table(z, y, k), loss.phi
    sizes, here, there = N.sum(axis=1), N[c, j], N[e, j]
    own = phi[sizes].sum() + (phi[sizes[c] - t] - phi[sizes[c]]) + (phi[np.minimum(sizes[e] + t, n)] - phi[sizes[e]])
    joint = phi[N].sum() + (phi[here - t] - phi[here]) + (phi[np.minimum(there + t, n)] - phi[there])
    base, rate = loss.affine(own, float(phi[N.sum(axis=0)].sum()))
    values = np.where(c == e, -np.inf, _score(F, z) + gains + base - rate * joint)
    return _Batches(values, gains, order, first, cell)
