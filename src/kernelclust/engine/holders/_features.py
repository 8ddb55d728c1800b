"""Samples in partitions, seen by features b(x), k(x, y) = <b(x), b(y)>: nothing but sums of features ever travels.

The labels of a partition are a function of its samples and of a small rule, argmax(b(x) W + h): no partition keeps a
state, and one that is lost with its worker is made again. What is computed where samples lie is written for numpy and
for any library of the array API; features are functions of numpy arrays, and have `array(xp, X)` for all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelclust._arrays import double, joined, library, like, parts, to_host
from kernelclust._input import rows_are_equal
from kernelclust._progress import set_step
from kernelclust._threads import one_thread
from kernelclust._warnings import warn
from kernelclust.engine import _rounds
from kernelclust.engine._config import FitConfig
from kernelclust.engine._judge import Fit
from kernelclust.engine._moves import Centring, centred, one_hot, raw_assignment
from kernelclust.engine._places import Places, Whole
from kernelclust.engine._rounds import Drawn, Holder, Pool, subsample_size
from kernelclust.engine.holders._partitions import Partitions
from kernelclust.kernels import (
    Approximation,
    ExactFeatures,
    FeatureMap,
    Kernel,
    NewSamples,
    Nystroem,
    SimilarityFunction,
    check_squares,
    natural_gamma,
)
from kernelclust.objectives import Assignment, ClusterObjective

ROWS = 2**14  # of a partition that are looked at together,
THERE = 4  # times as many on a device
SETTLED = 1e-4  # rounds end when a smaller share of the samples moves


# -- what is computed where the samples are ----------------------------------------------------------------------------


@dataclass(frozen=True)
class PartitionSummary:
    """Summary of a partition from the first pass; `bad` is the first entry that is not a number."""

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


def look(X: Any, w: np.ndarray | None, y: np.ndarray | None, number: int, share: float, seed: int) -> PartitionSummary:
    """Return sums, and some samples of a partition: a share of them, and half as many of those whose label is known."""
    X = _array(X)
    xp, m = library(X), int(X.shape[0])
    w = np.ones(m) if w is None else np.asarray(w, dtype=float)
    y = np.full(m, -1) if y is None else np.asarray(y)
    bad = None
    if not np.isfinite(float(xp.sum(X))):
        wrong = np.argwhere(~np.isfinite(to_host(X)))
        bad = (int(wrong[0, 0]), int(wrong[0, 1])) if len(wrong) else None
    some, used = drawn(w, y, number, share, seed), np.flatnonzero(w > 0)
    total, square = float(w.sum()), 0.0
    with np.errstate(invalid="ignore"):  # weights that are infinite are refused
        mean = to_host(like(w, X) @ double(X)) / total if total > 0 else np.zeros(int(X.shape[1]))
    for rows in parts(m, ROWS):
        Z = double(X[rows, :]) - like(mean, X)
        with np.errstate(over="ignore"):  # kernels that need the sum refuse such samples
            square += float(like(w[rows], X) @ xp.sum(Z * Z, axis=1))
    are_labels = y.dtype.kind != "b" and np.array_equal(y, np.floor(y)) and y.min(initial=-1) >= -1
    largest, y = (float(y.max(initial=-1)), y) if are_labels else (np.inf, np.full(m, -1))
    few = to_host(X[some] if xp is np else xp.take(X, xp.asarray(some, device=X.device), axis=0))
    light = float(w.min(initial=0.0)), float(w[used].min(initial=np.inf)), len(used)
    ends = np.empty((0, int(X.shape[1])))  # of an empty partition
    if m:
        ends = np.stack([to_host(xp.min(X, axis=0)), to_host(xp.max(X, axis=0))])
    if xp is not np:
        few, ends = few.astype(np.float64), ends.astype(np.float64)
    places = np.unique(y[(y >= 0) & (w > 0)])
    return PartitionSummary(
        total, mean, *light, square, bad, some, few, w[some], y[some].astype(int), largest, places, ends
    )


def drawn(w: np.ndarray, y: np.ndarray, number: int, share: float, seed: int) -> np.ndarray:
    """Return rows of a partition that are drawn: a share of those that count, and half of START whose label is
    known.
    """
    rng = np.random.RandomState((seed + number) % 2**32)
    used = np.flatnonzero(w > 0)
    some = used[rng.random_sample(len(used)) < share]
    told = np.flatnonzero((y >= 0) & (w > 0))
    return np.union1d(
        some, told[rng.random_sample(len(told)) < max(share, 0.5 * _rounds.MIN_SUBSAMPLE / max(len(told), 1))]
    )


@dataclass(frozen=True)
class Sums:
    """Sums of a partition under a rule: raw features by cluster (c, r), sizes (c,), and the number of samples that
    moved.
    """

    features: np.ndarray
    n: np.ndarray
    moved: int = 0

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.features + other.features, self.n + other.n, self.moved + other.moved)

    def __sub__(self, other: Sums) -> Sums:
        return Sums(self.features - other.features, self.n - other.n, self.moved - other.moved)


def _array(X: Any) -> Any:
    """Return a partition as an array: frames and other things of the host as numpy has them."""
    return X if hasattr(X, "__array_namespace__") or type(X).__module__.startswith("torch") else np.asarray(X)


def _blocks(X: Any, w: Any, y: Any, raw: Any) -> Iterator[tuple[slice, Any, Any, np.ndarray | None]]:
    """Yield (rows, raw features, weights where these are, known labels), a few rows at a time."""
    X = _array(X)
    xp = library(X)
    with one_thread():
        for rows in parts(int(X.shape[0]), ROWS if xp is np else THERE * ROWS):
            if raw is None:
                B = X[rows, :]
            else:
                B = raw(X[rows]) if xp is np else raw.array(xp, double(X[rows, :]))
            weight = like(np.ones(rows.stop - rows.start) if w is None else np.asarray(w, dtype=float)[rows], B)
            yield rows, B, weight, None if y is None else np.asarray(y)[rows]


def all_features(X, w, y, raw: Callable) -> Any:
    """Return the features of a partition, where it is."""
    found = [B for _, B, _, _ in _blocks(X, w, y, raw)]
    return joined(found) if found else raw(X)


def sweep(X, w, y, raw: Callable, rule: Assignment, before: Assignment | None) -> Sums:
    """Return sums of a partition at the labels that a rule gives, and how many of these another rule gave otherwise."""
    c = len(rule.h)
    total = Sums(np.zeros((c, rule.M.shape[0])), np.zeros(c))
    for _, B, weight, known in _blocks(X, w, y, raw):
        wide = double(B)  # once for both rules
        labels = rule.labels(wide, known)
        P, moved = one_hot(labels, c, weight), 0
        if before is not None:
            moved = int(library(B).sum(double(before.labels(wide, known) != labels)))
        n, P = to_host(library(B).sum(P, axis=0)), P if P.dtype == B.dtype else library(B).asarray(P, dtype=B.dtype)
        total += Sums(to_host(P.T @ B).astype(np.float64), n, moved)
    return total


@dataclass(frozen=True)
class FinalPass:
    """Result of the last pass: B'DB of raw features, and the sample of each cluster that is nearest to its mean."""

    gram: np.ndarray
    near: np.ndarray  # (c,) |phi(x) - mu_j|^2 - |mu_j|^2 of that sample
    row: np.ndarray  # (c,)
    told: np.ndarray  # (c,) whether its label was known


def last_look(X, w, y, raw: Callable, T: np.ndarray | None, rule: Assignment, means: np.ndarray) -> FinalPass:
    """Return what a last look brings; `means` (r, c) are those of the clusters, in features."""
    c, gram = len(rule.h), np.zeros((rule.M.shape[0], rule.M.shape[0]))
    near, row, told = np.full(c, np.inf), np.full(c, -1), np.zeros(c, dtype=bool)
    for rows, B, weight, known in _blocks(X, w, y, raw):
        xp, B = library(B), double(B)
        labels = rule.labels(B, known)
        gram += to_host(B.T @ (B * weight[:, None]))
        full = mapped(B, None if T is None else like(T, B))
        away = xp.sum(full * full, axis=1)[:, None] - 2 * (full @ like(means, B))
        here = one_hot(labels, c, weight) > 0
        away = xp.where(here, away, xp.full_like(away, np.inf))
        best, least = to_host(xp.argmin(away, axis=0)), to_host(xp.min(away, axis=0))
        closer = least < near
        near, row = np.where(closer, least, near), np.where(closer, rows.start + best, row)
        told = np.where(closer, False if known is None else known[best] >= 0, told)
    return FinalPass(gram, near, row, told)


@dataclass(frozen=True)
class Moments:
    """Moments of features (r,): weight of all samples, weighted sums, weighted sums of squares, largest squares."""

    weight: float
    first: np.ndarray
    second: np.ndarray
    largest: np.ndarray

    def __add__(self, other: Moments) -> Moments:
        sums = self.weight + other.weight, self.first + other.first, self.second + other.second
        return Moments(*sums, np.maximum(self.largest, other.largest))


def feature_moments(X, w, y, raw: Callable, width: int) -> Moments:
    """Return the moments of the features of a partition."""
    zero = np.zeros(width)
    total = Moments(0.0, zero, zero, zero)
    for _, B, weight, _ in _blocks(X, w, y, raw):
        B = double(B)
        found = weight @ B, weight @ (B * B), library(B).max(B * B, axis=0)
        total += Moments(float(library(B).sum(weight)), *map(to_host, found))
    return total


def feature_gram(X, w, y, raw: Callable, width: int) -> np.ndarray:
    """Return B'DB (r, r) of the features of a partition."""
    gram = np.zeros((width, width))
    for _, B, weight, _ in _blocks(X, w, y, raw):
        B = double(B)
        gram += to_host(B.T @ (B * weight[:, None]))
    return gram


def rule_labels(X, w, y, raw: Callable, rule: Assignment) -> Any:
    """Return labels of a partition (k,)."""
    found = [rule.labels(double(B), known) for _, B, _, known in _blocks(X, w, y, raw)]
    if not found:
        return np.empty(0, dtype=np.int64)
    return joined(found)


def positions(X, w, y, raw: Callable, rule: Assignment, places: Places) -> Any:
    """Return continuous places of a partition, on the host."""
    X = _array(X)
    found = places.position(X, to_host(rule_labels(X, w, y, raw, rule)))
    return found if isinstance(X, np.ndarray) else like(found, X)


def products(X, w, y, raw: Callable, image: np.ndarray) -> Any:
    """Return raw(x) times `image` (r, k) of a partition, where it is."""
    found = [double(B) @ like(image, B) for _, B, _, _ in _blocks(X, w, y, raw)]
    if not found:
        return np.empty((0, image.shape[1]))
    return joined(found)


# -- what is computed by whoever asks ----------------------------------------------------------------------------------


def mapped(B: np.ndarray, T: np.ndarray | None) -> np.ndarray:
    """Return B T; T (r,) is a diagonal one, None the identity."""
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

    def rule(self, objective: ClusterObjective, total: Sums) -> Assignment:
        """Return the rule that puts every sample where F rises most, the clusters held as they are."""
        B = self.of(total.features)  # (c, r)
        found = raw_assignment(objective, B @ B.T, total.n, self.center)
        return Assignment(mapped((B.T @ found.M).T, None if self.T is None else self.T.T).T, found.h)

    def cluster_sums(self, B: np.ndarray, n: np.ndarray) -> np.ndarray:
        """Return S from features summed by cluster (c, r)."""
        return centred(B @ B.T, n) if self.center else B @ B.T

    def value(self, objective: ClusterObjective, total: Sums) -> float:
        return objective.value(self.cluster_sums(self.of(total.features), total.n), total.n)


@dataclass(frozen=True)
class FeatureSamples(NewSamples):
    """Similarities of new samples with clusters that are known by their sums of features."""

    features: Features
    sums: np.ndarray  # (c, r)
    centring: Centring

    def both(self, X_new):
        G, own, T = [np.empty((0, len(self.sums)))], [np.empty(0)], self.features.T
        for _, B, _, _ in _blocks(X_new, None, None, self.features.raw):
            B = mapped(B, None if T is None else like(T, B))
            G.append(to_host(B @ like(self.sums, B).T))
            own.append(to_host(library(B).sum(B * B, axis=1)))
        return self.centring.sums(np.concatenate(G), np.concatenate(own))


@dataclass(frozen=True)
class ShiftedFeatures(FeatureMap):
    """b(x) - offset: the same centred kernel, whose sums keep their digits where samples are far from the origin."""

    raw: FeatureMap
    offset: np.ndarray  # (r,)

    def __call__(self, X_new: Any) -> Any:
        return self.raw(X_new) - self.offset


class FeatureHolder(Holder):
    """Partitions whose samples are compared by features: exact ones of the kernel, or approximate ones."""

    def __init__(self, partitions: Partitions, kernel: Kernel, approximation: Approximation | None):
        self.partitions, self.kernel = partitions, kernel
        self.approximation = None if kernel.has_features else (approximation or Nystroem()).beyond_limit()

    def draw(self, config, rng):
        drawn = look_at_all(self.partitions, config.structure.n_clusters, rng, config)
        return replace(drawn, approximation=self.approximation)

    def pool(self, subsample: Drawn, start: Fit, climbing: dict[str, Any]) -> FeaturePool:
        if self.kernel.has_features:
            raw = ExactFeatures(SimilarityFunction(self.kernel))
            features = Features(ShiftedFeatures(raw, np.median(raw(subsample.X), axis=0)), None)
        else:
            features = Features(*start.kernel.source.parts())  # type: ignore[attr-defined]
        return FeaturePool.of(self.partitions, features, subsample, start, held=self.kernel.learns_features)


def look_at_all(
    partitions: Partitions,
    c: int,
    rng: np.random.RandomState,
    config: FitConfig | None = None,
    names: Sequence[str] | None = None,
) -> Drawn:
    """Look at all partitions, and return some samples of each; errors name columns by `names`."""
    m = sum(partitions.sizes)
    seed = int(deepcopy(rng).randint(2**31))  # the engine starts as it would without partitions
    set_step("inspecting {} samples in {} partitions", m, len(partitions.sizes))
    number = subsample_size(c) if config is None else subsample_size(c, config.kernel["kernel"])
    seen = partitions.each(look, share=min(1.0, 1.2 * number / max(m, 1)), seed=seed, numbered=True)
    _check(seen, c, names, partitions.numbers)
    first = np.cumsum([0, *partitions.sizes])
    index = np.concatenate([first[i] + summary.some for i, summary in enumerate(seen)])
    X, weight, y = (np.concatenate([getattr(part, name) for part in seen]) for name in ("rows", "weights", "known"))
    known_nodes = np.unique(np.concatenate([summary.places for summary in seen])).astype(int)
    is_all = len(weight) == sum(summary.counted for summary in seen)
    min_weight = min(summary.least for summary in seen)
    gamma = None if config is None else _gamma(seen, config)
    return Drawn(index, X, weight, y, known_nodes, is_all, min_weight, gamma, rng)


def _check(seen: Sequence[PartitionSummary], c: int, names: Sequence[str] | None, numbers: Sequence[int]) -> None:
    """Check that every partition holds numbers, labels and weights."""
    for number, one in zip(numbers, seen, strict=True):
        if one.bad is not None:
            column = f"column {one.bad[1]}" if names is None else names[one.bad[1]]
            raise ValueError(
                f"Input X contains NaN or infinity: partition {number}, row {one.bad[0]} of it, {column}. "
                "Fill such values in, or leave these rows out."
            )
        if one.largest >= c:
            raise ValueError(
                f"y holds invalid labels in partition {number}: give integers from 0 to "
                f"{c - 1} (nodes), -1 where the label is unknown."
            )
        if one.lightest < 0 or not np.isfinite(one.weight):
            raise ValueError(f"sample_weight is negative or not finite in partition {number}; weights count copies.")
    counted = sum(one.counted for one in seen)
    if counted < c:
        raise ValueError(
            f"n_samples={counted} should be >= n_clusters={c}: there are fewer samples (of positive weight) than "
            "clusters."
        )
    if rows_are_equal(np.concatenate([one.ends for one in seen])):
        raise ValueError("all samples are equal: there is nothing to cluster.")


def _gamma(seen: Sequence[PartitionSummary], config: FitConfig) -> float | None:
    """Return the width of a kernel that has one, from all samples."""
    kernel = config.kernel["kernel"]
    if not kernel.has_gamma:
        return None
    if kernel.distance_exponent == 2:
        size = max(float(np.abs(one.ends).max(initial=0.0)) for one in seen)
        check_squares(size, np.finfo(float).smallest_normal)
    if not isinstance(kernel.gamma, str):
        return float(kernel.gamma)
    if kernel.gamma != "scale" or kernel.distance_exponent != 2:
        return None  # from the samples that the fit starts from
    total = sum(one.weight for one in seen)
    mean = np.sum([one.weight * one.mean for one in seen], axis=0) / total
    between = sum(one.weight * float((one.mean - mean) @ (one.mean - mean)) for one in seen)
    distance = 2 * (sum(one.square for one in seen) + between) / total
    return natural_gamma(distance)


class FeaturePool(Pool):
    """Samples in partitions that follow rules, and their sums of features."""

    settled = SETTLED
    same_kernel = False
    _allow_empty = True

    def __init__(self, partitions: Partitions, features: Features, rule: Assignment, held: bool = False):
        self.partitions, self.features, self.c, self.center = partitions, features, len(rule.h), features.center
        self.rules = [rule] * len(partitions.sizes)
        self._seen: Partitions = partitions
        self._raw: Callable | None = features.raw
        if held:
            set_step("features of {} samples", self.n_samples)
            self._seen, self._raw = partitions.mapped(all_features, raw=features.raw), None
        self.each = self._seen.each(sweep, raw=self._raw, rule=rule, before=None)

    @classmethod
    def of(
        cls, partitions: Partitions, features: Features, subsample: Drawn, start: Fit, held: bool = False
    ) -> FeaturePool:
        """Return all samples in a pool, each where F rises most by the clusters of some.

        `held` keeps features where samples lie.
        """
        P = np.eye(len(start.n))[start.labels] * subsample.weight[:, None]
        total = Sums(P.T @ features.raw(subsample.X), P.sum(axis=0))
        return cls(partitions, features, features.rule(start.moving_objective, total), held)

    @property
    def n_samples(self) -> int:
        return sum(self.partitions.sizes)

    @property
    def total(self) -> Sums:
        return sum(self.each[1:], self.each[0])

    def _sums(self, total: Sums) -> tuple[np.ndarray, np.ndarray]:
        B = self.features.of(total.features)
        return B @ B.T, total.n

    def totals(self):
        return self._sums(self.total)

    def propose(self, objective, tol, allow_empty):
        self._allow_empty = allow_empty
        self._new = self.features.rule(objective, self.total)
        self._found = self._seen.each(sweep, raw=self._raw, rule=self._new, before=self.rules)
        self._value = lambda total: self.features.value(objective, total)
        self._taken, self._whole = list(range(len(self._found))), True
        return self._moved()

    def _moved(self) -> int:
        return sum(self._found[i].moved for i in self._taken)

    def halve(self):
        """Keep the partitions by which F rises, one after the other."""
        if not self._whole:
            return 0
        self._taken, self._whole, total = [], False, self.total
        value = self._value(total)
        for i, (was, now) in enumerate(zip(self.each, self._found, strict=True)):
            tried = total - was + now
            if (tried.n > 0).all() and (risen := self._value(tried)) > value:
                self._taken.append(i)
                total, value = tried, risen
        return self._moved()

    def trial(self):
        each = [self._found[i] if i in self._taken else one for i, one in enumerate(self.each)]
        return self._sums(sum(each[1:], each[0]))

    def accept(self):
        for i in self._taken:
            self.rules[i], self.each[i] = self._new, self._found[i]

    def renumber(self, order):
        self.rules = [Assignment(rule.M[:, order], rule.h[order]) for rule in self.rules]
        self.each = [Sums(one.features[order], one.n[order], one.moved) for one in self.each]

    def bounds(self):
        sums, n = self.features.of(self.total.features), self.total.n
        means = (sums / np.where(n > 0, n, np.inf)[:, None]).T
        given: dict[str, Any] = {"raw": self._raw, "T": self.features.T}
        self._last = self._seen.each(last_look, rule=self.rules, means=means, **given)
        gram, s = sum(one.gram for one in self._last), sums.sum(axis=0)
        gram = mapped(mapped(gram, self.features.T).T, self.features.T)
        gram = gram - np.outer(s, s) / float(n.sum()) if self.center else gram
        values, useful = np.linalg.eigvalsh(gram)[::-1], self.c - self.center
        return np.maximum(values[:useful], 0.0), float(values.sum())

    def finish(self, subsample, start):
        self._warn_of_empty_clusters()
        sums, parts, raw = self.features.of(self.total.features), self.partitions, self.features.raw
        similarities = FeatureSamples(self.features, sums, self.centring)
        G, own = similarities.both(subsample.X)
        labels = self.rules[0].labels(double(raw(subsample.X)), subsample.y)
        medoids, told = nearest_of([(one.near, one.row, one.told) for one in self._last], parts.sizes)

        def position(places: Places) -> Any:
            assert places.scales is not None
            return parts.rows(positions, np.float64, places.scales.width, raw=raw, rule=self.rules, places=places)

        return Whole(
            n_samples=self.n_samples,
            similarities=similarities,
            few=subsample.index,
            G=G,
            own=own,
            few_labels=labels,
            weight=subsample.weight,
            medoids=medoids,
            labelled=np.union1d(subsample.index[subsample.y >= 0], told),
            labels=parts.rows(rule_labels, np.int64, raw=raw, rule=self.rules),
            position=position,
            sampled=start.sampled(subsample.X, G, labels, subsample.weight),
        )

    def _warn_of_empty_clusters(self) -> None:
        """Warn of clusters that no rule reaches: equal features have equal labels."""
        empty = np.flatnonzero(self.total.n <= 0)
        if len(empty) and not self._allow_empty:
            warn(
                f"{len(empty)} of {self.c} clusters are empty: samples in partitions are compared by features of the "
                "kernel, and fewer than that differ beyond rounding. Ask for fewer clusters, or rescale columns whose "
                "differences are lost next to those of other columns."
            )


def nearest_of(found: Sequence[tuple], sizes: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the sample of each cluster that is nearest to its mean (c,), -1 for none, and those with known labels.

    `found` holds (how near, row, known) of every partition.
    """
    near, row, told = (np.array(part) for part in zip(*found, strict=True))
    i, j = np.argmin(near, axis=0), np.arange(near.shape[1])
    medoids = np.where(row[i, j] >= 0, np.cumsum([0, *sizes])[i] + row[i, j], -1)
    return medoids, medoids[told[i, j] & (medoids >= 0)]
