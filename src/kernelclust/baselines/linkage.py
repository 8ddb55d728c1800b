"""Agglomerative clustering whose dendrogram is cut along a given tree."""

from __future__ import annotations

import heapq
from bisect import insort
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist, squareform

from kernelclust._names import check_name
from kernelclust.baselines._base import KernelBaseline, Operator
from kernelclust.baselines._tree import Groups, check_tree, descend, distances_to_means
from kernelclust.structures import Structure

LINKAGES = ("average", "complete", "ward")


class TreeLinkage(KernelBaseline):
    """Average, complete or Ward linkage in the kernel's distance, the dendrogram cut along the given tree.

    d_ij^2 = k_ii + k_jj - 2 k_ij; Ward's criterion with these distances is exact in feature space. The tree enters
    after the dendrogram is made, as in the CLUHSICAL paper (section IV-A): go down from the root of the dendrogram
    until there are as many branches as the tree's root has children, trace each of them further, and so on; the branch
    of largest variance goes to the child with the most leaves. Deterministic; the rival to beat on a tree.

    A branch needs as many samples as its subtree has leaves. Where the cut leaves one with fewer (an outlier that joins
    last), the way down goes on until enough branches are large enough, and the small ones on the way join the nearest
    mean. Where a dendrogram has no such cut at all, the ordinary one is taken, branches in need are given the samples
    nearest to them, and a warning says so. So every leaf is filled when there are as many samples as leaves.

    Parameters
    ----------
    structure : str, Structure or (c, c) array, default="tree:3x3"
        A tree: "tree:3x3", "tree:(a,(b,c))"; "flat:8" is one of depth one, i.e. the ordinary cut.
    linkage : {"average", "complete", "ward"}, default="average"
    kernel, gamma, degree, coef0, kernel_params
        As in `StructuredClustering`.

    Attributes
    ----------
    labels_ : (m,) int array
        Leaf of every sample.
    linkage_matrix_ : (m - 1, 4) array
        The dendrogram, as `scipy.cluster.hierarchy` has it; empty for one sample.
    structure_ : Structure
    gamma_ : float or None
    n_features_in_ : int

    Examples
    --------
    >>> from kernelclust.baselines import TreeLinkage
    >>> X = [[0.0], [0.3], [1.0], [1.2], [9.0], [9.5], [12.0], [12.4]]
    >>> TreeLinkage("tree:2x2", linkage="ward", kernel="linear").fit_predict(X)
    array([2, 2, 3, 3, 0, 0, 1, 1])
    """

    def __init__(
        self,
        structure="tree:3x3",
        *,
        linkage="average",
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
    ):
        self.structure = structure
        self.linkage = linkage
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params

    def _check_params(self, structure: Structure) -> None:
        check_name("linkage", self.linkage, LINKAGES)
        check_tree(structure, "TreeLinkage")

    def _cluster(self, operator: Operator, structure: Structure, rng) -> dict[str, Any]:
        Z = np.empty((0, 4)) if operator.n_samples == 1 else linkage(pair_distances(operator), self.linkage)
        merges = Z[:, :2].astype(np.intp).tolist()

        def divide(samples: np.ndarray, needs: np.ndarray) -> Groups:
            return _gather(operator, _cut(merges, samples, needs), len(needs))

        return {"labels_": descend(check_tree(structure, "TreeLinkage"), operator, divide), "linkage_matrix_": Z}


def pair_distances(operator: Operator) -> np.ndarray:
    """Distances in feature space, condensed as scipy has them (m (m - 1) / 2,)."""
    if operator.form == "low_rank":
        return pdist(operator.B)
    diagonal = np.einsum("ii->i", operator.K).astype(float)
    D = diagonal[:, None] - 2 * operator.K
    D += diagonal
    condensed = squareform(D, checks=False)
    tolerance = np.sqrt(np.finfo(operator.K.dtype).eps) * np.abs(diagonal).max()
    if condensed.min() < -tolerance:
        i, j = np.argwhere(np.triu(D, 1) < -tolerance)[0]
        raise ValueError(
            f"the kernel gives no distances: k_ii + k_jj - 2 k_ij = {D[i, j]:.3g} < 0 for samples {i} and {j}. It is "
            "not positive semidefinite: a kernel holds similarities, largest between a sample and itself."
        )
    np.maximum(condensed, 0, out=condensed)
    return np.sqrt(condensed, out=condensed)


def _cut(merges: list[list[int]], samples: np.ndarray, needs: np.ndarray) -> Groups:
    """Branches of the dendrogram over these samples: the first cut with len(needs) of them large enough, else the first
    one with len(needs) of them."""
    m = len(merges) + 1
    count = np.zeros(2 * m - 1, dtype=int)
    count[samples] = 1
    count = count.tolist()
    for node, (a, b) in enumerate(merges, start=m):
        count[node] = count[a] + count[b]

    def below(node: int) -> list[int]:
        return [child for child in merges[node - m] if count[child]]

    def top(node: int) -> int:
        """The highest merge of these samples at or below a node."""
        while node >= m and len(below(node)) == 1:
            (node,) = below(node)
        return node

    branches = [-top(2 * m - 2)]  # a heap: the merge made last is undone first
    sizes, wanted = [len(samples)], np.sort(needs).tolist()
    ordinary: list[int] = []
    while len(branches) < len(wanted) or any(map(int.__lt__, sizes[-len(wanted) :], wanted)):
        if len(branches) == len(wanted):
            ordinary = branches.copy()
        node = -heapq.heappop(branches)
        if node < m:
            branches = ordinary
            break
        sizes.remove(count[node])
        for child in below(node):
            heapq.heappush(branches, -top(child))
            insort(sizes, count[child])

    def members(node: int) -> np.ndarray:
        found, waiting = [], [node]
        while waiting:
            node = waiting.pop()
            if node < m:
                found.append(node)
            else:
                waiting += below(node)
        return np.sort(np.array(found))

    return [members(-branch) for branch in sorted(branches)]


def _gather(operator: Operator, branches: Groups, k: int) -> Groups:
    """The k largest branches, each of the others joined to the one with the nearest mean."""
    branches = sorted(branches, key=len, reverse=True)
    groups, rest = branches[:k], branches[k:]
    if rest:
        D = distances_to_means(operator, groups)
        nearest = [int(D[branch].mean(axis=0).argmin()) for branch in rest]
        for branch, j in zip(rest, nearest, strict=True):
            groups[j] = np.sort(np.concatenate([groups[j], branch]))
    return groups
