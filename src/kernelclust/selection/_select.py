"""select_n_clusters, and the parts that selections share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import validate_data

from kernelclust._input import as_table, check_finite, is_frame
from kernelclust._names import check_name, check_number
from kernelclust._progress import log, set_task
from kernelclust._scale_warning import ScaleWarning, scale_warning
from kernelclust._warnings import warn
from kernelclust.engine import Fit
from kernelclust.estimators import StructuredClustering, config_of, run_with_callbacks
from kernelclust.kernels import DenseKernel, check_precomputed, kernel_class
from kernelclust.selection._refits import (
    NULLS,
    Measured,
    explained,
    kernel_key,
    study,
)
from kernelclust.selection._result import Row, Selection

ERRORS = 2  # standard errors that the score of one cluster more has to rise by


def select_n_clusters(
    X: Any,
    n_clusters: Iterable[int] = range(2, 11),
    *,
    noise: float = 0.2,
    n_perturbations: int = 0,
    null: str = "gaussian",
    n_null: int = 20,
    random_state: Any = None,
    checkpoint: Any = None,
    verbose: int = 0,
    callbacks: Any = None,
    **params: Any,
) -> Selection:
    """Choose the number of clusters by the gap statistic in feature space (Tibshirani, Walther and Hastie, 2001).

    With D = tr(K P P') the dependence of c clusters, the score of c is log(tr K / (tr K - D)) minus its mean over
    reference data without clusters, which are clustered in the same way. The choice is the smallest number whose score
    is at least that of the next number, minus two standard errors of the difference: sqrt(1 + 1 / n_null) times its
    standard deviation over the references, which are the same for all numbers. Stability (`moved`) is computed if
    `n_perturbations` is above 0, and does not enter the choice, because few clusters are nearly always the most stable.

    Choose it for compact clusters under kernels such as "rbf" and "linear". Under graph kernels every cut through a
    long cluster explains more, so the score may rise up to the largest number.

    Parameters
    ----------
    X : array or frame of shape (m, d), or (m, m) for kernel="precomputed"
    n_clusters : iterable of int, default=range(2, 11)
        Numbers to try.
    noise : float, default=0.2
        Standard deviation of the noise, as a fraction of that of each column; copies get 1/2, 1 and 1/4 of it in turn.
    n_perturbations : int, default=0
        Number of noisy copies of the data, which measure how far noise moves the labels; each costs as much as a
        reference.
    null : {"gaussian", "uniform", "columns"}, default="gaussian"
        Reference data without clusters: a normal distribution with the covariance of X, a uniform distribution in a box
        along its principal directions, or X with every column shuffled separately.
    n_null : int, default=20
        Number of reference data sets; the smallest possible p-value is 1 / (1 + n_null).
    random_state : int, RandomState or None
        Seed of noise, references and fits. The result does not depend on the order of the samples.
    checkpoint : str or path, optional
        File for finished work: if the call is interrupted, the same call resumes from there. Needs an integer as
        random_state; several calls may share one file.
    verbose : int, default=0
        1 or more logs a line for each refit (logger "kernelclust").
    callbacks : list, optional
        Callbacks of scikit-learn 1.9, such as [sklearn.callback.ProgressBar()]: every refit is a task.
    **params
        Parameters of `StructuredClustering`; kernel is "rbf" unless given.

    Returns
    -------
    selection : Selection
        `best`, `best_estimator_`, `labels_`, `rows`, `reason`; prints as a table.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from kernelclust import select_n_clusters
    >>> X, _ = make_blobs(120, 4, centers=4, random_state=1)
    >>> select_n_clusters(X, range(2, 7), n_null=8, random_state=0).best
    4
    """
    measure = Study(noise, n_perturbations, null, n_null, random_state, checkpoint, verbose, callbacks)
    measure.check_parameters(params, "n_clusters")
    if kernel_class(params.get("kernel")).pairwise and not is_precomputed(params):
        raise ValueError(
            f"select_n_clusters compares the samples with noise, which needs their columns, and "
            f"kernel={params['kernel']!r} has none: pass the columns that the graph was made of, with kernel='graph'."
        )
    check_number("n_null", n_null, whole=True, least=2)
    try:
        numbers = list(n_clusters)
    except TypeError:
        raise TypeError(f"n_clusters={n_clusters!r}: give several numbers, e.g. range(2, 11).") from None
    for number in numbers:
        check_number("n_clusters", number, whole=True, least=1)
    numbers = sorted({int(number) for number in numbers})
    measure.check_candidates("n_clusters", numbers)
    data = Samples(X, precomputed=is_precomputed(params))
    if numbers[-1] > len(data.order):
        raise ValueError(f"n_clusters has {numbers[-1]}, but X has only {len(data.order)} samples.")
    models = [measure.model(c, **params) for c in numbers]
    named = [(str(c), model) for c, model in zip(numbers, models, strict=True)]
    (found,) = measure("select_n_clusters", data, [named], explained)
    scores = np.array([one.statistic - np.mean(one.null) for one in found])
    null = np.array([one.null for one in found])  # the same references for all numbers
    errors = ERRORS * np.std(np.diff(null, axis=0), axis=1) * np.sqrt(1 + 1 / null.shape[1])
    enough = np.append(scores[:-1] >= scores[1:] - errors, True)
    best = int(np.argmax(enough))
    if best < len(numbers) - 1:
        reason = _why(numbers[best], numbers[best + 1], scores[best + 1] - scores[best], errors[best])
    else:
        reason = f"{numbers[best]} clusters, the most tried: the score rises to the end, so try more."
    return finish("n_clusters", numbers, found, scores, best, reason, models[best], data)


def _why(chosen: int, more: int, rise: float, error: float) -> str:
    """The sentence that explains a number of clusters."""
    change = f"falls by {-rise:.2g}" if rise < 0 else f"rises by {rise:.2g}, within two standard errors, {error:.2g}"
    return f"{chosen} clusters: with {more} the score, what they explain beyond data without clusters, {change}."


# -- parts -------------------------------------------------------------------------------------------------------------


class Study:
    """Checked settings of a study; a call measures groups of candidates, whose refits callbacks hear of."""

    def __init__(self, noise, n_perturbations, null, n_null, random_state, checkpoint, verbose, callbacks):
        check_number("noise", noise, above=True)
        check_number("n_perturbations", n_perturbations, whole=True)
        if not callable(null):
            check_name("null", null, NULLS)
        check_number("n_null", n_null, whole=True)
        if checkpoint is not None and not isinstance(random_state, Integral):
            raise ValueError(
                f"checkpoint={str(checkpoint)!r} with random_state={random_state!r}: another call would draw other "
                "noise and could not resume; give an integer."
            )
        self.seed = int(check_random_state(random_state).randint(2**30))
        self.verbose, self.callbacks, self.refits = verbose, callbacks, 1 + n_perturbations + n_null
        self.settings = {"noise": noise, "n_perturbations": n_perturbations, "null": null, "n_null": n_null}
        self.settings |= {"seed": self.seed, "checkpoint": checkpoint}

    def model(self, *args: Any, **params: Any) -> StructuredClustering:
        """A candidate whose parameters are known to be good before any work starts."""
        model = StructuredClustering(*args, **{"random_state": self.seed, "kernel": "rbf", **params})
        config_of(model, 1)
        return model

    def __call__(
        self, name: str, data: Samples, groups: list[list], statistic: Callable[[Fit], float]
    ) -> list[list[Measured]]:
        if data.linear:
            groups = [[(label, clone(model).set_params(kernel="linear")) for label, model in one] for one in groups]
        n_kernels = sum(len({kernel_key(model, len(data.order)) for _, model in group}) for group in groups)

        def run(tasks: Any) -> list[list[Measured]]:
            def report(line: str) -> None:
                tasks.next()
                set_task(f"selection, {line}")
                if self.verbose:
                    log(f"selection: {line}")

            tasks.start(["refit"] * n_kernels * self.refits)
            return [study(data.X, group, statistic, report=report, **self.settings) for group in groups]

        return run_with_callbacks(self.callbacks, name, run)

    @staticmethod
    def check_parameters(params: dict, *chosen: str) -> None:
        known = StructuredClustering().get_params()
        for name in params:
            if name in chosen:
                raise TypeError(f"{name} is what is being chosen; it cannot be given as well.")
            check_name("parameter", name, known)

    @staticmethod
    def check_candidates(name: str, candidates: list) -> None:
        if len(candidates) < 2:
            raise ValueError(f"{name} has {len(candidates)} candidate(s); give two or more to choose from.")


class Samples:
    """Samples in an order that depends on their values only; a kernel matrix as points in its feature space."""

    def __init__(self, X: Any, *, precomputed: bool):
        self.given, self.linear = X, precomputed
        if precomputed:
            K = check_precomputed(as_table(X))
            self.order = np.lexsort((np.diagonal(K), np.sort(K, axis=1).sum(axis=1)))
            self.X = _feature_space(K[np.ix_(self.order, self.order)])
            return
        X = as_table(X)
        names = X.columns if is_frame(X) else None
        values = check_array(
            X, dtype=[np.float64, np.float32], ensure_min_samples=2, ensure_all_finite=False, input_name="X"
        )
        check_finite(values, names)
        self.order = np.lexsort(values.T[::-1])
        self.X = values[self.order]

    def back(self, labels: np.ndarray) -> np.ndarray:
        """Labels in the order in which the samples were given."""
        out = np.empty_like(labels)
        out[self.order] = labels
        return out


def _feature_space(K: np.ndarray) -> np.ndarray:
    """Points E (m x r) with E E' the centred kernel."""
    centred = DenseKernel(K) @ np.eye(len(K))
    values, vectors = np.linalg.eigh((centred + centred.T) / 2)
    keep = values > 1e-10 * values[-1]
    if values[-1] <= 1e-12 * len(K) * np.abs(K).max():
        raise ValueError("the kernel matrix is constant: all samples are alike, so there is nothing to choose.")
    return (vectors[:, keep] * np.sqrt(values[keep]))[:, ::-1]


def is_precomputed(params: dict) -> bool:
    return kernel_class(params.get("kernel")).accepts_operators


def finish(parameter, candidates, found, scores, best, reason, model, data) -> Selection:
    """The result, with the chosen model as if it had been fitted to the samples in the order given."""
    winner = found[best]
    if parameter != "structure" and winner.p_value > level(len(winner.null)):
        reason += f" But data without clusters look alike (p = {winner.p_value:.2g})."
    if data.linear:
        fitted = clone(model).fit(data.given)
    else:
        fitted = winner.model
        fitted.labels_ = data.back(fitted.labels_)
        validate_data(fitted, data.given, skip_check_array=True)
        for warning in winner.warnings:
            names = getattr(fitted, "feature_names_in_", None)
            units = issubclass(warning.category, ScaleWarning)  # of columns whose names the fit did not know
            warn(scale_warning(data.X, names=names) if units else str(warning.message), warning.category)
    rows = tuple(_row(one, score) for one, score in zip(found, scores, strict=True))
    null = {one.name: np.array(one.null) for one in found}
    return Selection(parameter, candidates[best], fitted, rows, tuple(candidates), reason, null)


def level(n_null: int) -> float:
    """p-values up to here are evidence: 0.05, or the smallest possible one."""
    return max(0.05, 1 / (1 + n_null)) + 1e-12


def _row(one: Measured, score: float) -> Row:
    def mean(values: list[float]) -> float:
        return float(np.mean(values)) if values else float("nan")

    return Row(
        one.name,
        float(score),
        one.statistic,
        mean(one.null),
        float(np.std(one.null)) if one.null else float("nan"),
        one.p_value,
        mean(one.moved),
        one.smallest,
    )
