"""Candidates fitted to the data, to the data with noise, and to data without clusters: what is needed to compare."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.base import clone

from kernelclust._checkpoint import Checkpoint, fingerprint
from kernelclust.engine import Fit, InMemory, fit
from kernelclust.estimators import StructuredClustering, adopt, check_enough_samples, config_of
from kernelclust.selection._bound import captured

Rng = np.random.RandomState
LEVELS = (0.5, 1.0, 0.25)  # of the noise, in turn


@dataclass
class Measured:
    """Measurements of one candidate; the lists have one entry per refit."""

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
    """Return a key that tells a candidate from others."""
    return [model.get_params(), config_of(model, n_samples).structure.kernel]


def _movement(before: Fit, after: Fit) -> float:
    """Return how far the labels moved, from 0 (not at all) to 1 (as far as possible)."""
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
            one = fit(InMemory(X, np.ones(len(X)), kernel=kernel, spectrum=spectrum), config)
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
    factors look at the number of clusters.
    """
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


# -- statistics --------------------------------------------------------------------------------------------------------


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
