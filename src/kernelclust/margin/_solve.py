"""From features to clusters: starts, bisection, and the best of several runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans

from kernelclust._progress import SEARCH, set_stage, set_step
from kernelclust._threads import in_order
from kernelclust.kernels import safe_unit
from kernelclust.margin._cuts import Cuts, Options
from kernelclust.margin._features import Features, make_features
from kernelclust.margin._models import DecisionModel, ManyClusters, TwoClusters
from kernelclust.margin._table_loss import TableLoss
from kernelclust.margin._weights import SampleWeights
from kernelclust.margin.cutting_plane import MarginFit, from_labels, from_weights

KAPPA = 10.0  # C n^2 for two clusters; useful are 1 to 30, more memorises any start
START = 0.1  # mean |f| of a start, in units of 1 / n
POLISHED, POLISH = 3, 0.1  # runs that are polished, and the share of tol that they are polished to

Losses = Callable[[SampleWeights], TableLoss]


@dataclass(frozen=True)
class Search:
    """Settings of the search: number and kind of initializations, seed, and where to report progress."""

    n_init: int
    rng: np.random.RandomState
    report: Callable[[str], None] = lambda line: None
    init: str = "principal"

    def each(self, run: Callable[[Any], MarginFit], starts: list) -> list[MarginFit]:
        """Return a run from every start."""
        runs: list[MarginFit] = []
        set_stage(SEARCH, "start 1 of {}", len(starts))
        for number, found in enumerate(in_order(run, starts)):
            runs.append(found)
            set_step("start {} of {}", number + 1, len(starts))
            how = f"{runs[-1].n_iter} constraints, {runs[-1].stopped_because}"
            self.report(f"initialization {number}: objective = {runs[-1].objective:.6g} after {how}")
        return runs


def default_C(total: float, n_clusters: int) -> float:
    """Return 10 / n^2 for two clusters, 10 k / n^2 for k > 2, where every cluster has its own w."""
    return KAPPA * (1 if n_clusters == 2 else n_clusters) / total**2


# -- two clusters -----------------------------------------------------------------------------------------------------


def solve_two(
    features: Features, loss: TableLoss, options: Options, search: Search, known: np.ndarray | None = None
) -> MarginFit:
    """Return the best of n_init runs, from the principal direction (unless init="random") and random ones; polish the
    best few.

    Known labels turn every start their way, and start one more run between the means of the two sides. A bias comes in
    with the polish alone: the first cuts, which compare with all samples on one side, would put them there.
    """
    model = TwoClusters(features, loss, known)
    first = TwoClusters(features.without_bias(), loss, known) if features.centred else model
    starts = list(_directions(first, search))
    runs = search.each(lambda w: from_weights(first, w, options), starts)
    if first.features.bias != features.bias:
        runs = [replace(run, w=np.append(run.w, 0.0)) for run in runs]
    runs = sorted(runs, key=_worth(2))[:POLISHED]
    finer = replace(options, tol=POLISH * options.tol)
    return min(in_order(lambda run: _polish(model, run, finer), runs), key=_worth(2))


def _polish(model: TwoClusters, run: MarginFit, options: Options) -> MarginFit:
    """Go on from the labels of a run; what is found counts if it is better."""
    more = from_labels(model, run.labels, options)
    return replace(min(more, run, key=_worth(2)), history=run.history + more.history)


def _directions(model: TwoClusters, search: Search) -> Iterator[np.ndarray]:
    features, known = model.features, model.known
    weights = features.weights
    for start in range(search.n_init):
        w = search.rng.standard_normal(features.n_features)
        w = features.principal(w) if start == 0 and search.init == "principal" else features.balanced(w)
        yield _sized(w if known is None or w @ _pull(features, known) >= 0 else -w, features)
    if known is not None and len(np.unique(known[known >= 0])) == 2:
        side = [weights.times((known == c).astype(float)) for c in (0, 1)]
        yield _sized(features.sums(side[1] / side[1].sum() - side[0] / side[0].sum()), features)


def _pull(features: Features, known: np.ndarray) -> np.ndarray:
    """Return sum s_i y_i x_i over the known labels."""
    return features.sums(features.weights.times(np.where(known < 0, 0.0, 2.0 * known - 1)))


def _sized(w: np.ndarray, features: Features) -> np.ndarray:
    weights = features.weights
    size = float(weights.times(np.abs(features.scores(w))).sum()) / weights.total
    return w * (START / (weights.total * size)) if size > 0 else w


# -- more -------------------------------------------------------------------------------------------------------------


def solve_many(
    Z,
    features: Features,
    n_clusters: int,
    make_loss: Losses,
    options: Options,
    search: Search,
    known: np.ndarray | None = None,
) -> MarginFit:
    """Solve the joint form from two starts, hierarchical bisection and k-means, and return the better fit.

    Where every cluster has known labels, k-means from their means is a third.
    """
    weights = features.weights
    model = ManyClusters(features, make_loss(weights), n_clusters, 0.01 * options.tol, known)
    Z = Z / safe_unit(Z)  # k-means squares distances
    starts = [
        bisect(Z, weights, n_clusters, make_loss, options, search),
        _kmeans(Z, weights, n_clusters, n_init=search.n_init, random_state=search.rng),
    ]
    if known is not None:
        if len(np.unique(known[known >= 0])) == n_clusters:
            means = [_mean(Z[known == c], weights.at(np.flatnonzero(known == c))) for c in range(n_clusters)]
            starts.append(_kmeans(Z, weights, n_clusters, init=np.array(means), n_init=1))
        starts = [_agree(start, known, n_clusters, weights) for start in starts]
    starts = [start for i, start in enumerate(starts) if not any(np.array_equal(start, s) for s in starts[:i])]
    runs = search.each(lambda labels: from_labels(model, labels, options), starts)
    return min(runs, key=_worth(n_clusters))


def _kmeans(Z, weights: SampleWeights, n_clusters: int, **options) -> np.ndarray:
    return KMeans(n_clusters, **options).fit(Z, sample_weight=weights.weight).labels_.astype(int)


def _mean(Z, weights: SampleWeights) -> np.ndarray:
    return np.asarray(Z.T @ (weights.each / weights.total)).ravel()


def _agree(labels: np.ndarray, known: np.ndarray, n_clusters: int, weights: SampleWeights) -> np.ndarray:
    """Return labels with clusters renamed so that most known labels are right, and known labels kept."""
    at = known >= 0
    right = np.zeros((n_clusters, n_clusters))
    np.add.at(right, (labels[at], known[at]), weights.each[at])
    return np.where(at, known, linear_sum_assignment(right, maximize=True)[1][labels])


def bisect(
    Z, weights: SampleWeights, n_clusters: int, make_loss: Losses, options: Options, search: Search
) -> np.ndarray:
    """Return labels 0..n_clusters-1: split the cluster with the largest scatter in two, repeatedly."""
    quiet = replace(search, report=lambda line: None)
    labels = np.zeros(Z.shape[0], dtype=int)
    scatter = np.array([np.inf])
    for new in range(1, n_clusters):
        members = np.flatnonzero(labels == scatter.argmax())
        part = weights.at(members)
        split = solve_two(
            make_features(Z[members], weights=part),
            make_loss(part),
            replace(options, C=default_C(part.total, 2), limit=None),
            quiet,
        )
        labels[members[split.labels]] = new
        scatter = np.array([_scatter(Z, weights, np.flatnonzero(labels == c)) for c in range(new + 1)])
        if new + 1 < n_clusters and scatter.max() < 0:
            raise ValueError(f"n_clusters={n_clusters}, but only {new + 1} samples are different.")
    return labels


def _scatter(Z, weights: SampleWeights, members: np.ndarray) -> float:
    """Return the root of the sum of squared distances to the mean; -1 if all samples are equal."""
    part = weights.at(members)
    try:
        return float(np.sqrt(part.total)) * make_features(Z[members], weights=part).scale
    except ValueError:  # nothing to separate
        return -1.0


# -- what nothing would cost ------------------------------------------------------------------------------------------


def zero_solution_slack(model: DecisionModel, loss: TableLoss, n_clusters: int) -> float:
    """Return xi of w = 0."""
    if model.known is None:
        return trivial_slack(loss, n_clusters)
    w = np.zeros_like(model.psi(model.known))
    scores = model.scores(w)
    labels = model.labels(scores)
    return Cuts(model, Options(1.0)).worst(w, scores, labels, model.psi(labels))[2]


def trivial_slack(loss: TableLoss, n_clusters: int) -> float:
    """Return xi of w = 0, which puts all samples into one cluster: its largest loss to clusters of equal sizes."""
    n, whole = loss.n, isinstance(loss.n, int)
    tables = np.zeros((n_clusters, n_clusters, n_clusters), dtype=int if whole else float)
    for m in range(n_clusters):  # samples spread over clusters 1..m, and 0 too for the last
        used = np.arange(1, m + 1) if m else np.arange(n_clusters)
        spread = (n + np.arange(len(used))[::-1]) // len(used) if whole else n / len(used) / loss.factor
        tables[m, used, 0] = spread
    return float(loss.of_tables(tables).max())


def _worth(n_clusters: int) -> Callable[[MarginFit], tuple[int, float]]:
    """Return a sort key of fits: those with all clusters in use first, then by objective."""
    return lambda fit: (n_clusters - len(np.unique(fit.labels)), fit.objective)
