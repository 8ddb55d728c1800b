"""Errors of positions, by the noise of samples around the line through the clusters' means.

A sample is taken to lie at a point of the straight lines between means of neighbouring clusters, plus noise. Noise
across the line can be seen, noise along it cannot: it is taken to be as large as in the direction across in which it is
largest. The probabilities of all points for a sample are then those of a Gaussian mixture. Averaged over the samples
that were found near a point they are the distribution of the true position there, whatever way positions were found.
Where slight changes of the distances between clusters arrange them otherwise, so are the points near them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import issparse

from kernelclust._threads import one_thread
from kernelclust.structures import Route, Structure

MAX_SAMPLES = 400  # that noise is measured with
MAX_DIRECTIONS = 3  # across the line, in which samples scatter most, that the largest noise is sought in
WINDOW = 0.06  # standard deviation of the weights by distance of the samples that count as found near a point
MAX_ROUNDS, ACCURACY = 50, 1e-8  # of the search for the variance of noise
SMALLEST = 1e-9  # variance, in units of the mean square distance between means


@dataclass(frozen=True)
class PositionErrors:
    """Distribution of the true point for every point that a sample is found near (p, p), on a route."""

    route: Route
    probability: np.ndarray

    def interval(self, position: np.ndarray, level: float) -> np.ndarray:
        """Return lower and upper ends (n, 2) of the true positions of samples on a chain or ring."""
        axis = self.route.axis
        assert axis is not None
        value = self.route.position
        lowest, highest = (
            (-np.inf, np.inf) if axis.period else (axis.coordinate.min() - 0.5, axis.coordinate.max() + 0.5)
        )
        return self._around(position, position, value, level, axis.period, (float(lowest), float(highest)))

    def rearranged(self, nodes: np.ndarray, structure: Structure, size: np.ndarray) -> PositionErrors:
        """Return the distribution where clusters of this size (c,) are at one of these `nodes` (r, c) each, as likely
        as at another. Of equivalent numberings the one counts that moves fewest samples.
        """
        c = len(size)
        steps, shares = np.minimum(self.route.network.steps, c), np.zeros((c, c))
        for moved, count in zip(*np.unique(nodes, axis=0, return_counts=True), strict=True):
            gain = np.empty((c, c))
            gain[:, moved] = -steps * size
            shares[np.arange(c), structure.align(gain)[moved]] += count / len(nodes)
        node = self.route.node
        elsewhere = (shares / np.bincount(node, minlength=c).clip(1))[np.ix_(node, node)]
        elsewhere[node[:, None] == node] = 0.0
        return replace(self, probability=self.probability @ (elsewhere + np.diag(shares[node, node])))

    def pseudotime_interval(self, position: np.ndarray, found: np.ndarray, at: np.ndarray, level: float) -> np.ndarray:
        """Return lower and upper ends (n, 2) of true pseudotimes.

        `found` (n,) are the pseudotimes of the positions, `at` (p,) those of the points of the route.
        """
        step = float(np.abs(self.route.fraction).min())  # from the last point to the end
        return self._around(position, found, at, level, 0, (0.0, float(at[np.isfinite(at)].max(initial=0.0)) + step))

    def _around(
        self,
        position: np.ndarray,
        found: np.ndarray,
        at: np.ndarray,
        level: float,
        period: int,
        limits: tuple[float, float],
    ) -> np.ndarray:
        """Return the ends of an interval around numbers found (n,); `at` (p,) has the number of every point."""
        offsets = np.stack([self._offsets(at, k, level, period) for k in range(len(at))])  # (p, 2)
        out = found[:, None] + self.route.between(position, offsets)
        out = np.clip(out, *limits)
        inside = np.clip(found, *limits)
        return np.column_stack([np.minimum(out[:, 0], inside), np.maximum(out[:, 1], inside)])

    def _offsets(self, at: np.ndarray, k: int, level: float, period: int) -> np.ndarray:
        """Return quantiles of what is to be added to the number of point k."""
        reached = np.isfinite(at)
        if not reached[k]:
            return np.full(2, np.nan)
        away, share = at[reached] - at[k], self.probability[k, reached]
        if period:
            away = (away + period / 2) % period - period / 2
        order = np.argsort(away, kind="stable")
        away, share = away[order], share[order]
        below = (np.cumsum(share) - share / 2) / share.sum()
        return np.interp([(1 - level) / 2, (1 + level) / 2], below, away)


def thinned(labels: np.ndarray, position: np.ndarray) -> np.ndarray:
    """Return some samples, equally many apart in the order of clusters and positions, and at least one of each."""
    columns = position.reshape(len(position), -1).T
    order = np.lexsort((*columns[::-1], labels))
    some = np.unique(np.linspace(0, len(order) - 1, min(len(order), MAX_SAMPLES)).astype(int))
    first = np.flatnonzero(np.diff(labels[order], prepend=-1))
    return np.asarray(order[np.union1d(some, first)])


def position_errors(
    route: Route, views: list[Any], labels: np.ndarray, weight: np.ndarray, position: np.ndarray
) -> PositionErrors | None:
    """Return the distribution of true positions, by some samples (rows of all views, of which the clearest counts).

    None where a cluster has no sample, or all means are equal.
    """
    c = route.network.n_clusters
    if (np.bincount(labels, weight, minlength=c) <= 0).any() or not np.isfinite(position).all():
        return None
    with one_thread():
        share = weight / weight.sum()
        return _position_errors(route, _clearest(views, labels, share), labels, share, position)


def _position_errors(
    route: Route, X: np.ndarray, labels: np.ndarray, share: np.ndarray, position: np.ndarray
) -> PositionErrors | None:
    """Return the distribution by samples X (m, d) that each have a share of the weight."""
    c = route.network.n_clusters
    size = np.bincount(labels, share, minlength=c)
    means = np.stack([np.bincount(labels, share * column, minlength=c) for column in X.T], axis=1) / size[:, None]
    spread = float(((means - means.mean(axis=0)) ** 2).sum(axis=1).mean())
    if not spread > np.finfo(float).tiny:
        return None
    line = route.mean_weights @ means  # (p, d)
    prior = size[route.node] / np.bincount(route.node, minlength=c)[route.node]
    squared = (line**2).sum(axis=1) - 2 * X @ line.T  # less |x|^2, which is alike for all points
    noise = _Noise(X - means[labels], X, line, share)

    def probabilities(variance: float) -> np.ndarray:
        p = np.log(prior) - squared / (2 * variance)
        p = np.exp(p - p.max(axis=1, keepdims=True))
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    variance, least = noise.largest(None), SMALLEST * spread
    for _ in range(MAX_ROUNDS):
        before, variance = variance, noise.largest(probabilities(max(variance, least)))
        if abs(variance - before) <= ACCURACY * before:
            break
    variance = max(variance, least)
    away = route.distance(position)
    near = share[:, None] * np.exp(-(np.square(away) - np.square(away.min(axis=0))) / (2 * WINDOW**2))
    found = near.T @ probabilities(variance)
    return PositionErrors(route, found / found.sum(axis=1, keepdims=True))


class _Noise:
    """Scatter of samples X around points of a line, in the directions in which either half scatters most in clusters.

    A direction is chosen by one half of the samples, and the variance in it measured by the other: the largest variance
    of few samples in many directions would be too large.
    """

    def __init__(self, within: np.ndarray, X: np.ndarray, line: np.ndarray, share: np.ndarray):
        self.halves = []
        for half in (slice(0, None, 2), slice(1, None, 2)):
            w = share[half] / share[half].sum()
            self.halves.append((half, _leading(within[half], w), w))
        self.within, self.X, self.line = within, X, line

    def largest(self, probability: np.ndarray | None) -> float:
        """Return the largest variance around the line, by the probabilities of its points; None: within clusters."""
        found = []
        for (chosen, V, w), (other, _, u) in zip(self.halves, self.halves[::-1], strict=True):
            top = V @ eigh(self._scatter(chosen, V, w, probability))[1][:, -1:]
            found.append(float(self._scatter(other, top, u, probability)[0, 0]))
        return float(np.mean(found))

    def _scatter(self, half: slice, V: np.ndarray, w: np.ndarray, probability: np.ndarray | None) -> np.ndarray:
        if probability is None:
            Y = self.within[half] @ V
            return np.asarray(Y.T @ (w[:, None] * Y))
        Y, Z, p = self.X[half] @ V, self.line @ V, w[:, None] * probability[half]
        mixed = Y.T @ p @ Z
        return np.asarray(Y.T @ (w[:, None] * Y) - mixed - mixed.T + Z.T @ (p.sum(axis=0)[:, None] * Z))


def _leading(X: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return the directions (d, k) in which rows scatter most."""
    d = X.shape[1]
    first = max(d - MAX_DIRECTIONS, 0)
    return np.asarray(eigh(X.T @ (share[:, None] * X), subset_by_index=[first, d - 1])[1])


def _clearest(views: list[Any], labels: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return samples in the view in which clusters explain most of the variance, the first of several like it."""
    tables = [_coordinates(view, share) for view in views]
    explained = [_explained(Z, labels, share) for Z in tables]
    return tables[int(np.argmax(np.round(explained, 6)))]


def _explained(X: np.ndarray, labels: np.ndarray, share: np.ndarray) -> float:
    """Return the fraction of the variance that is between clusters."""
    size = np.bincount(labels, share)
    sums = np.stack([np.bincount(labels, share * column) for column in X.T])
    total = float(share @ (X**2).sum(axis=1))
    return float((sums**2 / size).sum()) / total if total > 0 else 0.0


def _coordinates(view: Any, share: np.ndarray) -> np.ndarray:
    """Return samples (m, d) at the same distances but for a factor, d at most m, seen from their mean."""
    largest = float(abs(view).max())
    view = view / np.exp2(np.frexp(largest)[1] - 1.0) if largest > 0 else view  # squares might overflow
    mean = np.asarray(share @ view).ravel()
    if not issparse(view):
        Z = np.asarray(view, dtype=np.float64) - mean
        if Z.shape[1] <= len(share):
            return Z
        gram = Z @ Z.T
    else:
        inner = np.asarray(view @ mean).ravel()
        gram = np.asarray((view @ view.T).todense()) - inner[:, None] - inner + mean @ mean
    values, vectors = eigh(gram)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
