"""Tables I to IV of Zhong, Pan, Kwok and Tsang (2010): every method of the paper, on one kernel matrix.

Ten restarts in each repetition, as printed: CLUHSIC, CLUHSICAL and XWSS start from kernel k-means down the tree (on a
ring at random), all from the same labelings, and the labels of each one's best objective count. C = 0.1 m and gamma = 1
for l2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelclust import KernelKMeans, StructuredClustering
from kernelclust.metrics import level_accuracies, structured_accuracy, structured_loss
from kernelclust.structures import Tree, as_structure
from reproduction.baselines import hierarchical_kmeans, tree_linkage, xwss
from reproduction.tables._methods import algorithm_1, starts_of

OBJECTIVES = {
    "CLUHSIC": {},
    "CLUHSICAL l1, 0-1 loss": {"loss": "zero-one", "normalize": "l1"},
    "CLUHSICAL l1, structured loss": {"loss": "structure", "normalize": "l1"},
    "CLUHSICAL l2, 0-1 loss": {"loss": "zero-one", "normalize": "l2"},
    "CLUHSICAL l2, structured loss": {"loss": "structure", "normalize": "l2"},
}
LINKAGES = {"average linkage": "average", "complete linkage": "complete", "Ward's linkage": "ward"}
OURS = "ours: StructuredClustering"
ON_TREES = [*LINKAGES, "kernel hierarchical k-means", "XWSS", *OBJECTIVES, OURS]
ON_RINGS = ["kernel k-means", "XWSS", *OBJECTIVES, OURS]


def labels_of(method: str, K: np.ndarray, structure: str, seed: int, restarts: int) -> np.ndarray:
    given: dict[str, Any] = {"kernel": "precomputed", "random_state": seed}
    if method in LINKAGES:
        return tree_linkage(K, structure, LINKAGES[method])
    if method == "kernel hierarchical k-means":
        return hierarchical_kmeans(K, structure, n_init=restarts, random_state=seed)
    if method == "kernel k-means":
        return KernelKMeans(as_structure(structure).n_clusters, init="random", n_init=restarts, **given).fit_predict(K)
    if method == OURS:
        return StructuredClustering(structure=structure, compute_confidence=False, **given).fit_predict(K)
    starts = starts_of(K, structure, restarts, seed)
    return xwss(K, structure, starts) if method == "XWSS" else algorithm_1(K, structure, starts, **OBJECTIVES[method])


def tree_scores(y: np.ndarray, labels: np.ndarray, structure: str, coarser: str | None = None) -> dict[str, float]:
    """Return accuracies and losses by level; `coarser` is the tree less its leaves, where it has three levels."""
    accuracies = [100 * share for share in level_accuracies(y, labels, structure)]
    found = {f"level {level} %": share for level, share in enumerate(accuracies, 1)}
    if coarser is None:
        return found | {"tree loss": structured_loss(y, labels, structure)}
    above = Tree.from_text(structure.removeprefix("tree:")).levels()[1]
    middle = structured_loss(above[y], above[labels], coarser)
    return found | {"tree loss": middle, "tree loss, level 3": structured_loss(y, labels, structure)}


def ring_scores(y: np.ndarray, labels: np.ndarray, structure: str) -> dict[str, float]:
    accuracy, loss = structured_accuracy(y, labels, structure), structured_loss(y, labels, structure)
    return {"accuracy %": 100 * accuracy, "ring loss": loss}
