"""Labelings that keep what is known, near to a labeling that does not."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from kernelclust._compiled import floats, integers
from kernelclust.constraints._constraints import Constraints
from kernelclust.constraints._repair_loops import colour, pack_largest, settle_sizes, shift_sizes

KICKS, LOOKED = 50, 5e6  # a start is shaken so often, and so many swaps are looked at, before the search gives it up
SHAKEN = 3  # swaps a shake
SEVERAL = 1500  # blocks that are exchanged, of many


def repair(constraints: Constraints, labels: np.ndarray, E: np.ndarray, *, allow_empty: bool = False) -> np.ndarray:
    """Return a labeling that keeps everything, near to the one given in the features E (m x d)."""
    wish = constraints.of_blocks(labels)
    wish = np.where(constraints.place >= 0, constraints.place, wish)
    label = wish.copy()
    good = constraints.keeps_links(label) and constraints.keeps_sizes(label)
    empty = not allow_empty and len(np.unique(label)) < constraints.n_clusters
    if good and not empty:
        return label[constraints.block]
    score = closeness(constraints, label, E)
    if not good:
        label = separate(constraints, wish, score)
        if not fit_sizes(constraints, label, score) and constraints.strict and not settle(constraints, label, score):
            label = _numbered_witness(constraints, score)
    if not allow_empty:
        fill(constraints, label, score)
    return label[constraints.block]


def _numbered_witness(constraints: Constraints, score: np.ndarray) -> np.ndarray:
    """Return the labeling known to keep everything, clusters that may change places numbered as the scores (M, c)
    wish.
    """
    assert constraints.witness is not None
    label, c = constraints.witness, constraints.n_clusters
    benefit = np.zeros((c, c))
    np.add.at(benefit, label, score * constraints.weight[:, None])
    node, free = np.arange(c), np.flatnonzero(constraints.movable)
    node[free] = free[linear_sum_assignment(benefit[np.ix_(free, free)], maximize=True)[1]]
    return node[label]


def closeness(constraints: Constraints, label: np.ndarray, E: np.ndarray) -> np.ndarray:
    """Return (M, c) minus half the squared distance of a block's mean from a cluster's, but for a constant a block."""
    blocks = np.asarray(constraints.mean @ E)
    n = np.bincount(label, constraints.weight, minlength=constraints.n_clusters)
    sums = np.zeros((constraints.n_clusters, E.shape[1]))
    np.add.at(sums, label, blocks * constraints.weight[:, None])
    centres = sums / np.where(n > 0, n, 1.0)[:, None]
    return blocks @ centres.T - 0.5 * np.einsum("ij,ij->i", centres, centres)


def separate(constraints: Constraints, wish: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Keep cannot-links: greedily, with the most constrained first, or as the witness has it; nearly, without one."""
    first, link = constraints.linked
    degree = np.diff(first)
    free = np.flatnonzero((constraints.place < 0) & (degree > 0))
    if not len(free):
        return wish.copy()
    order = integers(free[np.argsort(-degree[free], kind="stable")])
    wish, score = integers(wish), floats(score)
    for dynamic in (False, True):
        label = wish.copy()
        label[free] = -1
        if colour(order, wish, label, first, link, score, dynamic):
            return label
    if constraints.witness is not None:
        label = wish.copy()
        label[free] = _numbered_witness(constraints, score)[free]
    return label


def fit_sizes(constraints: Constraints, label: np.ndarray, score: np.ndarray) -> bool:
    """Move blocks, cheapest first, until sizes keep their bounds; False where that gets stuck."""
    first, link = constraints.linked
    weight, c = constraints.weight, constraints.n_clusters
    lower, upper, slack = floats(constraints.lower), floats(constraints.upper), constraints.slack
    n = np.bincount(label, weight, minlength=c)
    free = constraints.place < 0
    for filling in (False, True):
        while True:
            off = n < lower - slack if filling else n > upper + slack
            if not off.any():
                break
            rows = np.flatnonzero(free if filling else free & off[label])
            columns = np.flatnonzero(off) if filling else np.arange(c)
            cost = score[rows, label[rows]][:, None] - score[rows][:, columns]
            order = np.argsort(cost, axis=None, kind="stable")
            block, target = rows[order // len(columns)], columns[order % len(columns)]
            if not shift_sizes(block, target, filling, label, weight, n, first, link, lower, upper, slack):
                return False
    return constraints.keeps_sizes(label)


def settle(
    constraints: Constraints, label: np.ndarray, score: np.ndarray, *, kicks: int = KICKS, looked: float = LOOKED
) -> bool:
    """Exchange blocks, and shake where that gets stuck, until sizes keep their bounds; False where they still do not.

    The work is bounded by counting, not by time, so that the same seed gives the same labels.
    """
    free = np.flatnonzero(constraints.place < 0)
    if not constraints.keeps_links(label) or len(free) < 2:
        return False
    rng = np.random.RandomState(0)
    if len(free) > SEVERAL:
        free = np.sort(rng.choice(free, SEVERAL, replace=False))
    pairs = free[rng.randint(len(free), size=(kicks, SHAKEN, 2))]
    rounds = int(looked / len(free) ** 2)
    bounds = floats(constraints.lower), floats(constraints.upper), constraints.slack
    settle_sizes(free, label, constraints.weight, *constraints.linked, *bounds, floats(score), pairs, rounds)
    return constraints.keeps_sizes(label)


def pack(constraints: Constraints, label: np.ndarray) -> None:
    """Put blocks that nothing binds, largest first, each into the cluster that lacks most of an even size."""
    c, weight = constraints.n_clusters, constraints.weight
    low, high = 0.0, weight.sum()
    for _ in range(60):  # even sizes within the bounds: all at one level, but for those that a bound stops
        level = (low + high) / 2
        short = np.clip(level, constraints.lower, constraints.upper).sum() < weight.sum()
        low, high = (level, high) if short else (low, level)
    bound = (constraints.place >= 0) | (np.diff(constraints.linked[0]) > 0)
    room = np.clip(high, constraints.lower, constraints.upper) - np.bincount(label[bound], weight[bound], minlength=c)
    loose = np.flatnonzero(~bound)
    pack_largest(loose[np.argsort(-weight[loose], kind="stable")], label, weight, room)


def fill(constraints: Constraints, label: np.ndarray, score: np.ndarray) -> None:
    """Give an empty cluster the block worst placed where it is, if one may leave; else it stays empty."""
    weight, slack = constraints.weight, constraints.slack
    for empty in range(constraints.n_clusters):
        count = np.bincount(label, minlength=constraints.n_clusters)
        if count[empty]:
            continue
        n = np.bincount(label, weight, minlength=constraints.n_clusters)
        may = (constraints.place < 0) & (count[label] > 1) & (n[label] - weight >= constraints.lower[label] - slack)
        may &= weight <= constraints.upper[empty] + slack
        if may.any():
            label[np.argmax(np.where(may, score.max(axis=1) - score[np.arange(len(label)), label], -np.inf))] = empty
