"""Many small k-means runs at once: of halves of the samples, or of draws of noise."""

from __future__ import annotations

import numpy as np

STEPS = 15  # of a run at most


def many_kmeans(E: np.ndarray, weight: np.ndarray, n_clusters: int, rng: np.random.RandomState, starts: int):
    """Labels (r, m) of r runs in E (r, m, d), or (1, m, d) for one table of all, the best of several starts each.

    Samples of weight zero (r, m) take part in nothing and go to the nearest mean.
    """
    found = [_lloyd(E, weight, _plus_plus(E, weight, n_clusters, rng)) for _ in range(starts)]
    best = np.argmin([within for _, within in found], axis=0)
    return np.stack([labels for labels, _ in found])[best, np.arange(len(weight))]


def cluster_means(E: np.ndarray, weight: np.ndarray, labels: np.ndarray, n_clusters: int):
    """Means (r, c, d) and weights (r, c) of the clusters of every run; the mean of an empty one is zero."""
    Pi = (labels[:, :, None] == np.arange(n_clusters)) * weight[:, :, None]
    n = Pi.sum(axis=1)
    return Pi.transpose(0, 2, 1) @ E / np.where(n > 0, n, 1.0)[:, :, None], n


def _plus_plus(E: np.ndarray, weight: np.ndarray, n_clusters: int, rng: np.random.RandomState) -> np.ndarray:
    """Centres (r, c, d): samples drawn one after the other, far ones more likely (k-means++)."""
    run, table = np.arange(len(weight)), np.arange(len(weight)) if len(E) > 1 else 0
    chosen, nearest, mass = [], np.inf, weight
    for _ in range(n_clusters):
        share = np.cumsum(mass, axis=1)
        at = (share > rng.uniform(size=(len(run), 1)) * share[:, -1:]).argmax(axis=1)
        chosen.append(E[table, at])
        nearest = np.minimum(nearest, ((E - chosen[-1][:, None, :]) ** 2).sum(axis=2))
        mass = weight * nearest
    return np.stack(chosen, axis=1)


def _lloyd(E: np.ndarray, weight: np.ndarray, centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labels (r, m), and the squares within clusters (r,) up to what all labelings share."""
    labels = _nearest(E, centres)[0]
    for _ in range(STEPS):
        means, n = cluster_means(E, weight, labels, centres.shape[1])
        centres = np.where(n[:, :, None] > 0, means, centres)
        new, distance = _nearest(E, centres)
        if np.array_equal(new, labels):
            break
        labels = new
    return labels, (weight * distance).sum(axis=1)


def _nearest(E: np.ndarray, centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    D = (centres**2).sum(axis=2)[:, None, :] - 2 * E @ centres.transpose(0, 2, 1)
    labels = D.argmin(axis=2)
    return labels, np.take_along_axis(D, labels[:, :, None], axis=2)[:, :, 0]
