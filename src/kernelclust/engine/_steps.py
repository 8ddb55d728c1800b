"""Distances between clusters on a structure, and how well distances and labels follow them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.sparse.csgraph import connected_components, shortest_path
from scipy.stats import rankdata

from kernelclust.solvers import likely_placements

LARGEST_FIT = 0.99
FEW_RESTARTS = ((8, 5), (12, 2))  # of the search for places in repeats: up to so many clusters, so many


@lru_cache(maxsize=64)
def _steps(A: bytes, c: int) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return (G, links, connected) of a label kernel."""
    kernel = np.frombuffer(A).reshape(c, c)
    linked = (kernel > 0) & ~np.eye(c, dtype=bool)
    if not linked.any():
        return 1.0 - np.eye(c), linked, False
    length = np.where(linked, kernel[linked].max() / np.where(linked, kernel, 1.0), 0.0)
    G = shortest_path(length, directed=False)
    apart = ~np.isfinite(G)
    G[apart] = G[~apart].max() + 1
    far = G + np.diag(np.full(c, np.inf))
    detour = np.stack([(far[j] + far).min(axis=1) for j in range(c)])
    return G, linked & (length < detour * (1 - 1e-9)), connected_components(linked, directed=False)[0] == 1


def steps(A: np.ndarray) -> np.ndarray:
    """Return G (c, c): shortest ways over links A_jk > 0, a link being max A / A_jk long; between parts one more
    than the longest way.
    """
    return _steps(np.ascontiguousarray(A, dtype=float).tobytes(), len(A))[0]


def links(A: np.ndarray) -> np.ndarray:
    """Return which pairs are linked (c, c): those with A_jk > 0 that no way over others joins as shortly."""
    return _steps(np.ascontiguousarray(A, dtype=float).tobytes(), len(A))[1]


def is_connected(A: np.ndarray) -> bool:
    """Return whether links lead from every cluster to every other."""
    return _steps(np.ascontiguousarray(A, dtype=float).tobytes(), len(A))[2]


def distance_fit(D: np.ndarray, G: np.ndarray) -> tuple[float, float]:
    """Return how well squared distances D (c, c) between means follow steps: the correlation T of sqrt D with G, and
    R of their ranks, at most 0.99 in size; zero where distances or steps are all the same.
    """
    pairs = np.triu_indices(len(G), 1)
    far, step = np.maximum(D[pairs], 0.0), G[pairs]
    if not far.max(initial=0.0) > 0:
        return 0.0, 0.0
    far = (np.sqrt(far) / np.sqrt(far.max())).round(9)  # rounding makes no ranks
    return _correlation(far, step), _correlation(rankdata(far), rankdata(step))


def _correlation(x: np.ndarray, y: np.ndarray) -> float:
    if min(np.ptp(x), np.ptp(y)) < 1e-9:
        return 0.0
    x, y = x - x.mean(), y - y.mean()
    return float(np.clip(x @ y / np.sqrt((x @ x) * (y @ y)), -LARGEST_FIT, LARGEST_FIT))


def squared_distances(S: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return |mu_j - mu_k|^2 (c, c) from cluster sums and sizes."""
    safe = np.where(n > 0, n, np.inf)
    products = S / np.outer(safe, safe)
    own = np.diag(products)
    return np.maximum(own[:, None] + own - 2 * products, 0.0)


def place(A: np.ndarray, score: np.ndarray, movable: np.ndarray | None = None) -> np.ndarray:
    """Return nodes (r, c) that few starts find for clusters with pairwise scores (r, c, c), larger for those that
    belong close.
    """
    c = len(A)
    movable = np.ones(c, dtype=bool) if movable is None else movable
    return likely_placements(A, score, movable, next((number for most, number in FEW_RESTARTS if c <= most), 0))


def order_agreement(G: np.ndarray, table: np.ndarray, best: float | None = None) -> np.ndarray:
    """Return how far two labelings put samples in the same order (r,), whatever the borders of their clusters: 1 the
    same, 0 as expected of clusters put anywhere.

    With N = `table` (r, c, c) (weights of samples with labels j and k), X = N - n k'/m and X_y, X_z the same of each
    labeling with itself, raw = tr(G X G X') / sqrt(tr(G X_y G X_y) tr(G X_z G X_z)), the correlation of steps over all
    pairs of samples. (raw - chance) / (best - chance), chance the mean and best the largest raw over all places of z's
    clusters (1 where they are y's own).
    """
    n, k, m = table.sum(axis=2), table.sum(axis=1), table.sum(axis=(1, 2))[:, None, None]
    c = len(G)
    X = table - n[:, :, None] * k[:, None] / m

    def size(n: np.ndarray) -> np.ndarray:
        stepped = G @ (n[:, :, None] * np.eye(c) - n[:, :, None] * n[:, None] / m)
        return (stepped * stepped.swapaxes(1, 2)).sum(axis=(1, 2))

    def raw(node: np.ndarray) -> np.ndarray:
        order = np.argsort(node, axis=1)
        root = np.sqrt(np.maximum(size(n) * size(np.take_along_axis(k, order, axis=1)), 0.0))
        moved = np.take_along_axis(X, order[:, None], axis=2)
        return ((G @ moved) * (moved @ G)).sum(axis=(1, 2)) / np.where(root > 0, root, np.inf)

    pull = X.swapaxes(1, 2) @ G @ X
    here, root = raw(np.tile(np.arange(c), (len(X), 1))), np.sqrt(np.maximum(size(n) * size(k), 0.0))
    off = G[~np.eye(c, dtype=bool)].mean()
    chance = -off * np.trace(pull, axis1=1, axis2=2) / np.where(root > 0, root, np.inf)
    top = np.maximum(here, raw(place(G, pull))) if best is None else np.full(len(X), best)
    above = top > chance
    found = np.where(above, here - chance, 0.0) / np.where(above, top - chance, 1.0)
    return np.where((root > 0) & (np.abs(found) <= 1.5), found, 0.0)
