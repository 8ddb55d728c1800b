"""Down a tree: divide the samples of a node among its children, from the root to the leaves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelclust._warnings import warn
from kernelclust.kernels import KernelOperator
from kernelclust.structures import Structure

Groups = list[np.ndarray]  # samples of each group


def check_tree(structure: Structure, who: str) -> np.ndarray:
    """A (c x c) of a structure that is a tree, flat ones included: A_jk >= min(A_jl, A_lk) for all l.

    In such a matrix "more alike than t" is an equivalence for every t, and the classes for all t are the tree.
    """
    A = np.asarray(structure.kernel, dtype=float)
    tolerance = 1e-9 * np.abs(A).max()
    if any((A < np.minimum(row[:, None], row) - tolerance).any() for row in A):
        raise ValueError(
            f"structure '{structure}' is no tree, and {who} works down a tree: use 'tree:3x3', 'tree:(a,(b,c))' or "
            f"'flat:{len(A)}', or for chains, rings and grids StructuredClustering."
        )
    return A


def children(A: np.ndarray, leaves: np.ndarray) -> Groups:
    """Leaves below each child of the node that has these leaves; at least two children for two leaves or more."""
    inner = A[np.ix_(leaves, leaves)]
    least = np.min(inner[~np.eye(len(leaves), dtype=bool)])
    alike = inner > least + 1e-9 * np.abs(A).max()
    np.fill_diagonal(alike, True)
    first = alike.argmax(axis=1)
    return [leaves[first == start] for start in np.unique(first)]


def descend(A: np.ndarray, operator: KernelOperator, divide: Callable[[np.ndarray, np.ndarray], Groups]) -> np.ndarray:
    """Leaf of every sample (m,). `divide(samples, needs)` gives a node's samples to as many groups as it has children,
    which have needs[j] leaves each; `settle` decides which group is which child's."""
    labels = np.zeros(operator.n_samples, dtype=np.intp)
    level = [(np.arange(len(A)), np.arange(operator.n_samples))]
    while level:
        for leaves, samples in level:
            labels[samples] = leaves[0]  # overwritten where there is a level below
        below = [children(A, leaves) for leaves, _ in level if len(leaves) > 1]
        needs = [np.array([len(child) for child in family]) for family in below]
        inner = [samples for leaves, samples in level if len(leaves) > 1]
        groups = [divide(samples, need) for samples, need in zip(inner, needs, strict=True)]
        spread = iter(variances(operator, [group for family in groups for group in family]))  # one pass a level
        level = []
        for family, need, divided in zip(below, needs, groups, strict=True):
            settled = settle(operator, divided, need, np.array([next(spread) for _ in divided]))
            level += zip(family, settled, strict=True)
    return labels


def settle(operator: KernelOperator, groups: Groups, needs: np.ndarray, spread: np.ndarray) -> Groups:
    """Groups in the children's order: the larger a child's subtree, the larger the variance (spread) of its group.

    A child takes no group with fewer samples than it has leaves. Where no matching avoids that, groups are matched by
    size and samples are moved (`refill`).
    """
    sizes = np.array([len(group) for group in groups])
    matched = list(groups)
    if not is_enough(sizes, needs):
        for child, j in zip(np.argsort(-needs, kind="stable"), np.argsort(-sizes, kind="stable"), strict=True):
            matched[child] = groups[j]
        return refill(operator, matched, needs)
    left = np.lexsort((-sizes, -spread)).tolist()
    for child in np.argsort(-needs, kind="stable"):
        chosen = next(j for j in left if sizes[j] >= needs[child])
        left.remove(chosen)
        matched[child] = groups[chosen]
    return matched


def is_enough(sizes, needs: np.ndarray) -> bool:
    """Whether every child can be given a group of its own with enough samples."""
    largest = np.sort(sizes)[::-1][: len(needs)]
    return len(largest) == len(needs) and bool((largest >= np.sort(needs)[::-1]).all())


def refill(operator: KernelOperator, groups: Groups, needs: np.ndarray) -> Groups:
    """Move samples until group j has needs[j] of them: always the nearest to its mean that others can spare.

    A group without samples has no mean; it takes the sample that is farthest from its own.
    """
    labels = np.full(operator.n_samples, -1)
    for j, group in enumerate(groups):
        labels[group] = j
    moved = 0
    while True:
        sizes = np.bincount(labels[labels >= 0], minlength=len(needs))
        poor = np.flatnonzero(sizes < needs)
        if not len(poor):
            break
        j = poor[0]
        D = distances_to_means(operator, [np.flatnonzero(labels == k) for k in range(len(needs))])
        candidates = np.flatnonzero((labels >= 0) & (sizes > needs)[labels])
        cost = D[candidates, j] if sizes[j] else -D[candidates, labels[candidates]]
        labels[candidates[np.argmin(cost)]] = j
        moved += 1
    if moved:
        warn(
            f"{moved} sample(s) moved to clusters that would have been left without enough: the data do not divide "
            "into as many clusters as the structure has places."
        )
    return [np.flatnonzero(labels == j) for j in range(len(needs))]


def distances_to_means(operator: KernelOperator, groups: Groups) -> np.ndarray:
    """Squared distance (m, k) of every sample to the mean of every group in feature space; NaN where it has none."""
    share = _shares(operator, groups)
    G = operator @ share
    return operator.diagonal()[:, None] - 2 * G + np.einsum("ij,ij->j", share, G)


def variances(operator: KernelOperator, groups: Groups) -> np.ndarray:
    """Mean squared distance (k,) of a group's samples from its mean in feature space."""
    share = _shares(operator, groups)
    return operator.diagonal() @ share - np.einsum("ij,ij->j", share, operator @ share)


def _shares(operator: KernelOperator, groups: Groups) -> np.ndarray:
    """Weights (m, k) that add up to a group's mean; NaN for one without samples."""
    share = np.zeros((operator.n_samples, len(groups)))
    for j, group in enumerate(groups):
        share[group, j] = 1 / len(group) if len(group) else np.nan
    return share
