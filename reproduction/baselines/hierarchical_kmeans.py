"""Kernel k-means, repeated down a given tree."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from kernelclust import KernelKMeans
from kernelclust.kernels import DenseKernel
from kernelclust.structures import as_structure
from reproduction.baselines._tree import Groups, check_tree, descend


def hierarchical_kmeans(K: np.ndarray, structure: Any, *, n_init: Any = "auto", random_state: Any = None) -> np.ndarray:
    """Divide the samples by kernel k-means among the children of the tree's root, each part again, down to the leaves.

    As in the CLUHSICAL paper (section IV-A), which starts its searches from it. Of a node's clusters the one with the
    largest variance goes to the child with the most leaves; a cluster with fewer samples than its subtree has leaves is
    given the nearest ones that others can spare, and a warning says so. A level never sees the levels below it, which
    is what `StructuredClustering` improves on. `n_init` starts of `KernelKMeans` in every node.
    """
    A, operator = check_tree(as_structure(structure), "hierarchical_kmeans"), DenseKernel(K)
    rng = check_random_state(random_state)

    def divide(samples: np.ndarray, needs: np.ndarray) -> Groups:
        model = KernelKMeans(len(needs), kernel="precomputed", approximation=None, n_init=n_init, random_state=rng)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="all .* samples are equal")
            found = model.fit_predict(operator.rows(samples, samples))
        return [samples[found == j] for j in range(len(needs))]

    return descend(A, operator, divide)
