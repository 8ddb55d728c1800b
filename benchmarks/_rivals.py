"""KMeans, then the shortest way through its centres: the free rival of every ordered clustering."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances


def kmeans_path(X, n_clusters: int, seed: int, *, closed: bool = False) -> np.ndarray:
    """Labels (m,) of KMeans, numbered along the shortest path (closed: round trip) through the centres."""
    model = KMeans(n_clusters, n_init=10, random_state=seed).fit(X)
    return place_on_path(model.cluster_centers_, closed=closed)[model.labels_]


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
