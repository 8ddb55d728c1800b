"""select_kernel, select_n_clusters, select_structure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import wraps
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import validate_data

from kernelclust._input import as_table, check_finite, is_frame
from kernelclust._names import check_name, check_number
from kernelclust._progress import log, set_task, working
from kernelclust._scale_warning import ScaleWarning, scale_warning
from kernelclust._warnings import warn
from kernelclust.estimators import StructuredClustering, request_of, run_with_callbacks
from kernelclust.kernels import DenseKernel, Kernel, Polynomial, check_precomputed, kernel_class
from kernelclust.selection._refits import (
    NULLS,
    Measured,
    Refit,
    alignment,
    explained,
    follows,
    kernel_key,
    label_alignment,
    random_places,
    study,
)
from kernelclust.selection._result import Row, Selection
from kernelclust.structures import as_structure

SIMPLE_FIRST = ("rbf", "graph", Polynomial(degree=2, coef0=0))
RULES = ("bound", "gamma")
SAME, LIKE = 0.02, 0.1  # clusterings are the same up to twice what noise does to them, within these shares
ERRORS = 2  # standard errors that the score of one cluster more has to rise by
OUTLIERS = 0.1  # a cluster of less than this share of the mean size is no group

_NOISE = """noise : float, default=0.2
        Standard deviation of the noise, as a share of every column's own; in turn, copies get half, all and a quarter.
    n_perturbations : int, default=9
        Number of noisy copies of the data"""
_NULL = """null : {"gaussian", "uniform", "columns"}, default="gaussian"
        Reference data without clusters: a normal cloud with the covariance of X, an even box along its main
        directions, or X with every column shuffled on its own."""
_REST = """n_null : int, default=20
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
        `best`, `best_estimator_`, `labels_`, `rows`, `reason`; prints as a table."""


def _document(function: Callable) -> Callable:
    """Fill in what the three functions share; and have callbacks hear of their refits."""
    text = function.__doc__ or ""
    for name, shared in {"noise": _NOISE, "null": _NULL, "rest": _REST}.items():
        text = text.replace(f"{{{name}}}", shared)
    function.__doc__ = text

    @wraps(function)
    def told(*arguments: Any, callbacks: Any = None, **keywords: Any) -> Any:
        work = lambda tasks: function(*arguments, callbacks=tasks, **keywords)  # noqa: E731
        return run_with_callbacks(callbacks, function.__name__, work)

    return told


@_document
def select_kernel(
    X: Any,
    n_clusters: int = 8,
    kernels: Sequence[Any] = SIMPLE_FIRST,
    *,
    rule: str = "bound",
    noise: float = 0.2,
    n_perturbations: int = 9,
    null: str = "gaussian",
    n_null: int = 20,
    random_state: Any = None,
    checkpoint: Any = None,
    verbose: int = 0,
    callbacks: Any = None,
    **params: Any,
) -> Selection:
    """Choose a kernel without labels: the one whose clusters noise can move least.

    Every kernel is fitted to the data and to noisy copies of it, which gives the terms of the stability bound
    (`stability_bound`, Song, Smola, Gretton and Borgwardt, 2007): a kernel that sees the clusters has leading
    eigenvectors that noise can hardly turn (gamma) and that the labels nearly fill (the rest of the bound). The score
    is 1 - the kernel's share in the sum of gamma sqrt(bound) over kernels, mean over three levels of noise. A kernel
    with a cluster of less than a tenth of the mean size is passed over: it follows outliers. Among kernels that find
    the same clusters as the winner, with and without noise, the first in your list is taken: list simple kernels first.

    Use it when shapes are unknown: blobs, curved groups, products of features. It cannot tell which *question* is
    right: another kernel may show other, equally real groups. On real data with blob-like groups it is no better than
    always taking "rbf" (see benchmarks/selection.py).

    Parameters
    ----------
    X : array or frame of shape (m, d), or None if every kernel is a matrix
    n_clusters : int, default=8
        Number of clusters (give `structure` for a structure with its own).
    kernels : sequence of str, Kernel, callable or (m, m) array, default=("rbf", "graph", Polynomial(degree=2, coef0=0))
        A name, an object such as RBF(gamma=0.1), a function k(X, Y), or a kernel matrix; simple ones first.
    rule : {"bound", "gamma"}, default="bound"
        "gamma" is the paper's own rule: gamma alone in place of gamma sqrt(bound), the largest score, and nothing else.
        Gamma does not ask what the labels make of the eigenvectors, nor whether they follow outliers.
    {noise}.
    {null}
    {rest}

    Notes
    -----
    The p-value compares the normalised HSIC of kernel and labels with that of reference data, *clustered anew*: a
    fitted clustering depends on its data even if there are no clusters, so shuffling its labels proves nothing. The
    references say what "no clusters" means: light-tailed or bounded data without clusters can beat a normal cloud
    (try null="uniform"). A matrix is disturbed and imitated in its own feature space.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from kernelclust import select_kernel
    >>> X, ring = make_circles(120, factor=0.3, noise=0.05, random_state=0)
    >>> select_kernel(X, 2, ["rbf", "graph"], n_perturbations=3, n_null=0, random_state=0).best
    'graph'
    """
    check = _Check(noise, n_perturbations, null, n_null, random_state, checkpoint, verbose, callbacks)
    check.reserved(params, "kernel")
    check_name("rule", rule, RULES)
    check_number("n_perturbations", n_perturbations, whole=True, least=1)
    if isinstance(kernels, (str, Kernel)) or not isinstance(kernels, Iterable):
        raise TypeError(f"kernels={kernels!r}: give a list of kernels, e.g. ['rbf', 'graph'].")
    kernels = list(kernels)
    check.enough("kernels", kernels)
    models, orders = [], []
    for candidate in kernels:
        settings = _kernel_settings(candidate)
        matrix = settings.pop("matrix", None)
        models.append(check.model(n_clusters, **params, **settings))
        orders.append(_Samples(X if matrix is None else matrix, precomputed=matrix is not None))
    if len({len(data.order) for data in orders}) > 1:
        raise ValueError(f"kernels are of different numbers of samples: {[len(data.order) for data in orders]}.")
    check.expect(len(kernels))
    named = zip(map(_kernel_name, kernels), models, strict=True)
    found = [check.study(data, [pair], alignment)[0] for data, pair in zip(orders, named, strict=True)]
    unsteady = np.stack([one.unsteadiness(rule) for one in found])  # (kernels, levels of noise)
    total = unsteady.sum(axis=0)
    scores = 1 - np.where(total > 0, unsteady / np.where(total > 0, total, 1), 1 / len(found)).mean(axis=1)
    if rule == "gamma":
        best = int(np.argmax(scores))
        reason = f"{found[best].name}: noise turns its leading eigenvectors least."
        return _finish("kernel", kernels, found, scores, best, reason, models[best], orders[best])
    groups = [i for i, one in enumerate(found) if one.smallest >= OUTLIERS] or range(len(found))
    steadiest = max(groups, key=lambda i: scores[i])
    best = next(i for i in groups if _agree(found[i], found[steadiest], orders[i], orders[steadiest]))
    reason = f"{found[steadiest].name}: by the stability bound noise can move its clusters least."
    moved = [float(np.mean(one.moved)) for one in found]
    calmest = min(groups, key=lambda i: moved[i])
    if moved[calmest] < moved[steadiest]:
        less = f"{moved[calmest]:.2f} against {moved[steadiest]:.2f}"
        reason += f" In the noisy copies those of {found[calmest].name} moved less ({less})."
    if best != steadiest:
        reason = f"{found[best].name} finds the same clusters as the steadier {found[steadiest].name} and comes first."
    for i, one in enumerate(found):
        if i not in groups and scores[i] > scores[steadiest]:
            reason += f" {one.name} was passed over: a cluster of {one.fit.sizes.min():.0f} looks like outliers."
    return _finish("kernel", kernels, found, scores, best, reason, models[best], orders[best])


@_document
def select_n_clusters(
    X: Any,
    n_clusters: Iterable[int] = range(2, 11),
    *,
    noise: float = 0.2,
    n_perturbations: int = 9,
    null: str = "gaussian",
    n_null: int = 20,
    random_state: Any = None,
    checkpoint: Any = None,
    verbose: int = 0,
    callbacks: Any = None,
    **params: Any,
) -> Selection:
    """Choose the number of clusters: the first after which more explain no more than they would without clusters.

    With D = tr(K P P') the dependence that c clusters reach, dependence is log(tr K / (tr K - D)), and the score is its
    surplus over the mean of reference data, clustered anew: the gap statistic (Tibshirani, Walther and Hastie, 2001)
    in feature space. Chosen is the smallest number whose score is at least the next one's less two standard errors of
    the difference, sqrt(1 + 1 / n_null) times its standard deviation over the references, which all numbers share.
    Stability (`moved`, `gamma`) is shown but not used: few clusters are nearly always the most stable.

    Meant for compact groups under "rbf", "linear" and the like. Graph kernels go on explaining more with every cut
    through a long group, so that the score may rise to the end.

    Parameters
    ----------
    X : array or frame of shape (m, d), or (m, m) for kernel="precomputed"
    n_clusters : iterable of int, default=range(2, 11)
        Numbers to try.
    {noise}, 0 for none.
    {null}
    {rest}

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from kernelclust import select_n_clusters
    >>> X, _ = make_blobs(120, 4, centers=4, random_state=1)
    >>> select_n_clusters(X, range(2, 7), n_perturbations=0, n_null=8, random_state=0).best
    4
    """
    check = _Check(noise, n_perturbations, null, n_null, random_state, checkpoint, verbose, callbacks)
    check.reserved(params, "n_clusters")
    check_number("n_null", n_null, whole=True, least=2)
    try:
        numbers = list(n_clusters)
    except TypeError:
        raise TypeError(f"n_clusters={n_clusters!r}: give several numbers, e.g. range(2, 11).") from None
    for number in numbers:
        check_number("n_clusters", number, whole=True, least=1)
    numbers = sorted({int(number) for number in numbers})
    check.enough("n_clusters", numbers)
    data = _Samples(X, precomputed=_is_precomputed(params))
    if numbers[-1] > len(data.order):
        raise ValueError(f"n_clusters has {numbers[-1]}, but X has only {len(data.order)} samples.")
    models = [check.model(c, **params) for c in numbers]
    check.expect(len({kernel_key(model, len(data.order)) for model in models}))
    found = check.study(data, [(str(c), model) for c, model in zip(numbers, models, strict=True)], explained)
    scores = np.array([one.statistic - np.mean(one.null) for one in found])
    null = np.array([one.null for one in found])  # the same references for all numbers
    errors = ERRORS * np.std(np.diff(null, axis=0), axis=1) * np.sqrt(1 + 1 / null.shape[1])
    enough = np.append(scores[:-1] >= scores[1:] - errors, True)
    best = int(np.argmax(enough))
    if best < len(numbers) - 1:
        reason = _why(numbers[best], numbers[best + 1], scores[best + 1] - scores[best], errors[best])
    else:
        reason = f"{numbers[best]} clusters, the most tried: the score rises to the end, so try more."
    return _finish("n_clusters", numbers, found, scores, best, reason, models[best], data)


def _why(chosen: int, more: int, rise: float, error: float) -> str:
    """The sentence that explains a number of clusters."""
    change = f"falls by {-rise:.2g}" if rise < 0 else f"rises by {rise:.2g}, within two standard errors, {error:.2g}"
    return f"{chosen} clusters: with {more} the score, what they explain beyond data without clusters, {change}."


@_document
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
    {noise}, 0 for none.
    {rest}

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
    check = _Check(noise, n_perturbations, random_places, n_null, random_state, checkpoint, verbose, callbacks)
    check.reserved(params, "structure", "n_clusters")
    if isinstance(structures, str) or not isinstance(structures, Iterable):
        raise TypeError(f"structures={structures!r}: give a list, e.g. ['flat:5', 'chain:5', 'ring:5'].")
    structures = list(structures)
    check.enough("structures", structures)
    shapes = [as_structure(structure) for structure in structures]
    sizes = sorted({shape.n_clusters for shape in shapes})
    flats = {c: as_structure("flat", c) for c in sizes}
    data = _Samples(X, precomputed=_is_precomputed(params))
    models = {shape: check.model(structure=shape, **params) for shape in [*flats.values(), *shapes]}
    check.expect(len(sizes))
    by_shape: dict[Any, Measured] = {}
    for c in sizes:
        same = [shape for shape in models if shape.n_clusters == c]  # flat first: the references keep its clusters
        by_shape |= zip(same, check.study(data, [(str(s), models[s]) for s in same], follows), strict=True)
    plain = [i for i, shape in enumerate(shapes) if shape == flats[shape.n_clusters]]
    found = [by_shape[shape] for shape in shapes]
    found = [replace(one, null=[]) if i in plain else one for i, one in enumerate(found)]
    scores = np.array([_beyond_chance(one) for one in found])
    top = max((i for i in range(len(found)) if i not in plain), key=lambda i: scores[i], default=0)
    ordered = top not in plain and found[top].p_value <= _level(n_null)
    best = top if ordered or not plain else plain[0]
    name = found[best].name
    if ordered:
        reason = f"{name} fits better than it fits the same clusters in random places. A hint, no proof."
    elif n_null:
        reason = f"{name}: the best order fits no better than it fits the same clusters in random places."
    else:
        reason = f"{name}: nothing was compared with chance, so there is no evidence of an order; give n_null=20."
    return _finish("structure", structures, found, scores, best, reason, models[shapes[best]], data)


def _beyond_chance(one: Measured) -> float:
    """What is left of the statistic beyond the mean of its references, as a share of the most that can be."""
    chance = float(np.mean(one.null)) if one.null else 0.0
    return (one.statistic - chance) / max(1 - chance, 1e-9)


# -- parts -------------------------------------------------------------------------------------------------------------


class _Check:
    """Checked settings of a study."""

    def __init__(self, noise, n_perturbations, null, n_null, random_state, checkpoint, verbose, tasks):
        check_number("noise", noise, above=True)
        check_number("n_perturbations", n_perturbations, whole=True)
        if not callable(null):
            check_name("null", null, NULLS)
        check_number("n_null", n_null, whole=True)
        if checkpoint is not None and not isinstance(random_state, Integral):
            raise ValueError(
                f"checkpoint={str(checkpoint)!r} with random_state={random_state!r}: another call would draw other "
                "noise and could not go on; give a whole number."
            )
        self.seed = int(check_random_state(random_state).randint(2**30))
        self.checkpoint, self.verbose, self.tasks = checkpoint, verbose, tasks
        self.settings = {"noise": noise, "n_perturbations": n_perturbations, "null": null, "n_null": n_null}

    def model(self, *args: Any, **params: Any) -> StructuredClustering:
        """A candidate whose parameters are known to be good before any work starts."""
        model = StructuredClustering(*args, **{"random_state": self.seed, "kernel": "rbf", **params})
        request_of(model, 1)
        return model

    def study(self, data: _Samples, candidates: list, statistic: Callable[[Refit], float]) -> list[Measured]:
        if data.linear:
            candidates = [(name, clone(model).set_params(kernel="linear")) for name, model in candidates]
        settings = {"seed": self.seed, "report": self._report, "checkpoint": self.checkpoint, **self.settings}
        with working("selection"):
            return study(data.X, candidates, statistic, **settings)

    def expect(self, n_kernels: int) -> None:
        """So many kernels, with a fit and refits each, of all candidates with that kernel at once."""
        self.tasks.start(["refit"] * n_kernels * (1 + self.settings["n_perturbations"] + self.settings["n_null"]))

    def _report(self, line: str) -> None:
        self.tasks.next()
        set_task(f"selection, {line}")
        if self.verbose:
            log(f"selection: {line}")

    @staticmethod
    def reserved(params: dict, *names: str) -> None:
        known = StructuredClustering().get_params()
        for name in params:
            if name in names:
                raise TypeError(f"{name} is what is being chosen; it cannot be given as well.")
            check_name("parameter", name, known)

    @staticmethod
    def enough(name: str, candidates: list) -> None:
        if len(candidates) < 2:
            raise ValueError(f"{name} has {len(candidates)} candidate(s); give two or more to choose from.")


class _Samples:
    """Samples in an order that depends on their values only; a kernel matrix as points in its feature space."""

    def __init__(self, X: Any, *, precomputed: bool):
        self.given, self.linear = X, precomputed
        if precomputed:
            K = check_precomputed(as_table(X))
            self.order = np.lexsort((np.diagonal(K), np.sort(K, axis=1).sum(axis=1)))
            self.X = _feature_space(K[np.ix_(self.order, self.order)])
            return
        if X is None:
            raise TypeError("X is None, which is for kernels that are matrices only; give the samples.")
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


def _is_precomputed(params: dict) -> bool:
    return kernel_class(params.get("kernel")).accepts_operators


def _kernel_settings(candidate: Any) -> dict[str, Any]:
    if isinstance(candidate, (str, Kernel)) and kernel_class(candidate).accepts_operators:
        raise ValueError("kernels has 'precomputed'; give the kernel matrix itself in its place.")
    if isinstance(candidate, (str, Kernel)) or callable(candidate):
        return {"kernel": candidate}
    return {"kernel": "precomputed", "matrix": candidate}


def _kernel_name(candidate: Any) -> str:
    if isinstance(candidate, str):
        return candidate
    if isinstance(candidate, Kernel):
        return repr(candidate)
    return getattr(candidate, "__name__", f"matrix of {len(candidate)}" if hasattr(candidate, "__len__") else "?")


def _agree(one: Measured, other: Measured, data: _Samples, other_data: _Samples) -> bool:
    """Whether two candidates find the same clusters, up to what noise does to the second anyway."""
    pairs = [(one.fit, other.fit), *zip(one.noisy, other.noisy, strict=True)]
    if data.linear or other_data.linear:  # noise in different spaces, samples in different orders
        pairs = pairs[:1]
    apart = [1 - label_alignment(a, b, data.back(a.labels), other_data.back(b.labels)) for a, b in pairs]
    return float(np.mean(apart)) <= np.clip(2 * np.mean(other.moved), SAME, LIKE)


def _finish(parameter, candidates, found, scores, best, reason, model, data) -> Selection:
    """The result, with the chosen model as if it had been fitted to the samples in the order given."""
    winner = found[best]
    if parameter != "structure" and winner.p_value > _level(len(winner.null)):
        reason += f" But data without clusters look alike (p = {winner.p_value:.2g})."
    if data.linear:
        fitted = clone(model).fit(data.given)
    else:
        fitted = winner.fit.model
        fitted.labels_ = data.back(fitted.labels_)
        validate_data(fitted, data.given, skip_check_array=True)
        for warning in winner.fit.warnings:
            names = getattr(fitted, "feature_names_in_", None)
            units = issubclass(warning.category, ScaleWarning)  # of columns whose names the fit did not know
            warn(scale_warning(data.X, names=names) if units else str(warning.message), warning.category)
    rows = tuple(_row(one, score) for one, score in zip(found, scores, strict=True))
    null = {one.name: np.array(one.null) for one in found}
    return Selection(parameter, candidates[best], fitted, rows, tuple(candidates), reason, null)


def _level(n_null: int) -> float:
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
        mean(one.gamma),
        mean([root**2 for root in one.roots]),
        one.smallest,
    )
