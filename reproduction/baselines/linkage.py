"""Agglomerative clustering whose dendrogram is cut along a given tree."""

from __future__ import annotations

import heapq
from bisect import insort
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist

from kernelclust.kernels import DenseKernel, KernelOperator, row_blocks
from kernelclust.structures import as_structure
from reproduction.baselines._tree import Groups, check_tree, descend, distances_to_means


def tree_linkage(K: np.ndarray, structure: Any, method: str = "average") -> np.ndarray:
    """Cut the dendrogram of average, complete or Ward linkage in the kernel's distance along the given tree.

    d_ij^2 = k_ii + k_jj - 2 k_ij; Ward's criterion with these distances is exact in feature space. The tree enters
    after the dendrogram is made, as in the CLUHSICAL paper (section IV-A): go down from the root of the dendrogram
    until there are as many branches as the tree's root has children, trace each of them further, and so on; the branch
    of largest variance goes to the child with the most leaves. "flat:8" is a tree of depth one, i.e. the ordinary cut.

    A branch needs as many samples as its subtree has leaves. Where the cut leaves one with fewer (an outlier that joins
    last), the way down goes on until enough branches are large enough, and the small ones on the way join the nearest
    mean. Where a dendrogram has no such cut at all, the ordinary one is taken, branches in need are given the samples
    nearest to them, and a warning says so. So every leaf is filled when there are as many samples as leaves.
    """
    A, operator = check_tree(as_structure(structure), "tree_linkage"), DenseKernel(K)
    dendrogram = Dendrogram(np.empty((0, 4)) if len(K) == 1 else linkage(pair_distances(operator), method))

    def divide(samples: np.ndarray, needs: np.ndarray) -> Groups:
        return _gather(operator, dendrogram.cut(samples, needs), len(needs))

    return descend(A, operator, divide)


def pair_distances(operator: KernelOperator) -> np.ndarray:
    """Distances in feature space, condensed as scipy has them (m (m - 1) / 2,)."""
    if operator.factor is not None:
        return pdist(operator.factor)
    m, half = operator.n_samples, operator.diagonal() / 2.0
    ends = np.cumsum(np.arange(m - 1, 0, -1))
    condensed = np.empty(ends[-1])  # half the squared distances, row by row
    lines = iter(np.split(condensed, ends[:-1]))
    for block in row_blocks(m - 1, m):
        for i, similar in zip(range(block.start, block.stop), operator.rows(block), strict=True):
            row = next(lines)
            np.subtract(half[i + 1 :], similar[i + 1 :], out=row)
            row += half[i]
    lowest = int(condensed.argmin())
    if condensed[lowest] < -1e-6 * operator.raw_size():
        i = int(np.searchsorted(ends, lowest, side="right"))
        raise ValueError(
            f"the kernel gives no distances: k_ii + k_jj - 2 k_ij = {2 * condensed[lowest]:.3g} < 0 for samples {i} "
            f"and {lowest - int(ends[i]) + m}. It is not positive semidefinite: a kernel holds similarities, largest "
            "between a sample and itself."
        )
    if condensed[lowest] < 0:
        np.maximum(condensed, 0, out=condensed)
    condensed *= 2
    return np.sqrt(condensed, out=condensed)


class Dendrogram:
    """The merges of a linkage matrix, with samples in an order in which every branch is a stretch."""

    def __init__(self, Z: np.ndarray):
        self.n_samples = m = len(Z) + 1
        self.merges = Z[:, :2].astype(np.intp).tolist()
        size = [1] * m + Z[:, 3].astype(int).tolist()
        start = [0] * (2 * m - 1)
        for node in range(2 * m - 2, m - 1, -1):
            a, b = self.merges[node - m]
            start[a], start[b] = start[node], start[node] + size[a]
        self.start, self.stop = np.array(start), np.array(start) + size
        self.order = np.argsort(self.start[:m])

    def cut(self, samples: np.ndarray, needs: np.ndarray) -> Groups:
        """Branches over these samples: the first cut with len(needs) of them large enough, else the first one with
        len(needs) of them."""
        inside = np.zeros(self.n_samples + 1, dtype=int)
        inside[1:][np.isin(self.order, samples)] = 1
        before = np.cumsum(inside)
        count = (before[self.stop] - before[self.start]).tolist()  # how many of the samples are below a node
        branches = [2 - 2 * self.n_samples]  # a heap of -node: the merge made last is undone first
        sizes, wanted = [len(samples)], np.sort(needs).tolist()
        ordinary: list[int] = []
        while len(branches) < len(wanted) or any(map(int.__lt__, sizes[-len(wanted) :], wanted)):
            if len(branches) == len(wanted):
                ordinary = branches.copy()
            node = -heapq.heappop(branches)
            if node < self.n_samples:
                branches = ordinary
                break
            sizes.remove(count[node])
            for child in self.merges[node - self.n_samples]:
                if count[child]:
                    heapq.heappush(branches, -child)
                    insort(sizes, count[child])
        kept = inside[1:].astype(bool)
        stretches = [slice(self.start[-branch], self.stop[-branch]) for branch in sorted(branches)]
        return [np.sort(self.order[part][kept[part]]) for part in stretches]


def _gather(operator: KernelOperator, branches: Groups, k: int) -> Groups:
    """The k largest branches, each of the others joined to the one with the nearest mean."""
    branches = sorted(branches, key=len, reverse=True)
    groups, rest = branches[:k], branches[k:]
    if rest:
        D = distances_to_means(operator, groups)
        nearest = [int(D[branch].mean(axis=0).argmin()) for branch in rest]
        for branch, j in zip(rest, nearest, strict=True):
            groups[j] = np.sort(np.concatenate([groups[j], branch]))
    return groups
