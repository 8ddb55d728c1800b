"""Diffusion kernel of a connected nearest-neighbour graph: K = exp(-time L), L the normalised Laplacian.

Heat put on one sample reaches the other within `time`: small times see near neighbours only.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import svd_flip

from kernelclust._names import check_number
from kernelclust.kernels.graph import neighbour_graph

PARAMETERS = ("n_neighbors", "time")


def gram(X, *, n_clusters: int, n_neighbors: int | None = None, time: float = 10.0) -> np.ndarray:
    """Kernel matrix (m x m)."""
    values, vectors = np.linalg.eigh(_normalised_laplacian(X, n_clusters, n_neighbors).toarray())
    return (vectors * np.exp(-_positive(time) * np.maximum(values, 0))) @ vectors.T


def factor(X, n_components: int, *, n_clusters: int, n_neighbors: int | None = None, time: float = 10.0) -> np.ndarray:
    """B (m x d) with B B' the best approximation of that rank."""
    L = _normalised_laplacian(X, n_clusters, n_neighbors)
    m = L.shape[0]
    start = np.cos(np.arange(m))
    values, vectors = sparse.linalg.eigsh(L.tocsc(), k=min(n_components, m - 1), sigma=-1e-3, which="LM", v0=start)
    vectors, _ = svd_flip(vectors, None)
    return vectors * np.exp(-_positive(time) * np.maximum(values, 0) / 2)


def _positive(time: float) -> float:
    check_number("time", time, above=True)
    return float(time)


def _normalised_laplacian(X, n_clusters: int, n_neighbors: int | None) -> sparse.csr_matrix:
    W = neighbour_graph(X, n_clusters, n_neighbors)
    root = sparse.diags(1 / np.sqrt(np.maximum(np.asarray(W.sum(axis=1)).ravel(), np.finfo(float).tiny)))
    return (sparse.eye(W.shape[0]) - root @ W @ root).tocsr()
