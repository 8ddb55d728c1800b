"""What holds for every fit, whatever the case: a small function each, so that a failure says which broke."""

from __future__ import annotations

import pickle
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from cases import Case, Inputs, inputs
from scipy import sparse
from scipy.spatial.distance import cdist, pdist
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from kernelclust import StructuredClustering, structured_hsic
from kernelclust.kernels import as_kernel, fit_kernel, kernel_class
from kernelclust.multikernel import as_method
from kernelclust.objectives import Dependence, loss_matrix

REFUSALS = (ValueError, TypeError)
SPEAKERS = ("kernelclust", "sklearn")  # packages whose refusals are written for users


class Broken(AssertionError):
    """An invariant that does not hold: its name, then what was found."""


def check(case: Case) -> str:
    """Fit a case and hold it to every invariant: "fitted" or "refused", or Broken."""
    given = inputs(case)
    model = case.model().set_params(**given.parameters)
    before, arrays = dict(vars(model)), fingerprint(given)
    refusal = None
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            model.fit(given.X, **given.arguments)
        except Exception as error:
            refusal = error
        fit = Fitted(case, given, model, list(heard))
        _hold(untouched, fit, arrays)
        _hold(quiet, fit)
        if refusal is not None:
            _hold(spoken, refusal)
            _hold(no_trace, fit, before)
            return "refused"
        for invariant in (*ALWAYS, TWINS[case.twin]):
            _hold(invariant, fit)
    _hold(untouched, fit, arrays)
    return "fitted"


def fingerprint(given: Inputs) -> str:
    """Changes with every number that fit was given."""
    parts = given.X if isinstance(given.X, list) else [given.X]
    whole = [(X.data, X.indices, X.indptr) if sparse.issparse(X) else X for X in parts]
    return joblib.hash((whole, given.arguments))


def _hold(invariant: Callable, *arguments: Any) -> None:
    try:
        invariant(*arguments)
    except Exception as error:
        raise Broken(f"{invariant.__name__}: {type(error).__name__}: {error}") from error


@dataclass
class Fitted:
    """A fit, and what is recomputed from it in plain numpy, for samples of positive weight."""

    case: Case
    given: Inputs
    model: Any
    heard: list = field(default_factory=list)

    @property
    def n(self) -> int:
        return len(self.given.weight)

    @cached_property
    def used(self) -> np.ndarray:
        return np.flatnonzero(self.given.weight > 0)

    @cached_property
    def weight(self) -> np.ndarray:
        return self.given.weight[self.used]

    @cached_property
    def labels(self) -> np.ndarray:
        return self.model.labels_[self.used]

    @property
    def has_dependence(self) -> bool:
        return isinstance(self.model, StructuredClustering)

    @cached_property
    def kernel(self) -> tuple[np.ndarray, float]:
        return similarities(self.model, subset(self.model, self.given.X, self.used), self.weight)

    @property
    def K(self) -> np.ndarray:
        return self.kernel[0]

    @property
    def rounding(self) -> float:
        """Error that entries of K are allowed."""
        return self.kernel[1] * (1e-5 if self.case.samples["dtype"] == "float32" else 1e-10)

    def F(self, labels: np.ndarray) -> tuple[float, float]:
        """F, and the error that it is allowed."""
        value, factor = dependence(self.model, self.K, self.weight, labels)
        return value, self.rounding * factor + 1e-12 * abs(value) + 1e-300


# -- recomputed ----------------------------------------------------------------------------------------------------


def subset(model: Any, X: Any, index: np.ndarray) -> Any:
    """Rows of X, and the columns for the same samples where it holds similarities."""
    if isinstance(X, list):
        return [subset(model, part, index) for part in X]
    return X[index][:, index] if kernel_class(getattr(model, "kernel", None)).pairwise else X[index]


def _dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=float)


def _directions(X: np.ndarray) -> np.ndarray:
    X = X / np.maximum(np.abs(X).max(axis=1, keepdims=True), 1e-300)
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300)


PLAIN: dict[str, Callable] = {  # the textbook's formulas, of samples seen from their mean where that changes nothing
    "linear": lambda X, gamma: (X - X.mean(axis=0)) @ (X - X.mean(axis=0)).T,
    "rbf": lambda X, gamma: np.exp(-gamma * cdist(X, X, "sqeuclidean")),
    "laplacian": lambda X, gamma: np.exp(-gamma * cdist(X, X, "cityblock")),
    "cosine": lambda X, gamma: _directions(X) @ _directions(X).T,
    "polynomial": lambda X, gamma: (gamma * X @ X.T + 1) ** 3,
}


def similarities(model: Any, X: Any, weight: np.ndarray) -> tuple[np.ndarray, float]:
    """K by its formula, or, for a kernel without one, as the library makes it; and the size of entries, which rounding
    is measured by."""
    K, size = library_similarities(model, X, weight)
    name = as_kernel(_kernel_of(model)).name
    if model._is_exact() and name in PLAIN and _moderate(Z := _dense(X)):
        K = PLAIN[name](Z, model.diagnostics_.gamma)
    return K, max(size, np.abs(K).max())


def library_similarities(model: Any, X: Any, weight: np.ndarray) -> tuple[np.ndarray, float]:
    X = clone(model)._check_samples(X, reset=True)
    rng, c = np.random.RandomState(model.random_state), model.structure_.n_clusters
    settings = clone(model).set_params(kernel=_kernel_of(model))._kernel_settings()
    operator = fit_kernel(X, weight, n_clusters=c, rng=rng, **settings).operator
    return operator.rows(np.arange(operator.n_samples)), float(operator.raw_size())


def _kernel_of(model: Any) -> Any:
    """The kernel that F is of: "auto" places clusters on a map by rbf, whose width it then has."""
    by_rbf = isinstance(model.kernel, str) and model.kernel == "auto" and model.diagnostics_.gamma is not None
    return "rbf" if by_rbf else model.kernel


def _moderate(X: np.ndarray) -> bool:
    """Whether the textbook's formulas neither overflow nor underflow."""
    return not X.any() or 1e-50 < np.abs(X).max() < 1e50


def formula(model: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """A (c x c) with rho, and the loss, as the formula has them."""
    A = np.array(model.structure_.kernel)
    if not np.array_equal(A, A[0, 0] * np.eye(len(A))):
        A = A + model._make_objective().rho * np.eye(len(A))
    return A, loss_matrix(model._make_objective().loss, model.structure_)


def centred(K: np.ndarray, weight: np.ndarray) -> np.ndarray:
    share = weight / weight.sum()
    rows = K @ share
    return K - rows[:, None] - rows + share @ rows


def discriminative(K: np.ndarray, weight: np.ndarray, ridge: float, P: np.ndarray) -> np.ndarray:
    """D^-1/2 M (M + ridge)^-1 D^-1/2 P with M = D^1/2 K D^1/2; without roots, small weights lose nothing."""
    whole = K * weight + ridge * np.eye(len(K))
    try:
        return np.linalg.solve(whole, K @ P)
    except np.linalg.LinAlgError:  # the ridge is less than rounding, and the room that this leaves F is huge
        return np.linalg.lstsq(whole, K @ P, rcond=None)[0]


def dependence(model: Any, K: np.ndarray, weight: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """F = coef tr(K P A P') - penalty |P| by the book, and its change at most when entries of K change by one."""
    A, Delta = formula(model)
    c = len(A)
    T = np.eye(c) if Delta is None else np.diag(Delta.sum(axis=1)) - Delta
    objective = model._make_objective()
    normalize, C = objective.normalize, objective.C
    coef, penalty = (1.0, 0.0) if Delta is None or normalize == "l1" else (4 * C**2 * objective.gamma, C)
    n = np.bincount(labels, weight, minlength=c)
    seen = n + model.diagnostics_.size_prior * n.sum() / c
    N = {None: np.ones(c), "l1": seen @ np.abs(T), "l2": np.sqrt(seen @ T**2)}[normalize]
    P = weight[:, None] * np.eye(c)[labels] @ T * np.divide(1.0, N, out=np.zeros(c), where=N > 0)
    K, ridge = centred(K, weight), model.diagnostics_.ridge
    KP, change = (K @ P, 1.0) if ridge is None else (discriminative(K, weight, ridge, P), 1 / ridge)
    columns = np.abs(P).sum(axis=0)
    value = coef * (A * (P.T @ KP)).sum() - penalty * columns.sum()
    return float(value), float(coef * change * columns @ np.abs(A) @ columns)  # the penalty has no K


# -- of every call ---------------------------------------------------------------------------------------------------


def untouched(fit: Fitted, arrays: str) -> None:
    assert fingerprint(fit.given) == arrays, "X, y, weights or links were changed"


def quiet(fit: Fitted) -> None:
    """Warnings are written for users: none of them is numpy's."""
    loud = [one for one in fit.heard if issubclass(one.category, RuntimeWarning)]
    assert not loud, f"{loud[0].message} ({Path(loud[0].filename).name}:{loud[0].lineno})"


def spoken(error: Exception) -> None:
    """A refusal is an error of the right kind with a message, raised by a check and not by a routine deep down."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    at = f"{Path(where.filename).name}:{where.lineno} {error}"
    assert isinstance(error, REFUSALS) and not isinstance(error, np.linalg.LinAlgError), f"{type(error).__name__} {at}"
    assert str(error).strip(), "an error without a message"
    assert any(f"/{name}/" in where.filename for name in SPEAKERS), f"not a refusal of our own: {at}"


def no_trace(fit: Fitted, before: dict[str, Any]) -> None:
    now = vars(fit.model)
    assert now.keys() == before.keys(), f"a failed fit left {sorted(now.keys() ^ before.keys())}"
    assert all(now[name] is before[name] for name in now), "a failed fit changed the model"


# -- of every fit ----------------------------------------------------------------------------------------------------

MAY_BE_INFINITE = ("upper_bound_", "size_bound", "gamma")  # each with a warning or a word
EMPTY_FOR_NO_WEIGHT = ("embedding", "sample_weights")
MAY_BE_NAN = ("cluster_similarity",)  # of empty clusters


def finite(fit: Fitted) -> None:
    public = {name: value for name, value in vars(fit.model).items() if name.endswith("_")}
    public |= getattr(fit.model, "diagnostics_", {})
    for name, value in public.items():
        if value is None or name in MAY_BE_NAN or name == "diagnostics_":
            continue
        value = np.asarray(value)
        if value.dtype.kind != "f":
            continue
        value = value[fit.used] if name in EMPTY_FOR_NO_WEIGHT else value
        good = ~np.isnan(value) if name in MAY_BE_INFINITE else np.isfinite(value)
        assert np.all(good), f"{name} = {value}"


def order_in_range(fit: Fitted) -> None:
    """Confidences and p-values are in [0, 1], or None all together."""
    order = getattr(fit.model, "order_", None)
    if order is None:
        assert getattr(fit.model, "order_confidence_", None) is None
        return
    assert order.confidence == fit.model.order_confidence_
    assert (order.confidence is None) == (order.pvalue is None) == (order.links is None)
    for value in (order.confidence, order.pvalue, order.links):
        value = np.asarray(np.nan if value is None else value)
        assert np.all(np.isnan(value) | ((value >= 0) & (value <= 1))), f"{value}"


def labels_in_range(fit: Fitted) -> None:
    for name, labels in {"labels_": fit.model.labels_, "predict": _predicted(fit.model, fit.given.X)}.items():
        assert labels.shape == (fit.n,), f"{name} has shape {labels.shape}"
        assert labels.dtype.kind == "i", f"{name} are {labels.dtype}"
        assert labels.min() >= 0 and labels.max() < fit.case.n_clusters, f"{name} has {np.unique(labels)}"


def _predicted(model: Any, X: Any) -> np.ndarray:
    return model.predict(X) if hasattr(model, "predict") else model.labels_


def sizes_add_up(fit: Fitted) -> None:
    if hasattr(fit.model, "sizes_"):
        sizes = np.bincount(fit.labels, fit.weight, minlength=fit.case.n_clusters)
        np.testing.assert_allclose(fit.model.sizes_, sizes, rtol=1e-9)


def known_is_kept(fit: Fitted) -> None:
    labels, arguments = fit.model.labels_, fit.given.arguments
    if "y" in arguments and getattr(fit.model, "label_weight", None) is None:
        y = np.asarray(arguments["y"])
        assert np.array_equal(labels[y >= 0], y[y >= 0]), "a known label"
    for i, j in _pairs(arguments.get("must_link"), fit.n):
        assert labels[i] == labels[j], f"must_link {i} {j}"
    for i, j in _pairs(arguments.get("cannot_link"), fit.n):
        assert labels[i] != labels[j], f"cannot_link {i} {j}"
    sizes = np.bincount(fit.labels, fit.weight, minlength=fit.case.n_clusters)
    slack = 1e-9 * fit.weight.sum()
    low, high = fit.given.parameters.get("min_cluster_size"), fit.given.parameters.get("max_cluster_size")
    assert low is None or np.all(sizes >= low - slack), f"min_cluster_size={low}: {sizes}"
    assert high is None or np.all(sizes <= high + slack), f"max_cluster_size={high}: {sizes}"


def _pairs(links: np.ndarray | None, n: int) -> np.ndarray:
    if links is None:
        return np.empty((0, 2), dtype=int)
    if links.shape != (n,):
        return links
    return np.argwhere((links[:, None] == links) & (links[:, None] >= 0) & ~np.eye(n, dtype=bool))


def objective_is_F(fit: Fitted) -> None:
    """objective_ is F of labels_, and what `structured_hsic` says of them."""
    if not fit.has_dependence:
        return
    model, (value, room) = fit.model, fit.F(fit.labels)
    assert abs(model.objective_ - value) <= room, f"objective_ {model.objective_!r}, F {value!r}, room {room:.3g}"
    if model.diagnostics_.ridge is not None or model.diagnostics_.size_prior:
        return
    A, Delta = formula(model)
    K, objective = (fit.K + fit.K.T) / 2, model._make_objective()
    normalize = objective.normalize
    if (
        Delta is not None
        and normalize != "l1"
        and (objective.C, objective.gamma) != (Dependence().C, Dependence().gamma)
    ):
        return  # the metric has the constants of the paper
    score = structured_hsic(K, fit.labels, A, loss=Delta, normalize=normalize, sample_weight=fit.weight)
    assert abs(score - value) <= room, f"structured_hsic {score!r}, F {value!r}, room {room:.3g}"


def bounds_hold(fit: Fitted) -> None:
    """No labeling beats upper_bound_, none of the same sizes size_bound_: all of them where they are few."""
    if not fit.has_dependence:
        return
    model, c, m = fit.model, fit.case.n_clusters, len(fit.used)
    assert model.objective_ <= min(model.upper_bound_, model.diagnostics_.size_bound)
    assert 0 <= model.gap_ or model.upper_bound_ < 0
    rng = np.random.default_rng(0)
    rivals = np.array(list(product(range(c), repeat=m))) if c**m <= 300 else rng.integers(0, c, (20, m))
    for labels in rivals:
        value, room = fit.F(labels)
        assert value <= model.upper_bound_ + room, f"F {value!r} > {model.upper_bound_!r} at {labels}"
    if np.ptp(fit.weight) > 0:
        return
    for _ in range(20):
        value, room = fit.F(rng.permutation(fit.labels))
        assert value <= model.diagnostics_.size_bound + room, "F above size_bound"


def history_runs_one_way(fit: Fitted) -> None:
    """The objective rises, but where the method says otherwise."""
    history = np.asarray(getattr(fit.model, "diagnostics_", {}).get("history", []), dtype=float)
    if fit.has_dependence:
        room = fit.F(fit.labels)[1]
        assert np.all(np.diff(history) >= -room), f"history fell: {history}"
    elif fit.case.estimator == "MultiKernelClustering" and _falls(fit.model):
        trace = (
            0.0 if as_method(fit.model.method).unit_diagonal else fit.weight.sum() * _largest_linear(fit)
        )  # else that of the weights
        room = 1e-6 * np.abs(history).max(initial=0) + 1e-9 * fit.weight.sum() + 1e-14 * trace
        assert np.all(np.diff(history) >= -room), f"history fell: {history}"


def _largest_linear(fit: Fitted) -> float:
    """The largest entry of a linear kernel of the samples, which are not seen from their mean; at least one."""
    views = fit.given.X if isinstance(fit.given.X, list) else [fit.given.X]
    return max(1.0, *((_dense(view) ** 2).sum(axis=1).max() for view in views))


def _falls(model: Any) -> bool:
    method = as_method(model.method)
    return method.get_params().get("power", 2) == 2 and not method.may_rise


def weights_of_kernels(fit: Fitted) -> None:
    if hasattr(fit.model, "weights_"):
        assert np.all(fit.model.weights_ >= 0) and abs(fit.model.weights_.sum() - 1) < 1e-9, fit.model.weights_


def score_is_a_share(fit: Fitted) -> None:
    if hasattr(fit.model, "score"):
        score = fit.model.score(fit.given.X)
        assert 0 <= score <= 1, score


def nearest_mean(fit: Fitted) -> None:
    """For a flat l2 fit on a kernel with a formula, predict gives a sample the nearest mean in feature space."""
    model = fit.model
    plain = fit.has_dependence and as_kernel(model.kernel).name in PLAIN and model._is_exact()
    flat = plain and type(model.structure_).__name__ == "Flat"
    if (
        not flat
        or model._make_objective().loss is not None
        or model._make_objective().normalize != "l2"
        or model.diagnostics_.size_prior
        or model.diagnostics_.ridge is not None
    ):
        return
    labels = model.predict(subset(clone(model), fit.given.X, fit.used))
    Pi = np.eye(fit.case.n_clusters)[fit.labels] * fit.weight[:, None]
    n = Pi.sum(axis=0)
    G, S = fit.K @ Pi, np.diag(Pi.T @ fit.K @ Pi)
    with np.errstate(all="ignore"):
        distance = np.where(n > 0, S / n**2 - 2 * G / n, np.inf)
    room = 10 * fit.rounding
    far = distance[np.arange(len(labels)), labels] - distance.min(axis=1)
    assert far.max() <= room, f"sample {fit.used[far.argmax()]} is {far.max():.3g} farther than the nearest mean"


def same_after_pickling(fit: Fitted) -> None:
    again = pickle.loads(pickle.dumps(fit.model))
    assert np.array_equal(_predicted(again, fit.given.X), _predicted(fit.model, fit.given.X))
    assert np.array_equal(again.labels_, fit.model.labels_)


def failure_keeps_the_fit(fit: Fitted) -> None:
    """A refit that is refused leaves the fit as it was."""
    before = dict(vars(fit.model))
    bad = [part[:0] for part in fit.given.X] if isinstance(fit.given.X, list) else fit.given.X[:0]
    try:
        fit.model.fit(bad)
    except REFUSALS:
        no_trace(fit, before)
    else:
        raise AssertionError("samples that are none were fitted")


ALWAYS = (
    finite,
    order_in_range,
    labels_in_range,
    sizes_add_up,
    known_is_kept,
    objective_is_F,
    bounds_hold,
    history_runs_one_way,
    weights_of_kernels,
    score_is_a_share,
    nearest_mean,
    same_after_pickling,
    failure_keeps_the_fit,
)


# -- of two fits -----------------------------------------------------------------------------------------------------


def same_seed_same_labels(fit: Fitted) -> None:
    """A clone gives the same bits, whatever the number of threads."""
    with threadpool_limits(1):
        again = clone(fit.model).fit(fit.given.X, **fit.given.arguments)
    assert np.array_equal(again.labels_, fit.model.labels_), f"{fit.model.labels_} then {again.labels_}"
    assert getattr(again, "objective_", 0) == getattr(fit.model, "objective_", 0)


def order_does_not_matter(fit: Fitted) -> None:
    """Samples in another order: the same bound, labels that are worth what is said, the same F where there is one."""
    if not fit.has_dependence or fit.model.approximation not in (None, "auto") or _ties_matter(fit):
        return
    order = np.random.default_rng(1).permutation(fit.n)
    try:
        model = clone(fit.model).fit(subset(fit.model, fit.given.X, order), **_reordered(fit, order))
    except ValueError as refusal:
        if "could not decide" in str(refusal):  # exact sizes are NP-complete: the order decides when a search ends
            return
        raise
    labels = np.empty_like(model.labels_)
    labels[order] = model.labels_
    value, room = fit.F(labels[fit.used])
    if any(model.diagnostics_[name] != fit.model.diagnostics_[name] for name in ("size_prior", "ridge")):
        return  # chosen from eigenvalues that are rounded in another way
    assert abs(model.objective_ - value) <= room, f"objective_ {model.objective_!r}, F in the first order {value!r}"
    assert model.objective_ <= fit.model.upper_bound_ + room, "a permuted fit beats the bound"
    if fit.case.n_clusters == 1:
        assert abs(model.objective_ - fit.model.objective_) <= room, "one cluster has one F"


def _ties_matter(fit: Fitted, nodes: bool = False) -> bool:
    """Graphs take some of the neighbours that are equally far: the order of the samples, and the last digit of their
    mean and deviation, which weights and copies round differently, say which. Equal samples are one of the `nodes`."""
    if kernel_class(fit.model.kernel).is_function or kernel_class(fit.model.kernel).pairwise:
        return False
    X = _dense(fit.given.X)
    X = X / max(np.abs(X).max(), np.finfo(float).tiny)
    views = (
        [X, _directions(X)]
        if isinstance(fit.model.kernel, str) and fit.model.kernel == "auto" and X.shape[1] >= 4
        else [X]
    )  # as it looks at them
    return any(_tied(np.unique(view, axis=0) if nodes else view) for view in views)


def _tied(X: np.ndarray) -> bool:
    far = np.sort(pdist(X)) if len(X) > 1 else np.ones(1)
    apart = far[far > 1e-6 * far[-1]] if far.any() else far
    return len(apart) < len(far) or bool(np.any(np.diff(apart) <= 1e-6 * far[-1] / len(far)))


def _reordered(fit: Fitted, order: np.ndarray) -> dict[str, Any]:
    place = np.argsort(order)
    given = fit.given.arguments
    return {name: place[value] if value.ndim == 2 else value[order] for name, value in given.items()}


def weights_are_repeats(fit: Fitted) -> None:
    """F of weighted samples is F of as many copies of each, the kernel made anew from them."""
    if not fit.has_dependence or fit.case.weights not in ("ones", "integers", "zeros"):
        return
    if fit.model.approximation not in (None, "auto") or _ties_matter(fit, nodes=True):
        return
    if not kernel_class(fit.model.kernel).equal_rows_are_equal:  # a node more, with the same links, is another graph
        return
    copies = np.repeat(np.arange(fit.n), fit.given.weight.astype(int))
    ones = np.ones(len(copies))
    K, _ = library_similarities(fit.model, subset(fit.model, fit.given.X, copies), ones)
    value, factor = dependence(fit.model, K, ones, fit.model.labels_[copies])
    assert abs(value - fit.model.objective_) <= fit.rounding * factor + 1e-12 * abs(value) + 1e-300, (
        f"objective_ {fit.model.objective_!r}, F of copies {value!r}"
    )


TWINS = {"jobs": same_seed_same_labels, "order": order_does_not_matter, "repeats": weights_are_repeats}
