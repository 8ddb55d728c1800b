"""From features to clusters: starts, bisection, and the best of several runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from sklearn.cluster import KMeans

from kernelclust.margin._features import Features, make_features
from kernelclust.margin._losses import TableLoss
from kernelclust.margin.cutting_plane import ManyClusters, MarginFit, Options, TwoClusters, from_labels, from_weights

KAPPA = 10.0  # C n^2 for two clusters; useful are 1 to 30, more memorises any start
START = 0.1  # mean |f| of a start, in units of 1 / n
POLISHED, POLISH = 3, 0.1  # runs that are polished, and the share of epsilon that they are polished to


def natural_C(n: int, n_clusters: int) -> float:
    """10 / n^2 for two clusters, 10 k / n^2 for k: there every cluster has its own w, at two the same problem."""
    return KAPPA * (1 if n_clusters == 2 else n_clusters) / n**2


def solve_two(
    features: Features, loss: TableLoss, options: Options, n_init: int, rng: np.random.RandomState
) -> MarginFit:
    """The best of n_init runs, from the principal direction and from random ones; the best few are polished.

    A bias comes in with the polish alone: the first cuts, which compare with all samples on one side, would put them
    there.
    """
    machine = TwoClusters(features, loss)
    first = TwoClusters(features.without_bias(), loss) if features.centred else machine
    runs = [from_weights(first, w, options) for w in _directions(first.features, n_init, rng)]
    if first.features.bias != features.bias:
        runs = [replace(run, w=np.append(run.w, 0.0)) for run in runs]
    runs = sorted(runs, key=_worth(2))[:POLISHED]
    finer = replace(options, epsilon=POLISH * options.epsilon)
    return min((_polish(machine, run, finer) for run in runs), key=_worth(2))


def _polish(machine: TwoClusters, run: MarginFit, options: Options) -> MarginFit:
    """Go on from the labels of a run; what is found counts if it is better."""
    more = from_labels(machine, run.labels, options)
    return replace(min(more, run, key=_worth(2)), history=run.history + more.history)


def solve_many(
    Z,
    features: Features,
    n_clusters: int,
    make_loss: Callable[[int], TableLoss],
    options: Options,
    n_init: int,
    rng: np.random.RandomState,
) -> MarginFit:
    """The joint form from two starts, the better one: hierarchical bisection and k-means. make_loss: for n samples."""
    machine = ManyClusters(features, make_loss(features.n_samples), n_clusters, 0.01 * options.epsilon)
    starts = [
        bisect(Z, n_clusters, make_loss, options, n_init, rng),
        KMeans(n_clusters, n_init=n_init, random_state=rng).fit(Z).labels_.astype(int),
    ]
    return min((from_labels(machine, start, options) for start in starts), key=_worth(n_clusters))


def bisect(
    Z,
    n_clusters: int,
    make_loss: Callable[[int], TableLoss],
    options: Options,
    n_init: int,
    rng: np.random.RandomState,
) -> np.ndarray:
    """Labels 0..n_clusters-1: the cluster with the largest scatter is cut in two, again and again."""
    labels = np.zeros(Z.shape[0], dtype=int)
    scatter = np.array([np.inf])
    for new in range(1, n_clusters):
        members = np.flatnonzero(labels == scatter.argmax())
        n = len(members)
        split = solve_two(
            make_features(Z[members]), make_loss(n), replace(options, C=natural_C(n, 2), limit=None), n_init, rng
        )
        labels[members[split.labels]] = new
        scatter = np.array([_scatter(Z[labels == c]) for c in range(new + 1)])
        if new + 1 < n_clusters and scatter.max() < 0:
            raise ValueError(f"n_clusters={n_clusters}, but only {new + 1} samples are different.")
    return labels


def trivial_slack(loss: TableLoss, n_clusters: int) -> float:
    """xi of w = 0, which puts all samples into one cluster: its loss to the others of equal sizes, at most."""
    tables = np.zeros((n_clusters, n_clusters, n_clusters), dtype=int)
    for m in range(n_clusters):  # samples spread over clusters 1..m, and 0 too for the last
        used = np.arange(1, m + 1) if m else np.arange(n_clusters)
        tables[m, used, 0] = np.bincount(np.arange(loss.n) % len(used), minlength=len(used))
    return float(loss.of_tables(tables).max())


def _scatter(Z) -> float:
    """Sum of squared distances to the mean; -1 where all samples are equal."""
    try:
        return Z.shape[0] * make_features(Z).scale ** 2
    except ValueError:  # nothing to separate
        return -1.0


def _directions(features: Features, n_init: int, rng: np.random.RandomState) -> Iterator[np.ndarray]:
    for start in range(n_init):
        w = rng.standard_normal(features.n_features)
        w = features.principal(w) if start == 0 else w
        size = float(np.abs(features.scores(w)).mean())
        yield w * (START / (features.n_samples * size)) if size > 0 else w


def _worth(n_clusters: int) -> Callable[[MarginFit], tuple[int, float]]:
    """Fits with all clusters in use first, then by objective."""
    return lambda fit: (n_clusters - len(np.unique(fit.labels)), fit.objective)
