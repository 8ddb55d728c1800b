"""A fit of samples that lie in partitions, on one machine or many: nothing but sums ever travels.

Samples are seen by features b(x), k(x, y) = <b(x), b(y)>, so that F depends on the sums of features of each cluster.
The labels of a partition are a function of its samples and of a small rule, argmax(b(x) W + h): no partition keeps a
state, and one that is lost with its worker is made again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from kernelclust._arrays import parts
from kernelclust._input import rows_are_equal
from kernelclust._progress import log_round, progress_listener, set_step
from kernelclust._threads import one_thread
from kernelclust.constraints import Constraints, make_constraints
from kernelclust.engine import Fit, Places, Prediction, Request, fit, fitted_places
from kernelclust.kernels import Approximation, ExactFeatures, NewSamples, Nystroem, SimilarityFunction
from kernelclust.large._grow import EACH, START, centred_sums
from kernelclust.large._moves import centred, rises
from kernelclust.large._rounds import ROUND
from kernelclust.large._whole import canonical_order, whole_fit
from kernelclust.objectives import ClusterObjective, flat_objective
from kernelclust.solvers import Run

ROWS = 2**14  # of a partition that are looked at together
SETTLED = 1e-4  # rounds end when a smaller share of the samples moves


class Shards(ABC):
    """Partitions of samples, wherever they lie."""

    sizes: list[int]

    @abstractmethod
    def each(
        self, function: Callable, /, *, numbered: bool = False, samples: bool = True, keep: bool = False, **given: Any
    ) -> list:
        """function(X, w, y, **given) of every partition; X is None without `samples`, lists hold an entry a partition.

        With `keep` results stay where the partitions are, and can be given to the next function.
        """


# -- what is computed where the samples are ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Seen:
    """What a first look at a partition tells; `bad` is the first entry that is no number."""

    weight: float
    mean: np.ndarray  # (d,)
    lightest: float  # weight, and
    least: float  # the lightest that counts,
    counted: int  # how many samples do
    square: float  # weighted sum of squared distances to the mean
    bad: tuple[int, int] | None
    some: np.ndarray  # (k,) rows, and
    rows: np.ndarray  # (k, d) their samples,
    weights: np.ndarray  # (k,) weights
    known: np.ndarray  # (k,) and labels, -1 where these are not known
    largest: float  # of all labels here
    places: np.ndarray  # those of samples that count
    ends: np.ndarray  # (2, d) least and largest entries of every column


def look(X: np.ndarray, w: np.ndarray | None, y: np.ndarray | None, number: int, share: float, seed: int) -> Seen:
    """Sums, and some samples of a partition: a share of them, and half as many of those whose label is known."""
    X = np.asarray(X)
    w = np.ones(len(X)) if w is None else np.asarray(w, dtype=float)
    y = np.full(len(X), -1) if y is None else np.asarray(y)
    wrong = np.argwhere(~np.isfinite(X)) if not np.isfinite(X.sum()) else np.empty((0, 2), dtype=int)
    bad = (int(wrong[0, 0]), int(wrong[0, 1])) if len(wrong) else None
    some, used = drawn(w, y, number, share, seed), np.flatnonzero(w > 0)
    total = float(w.sum())
    mean = (w @ X) / total if total > 0 else np.zeros(X.shape[1])
    square = 0.0
    for rows in parts(len(X), ROWS):
        Z = X[rows] - mean
        square += float(w[rows] @ np.einsum("ij,ij->i", Z, Z))
    largest = float(y.max(initial=-1)) if np.array_equal(y, np.floor(y)) and y.min(initial=-1) >= -1 else np.inf
    few = np.asarray(X[some]), w[some], y[some].astype(int)
    light = float(w.min(initial=0.0)), float(w[used].min(initial=np.inf)), len(used)
    ends = np.stack([X.min(axis=0, initial=np.inf), X.max(axis=0, initial=-np.inf)])
    places = np.unique(y[(y >= 0) & (w > 0)])
    return Seen(total, mean, *light, square, bad, some, *few, largest, places, ends)


def drawn(w: np.ndarray, y: np.ndarray, number: int, share: float, seed: int) -> np.ndarray:
    """Rows of a partition that are drawn: a share of those that count, and half of START whose label is known."""
    rng = np.random.RandomState((seed + number) % 2**32)
    used = np.flatnonzero(w > 0)
    some = used[rng.random_sample(len(used)) < share]
    told = np.flatnonzero((y >= 0) & (w > 0))
    return np.union1d(some, told[rng.random_sample(len(told)) < max(share, 0.5 * START / max(len(told), 1))])


@dataclass(frozen=True)
class Rule:
    """Labels of samples: argmax(raw(x) W + h), raw being features before the last linear map."""

    W: np.ndarray
    h: np.ndarray

    def labels(self, raw: np.ndarray, y: np.ndarray | None) -> np.ndarray:
        found = np.argmax(raw @ self.W + self.h, axis=1)
        return found if y is None else np.where(y >= 0, y, found)


@dataclass(frozen=True)
class Sums:
    """Of a partition at a rule: raw features summed by cluster (c, r), sizes (c,), and how many samples moved."""

    features: np.ndarray
    n: np.ndarray
    moved: int = 0

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.features + other.features, self.n + other.n, self.moved + other.moved)

    def __sub__(self, other: Sums) -> Sums:
        return Sums(self.features - other.features, self.n - other.n, self.moved - other.moved)


def sweep(X, w, y, raw: Callable, rule: Rule, before: Rule | None) -> Sums:
    """Sums of a partition at the labels that a rule gives, and how many of these another rule gave otherwise."""
    X, c = np.asarray(X), len(rule.h)
    total = None
    with one_thread():
        for rows in parts(len(X), ROWS):
            B = raw(X[rows])
            known = None if y is None else np.asarray(y)[rows]
            double = B.astype(np.float64, copy=False)  # once for both rules
            labels = rule.labels(double, known)
            weight = None if w is None else np.asarray(w)[rows]
            P = np.zeros((len(labels), c), dtype=B.dtype)
            P[np.arange(len(labels)), labels] = 1.0 if weight is None else weight
            moved = 0 if before is None else int((before.labels(double, known) != labels).sum())
            n = np.bincount(labels, weight, minlength=c).astype(np.float64)
            part = Sums((P.T @ B).astype(np.float64), n, moved)
            total = part if total is None else total + part
    return total if total is not None else Sums(np.zeros((c, rule.W.shape[0])), np.zeros(c))


@dataclass(frozen=True)
class Last:
    """What a last look brings: B'DB of raw features, and the sample of each cluster that is nearest to its mean."""

    gram: np.ndarray
    near: np.ndarray  # (c,) |phi(x) - mu_j|^2 - |mu_j|^2 of that sample
    row: np.ndarray  # (c,)


def last_look(X, w, y, raw: Callable, T: np.ndarray | None, rule: Rule, means: np.ndarray) -> Last:
    """`means` (r, c) are those of the clusters, in features."""
    X, c, r = np.asarray(X), len(rule.h), rule.W.shape[0]
    gram, near, row = np.zeros((r, r)), np.full(c, np.inf), np.full(c, -1)
    with one_thread():
        for rows in parts(len(X), ROWS):
            B = raw(X[rows]).astype(np.float64, copy=False)
            labels = rule.labels(B, None if y is None else np.asarray(y)[rows])
            weight = None if w is None else np.asarray(w)[rows]
            gram += B.T @ (B if weight is None else B * weight[:, None])
            full = mapped(B, T)
            away = np.einsum("ij,ij->i", full, full) - 2 * (full @ means)[np.arange(len(B)), labels]
            away = away if weight is None else np.where(weight > 0, away, np.inf)
            for j in np.unique(labels):
                here = np.flatnonzero(labels == j)
                best = here[np.argmin(away[here])]
                if away[best] < near[j]:
                    near[j], row[j] = away[best], rows.start + best
    return Last(gram, near, row)


@dataclass(frozen=True)
class Moments:
    """Of features (r,): weight of all samples, weighted sums, weighted sums of squares, largest squares."""

    weight: float
    first: np.ndarray
    second: np.ndarray
    largest: np.ndarray

    def __add__(self, other: Moments) -> Moments:
        sums = self.weight + other.weight, self.first + other.first, self.second + other.second
        return Moments(*sums, np.maximum(self.largest, other.largest))


def feature_moments(X, w, y, raw: Callable, width: int) -> Moments:
    """Of the features of a partition."""
    X, zero = np.asarray(X), np.zeros(width)
    total = Moments(0.0, zero, zero, zero)
    with one_thread():
        for rows in parts(len(X), ROWS):
            B = raw(X[rows]).astype(np.float64, copy=False)
            weight = np.ones(len(B)) if w is None else np.asarray(w, dtype=float)[rows]
            total += Moments(float(weight.sum()), weight @ B, weight @ B**2, (B**2).max(axis=0))
    return total


def feature_gram(X, w, y, raw: Callable, width: int) -> np.ndarray:
    """B'DB (r, r) of the features of a partition."""
    X, gram = np.asarray(X), np.zeros((width, width))
    with one_thread():
        for rows in parts(len(X), ROWS):
            B = raw(X[rows]).astype(np.float64, copy=False)
            gram += B.T @ (B if w is None else B * np.asarray(w, dtype=float)[rows, None])
    return gram


# -- what is computed by whoever asks ----------------------------------------------------------------------------------


def mapped(B: np.ndarray, T: np.ndarray | None) -> np.ndarray:
    """B T; T (r,) is a diagonal one, None the identity."""
    if T is None:
        return B
    return B * T if T.ndim == 1 else B @ T


@dataclass(frozen=True)
class Features:
    """b(x) = raw(x) T, as in `mapped`; `center`: k(x, y) is <b(x), b(y)> once centred, else as it is."""

    raw: Callable
    T: np.ndarray | None
    center: bool = True

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return mapped(self.raw(X), self.T)

    def of(self, sums: np.ndarray) -> np.ndarray:
        return mapped(sums, self.T)

    def rule(self, objective: ClusterObjective, total: Sums) -> Rule:
        """Every sample where F rises most, the clusters held as they are."""
        B = self.of(total.features)  # (c, r)
        M, h = rises(objective, B @ B.T, total.n, self.center)
        return Rule(mapped((B.T @ M).T, None if self.T is None else self.T.T).T, h)

    def cluster_sums(self, B: np.ndarray, n: np.ndarray) -> np.ndarray:
        """S from features summed by cluster (c, r)."""
        return centred(B @ B.T, n) if self.center else B @ B.T

    def value(self, objective: ClusterObjective, total: Sums) -> float:
        return objective.value(self.cluster_sums(self.of(total.features), total.n), total.n)


@dataclass(frozen=True)
class FeatureSamples(NewSamples):
    """Similarities of new samples with clusters that are known by their sums of features."""

    features: Features
    sums: np.ndarray  # (c, r)
    n: np.ndarray

    def both(self, X_new):
        raw, s, total = self.sums @ self.sums.T, self.sums.sum(axis=0), self.n.sum()
        shift = raw.sum(axis=1) / total - float(s @ s) / total**2 * self.n
        G, own = [np.empty((0, len(self.n)))], [np.empty(0)]
        for rows in parts(X_new.shape[0], ROWS):
            B = self.features(np.asarray(X_new[rows]))
            G.append(B @ self.sums.T)
            own.append(np.einsum("ij,ij->i", B, B))
        if not self.features.center:
            return np.concatenate(G), np.concatenate(own)
        return centred_sums(np.concatenate(G), np.concatenate(own), self.n, shift, float(s @ s) / total**2)


@dataclass(frozen=True)
class Sharded(Fit):
    """A fit of partitions: `labels` are those of the samples it started from, everything else is of all samples."""

    whole = None  # labels of all samples are made when they are asked for

    similarities: FeatureSamples | None = field(default=None, repr=False)
    rules: list[Rule] = field(default_factory=list, repr=False)  # of the partitions
    few: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=int), repr=False)  # which samples these are
    some: np.ndarray = field(default_factory=lambda: np.empty((0, 0)), repr=False)  # themselves,
    weight: np.ndarray = field(default_factory=lambda: np.empty(0), repr=False)  # their weights,
    told: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=bool), repr=False)  # whether a label is known
    medoids: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=int), repr=False)

    def prediction(self) -> Prediction:
        assert self.similarities is not None
        objective = flat_objective(self.objective) if self.solution.placed else self.objective
        return Prediction.of(self.similarities, objective, self.S, self.n, reach=self.reach)

    def places(self, prediction: Prediction) -> tuple[Places, np.ndarray, np.ndarray | None]:
        G, own = prediction.similarities.both(self.some)
        axes = self.structure.axes()
        found, rank, position = fitted_places(prediction, axes, G, own, self.S, self.labels, self.weight)
        return found, np.where(self.told, -1, rank), position


@dataclass(frozen=True)
class Begun:
    """What a fit of partitions starts from: some samples, and their fit by the ordinary engine."""

    start: Fit
    objective: ClusterObjective  # that all samples are moved by
    gamma: float | None
    few: np.ndarray  # (k,) which samples these are,
    X: np.ndarray  # (k, d)
    w: np.ndarray  # (k,)
    told: np.ndarray  # (k,) whether their labels are known
    movable: np.ndarray  # (c,) clusters without a known label
    every: bool  # whether these are all samples that count
    lightest: float  # weight of all samples that counts

    @property
    def clusters(self) -> np.ndarray:
        """Pi (k, c), weighted."""
        return np.eye(len(self.start.n))[self.start.labels] * self.w[:, None]


def begin(shards: Shards, request: Request, approximation: Approximation | None = None) -> Begun:
    """A look at all partitions, and the fit of some samples of each by the kernel that all are compared by."""
    rng = check_random_state(request.random_state)
    some = look_at_all(shards, request.structure.n_clusters, rng)
    gamma = _gamma(some.seen, request)
    kernel = request.kernel | {"approximation": approximation}
    if gamma is not None:
        kernel = kernel | {"kernel": kernel["kernel"].with_gamma(gamma)}
    with progress_listener(None):  # stages of the start are not those of the whole
        start = fit(some.X, some.w, replace(request, kernel=kernel, random_state=rng), some.known)
    return some.begun(start, gamma)


@dataclass(frozen=True)
class Some:
    """Samples of all partitions that were looked at: which (k,), themselves (k, d), weights, labels known of them."""

    seen: Sequence[Seen]
    few: np.ndarray
    X: np.ndarray
    w: np.ndarray
    known: Constraints | None

    def begun(self, start: Fit, gamma: float | None) -> Begun:
        objective = flat_objective(start.objective) if start.solution.placed else start.objective
        known, movable = self.known, np.ones(len(start.n), dtype=bool)
        movable[np.concatenate([one.places for one in self.seen]).astype(int)] = False
        told = np.zeros(len(self.w), dtype=bool) if known is None else (known.place >= 0)[known.block]
        every, lightest = len(self.w) == sum(one.counted for one in self.seen), min(one.least for one in self.seen)
        return Begun(start, objective, gamma, self.few, self.X, self.w, told, movable, every, lightest)


def look_at_all(shards: Shards, c: int, rng: np.random.RandomState, names: Sequence[str] | None = None) -> Some:
    """A look at all partitions, and some samples of each; errors name columns by `names`."""
    m, seed = sum(shards.sizes), int(deepcopy(rng).randint(2**31))  # the engine starts as it would without partitions
    wanted = max(START, EACH * c)
    set_step("a look at {} samples in {} partitions", m, len(shards.sizes))
    seen = shards.each(look, share=min(1.0, 1.2 * wanted / max(m, 1)), seed=seed, numbered=True)
    _check(seen, c, names)
    first = np.cumsum([0, *shards.sizes])
    few = np.concatenate([first[i] + one.some for i, one in enumerate(seen)])
    X, w, y = (np.concatenate([getattr(one, name) for one in seen]) for name in ("rows", "weights", "known"))
    set_step("{} of {} samples, by the ordinary engine", len(X), m)
    return Some(seen, few, X, w, None if (y < 0).all() else make_constraints(w, c, labels=y))


def fit_shards(shards: Shards, request: Request) -> Sharded:
    """Fit partitions of samples by their features."""
    kernel, approximation = request.kernel["kernel"], request.kernel["approximation"]
    if kernel.has_features:
        begun, features = begin(shards, request), Features(ExactFeatures(SimilarityFunction(kernel)), None)
    else:
        begun = begin(shards, request, (approximation or Nystroem()).beyond_limit())
        features = Features(*begun.start.kernel.source.parts())  # type: ignore[attr-defined]
    return fit_features(shards, begun, features, request.objective.rule, request.run)


def fit_features(
    shards: Shards,
    begun: Begun,
    features: Features,
    placement: str,
    run: Run,
    relearn: Callable[[Features, Sums, bool], tuple[Features, bool]] | None = None,
) -> Sharded:
    """Fit partitions by features of their samples.

    `relearn(features, total, moved)` is asked, whenever samples no longer move, for features with another T, and
    whether to go on with them.
    """
    P = begun.clusters
    rule = features.rule(begun.objective, Sums(P.T @ features.raw(begun.X), P.sum(axis=0)))
    rules = [rule] * len(shards.sizes)
    each = shards.each(sweep, raw=features.raw, rule=rule, before=None)
    going = True
    while going:
        rules, each, history, why = _rounds(shards, features, begun.objective, rules, each, run)
        if relearn is None:
            break
        features, going = relearn(features, sum(each[1:], each[0]), len(history) > 1)
    return _judged(begun, shards, features, rules, each, placement, history, why)


def _check(seen: Sequence[Seen], c: int, names: Sequence[str] | None) -> None:
    """Every partition holds numbers, labels and weights."""
    for number, one in enumerate(seen):
        if one.bad is not None:
            column = f"column {one.bad[1]}" if names is None else names[one.bad[1]]
            raise ValueError(
                f"Input X contains NaN or infinity: partition {number}, row {one.bad[0]} of it, {column}. "
                "Fill such values in, or leave these rows out."
            )
        if one.largest >= c:
            raise ValueError(
                f"y holds other numbers than known labels in partition {number}: give whole numbers from 0 to "
                f"{c - 1} (places), -1 where the label is unknown."
            )
        if one.lightest < 0 or not np.isfinite(one.weight):
            raise ValueError(f"sample_weight is negative or not finite in partition {number}; weights count copies.")
    if rows_are_equal(np.concatenate([one.ends for one in seen])):
        raise ValueError("all samples are equal: there is nothing to cluster.")


def _gamma(seen: Sequence[Seen], request: Request) -> float | None:
    """The width of a kernel that has one, from all samples."""
    kernel = request.kernel["kernel"]
    if not kernel.has_gamma:
        return None
    if not isinstance(kernel.gamma, str):
        return float(kernel.gamma)
    if kernel.gamma != "scale" or kernel.distance_exponent != 2:
        return None  # from the samples that the fit starts from
    total = sum(one.weight for one in seen)
    mean = np.sum([one.weight * one.mean for one in seen], axis=0) / total
    between = sum(one.weight * float((one.mean - mean) @ (one.mean - mean)) for one in seen)
    distance = 2 * (sum(one.square for one in seen) + between) / total
    return 1.0 / distance if distance > 0 else 1.0


def _rounds(shards: Shards, features: Features, objective: ClusterObjective, rules, each, run: Run):
    """Rules of the partitions, their sums, F after every round, and why it ended; from rules and their sums.

    All partitions follow the new rule if F rises by it; else one after the other does where F rises.
    """
    m = sum(shards.sizes)
    rules, each = list(rules), list(each)
    total = sum(each[1:], each[0])
    history = [features.value(objective, total)]
    for number in range(run.max_iter):
        set_step("searching: F = {:.6g} after {} rounds over all samples", history[-1], number)
        new = features.rule(objective, total)
        found = shards.each(sweep, raw=features.raw, rule=new, before=rules)
        whole, moved = sum(found[1:], found[0]), sum(one.moved for one in found)
        if not moved:
            return rules, each, history, "converged"
        value = features.value(objective, whole) if (whole.n > 0).all() else -np.inf
        if value > history[-1]:
            rules, each, total = [new] * len(rules), found, whole
        else:
            value, whole = history[-1], total
            for i, one in enumerate(found):
                tried = total - each[i] + one
                if (tried.n > 0).all() and (risen := features.value(objective, tried)) > value:
                    rules[i], each[i], total, value = new, one, tried, risen
            if value <= history[-1]:
                return rules, each, history, "converged"
        history.append(value)
        log_round(run.report, ROUND, number + 1, m, value, moved)
        if moved <= SETTLED * m:
            return rules, each, history, "converged"
    return rules, each, history, "max_iter"


def _judged(begun: Begun, shards: Shards, features: Features, rules, each, placement, history, why) -> Sharded:
    """The fit of all partitions: canonical numbers, bounds from all features, medoids."""
    start = begun.start
    total = sum(each[1:], each[0])
    sums, n = features.of(total.features), total.n
    order = canonical_order(start, features.cluster_sums(sums, n), n, begun.movable)
    sums, n = sums[order], n[order]
    rules = [Rule(rule.W[:, order], rule.h[order]) for rule in rules]
    means = (sums / np.where(n > 0, n, np.inf)[:, None]).T
    set_step("one more look at all samples")
    last = shards.each(last_look, raw=features.raw, T=features.T, rule=rules, means=means)
    gram, s = sum(one.gram for one in last), sums.sum(axis=0)
    gram = mapped(mapped(gram, features.T).T, features.T)
    gram = gram - np.outer(s, s) / float(n.sum()) if features.center else gram
    values, useful = np.linalg.eigvalsh(gram)[::-1], len(n) - features.center
    first, nearest = np.cumsum([0, *shards.sizes]), np.argmin([one.near for one in last], axis=0)
    medoids = [first[i] + last[i].row[j] if last[i].row[j] >= 0 else -1 for j, i in enumerate(nearest)]
    return whole_fit(
        Sharded,
        start,
        placement,
        order=order,
        movable=begun.movable,
        every=begun.every,
        S=features.cluster_sums(sums, n),
        n=n,
        bounds=np.maximum(values[:useful], 0.0),
        trace=float(values.sum()),
        lightest=begun.lightest,
        labels=rules[0].labels(features.raw(begun.X), None),
        history=history,
        n_iter=len(history) - 1,
        stopped_because=why,
        gamma=begun.gamma,
        similarities=FeatureSamples(features, sums, n),
        rules=rules,
        few=begun.few,
        some=begun.X,
        weight=begun.w,
        told=begun.told,
        medoids=np.array(medoids),
    )
