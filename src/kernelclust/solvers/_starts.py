"""Labelings to start from, made in the kernel's leading eigenvectors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import qr
from scipy.spatial.distance import pdist

from kernelclust.kernels import Spectrum, feature_sums
from kernelclust.objectives import Assignment, ClusterObjective

MAX_ROUNDS = 15  # of a k-means run
HALVING_ROUNDS = 3  # of the search for halves of clusters


def spectral_start(spectrum: Spectrum, n_clusters: int) -> np.ndarray:
    """Return labels without a random draw: pivoted QR of the constant and the c - 1 leading eigenvectors picks c
    samples that differ most; each sample goes to the one it resembles (Zha et al. 2001).
    """
    m = len(spectrum.functions)
    V = np.column_stack([np.full(m, spectrum.constant), spectrum.functions[:, : n_clusters - 1]])
    pivots = qr(V.T, pivoting=True, mode="r")[1][:n_clusters]
    left, _, right = np.linalg.svd(V[pivots], full_matrices=False)
    return np.argmax(np.abs(V @ (left @ right).T), axis=1)


def projected_labels(spectrum: Spectrum, A: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Return P = 1 w'/sqrt(m) + U s V'W' (m x c): the best relaxed labels for equal sizes, which already know A.

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
    """Assign each sample to the largest entry of `projected_labels`."""
    return np.argmax(projected_labels(spectrum, A, rng), axis=1)


def plus_plus_start(E: np.ndarray, weight: np.ndarray, n_clusters: int, rng: np.random.RandomState) -> np.ndarray:
    """Assign every sample to the nearest of k-means++ centres in feature space (rows of E)."""
    return plus_plus_starts(E, weight, n_clusters, rng, 1)[0]


def plus_plus_starts(
    E: np.ndarray, weight: np.ndarray, n_clusters: int, rng: np.random.RandomState, number: int
) -> list[np.ndarray]:
    """Return several such labelings; all are drawn at once."""
    if not np.ptp(E, axis=0).any():
        return [random_start(len(E), n_clusters, rng) for _ in range(number)]
    return list(nearest(E, _greedy_centres(E, weight, n_clusters, rng, number)))


def _greedy_centres(
    E: np.ndarray, weight: np.ndarray, n_clusters: int, rng: np.random.RandomState, number: int = 1
) -> np.ndarray:
    """Return centres (number, c, d) of greedy k-means++, as scikit-learn's `kmeans_plusplus` picks them; its checks and
    conversions took a third of a small fit.
    """
    weights = np.broadcast_to(weight, (number, len(weight)))
    return E[plus_plus(E[None], weights, n_clusters, rng, trials=2 + int(np.log(n_clusters)))]


def plus_plus(
    E: np.ndarray, weight: np.ndarray, n_clusters: int, rng: np.random.RandomState, trials: int = 1
) -> np.ndarray:
    """Return samples (r, c) that k-means++ picks as centres in r problems: far ones are drawn more often, and of
    several `trials` the one is taken that leaves the least squares. Samples are E (r, m, d), or (1, m, d) for one
    table of all, of weights (r, m).
    """
    run = np.arange(len(weight))
    table = run if len(E) > 1 else np.zeros_like(run)
    norms = np.einsum("...ij,...ij->...i", E, E)
    chosen, nearest_one, mass = np.empty((len(run), n_clusters), dtype=np.intp), np.array(np.inf), weight
    for j in range(n_clusters):
        share = np.cumsum(mass, axis=1)
        drawn = rng.uniform(size=(len(run), trials if j else 1)) * share[:, -1:]
        tried = (share[:, None] > drawn[..., None]).argmax(axis=2)  # (r, trials)
        where = table[:, None], tried
        squared = np.maximum(norms[where][..., None] + norms[:, None] - 2 * E[where] @ E.swapaxes(1, 2), 0.0)
        left = np.minimum(squared, nearest_one[..., None, :] if j else nearest_one)  # (r, trials, m)
        best = (left @ weight[..., None])[..., 0].argmin(axis=1)
        chosen[:, j], nearest_one = tried[run, best], left[run, best]
        mass = weight * nearest_one
    return chosen


def seeded_start(
    E: np.ndarray, weight: np.ndarray, known: np.ndarray, n_clusters: int, rng: np.random.RandomState
) -> np.ndarray:
    """Assign every sample to the nearest centre: the mean of those with a known label, else one that k-means++
    picks.
    """
    given = np.flatnonzero(known >= 0)
    centres = _greedy_centres(E, weight, n_clusters, rng)[0]
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
    """Assign every sample to any cluster."""
    return rng.randint(n_clusters, size=n_samples)


def nearest(E: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Number (..., m) of the centre (..., c, d) that is nearest to each row of E (..., m, d)."""
    norms = np.einsum("...ij,...ij->...i", centres, centres)
    return np.argmax(E @ centres.swapaxes(-1, -2) - 0.5 * norms[..., None, :], axis=-1)


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


# -- a cluster more here, one less there -------------------------------------------------------------------------------


def swapped(E: np.ndarray, weight: np.ndarray, labels: np.ndarray, n_clusters: int) -> Iterator[np.ndarray]:
    """Yield labelings with one cluster halved and two others merged, the most promising first, each halved once.

    Local optima of k-means mostly differ by a cluster too many in one region and one too few in another, which moves
    of single samples do not mend (Fränti, 2018: random swap clustering). Promising is a large fall of the squares
    within clusters: what halving takes off, less what merging adds (Ward, 1963).
    """
    means, n = _means(E, weight, labels, n_clusters)
    second, saved = _halves(E, weight, labels, means)
    i, j = np.triu_indices(n_clusters, 1)
    lost = n[i] * n[j] / (n[i] + n[j]) * pdist(means, "sqeuclidean")
    cheapest = lost.argmin()
    pair = np.full(n_clusters, cheapest)
    for halved in (i[cheapest], j[cheapest]):
        pair[halved] = np.where((i == halved) | (j == halved), np.inf, lost).argmin()
    for halved in np.argsort(lost[pair] - saved):
        kept, free = i[pair[halved]], j[pair[halved]]
        changed = np.where(labels == free, kept, labels)
        changed[(labels == halved) & second] = free
        yield changed


def _means(E: np.ndarray, weight: np.ndarray, labels: np.ndarray, n_clusters: int) -> tuple[np.ndarray, np.ndarray]:
    n = np.bincount(labels, weight, minlength=n_clusters)
    return feature_sums(E, weight, labels, n_clusters) / np.where(n > 0, n, 1.0)[:, None], n


def _halves(E: np.ndarray, weight: np.ndarray, labels: np.ndarray, means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which samples (m,) are in the second half of their cluster, and the squares (c,) that halving takes off.

    Halves are those of 2-means, from both sides of the direction in which a cluster is widest.
    """
    c = len(means)
    Z = E - means[labels]
    widest = np.zeros_like(means)
    order = np.argsort(np.einsum("ij,ij->i", Z, Z), kind="stable")
    widest[labels[order]] = Z[order]  # the farthest sample, which is written last
    for _ in range(HALVING_ROUNDS):
        along = np.einsum("ij,ij->i", Z, widest[labels])
        widest = feature_sums(Z, weight * along, labels, c)
        widest /= np.maximum(np.linalg.norm(widest, axis=1, keepdims=True), np.finfo(float).tiny)
    second = np.einsum("ij,ij->i", Z, widest[labels]) > 0
    for _ in range(HALVING_ROUNDS):
        centres, _ = _means(Z, weight, labels + c * second, 2 * c)
        squares = np.square(centres).sum(axis=1)
        apart, middle = centres[c:] - centres[:c], (squares[c:] - squares[:c]) / 2
        second = np.einsum("ij,ij->i", Z, apart[labels]) > middle[labels]
    centres, n = _means(Z, weight, labels + c * second, 2 * c)
    return second, (n * np.square(centres).sum(axis=1)).reshape(2, c).sum(axis=0)


# -- many small problems at once ---------------------------------------------------------------------------------------


def many_kmeans(E: np.ndarray, weight: np.ndarray, n_clusters: int, rng: np.random.RandomState, starts: int):
    """Return labels (r, m) of r runs of k-means in E (r, m, d), or (1, m, d) for one table of all, the best of several
    starts.

    Samples of weight zero (r, m) take part in nothing and go to the nearest mean.
    """
    run = np.arange(len(weight))[:, None]
    flat, found = ClusterObjective(np.eye(n_clusters), np.eye(n_clusters)), []
    for _ in range(starts):
        centres = E[run if len(E) > 1 else 0, plus_plus(E, weight, n_clusters, rng)]
        found.append(move_together(E, weight, flat, nearest(E, centres), MAX_ROUNDS))
    best = np.argmax([values for _, values in found], axis=0)
    return np.stack([labels for labels, _ in found])[best, run[:, 0]]


def move_together(
    E: np.ndarray, weight: np.ndarray, objective: ClusterObjective, labels: np.ndarray, max_rounds: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return labels (r, m) and F (r,) of r problems once all samples have gone where F rises fastest, while it does.

    The rule is `ClusterObjective.assignment`, that of new samples and of rounds over partitions; for the flat objective
    it is Lloyd's step. An order is judged against some hundred small problems, which one after the other would take
    longer than the fit.
    """
    best, kept = np.full(len(weight), -np.inf), labels
    for _ in range(max_rounds + 1):
        means, n = cluster_means(E, weight, labels, objective.n_clusters)
        sums = means * n[:, :, None]
        S = sums @ sums.swapaxes(1, 2)
        values = np.where((n > 0).all(axis=1), objective.values(S, n), -np.inf)
        risen = values >= best  # samples of weight zero move without a rise
        best, kept = np.where(risen, values, best), np.where(risen[:, None], labels, kept)
        found, before = objective.assignment(S, n), labels
        labels = Assignment(sums.swapaxes(1, 2) @ found.M, found.h).labels(E)
        if not risen.any() or np.array_equal(labels, before):
            break
    return kept, best


def cluster_means(E: np.ndarray, weight: np.ndarray, labels: np.ndarray, n_clusters: int):
    """Return means (r, c, d) and weights (r, c) of the clusters of every run; the mean of an empty one is zero."""
    Pi = (labels[:, :, None] == np.arange(n_clusters)) * weight[:, :, None]
    n = Pi.sum(axis=1)
    return Pi.transpose(0, 2, 1) @ E / np.where(n > 0, n, 1.0)[:, :, None], n
