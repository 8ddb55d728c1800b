"""Normalised cut with the kernel as affinity."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.csgraph import laplacian
from sklearn.cluster import k_means, spectral_clustering
from sklearn.cluster._spectral import cluster_qr, discretize
from sklearn.utils import check_random_state

from kernelclust._names import check_name
from kernelclust.kernels import DenseKernel
from reproduction.baselines._tree import refill, variances

SMALL = 500  # samples up to which a full decomposition takes no longer
ASSIGNMENTS = ("cluster_qr", "discretize", "kmeans")


def normalized_cut(
    K: np.ndarray, n_clusters: int, *, assign: str = "cluster_qr", random_state: Any = None
) -> np.ndarray:
    """Cut the graph whose edges are the kernel's values, so that clusters are little connected.

    scikit-learn's `spectral_clustering` on the uncentred kernel: leading eigenvectors of D^-1/2 K D^-1/2, made into
    labels ("cluster_qr" is deterministic). Knows no structure: labels are numbered by decreasing variance in feature
    space.
    """
    check_name("assign", assign, ASSIGNMENTS)
    m, c, rng = len(K), n_clusters, check_random_state(random_state)
    affinity = _affinity(K)
    if c == m:
        found = np.arange(m)
    elif c == 1 or not affinity.any():
        found = np.zeros(m, dtype=int)
    elif m <= SMALL:
        found = _small(affinity, c, assign, rng)
    else:
        found = spectral_clustering(
            affinity, n_clusters=c, assign_labels=assign, random_state=rng, eigen_solver="arpack"
        )
    operator = DenseKernel(K)
    groups = refill(operator, [np.flatnonzero(found == j) for j in range(c)], np.ones(c, dtype=int))
    labels = np.empty(m, dtype=np.intp)
    for j, old in enumerate(np.argsort(-variances(operator, groups), kind="stable")):
        labels[groups[old]] = j
    return labels


def _small(affinity: np.ndarray, c: int, assign: str, rng: np.random.RandomState) -> np.ndarray:
    """scikit-learn's own steps, but with all eigenvectors: on a graph of several pieces ARPACK draws random numbers
    that no seed holds."""
    L, root = laplacian(affinity, normed=True, return_diag=True)
    V = eigh(L, subset_by_index=[0, c - 1])[1] / root[:, None]
    V *= np.sign(V[np.abs(V).argmax(axis=0), np.arange(c)])
    rng.uniform(-1, 1, len(V))  # where ARPACK would start, so that what is drawn next is the same
    if assign == "kmeans":
        return k_means(V, c, n_init=10, random_state=rng)[1]
    if assign == "cluster_qr":
        return cluster_qr(V)
    nowhere = np.abs(V).max(axis=1) < 1e-100  # in pieces that none of the functions sees: it divides by their size
    return discretize(np.where(nowhere[:, None], 1.0, V), random_state=rng)


def _affinity(K: np.ndarray) -> np.ndarray:
    K = (K + K.T) / 2
    lowest, largest = float(K.min()), float(np.abs(K).max())
    if lowest < -1e-10 * largest:
        i, j = np.unravel_index(int(K.argmin()), K.shape)
        raise ValueError(
            f"a normalised cut needs similarities that are not negative; samples {i} and {j} have {lowest:.3g}."
        )
    K = np.ldexp(K, -int(np.frexp(largest)[1]))  # a cut has no unit: roots of tiny degrees stay in floating point
    return np.maximum(K, 0) if lowest < 0 else K
