"""Candidates fitted to the data, to the data with noise, and to data without clusters: what is needed to compare."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.isotonic import isotonic_regression

from kernelclust._checkpoint import Checkpoint, fingerprint
from kernelclust.engine import Fit, fit, place, squared_distances, steps
from kernelclust.estimators import StructuredClustering, adopt, check_enough_samples, config_of
from kernelclust.selection._bound import captured

Rng = np.random.RandomState
LEVELS = (0.5, 1.0, 0.25)  # of the noise, in turn
MOST_COMPARED = 2000  # samples, to find those nearest to other clusters


@dataclass
class Measured:
    """What one candidate showed; an entry per refit in the lists."""

    name: str
    model: StructuredClustering  # fitted
    warnings: list[warnings.WarningMessage]  # of its fit
    statistic: float
    smallest: float  # size of the smallest cluster over the mean size
    null: list[float] = field(default_factory=list)
    moved: list[float] = field(default_factory=list)  # 1 - alignment of the labels with those after noise

    @property
    def p_value(self) -> float:
        if not self.null:
            return float("nan")
        slack = 1e-10 * max(abs(self.statistic), 1e-300)
        return (1 + sum(value >= self.statistic - slack for value in self.null)) / (1 + len(self.null))


def study(
    X: Any,
    candidates: list[tuple[str, StructuredClustering]],
    statistic: Callable[[Fit], float],
    *,
    noise: float,
    n_perturbations: int,
    null: str | Callable[[Any, Fit], Callable[[Rng], np.ndarray]],
    n_null: int,
    seed: int,
    report: Callable[[str], None],
    checkpoint: Any = None,
) -> list[Measured]:
    """Measure every candidate on X, on X with noise and on reference data, which all candidates share.

    `null` names the reference data, or makes them from X and the fit of the first candidate with the same kernel.

    Candidates with the same kernel are fitted together, so that each data set has its kernel once; at most two
    kernels are held at a time. What was found on noise and references is kept in the file `checkpoint`.
    """
    settings = [noise, n_perturbations, null, n_null, seed]
    kept = Checkpoint(checkpoint, f"selection by kernelclust {version('kernelclust')}")
    about = fingerprint(X, settings, [_identity(model, len(X)) for _, model in candidates])[:16]
    groups: dict[Any, list[int]] = {}
    for i, (_, model) in enumerate(candidates):
        check_enough_samples(len(X), config_of(model, len(X)).structure)
        groups.setdefault(kernel_key(model, len(X)), []).append(i)
    found: dict[int, Measured] = {}
    for members in groups.values():
        report(f"{', '.join(candidates[i][0] for i in members)}: fit")
        fits = []
        for i, (one, said) in zip(members, _fit_all(X, [candidates[i][1] for i in members], quick=False), strict=True):
            model = _adopted(clone(candidates[i][1]), one, X, said)
            found[i] = Measured(candidates[i][0], model, said, statistic(one), float(one.n.min() / one.n.mean()))
            fits.append(one)
        models = [clone(candidates[i][1]).set_params(compute_confidence=False) for i in members]
        names = ", ".join(found[i].name for i in members)
        draw = references(X, null) if isinstance(null, str) else null(X, fits[0])
        for t in range(n_perturbations):
            report(f"{names}: noise {t + 1} of {n_perturbations}")

            def after_noise(fits=fits, models=models, t=t) -> list:
                Z = disturbed(X, noise * LEVELS[t % len(LEVELS)], Rng(seed + 1 + t))
                return [_movement(before, after) for before, (after, _) in zip(fits, _fit_all(Z, models), strict=True)]

            for i, one in zip(members, kept.part(f"{about} {members} noise {t}", after_noise), strict=True):
                found[i].moved.append(one)
        for t in range(n_null):
            report(f"{names}: reference {t + 1} of {n_null}")

            def of_reference(models=models, draw=draw, t=t) -> list:
                return [statistic(one) for one, _ in _fit_all(draw(Rng(seed + 1 + n_perturbations + t)), models)]

            for i, one in zip(members, kept.part(f"{about} {members} reference {t}", of_reference), strict=True):
                found[i].null.append(one)
    return [found[i] for i in range(len(candidates))]


def _identity(model: StructuredClustering, n_samples: int) -> list:
    """What a candidate is, for telling it from others."""
    return [model.get_params(), config_of(model, n_samples).structure.kernel]


def _movement(before: Fit, after: Fit) -> float:
    """How far the labels moved: 0 not at all, 1 as far as can be."""
    moved = 1 - label_alignment(before, after)
    return moved if moved > 1e-12 else 0.0


def _fit_all(X: Any, models: list[StructuredClustering], *, quick: bool = True) -> list[tuple[Fit, list]]:
    """Fits of models that share their kernel and its spectrum, which are made once, and the warnings of each."""
    found: dict[int, tuple[Fit, list]] = {}
    configs = [config_of(model, len(X)) for model in models]
    kernel, spectrum = None, None
    for i in sorted(range(len(models)), key=lambda i: -configs[i].structure.n_clusters):  # most clusters first
        config = replace(configs[i], run=replace(configs[i].run, quick=quick))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            one = fit(X, np.ones(len(X)), config, kernel=kernel, spectrum=spectrum)
        found[i], kernel = (one, said), one.data_kernel or one.kernel
        spectrum = one.spectrum if kernel.operator is one.kernel.operator and kernel.operator.cheap else None
    return [found[i] for i in range(len(models))]


def _adopted(model: StructuredClustering, one: Fit, X: Any, said: list) -> StructuredClustering:
    """The model as if it had been fitted to X; its warnings join those of the fit."""
    with warnings.catch_warnings(record=True) as more:
        warnings.simplefilter("always")
        adopt(model, one, X)
    said += more
    return model


def kernel_key(model: StructuredClustering, n_samples: int) -> tuple:
    """Equal for models whose kernels are equal: kernels between fitted samples only (neighbour graphs) and guided
    factors look at the number of clusters."""
    config = config_of(model, n_samples)
    kernel, approximation = config.kernel["kernel"], config.kernel["approximation"]
    fixed = kernel.is_function and (approximation is None or not approximation.depends_on_clusters)
    terms = [None if term is None else (type(term), str(term.get_params())) for term in (kernel, approximation)]
    return (None if fixed else config.structure.n_clusters, *terms)


def disturbed(X: np.ndarray, noise: float, rng: Rng) -> np.ndarray:
    """X with normal noise, its standard deviation a share of every column's own."""
    return (X + noise * X.std(axis=0) * rng.standard_normal(X.shape)).astype(X.dtype)


NULLS = ("gaussian", "uniform", "columns")


def references(X: np.ndarray, null: str) -> Callable[[Rng], np.ndarray]:
    """Maker of data like X but without clusters: a normal cloud, a box along X's main directions, shuffled columns."""
    m = len(X)
    if null == "columns":
        return lambda rng: np.column_stack([rng.permutation(column) for column in X.T])
    mean = X.mean(axis=0)
    _, size, directions = np.linalg.svd(X - mean, full_matrices=False)
    along = (X - mean) @ directions.T
    low, high = along.min(axis=0), along.max(axis=0)

    def draw(rng: Rng) -> np.ndarray:
        if null == "gaussian":
            coordinates = rng.standard_normal((m, len(size))) * size / np.sqrt(m)
        else:
            coordinates = rng.uniform(low, high, (m, len(size)))
        return (mean + coordinates @ directions).astype(X.dtype)

    return draw


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


# -- statistics --------------------------------------------------------------------------------------------------------


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


def explained(fit: Fit) -> float:
    """log(tr K / (tr K - D)): minus the log of the share of the kernel's trace that lies within clusters."""
    operator = fit.kernel.operator
    total = float(operator.diagonal().sum())
    within = total - captured(operator, fit.labels, len(fit.n))
    return float(-np.log(max(within / total, 1e-12))) if total > 0 else 0.0


def label_alignment(a: Fit, b: Fit) -> float:
    """<L_a, L_b> / (|L_a| |L_b|), L = P A P' centred, columns of P scaled to length one: 1 for equal arrangements.

    For flat clusterings 1 minus it is their distance |L_a - L_b|² over the largest, 2 (c - 1).
    """
    counts = np.zeros((len(a.n), len(b.n)))
    np.add.at(counts, (a.labels, b.labels), 1.0)

    def product(counts: np.ndarray, first: Fit, second: Fit) -> float:
        centred = counts - np.outer(first.n, second.n) / first.n.sum()
        X = centred / np.outer(*(np.sqrt(np.where(one.n > 0, one.n, 1)) for one in (first, second)))
        return float(np.sum((first.structure.kernel @ X) * (X @ second.structure.kernel)))

    size = product(np.diag(a.n), a, a) * product(np.diag(b.n), b, b)
    return product(counts, a, b) / np.sqrt(size) if size > 0 else 1.0
