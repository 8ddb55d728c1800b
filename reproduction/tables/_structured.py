"""What tables I to IV of Zhong, Pan, Kwok and Tsang (2010) compare: every method of the paper, on one kernel matrix.

Ten restarts in each repetition, as printed: CLUHSIC, CLUHSICAL and XWSS start from kernel k-means down the tree (on a
ring at random), move single samples, and the labels of the largest objective count. C = 0.1 m and gamma = 1 for l2.
"""

from __future__ import annotations

import numpy as np

from kernelclust import KernelKMeans, StructuredClustering
from kernelclust.metrics import level_accuracies, structured_accuracy, structured_loss
from kernelclust.structures import as_structure
from reproduction.baselines import hierarchical_kmeans, tree_linkage, xwss
from reproduction.tables._methods import algorithm_1, random_starts, tree_starts

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
    given = {"kernel": "precomputed", "random_state": seed}
    if method in LINKAGES:
        return tree_linkage(K, structure, LINKAGES[method])
    if method == "kernel hierarchical k-means":
        return hierarchical_kmeans(K, structure, n_init=restarts, random_state=seed)
    if method == "kernel k-means":
        return KernelKMeans(as_structure(structure).n_clusters, init="random", n_init=restarts, **given).fit_predict(K)
    if method == OURS:
        return StructuredClustering(structure=structure, compute_confidence=False, **given).fit_predict(K)
    if method == "XWSS":
        init = "hierarchical" if structure.startswith("tree") else "random"
        return xwss(K, structure, init=init, n_init=restarts, random_state=seed)
    if structure.startswith("tree"):
        starts = tree_starts(K, structure, restarts, seed)
    else:
        starts = random_starts(K, as_structure(structure).n_clusters, restarts, seed)
    return algorithm_1(K, structure, starts, **OBJECTIVES[method])


def tree_scores(y: np.ndarray, labels: np.ndarray, structure: str) -> dict[str, float]:
    first, second = 100 * level_accuracies(y, labels, structure)
    return {"level 1 %": first, "level 2 %": second, "tree loss": structured_loss(y, labels, structure)}


def ring_scores(y: np.ndarray, labels: np.ndarray, structure: str) -> dict[str, float]:
    accuracy, loss = structured_accuracy(y, labels, structure), structured_loss(y, labels, structure)
    return {"accuracy %": 100 * accuracy, "ring loss": loss}
