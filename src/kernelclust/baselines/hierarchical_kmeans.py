"""Kernel k-means, repeated down a given tree."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from kernelclust._units import UnitWarning
from kernelclust.baselines._base import KernelBaseline
from kernelclust.baselines._tree import Groups, check_tree, descend
from kernelclust.estimators import KernelKMeans
from kernelclust.kernels import KernelOperator
from kernelclust.structures import Structure


class HierarchicalKernelKMeans(KernelBaseline):
    """Divide the samples by kernel k-means into as many clusters as the tree's root has children, each of these again,
    down to the leaves.

    As in the CLUHSICAL paper (section IV-A), which starts its searches from it. Of a node's clusters the one with the
    largest variance goes to the child with the most leaves; a cluster with fewer samples than its subtree has leaves is
    given the nearest ones that others can spare, and a warning says so. A level never sees the levels below it, which
    is what `StructuredClustering` improves on.

    Parameters
    ----------
    structure : str, Structure or (c, c) array, default="tree:3x3"
        A tree; "flat:8" is one of depth one, i.e. `KernelKMeans`.
    kernel, gamma, kernel_params, approximation, n_components
        As in `StructuredClustering`; the width is that of all samples at every level.
    n_init, max_iter, random_state
        As in `KernelKMeans`, for every node of the tree.

    Attributes
    ----------
    labels_ : (m,) int array
        Leaf of every sample.
    n_iter_ : int
        Sweeps of the node that took most.
    structure_ : Structure
    gamma_ : float or None
    n_features_in_ : int

    Examples
    --------
    >>> from kernelclust.baselines import HierarchicalKernelKMeans
    >>> X = [[0.0], [0.3], [1.0], [1.2], [9.0], [9.5], [12.0], [12.4]]
    >>> HierarchicalKernelKMeans("tree:2x2", kernel="linear", random_state=0).fit_predict(X)
    array([2, 2, 3, 3, 0, 0, 1, 1])
    """

    def __init__(
        self,
        structure="tree:3x3",
        *,
        kernel="rbf",
        gamma="scale",
        kernel_params=None,
        approximation="auto",
        n_components=None,
        n_init="auto",
        max_iter=100,
        random_state=None,
    ):
        self.structure = structure
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.approximation = approximation
        self.n_components = n_components
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def _check_params(self, structure: Structure) -> None:
        check_tree(structure, type(self).__name__)

    def _cluster(self, operator: KernelOperator, structure: Structure, rng) -> dict[str, Any]:
        A = check_tree(structure, type(self).__name__)
        labels, n_iter = kmeans_down(A, operator, rng, n_init=self.n_init, max_iter=self.max_iter)
        return {"labels_": labels, "n_iter_": n_iter}


def kmeans_down(A: np.ndarray, operator: KernelOperator, rng, **options) -> tuple[np.ndarray, int]:
    """Leaf of every sample (m,) by kernel k-means down the tree of A, and the most sweeps that a node took."""
    sweeps = [1]

    def divide(samples: np.ndarray, needs: np.ndarray) -> Groups:
        if operator.factor is not None:
            kernel, X = "linear", operator.factor[samples]
        else:
            kernel, X = "precomputed", operator.rows(samples, samples)
        model = KernelKMeans(len(needs), kernel=kernel, approximation=None, random_state=rng, **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnitWarning)  # features have no units
            warnings.filterwarnings("ignore", message="all .* samples are equal")  # was said, if of all
            found = model.fit_predict(X)
        sweeps.append(model.n_iter_)
        return [samples[found == j] for j in range(len(needs))]

    return descend(A, operator, divide), max(sweeps)
