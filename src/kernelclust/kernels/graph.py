"""Commute-time kernel of a connected nearest-neighbour graph: K = (L + regularization I)^+, L the graph Laplacian.

Two samples are alike when many short ways through the graph join them: for curved or elongated clusters, images and
cells. The graph is made connected first (shortest links between its components), because the pseudo-inverse of a
disconnected graph gives the right clustering a value of zero. Neighbours: clip(m / 2c, 3, 10).
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import NearestNeighbors

from kernelclust._names import check_number

PARAMETERS = ("n_neighbors", "regularization")


def gram(X, *, n_clusters: int, n_neighbors: int | None = None, regularization: float = 0.0) -> np.ndarray:
    """Kernel matrix (m x m)."""
    check_number("regularization", regularization)
    m = X.shape[0]
    L = laplacian(X, n_clusters, n_neighbors).toarray()
    if regularization:
        L[np.diag_indices(m)] += regularization
    else:
        L += 1.0 / m  # 1/m 11' makes it invertible; centring takes it out again
    return cho_solve(cho_factor(L, overwrite_a=True), np.eye(m), overwrite_b=True)


def factor(
    X, n_components: int, *, n_clusters: int, n_neighbors: int | None = None, regularization: float = 0.0
) -> np.ndarray:
    """B (m x d) with B B' the best approximation of that rank: the smoothest eigenvectors of the graph."""
    check_number("regularization", regularization)
    values, vectors = smooth_eigenpairs(laplacian(X, n_clusters, n_neighbors), n_components)
    return vectors / np.sqrt(values + regularization)


def smooth_eigenpairs(L: sparse.csr_matrix, n_components: int) -> tuple[np.ndarray, np.ndarray]:
    """The smallest eigenvalues of a connected graph's Laplacian but for the constant one, and their vectors."""
    m = L.shape[0]
    k = min(n_components + 1, m - 1)
    start = np.cos(np.arange(m))  # fixed, so that the result is too
    shift = -1e-3 * L.diagonal().mean()
    values, vectors = sparse.linalg.eigsh(L.tocsc(), k=k, sigma=shift, which="LM", v0=start)
    order = np.argsort(values)[1:]
    return np.maximum(values[order], np.finfo(float).tiny), vectors[:, order]


def laplacian(X, n_clusters: int, n_neighbors: int | None = None) -> sparse.csr_matrix:
    """Laplacian of the connected graph in which neighbours are joined."""
    W = neighbour_graph(X, n_clusters, n_neighbors)
    return (sparse.diags(np.asarray(W.sum(axis=1)).ravel()) - W).tocsr()


def neighbour_graph(X, n_clusters: int, n_neighbors: int | None = None) -> sparse.csr_matrix:
    """Symmetric 0 / 1/2 / 1 weights: joined by neither, one or both of two samples; connected."""
    m = X.shape[0]
    if m < 2:
        return sparse.csr_matrix((m, m))
    k = int(np.clip(m // (2 * n_clusters), 3, 10)) if n_neighbors is None else n_neighbors
    check_number("n_neighbors", k, whole=True, least=1)
    search = NearestNeighbors(n_neighbors=min(int(k), m - 1)).fit(X)
    W = search.kneighbors_graph(mode="connectivity")
    return connect((W + W.T).multiply(0.5).tocsr(), X)


def connect(W: sparse.csr_matrix, X) -> sparse.csr_matrix:
    """Join the components of a graph by their shortest links, as a minimum spanning tree would."""
    while True:
        count, component = connected_components(W, directed=False)
        if count == 1:
            return W
        pairs = set()
        for part in range(count):
            inside, outside = np.flatnonzero(component == part), np.flatnonzero(component != part)
            distance, nearest = NearestNeighbors(n_neighbors=1).fit(X[outside]).kneighbors(X[inside])
            best = int(np.argmin(distance[:, 0]))
            i, j = int(inside[best]), int(outside[nearest[best, 0]])
            pairs.add((min(i, j), max(i, j)))
        rows, columns = np.array(sorted(pairs)).T
        links = sparse.coo_matrix((np.ones(len(rows)), (rows, columns)), shape=W.shape)
        W = (W + links + links.T).tocsr()
