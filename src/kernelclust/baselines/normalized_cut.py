"""Normalised cut with the kernel as affinity."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.csgraph import laplacian
from sklearn.cluster import k_means, spectral_clustering
from sklearn.cluster._spectral import cluster_qr, discretize
from sklearn.metrics.pairwise import linear_kernel

from kernelclust._names import check_name
from kernelclust.baselines._base import KernelBaseline
from kernelclust.baselines._tree import refill, variances
from kernelclust.kernels import KernelOperator
from kernelclust.structures import Flat, Structure

SMALL = 500  # samples up to which a full decomposition takes no longer
ASSIGNMENTS = ("cluster_qr", "discretize", "kmeans")


class NormalizedCut(KernelBaseline):
    """Clusters that are little connected: cut the graph whose edges are the kernel's values.

    scikit-learn's `spectral_clustering` on the uncentred kernel: leading eigenvectors of D^-1/2 K D^-1/2, made into
    labels. Knows no structure: labels are numbered by decreasing variance in feature space. Follow it by
    `PlacedClustering` for places.

    Parameters
    ----------
    n_clusters : int, default=8
    assign_labels : {"cluster_qr", "discretize", "kmeans"}, default="cluster_qr"
        How eigenvectors are made into labels; the first is deterministic.
    kernel, gamma, kernel_params
        As in `StructuredClustering`. Similarities must not be negative.
    random_state : int, RandomState or None
        Start of the eigensolver, and of the other assignments.

    Attributes
    ----------
    labels_ : (m,) int array
    structure_ : Flat
    gamma_ : float or None
    n_features_in_ : int

    Examples
    --------
    >>> from kernelclust.baselines import NormalizedCut
    >>> NormalizedCut(2, random_state=0).fit_predict([[0.0], [0.3], [0.1], [5.0], [5.1]])
    array([0, 0, 0, 1, 1])
    """

    def __init__(
        self,
        n_clusters=8,
        *,
        assign_labels="cluster_qr",
        kernel="rbf",
        gamma="scale",
        kernel_params=None,
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.assign_labels = assign_labels
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.random_state = random_state

    def _check_structure(self) -> Structure:
        return Flat(self.n_clusters)

    def _check_params(self, structure: Structure) -> None:
        check_name("assign_labels", self.assign_labels, ASSIGNMENTS)

    def _similarity(self):
        """The named linear kernel sees X from its mean, which changes nothing but an affinity."""
        return linear_kernel if isinstance(self.kernel, str) and self.kernel == "linear" else self.kernel

    def _cluster(self, operator: KernelOperator, structure: Structure, rng) -> dict[str, Any]:
        m, c = operator.n_samples, structure.n_clusters
        affinity = self._affinity(operator)
        if c == m:
            found = np.arange(m)
        elif c == 1 or not affinity.any():
            found = np.zeros(m, dtype=int)
        elif m <= SMALL:
            found = self._small(affinity, c, rng)
        else:
            found = spectral_clustering(
                affinity, n_clusters=c, assign_labels=self.assign_labels, random_state=rng, eigen_solver="arpack"
            )
        groups = refill(operator, [np.flatnonzero(found == j) for j in range(c)], np.ones(c, dtype=int))
        labels = np.empty(m, dtype=np.intp)
        for j, old in enumerate(np.argsort(-variances(operator, groups), kind="stable")):
            labels[groups[old]] = j
        return {"labels_": labels}

    def _small(self, affinity: np.ndarray, c: int, rng) -> np.ndarray:
        """scikit-learn's own steps, but with all eigenvectors: on a graph of several pieces ARPACK draws random numbers
        that no seed holds."""
        L, root = laplacian(affinity, normed=True, return_diag=True)
        V = eigh(L, subset_by_index=[0, c - 1])[1] / root[:, None]
        V *= np.sign(V[np.abs(V).argmax(axis=0), np.arange(c)])
        rng.uniform(-1, 1, len(V))  # where ARPACK would start, so that what is drawn next is the same
        if self.assign_labels == "kmeans":
            return k_means(V, c, n_init=10, random_state=rng)[1]
        if self.assign_labels == "cluster_qr":
            return cluster_qr(V)
        nowhere = np.abs(V).max(axis=1) < 1e-100  # in pieces that none of the functions sees: it divides by their size
        return discretize(np.where(nowhere[:, None], 1.0, V), random_state=rng)

    def _affinity(self, operator: KernelOperator) -> np.ndarray:
        if not hasattr(operator, "affinity"):
            raise ValueError(
                f"a normalised cut needs the similarities as given, which {type(operator).__name__} lacks."
            )
        K = operator.affinity(np.eye(operator.n_samples))
        K = (K + K.T) / 2
        lowest, largest = float(K.min()), float(np.abs(K).max())
        if lowest < -1e-10 * largest:
            i, j = np.unravel_index(int(K.argmin()), K.shape)
            raise ValueError(
                f"a normalised cut needs similarities that are not negative; kernel={self.kernel!r} has {lowest:.3g} "
                f"between samples {i} and {j}. Use kernel='rbf', 'laplacian' or 'diffusion', or (1 + K) / 2 for a "
                "cosine."
            )
        K = np.ldexp(K, -int(np.frexp(largest)[1]))  # a cut has no unit: roots of tiny degrees stay in floating point
        return np.maximum(K, 0) if lowest < 0 else K
