"""Labelings to start from, made in the kernel's leading eigenvectors."""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr

from kernelclust.kernels import Spectrum


def spectral_start(spectrum: Spectrum, n_clusters: int) -> np.ndarray:
    """Deterministic: pivoted QR of the constant and the c - 1 leading eigenvectors picks c samples that differ most;
    each sample goes to the one it resembles (Zha et al. 2001)."""
    m = len(spectrum.functions)
    V = np.column_stack([np.full(m, spectrum.constant), spectrum.functions[:, : n_clusters - 1]])
    pivots = qr(V.T, pivoting=True, mode="r")[1][:n_clusters]
    left, _, right = np.linalg.svd(V[pivots], full_matrices=False)
    return np.argmax(np.abs(V @ (left @ right).T), axis=1)


def projected_labels(spectrum: Spectrum, A: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """P = 1 w'/sqrt(m) + U s V'W' (m x c): the best relaxed labels for equal sizes, which already know A.

    U are leading eigenvectors of the kernel, V those of A in the complement (basis W) of w = 1/sqrt(c); the signs s
    are free and drawn at random. In units of w: a sample of its own cluster has about c, the others about 0.
    """
    c = len(A)
    W = np.linalg.svd(np.full((1, c), 1.0))[2][1:].T
    V = np.linalg.eigh(W.T @ A @ W)[1][:, ::-1]
    U = spectrum.functions[:, : c - 1] / spectrum.constant
    signs = rng.choice([-1.0, 1.0], U.shape[1])
    return 1.0 + np.sqrt(c) * (U * signs) @ (W @ V[:, : U.shape[1]]).T


def projected_start(spectrum: Spectrum, A: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Each sample to the largest entry of `projected_labels`."""
    return np.argmax(projected_labels(spectrum, A, rng), axis=1)


def plus_plus_start(E: np.ndarray, weight: np.ndarray, n_clusters: int, rng: np.random.RandomState) -> np.ndarray:
    """k-means++ centres in feature space (rows of E), every sample to the nearest."""
    if not np.ptp(E, axis=0).any():
        return random_start(len(E), n_clusters, rng)
    return nearest(E, E[plus_plus_indices(E, weight, n_clusters, rng)])


def plus_plus_indices(E: np.ndarray, weight: np.ndarray, n_clusters: int, rng: np.random.RandomState) -> np.ndarray:
    """Samples that greedy k-means++ picks as centres, as scikit-learn's `kmeans_plusplus` does; its checks and
    conversions took a third of a small fit."""
    m, trials = len(E), 2 + int(np.log(n_clusters))
    norms = np.einsum("ij,ij->i", E, E)

    def squared(centres: np.ndarray) -> np.ndarray:
        return np.maximum(norms[centres, None] + norms - 2 * E[centres] @ E.T, 0.0)  # (trials, m)

    chosen = np.empty(n_clusters, dtype=np.intp)
    chosen[0] = min(int(np.searchsorted(np.cumsum(weight), rng.uniform() * weight.sum())), m - 1)
    nearest_one = squared(chosen[:1])[0]
    for j in range(1, n_clusters):
        far = np.cumsum(weight * nearest_one)
        if not far[-1] > 0:  # fewer distinct samples than clusters
            chosen[j:] = rng.randint(m, size=n_clusters - j)
            break
        tried = np.minimum(np.searchsorted(far, rng.uniform(size=trials) * far[-1]), m - 1)
        left = np.minimum(squared(tried), nearest_one)
        best = int(np.argmin(left @ weight))
        chosen[j], nearest_one = tried[best], left[best]
    return chosen


def seeded_start(
    E: np.ndarray, weight: np.ndarray, known: np.ndarray, n_clusters: int, rng: np.random.RandomState
) -> np.ndarray:
    """Every sample to the nearest centre: the mean of those with a known label, else one that k-means++ picks."""
    given = np.flatnonzero(known >= 0)
    centres = E[plus_plus_indices(E, weight, n_clusters, rng)]
    if len(given):
        sums = np.zeros((n_clusters, E.shape[1]))
        np.add.at(sums, known[given], E[given] * weight[given, None])
        n = np.bincount(known[given], weight[given], minlength=n_clusters)
        free = np.flatnonzero(n == 0)
        means = sums[n > 0] / n[n > 0, None]
        apart = np.min(((centres[:, None] - means) ** 2).sum(axis=2), axis=1)
        centres[free] = centres[np.argsort(-apart)[: len(free)]]
        centres[n > 0] = means
    return nearest(E, centres)


def random_start(n_samples: int, n_clusters: int, rng: np.random.RandomState) -> np.ndarray:
    """Every sample anywhere."""
    return rng.randint(n_clusters, size=n_samples)


def nearest(E: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Number of the nearest centre of each row."""
    return np.argmax(E @ centres.T - 0.5 * np.einsum("ij,ij->i", centres, centres), axis=1)


def fill_empty(labels: np.ndarray, E: np.ndarray, n_clusters: int) -> np.ndarray:
    """Give every empty cluster the sample that lies farthest from the mean of its own, which must keep others."""
    labels = np.array(labels, dtype=np.intp)
    count = np.bincount(labels, minlength=n_clusters)
    for empty in np.flatnonzero(count == 0):
        means = np.zeros((n_clusters, E.shape[1]))
        np.add.at(means, labels, E)
        means /= np.maximum(count, 1)[:, None]
        distance = ((E - means[labels]) ** 2).sum(axis=1)
        distance[count[labels] == 1] = -1.0
        chosen = int(np.argmax(distance))
        count[labels[chosen]] -= 1
        labels[chosen] = empty
        count[empty] = 1
    return labels
