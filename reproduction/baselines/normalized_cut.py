"""Normalised cut with the kernel as affinity."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.csgraph import laplacian
from sklearn.cluster._spectral import cluster_qr, discretize
from sklearn.utils import check_random_state

from kernelclust._names import check_name
from kernelclust.kernels import DenseKernel
from reproduction.baselines._tree import refill, variances

ASSIGNMENTS = ("cluster_qr", "discretize")


def normalized_cut(
    K: np.ndarray, n_clusters: int, *, assign: str = "cluster_qr", random_state: Any = None
) -> np.ndarray:
    """Cut the graph whose edges are the kernel's values, so that clusters are little connected.

    The steps of scikit-learn's `spectral_clustering` on the uncentred kernel: leading eigenvectors of
    D^-1/2 K D^-1/2, made into labels ("cluster_qr" is deterministic). The eigenvectors come from LAPACK, not ARPACK,
    which needs minutes where a narrow kernel is near the identity (2000 samples: LAPACK 1 s) and draws random numbers
    that no seed controls where the graph has several components. Knows no structure: labels are numbered by decreasing
    variance in feature space.
    """
    check_name("assign", assign, ASSIGNMENTS)
    m, c, rng = len(K), n_clusters, check_random_state(random_state)
    affinity = _affinity(K)
    if c == m:
        found = np.arange(m)
    elif c == 1 or not affinity.any():
        found = np.zeros(m, dtype=int)
    else:
        found = _cut(affinity, c, assign, rng)
    operator = DenseKernel(K)
    groups = refill(operator, [np.flatnonzero(found == j) for j in range(c)], np.ones(c, dtype=int))
    labels = np.empty(m, dtype=np.intp)
    for j, old in enumerate(np.argsort(-variances(operator, groups), kind="stable")):
        labels[groups[old]] = j
    return labels


def _cut(affinity: np.ndarray, c: int, assign: str, rng: np.random.RandomState) -> np.ndarray:
    L, root = laplacian(affinity, normed=True, return_diag=True)
    V = eigh(L, subset_by_index=[0, c - 1])[1] / root[:, None]
    V *= np.sign(V[np.abs(V).argmax(axis=0), np.arange(c)])
    rng.uniform(-1, 1, len(V))  # where ARPACK would start, so that what is drawn next is the same
    if assign == "cluster_qr":
        return cluster_qr(V)
    nowhere = np.abs(V).max(axis=1) < 1e-100  # in components that no eigenvector sees: discretize divides by their size
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
