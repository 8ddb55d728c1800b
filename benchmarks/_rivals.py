"""The free rivals of every ordered clustering: KMeans and the shortest way through its centres, spectral clustering of
a neighbour graph and the order of its slowest eigenvectors."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import kneighbors_graph


def kmeans_path(X, n_clusters: int, seed: int, *, closed: bool = False) -> np.ndarray:
    """Labels (m,) of KMeans, numbered along the shortest path (closed: round trip) through the centres."""
    model = KMeans(n_clusters, n_init=10, random_state=seed).fit(X)
    return place_on_path(model.cluster_centers_, closed=closed)[model.labels_]


def spectral_fiedler(X, n_clusters: int, seed: int, *, closed: bool = False) -> np.ndarray:
    """Labels (m,) of spectral clustering of a neighbour graph, numbered by the Fiedler vector (closed: by the angle of
    the two slowest eigenvectors)."""
    m = X.shape[0]
    k = int(np.clip(m // (2 * n_clusters), 3, 10))
    W = kneighbors_graph(X, k).toarray()
    W = (W + W.T) / 2
    labels = SpectralClustering(n_clusters, affinity="precomputed", random_state=seed).fit(W).labels_
    L = sparse.csgraph.laplacian(W, normed=True)
    slow = np.linalg.eigh(L)[1][:, 1:3]
    means = np.array([slow[labels == j].mean(axis=0) for j in range(n_clusters)])
    key = np.arctan2(means[:, 1], means[:, 0]) if closed else means[:, 0]
    position = np.empty(n_clusters, dtype=int)
    position[np.argsort(key)] = np.arange(n_clusters)
    return position[labels]


def place_on_path(centers: np.ndarray, *, closed: bool = False) -> np.ndarray:
    """Position (c,) of every centre on the shortest path."""
    position = np.empty(len(centers), dtype=int)
    position[shortest_order(pairwise_distances(centers), closed=closed)] = np.arange(len(centers))
    return position


def shortest_order(D: np.ndarray, *, closed: bool = False) -> np.ndarray:
    """The order of c places that minimises the way through all of them, exactly (Held and Karp; c up to about 15)."""
    c = len(D)
    if c == 1:
        return np.zeros(1, dtype=int)
    length = np.full((1 << c, c), np.inf)  # length[seen, j]: shortest way through the places seen that ends in j
    before = np.zeros((1 << c, c), dtype=int)
    for j in [0] if closed else range(c):
        length[1 << j, j] = 0.0
    for seen in range(1, 1 << c):
        ways = length[seen][:, None] + D  # (from, to)
        best = ways.argmin(axis=0)
        for j in range(c):
            new = seen | 1 << j
            if new != seen and ways[best[j], j] < length[new, j]:
                length[new, j] = ways[best[j], j]
                before[new, j] = best[j]
    seen = (1 << c) - 1
    j = int(np.argmin(length[seen] + (D[:, 0] if closed else 0.0)))
    order = [j]
    while len(order) < c:
        previous = int(before[seen, j])
        seen ^= 1 << j
        j = previous
        order.append(j)
    return np.array(order)
