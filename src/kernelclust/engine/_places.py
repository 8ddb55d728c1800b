"""Positions of samples among the clusters of a fit: distances to means, soft membership, continuous position.

All of it in the feature space of the kernel, where <phi(x), mu_j> = G_j / n_j and <mu_j, mu_k> = S_jk / n_j n_k.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kernelclust.engine._position_errors import PositionErrors, position_errors, thinned
from kernelclust.engine._scales import SAME, Scales
from kernelclust.kernels import NewSamples
from kernelclust.objectives import Assignment
from kernelclust.structures import Structure

ROUNDING = 1e-14  # share of the terms of a square up to which it is zero
STEPS = 100  # of the search for a variance, at most
ACCURACY = 1e-6  # relative, at which it stops
TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class Prediction:
    """Places of new samples with the clusters held as they are; holds no kernel matrix.

    `judge` and `sums` are the similarities and the S that distances are measured by: those of the kernel itself, or of
    the one that a discriminative kernel was made of, which knows no distances of new samples.
    """

    similarities: NewSamples
    assignment: Assignment
    n: np.ndarray  # (c,)
    judge: NewSamples
    sums: np.ndarray  # (c, c)
    reach: float = 1.0  # share of the fitted samples' spread that c clusters could explain at best

    def rises(self, X) -> np.ndarray:
        """Return the rate at which F rises with a sample in each cluster (n, c)."""
        return self.assignment.rises(self.similarities(X))

    def labels(self, X) -> np.ndarray:
        return self.assignment.labels(self.similarities(X))

    def placed(self, X) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return similarities that distances are measured by, with clusters (n, c) and with oneself (n,), and labels
        (n,).
        """
        G, own = self.judge.checked(X)
        return G, own, self.assignment.labels(G) if self.judge is self.similarities else self.labels(X)

    def explained(self, X, weight: np.ndarray) -> float:
        """Return 1 - sum |phi(x) - mu_y|^2 / sum |phi(x) - mu|^2, y the place that x is given, over `reach`, from 0 to
        1.
        """
        return self.share(*self.spreads(X, weight))

    def spreads(self, X, weight: np.ndarray) -> tuple[float, float]:
        """Return the two sums of `explained`: around the clusters' means, and around the mean of all."""
        G, own, labels = self.placed(X)
        n = np.where(self.n > 0, self.n, 1.0)
        within = own - 2 * G[np.arange(len(G)), labels] / n[labels] + (np.diag(self.sums) / n**2)[labels]
        return float(weight @ np.maximum(within, 0.0)), float(weight @ np.maximum(own, 0.0))

    def share(self, within: float, total: float) -> float:
        return float(np.clip((1 - within / total) / self.reach, 0.0, 1.0)) if total > 0 else 0.0


@dataclass(frozen=True)
class Places:
    """Positions of new samples under a fit; holds no kernel matrix."""

    prediction: Prediction
    variance: float  # of samples around their means, in each direction between means
    scales: Scales | None

    def labels(self, X) -> np.ndarray:
        return self.prediction.labels(X)

    def distances(self, X) -> np.ndarray:
        """Return |phi(x) - mu_j| (n, c); NaN for a cluster without samples, which has no mean."""
        G, own = self.prediction.judge.checked(X)
        return distances(G, own, self.prediction.sums, self.prediction.n)

    def membership(self, X) -> np.ndarray:
        """Return shares (n, c), softmax of -|phi(x) - mu_j|^2 / 2 variance."""
        G = self.prediction.judge(X)
        return _shares(_relative(*_products(G, self.prediction.sums, self.prediction.n)), self.variance)

    def position(self, X, labels: np.ndarray | None = None) -> np.ndarray | None:
        """Return continuous places (n,), or (n, d) with more columns than one, of samples with these labels, or those
        predicted.
        """
        if self.scales is None:
            return None
        G, _, predicted = self.prediction.placed(X)
        labels = predicted if labels is None else labels
        return self.scales(G / _safe(self.prediction.n), labels)


class Sampled(NamedTuple):
    """Some of the fitted samples, as they were given."""

    views: list[Any]  # tables with rows for samples that clusters can be seen in, each (k, d); of none, no errors
    G: np.ndarray  # (k, c)
    labels: np.ndarray  # (k,)
    weight: np.ndarray  # (k,)

    def position_errors(self, structure: Structure, places: Places) -> PositionErrors | None:
        """Return the distribution of true positions; None where the structure or the samples do not show it."""
        route = structure.route()
        if route is None or places.scales is None or not self.views:
            return None
        position = places.scales(self.G / _safe(places.prediction.n), self.labels)
        some = thinned(self.labels, position)
        return position_errors(
            route, [Z[some] for Z in self.views], self.labels[some], self.weight[some], position[some]
        )


@dataclass(frozen=True)
class Whole:
    """All samples of a fit that lie elsewhere, at their final labels; some of them (k) say how samples are spread."""

    n_samples: int
    similarities: NewSamples  # of new samples with the clusters
    few: np.ndarray  # (k,) which samples are seen here,
    G: np.ndarray  # (k, c) their similarity sums,
    own: np.ndarray  # (k,) their similarities with themselves,
    few_labels: np.ndarray  # (k,)
    weight: np.ndarray  # (k,)
    medoids: np.ndarray  # (c,) of all samples; -1 for a cluster without samples
    labelled: np.ndarray  # samples, of these and of the medoids, whose labels were known
    labels: Any  # (m,) where the samples lie
    position: Callable[[Places], Any]  # (m,) or (m, d) where the samples lie
    sampled: Sampled

    def located(self, prediction: Prediction, structure: Structure, S: np.ndarray) -> Located:
        found = fitted_places(prediction, structure, self.G, self.own, S, self.few_labels, self.weight)
        rank = np.full(self.n_samples, -1, dtype=np.intp)
        rank[self.few] = found.rank + 1
        rank[self.medoids[self.medoids >= 0]] = 0
        rank[self.labelled] = -1
        position = None if found.places.scales is None else self.position(found.places)
        errors = self.sampled.position_errors(structure, found.places)
        return Located(found.places, rank, position, self.medoids, errors)


class Located(NamedTuple):
    """Places of new samples; of the fitted ones the rank in their cluster by distance to its mean (-1: unknown) and the
    position; of every cluster the sample nearest to its mean; how far positions are from the true ones, where known.
    """

    places: Places
    rank: np.ndarray
    position: Any
    medoids: np.ndarray
    errors: PositionErrors | None = None


def fitted_places(
    prediction: Prediction,
    structure: Structure,
    G: np.ndarray,
    own: np.ndarray,
    S: np.ndarray,
    labels: np.ndarray,
    weight: np.ndarray,
) -> Located:
    """Locate new samples and fitted ones among the clusters.

    G (m, c), own (m,) and S (c, c) are similarities of the fitted samples under the kernel that distances are of.
    """
    n = prediction.n
    inner = G / _safe(n)
    scales = Scales.of(structure, inner, labels, weight, n)
    places = Places(prediction, _variance(*_products(G, S, n), labels, weight), scales)
    away = distances(G, own, S, n)[np.arange(len(labels)), labels]
    position = None if scales is None else scales(inner, labels)
    rank, medoids = _typical(away, labels), np.full(len(n), -1)
    typical = np.flatnonzero(rank == 0)
    medoids[labels[typical]] = typical
    return Located(places, rank, position, medoids)


def distances(G: np.ndarray, own: np.ndarray, S: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return |phi(x) - mu_j| = sqrt(k(x, x) - 2 G_j / n_j + S_jj / n_j^2), NaN where a cluster is empty."""
    parts = own[:, None], 2 * G / _safe(n), np.diag(S) / _safe(n) ** 2
    squared = parts[0] - parts[1] + parts[2]
    size = np.abs(parts[0]) + np.abs(parts[1]) + np.abs(parts[2])
    away = np.sqrt(np.where(squared > ROUNDING * size, squared, 0.0))  # the root of rounding would be far from small
    away[:, n == 0] = np.nan
    return away


def _safe(n: np.ndarray) -> np.ndarray:
    return np.where(n > 0, n, np.inf)


def _typical(away: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the rank of every sample in its cluster, the nearest to its mean first (m,)."""
    order = np.lexsort((away, labels))
    starts = np.searchsorted(labels[order], labels[order])
    rank = np.empty(len(labels), dtype=np.intp)
    rank[order] = np.arange(len(labels)) - starts
    return rank


# -- membership --------------------------------------------------------------------------------------------------------


def _products(G: np.ndarray, S: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return <phi(x), mu_j> (m, c), <mu_j, mu_k> (c, c), and which clusters have a mean (c,)."""
    return G / _safe(n), S / np.outer(_safe(n), _safe(n)), n > 0


def _relative(inner: np.ndarray, products: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Return squared distances to means less that to the nearest (n, c)."""
    squared = np.where(there, np.diag(products) - 2 * inner, np.inf)
    return squared - squared.min(axis=1, keepdims=True)


def _shares(squared: np.ndarray, variance: float) -> np.ndarray:
    share = np.exp(-squared / max(2 * variance, TINY))
    return share / share.sum(axis=1, keepdims=True)


def _variance(inner, products, there: np.ndarray, labels: np.ndarray, weight: np.ndarray) -> float:
    """Return the variance t, alike in all r directions between means, for which samples are most likely.

    It is the fixed point of

        t = sum_i w_i sum_j p_ij |P (phi_i - mu_j)|^2 / (r sum_i w_i),   p = softmax of -|phi_i - mu_j|^2 / 2t,

    P the projection on these directions, from the variance within clusters. At least a billionth of the mean square
    distance between means; one where all means are the same.
    """
    Y, C = _between_means(inner[:, there], products[np.ix_(there, there)])
    r, share = C.shape[1], weight / weight.sum()
    if not r:
        return 1.0
    squared = np.maximum((Y**2).sum(axis=1)[:, None] - 2 * Y @ C.T + (C**2).sum(axis=1), 0.0)
    relative = squared - squared.min(axis=1, keepdims=True)
    least = SAME * float((C**2).sum(axis=1).mean())
    column = np.cumsum(there) - 1
    t = max(float(share @ squared[np.arange(len(Y)), column[labels]]) / r, least)
    for _ in range(STEPS):
        before, t = t, max(float(share @ (_shares(relative, t) * squared).sum(axis=1)) / r, least)
        if abs(t - before) <= ACCURACY * before:
            break
    return t


def _between_means(inner: np.ndarray, products: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return samples (m, r) and means (c, r) in the directions between means, seen from the middle of these."""
    middle = products.mean(axis=0)
    centred = products - middle - middle[:, None] + middle.mean()
    values, vectors = np.linalg.eigh(centred)
    some = values > SAME * max(values[-1], np.abs(products).max() * 1e-3, np.finfo(float).tiny)
    length = np.sqrt(values[some])
    seen = inner - inner.mean(axis=1, keepdims=True) - (middle - middle.mean())
    return seen @ vectors[:, some] / length, vectors[:, some] * length
