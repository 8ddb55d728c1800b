"""Diffusion kernel of a connected nearest-neighbour graph: K = exp(-time L), L the normalised Laplacian.

Heat put on one sample reaches the other within `time`: small times see near neighbours only. The graph is that of
kernel="graph".
"""

from __future__ import annotations

import numpy as np

from kernelclust._names import check_number
from kernelclust.kernels._graphs import smoothest
from kernelclust.kernels.graph import neighbour_graph

DENSE_UP_TO = 3000  # beyond, the smoothest functions on the graph make the kernel


def gram(X, *, n_clusters: int, n_neighbors: int | None = None, time: float = 10.0) -> np.ndarray:
    """Kernel matrix (m x m)."""
    B = factor(X, X.shape[0], n_clusters=n_clusters, n_neighbors=n_neighbors, time=time)
    return B @ B.T


def factor(X, n_components: int, *, n_clusters: int, n_neighbors: int | None = None, time: float = 10.0) -> np.ndarray:
    """B (m x d) with B B' the best approximation of that rank."""
    check_number("time", time, above=True)
    W = neighbour_graph(X, n_clusters, n_neighbors)
    values, vectors = smoothest(W, n_components - 1)
    degree = W.sum(axis=1)
    flat = np.sqrt(degree / degree.sum())
    return np.column_stack([flat, vectors * np.exp(-float(time) * values / 2)])


def fit(X, weight, *, n_clusters, method, n_components, rng, n_neighbors: int | None = None, time: float = 10.0):
    import sys
    from kernelclust.kernels._graph_fit import fit_graph

    return fit_graph(
        sys.modules[__name__],
        X,
        weight,
        n_clusters=n_clusters,
        method=method,
        n_components=n_components,
        params={"n_neighbors": n_neighbors, "time": time},
    )
