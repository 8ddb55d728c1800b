"""Commute-time kernel of a connected nearest-neighbour graph: K = (L + regularization D)^+, L = D - W its Laplacian.

Two samples are alike when many short ways through the graph join them: for curved or elongated clusters, images and
cells. Weights W fall with distance as in UMAP, each sample in its own units. The graph is made connected by the links
of a spanning tree, because the pseudo-inverse of a disconnected graph gives the right clustering a value of zero.
Neighbours: 1.5 x clip(m / 2c, 3, 10). Equal samples are one node of the graph.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from kernelclust._names import check_number
from kernelclust.kernels._graphs import commute_factor, commute_kernel, n_neighbors_for, neighbour_graphs

DENSE_UP_TO = 3000  # beyond, the smoothest functions on the graph make the kernel
SIZE = 1.5


def gram(X, *, n_clusters: int, n_neighbors: int | None = None, regularization: float = 0.0) -> np.ndarray:
    """Kernel matrix (m x m)."""
    check_number("regularization", regularization)
    return commute_kernel(neighbour_graph(X, n_clusters, n_neighbors), regularization)


def factor(
    X, n_components: int, *, n_clusters: int, n_neighbors: int | None = None, regularization: float = 0.0
) -> np.ndarray:
    """B (m x d) with B B' the kernel in the smoothest functions on the graph."""
    check_number("regularization", regularization)
    return commute_factor(neighbour_graph(X, n_clusters, n_neighbors), n_components, regularization)


def neighbour_graph(X, n_clusters: int, n_neighbors: int | None = None) -> sparse.csr_array:
    """Connected graph of the neighbours, symmetric weights."""
    k = n_neighbors_for(X.shape[0], n_clusters, SIZE) if n_neighbors is None else n_neighbors
    return neighbour_graphs(X, [k])[0]


def fit(
    X, weight, *, n_clusters, method, n_components, rng, n_neighbors: int | None = None, regularization: float = 0.0
):
    import sys
    from kernelclust.kernels._graph_fit import fit_graph

    return fit_graph(
        sys.modules[__name__],
        X,
        weight,
        n_clusters=n_clusters,
        method=method,
        n_components=n_components,
        params={"n_neighbors": n_neighbors, "regularization": regularization},
    )
