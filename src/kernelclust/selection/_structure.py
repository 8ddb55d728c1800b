"""select_structure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.isotonic import isotonic_regression

from kernelclust.engine import Fit, place, squared_distances, steps
from kernelclust.selection._refits import Measured, Rng
from kernelclust.selection._result import Selection
from kernelclust.selection._select import Samples, Study, finish, is_precomputed, level
from kernelclust.structures import as_structure

MOST_COMPARED = 2000  # samples, to find those nearest to other clusters


def select_structure(
    X: Any,
    structures: Sequence[Any],
    *,
    noise: float = 0.2,
    n_perturbations: int = 9,
    n_null: int = 20,
    random_state: Any = None,
    checkpoint: Any = None,
    verbose: int = 0,
    callbacks: Any = None,
    **params: Any,
) -> Selection:
    """Compare structures on the same data: does an order fit better than it would clusters in random places?

    Dependence is the share of the variance of distances between clusters that a rising function of their steps on the
    structure explains: 1 where clusters farther along are farther apart throughout. Distances are those of clusters'
    means or, if these follow the structure better, of their nearest samples, in an order of their own: views of an
    object that looks alike from opposite sides touch the next alone. Any few clusters can be put on a chain, so it is
    compared with that of the same clusters in random places, clustered and placed anew. The score is what is left of it
    beyond chance, (dependence - null mean) / (1 - null mean); that of "flat", which expects nothing of distances, is 0.
    Chosen is the order with the largest score if it beats its references (p <= 0.05) or if "flat" is no candidate, else
    "flat". `moved` says how far noise moves samples on the structure.

    Parameters
    ----------
    X : array or frame of shape (m, d), or (m, m) for kernel="precomputed"
    structures : sequence of str, Structure or (c, c) array
        Such as ["flat:5", "chain:5", "ring:5"].
    noise : float, default=0.2
        Standard deviation of the noise, as a share of every column's own; in turn, copies get half, all and a quarter.
    n_perturbations : int, default=9
        Number of noisy copies of the data, 0 for none.
    n_null : int, default=20
        Number of reference data sets, each clustered anew; the smallest possible p-value is 1 / (1 + n_null).
    random_state : int, RandomState or None
        Seed of noise, references and fits. The result does not depend on the order of the samples.
    checkpoint : str or path, optional
        File that keeps what is finished: the same call goes on there after it was stopped. Needs a whole number for
        random_state; one file may serve several calls.
    verbose : int, default=0
        Log a line a refit (logger "kernelclust").
    callbacks : list, optional
        Callbacks of scikit-learn 1.9, such as [sklearn.callback.ProgressBar()]: every refit is a task.
    **params
        Parameters of `StructuredClustering`; kernel is "rbf" unless given.

    Returns
    -------
    selection : Selection
        `best`, `best_estimator_`, `labels_`, `rows`, `reason`; prints as a table.

    Notes
    -----
    A hint, no proof: choose by what is known about the data first. Random places fill as many directions as the
    clusters do, two at least. Chance arranges four or five clusters nearly as well: true orders are often called flat.
    The structure is chosen, not the order of the clusters on it, which `best_estimator_.order_confidence_` judges.
    How often it is right: docs/selection.md.

    Examples
    --------
    >>> from kernelclust import select_structure
    >>> from kernelclust.datasets import rotated_images
    >>> X = rotated_images(6, per_cluster=8, skip=3, size=12, random_state=0).data  # a full turn
    >>> select_structure(X, ["flat:6", "chain:6", "ring:6"], n_perturbations=0, n_null=9, random_state=0).best
    'ring:6'
    """
    measure = Study(noise, n_perturbations, random_places, n_null, random_state, checkpoint, verbose, callbacks)
    measure.check_parameters(params, "structure", "n_clusters")
    if isinstance(structures, str) or not isinstance(structures, Iterable):
        raise TypeError(f"structures={structures!r}: give a list, e.g. ['flat:5', 'chain:5', 'ring:5'].")
    structures = list(structures)
    measure.check_candidates("structures", structures)
    shapes = [as_structure(structure) for structure in structures]
    sizes = sorted({shape.n_clusters for shape in shapes})
    flats = {c: as_structure("flat", c) for c in sizes}
    data = Samples(X, precomputed=is_precomputed(params))
    models = {shape: measure.model(structure=shape, **params) for shape in [*flats.values(), *shapes]}
    groups = [[shape for shape in models if shape.n_clusters == c] for c in sizes]  # flat first: references keep it
    named = [[(str(shape), models[shape]) for shape in group] for group in groups]
    by_shape: dict[Any, Measured] = {}
    for group, measured in zip(groups, measure("select_structure", data, named, follows), strict=True):
        by_shape |= zip(group, measured, strict=True)
    plain = [i for i, shape in enumerate(shapes) if shape == flats[shape.n_clusters]]
    found = [by_shape[shape] for shape in shapes]
    found = [replace(one, null=[]) if i in plain else one for i, one in enumerate(found)]
    scores = np.array([_beyond_chance(one) for one in found])
    top = max((i for i in range(len(found)) if i not in plain), key=lambda i: scores[i], default=0)
    ordered = top not in plain and found[top].p_value <= level(n_null)
    best = top if ordered or not plain else plain[0]
    name = found[best].name
    if ordered:
        reason = f"{name} fits better than it fits the same clusters in random places. A hint, no proof."
    elif n_null:
        reason = f"{name}: the best order fits no better than it fits the same clusters in random places."
    else:
        reason = f"{name}: nothing was compared with chance, so there is no evidence of an order; give n_null=20."
    return finish("structure", structures, found, scores, best, reason, models[shapes[best]], data)


def _beyond_chance(one: Measured) -> float:
    """What is left of the statistic beyond the mean of its references, as a share of the most that can be."""
    chance = float(np.mean(one.null)) if one.null else 0.0
    return (one.statistic - chance) / max(1 - chance, 1e-9)


def random_places(X: np.ndarray, fit: Fit) -> Callable[[Rng], np.ndarray]:
    """Maker of data with the same clusters in random places: their means are drawn from a round normal cloud.

    The cloud spreads the means as far as they are, in as many of their main directions as they fill, (tr C)^2 / tr C^2
    with C their covariance, and in two at least: on a line any places are in order. What is within clusters stays.
    """
    n, labels, middle = fit.n, fit.labels, X.mean(axis=0)
    means = np.stack([X[labels == j].mean(axis=0) if n[j] else middle for j in range(len(n))])
    away = np.sqrt(n)[:, None] * (means - middle)
    _, size, directions = np.linalg.svd(away, full_matrices=False)
    power = np.square(size / size.max()) if size.any() else np.ones(1)
    directions = directions[: max(round(float(power.sum() ** 2 / np.square(power).sum())), 2)]

    def draw(rng: Rng) -> np.ndarray:
        places = rng.standard_normal((len(n), len(directions)))
        places -= n @ places / n.sum()
        spread = np.sqrt(n @ np.square(places).sum(axis=1))
        places *= np.linalg.norm(size) / spread if spread > 0 else 0.0
        return (X - means[labels] + middle + (places @ directions)[labels]).astype(X.dtype)

    return draw


def follows(fit: Fit) -> float:
    """Share of the variance of distances between clusters that a rising function of their steps explains.

    Distances are those of the clusters' means or, where these follow the structure better, of their nearest samples,
    placed by themselves: along a curve clusters touch the next alone, however far the curve bends back.
    0 where all steps are alike. Unlike a correlation it does not ask how distances grow: along a line, around an arc,
    or no further than to the next cluster.
    """
    some, operator = np.flatnonzero(fit.n > 0), fit.kernel.operator
    pairs, A = np.triu_indices(len(some), 1), fit.structure.kernel[np.ix_(some, some)]
    G = steps(A)
    if np.ptp(G[pairs].round(9)) == 0:
        return 0.0
    means = squared_distances(operator.cluster_sums(fit.labels, len(fit.n)), fit.n)[np.ix_(some, some)]
    near = nearest_samples(operator, fit.labels)
    node = place(A, -near)
    return max(_rising_share(means[pairs], G[pairs]), _rising_share(near[pairs], G[np.ix_(node, node)][pairs]))


def nearest_samples(operator: Any, labels: np.ndarray) -> np.ndarray:
    """Squared distances (c, c) between clusters that have samples, across their borders.

    The root is the mean distance from a sample to the nearest one of the other cluster, over the nearest quarter of
    both; of many samples, some of each cluster stand for all.
    """
    every = -(-len(labels) // MOST_COMPARED)
    members = [np.flatnonzero(labels == j)[::every] for j in np.unique(labels)]
    index, start = np.concatenate(members), np.cumsum([0, *map(len, members[:-1])])
    diagonal = operator.diagonal()[index]
    to = []  # (n_j, c) for every cluster: distances of its samples to the nearest of each
    for own in members:
        D = operator.diagonal()[own][:, None] + diagonal - 2 * operator.rows(own, index)
        to.append(np.sqrt(np.maximum(np.minimum.reduceat(D, start, axis=1), 0.0)))

    def across(j: int, k: int) -> float:
        far = np.sort(np.concatenate([to[j][:, k], to[k][:, j]]))
        return float(far[: max(1, len(far) // 4)].mean()) ** 2

    c = len(members)
    return np.array([[across(j, k) if j != k else 0.0 for k in range(c)] for j in range(c)])


def _rising_share(squared: np.ndarray, step: np.ndarray) -> float:
    """Share of the variance of distances that a rising function of steps explains."""
    far = np.sqrt(squared)
    total = float(np.square(far - far.mean()).sum())
    if total <= 1e-18 * float(np.square(far).sum()):
        return 0.0
    _, at, number = np.unique(step.round(9), return_inverse=True, return_counts=True)
    rising = isotonic_regression(np.bincount(at, far) / number, sample_weight=number)
    return float(number @ np.square(rising - far.mean())) / total
