"""Samples on one device, by any library of the array API: similarities are recomputed in every pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from kernelclust._arrays import like, namespace, parts, to_host
from kernelclust._progress import set_step
from kernelclust._warnings import warn
from kernelclust.constraints import draw
from kernelclust.engine._judge import Fit
from kernelclust.engine._moves import Centring, best_moves, centred, one_hot, raw_assignment
from kernelclust.engine._places import Places, Whole
from kernelclust.engine._rounds import Drawn, Holder, climb, subsample_size
from kernelclust.engine.holders._labelled import LabelledPool, level_of, put, tables_of, weight_levels
from kernelclust.engine.holders._rows import FeatureRows, Rows
from kernelclust.kernels import (
    Kernel,
    LearnedKernel,
    NewSamples,
    Nystroem,
    check_squares,
    eigenvalue_bounds,
    mean_distance,
    natural_gamma,
)

MIDDLE = 2**16  # samples of the stage between
STAGE_ROUNDS = 30  # at most before the last stage
PLACED = 20_000  # samples that temperatures and scales of positions are made from
LARGEST = 1e12  # entries beyond would leave single precision when squared


class DeviceHolder(Holder):
    """Samples X (m, d) of positive weights (m,), arrays of xp on one device; y holds known labels, -1 none."""

    def __init__(self, xp: Any, X: Any, weight: Any, y: np.ndarray | None = None):
        self.xp, self.X, self.weight, self.y = xp, X, weight, y
        self.m = int(X.shape[0])

    def draw(self, config, rng):
        index = draw(self.m, subsample_size(config.structure.n_clusters, config.kernel["kernel"]), self.y, rng)
        there = self._there(index)
        X = to_host(self.xp.take(self.X, there, axis=0)).astype(np.float64)
        weight = to_host(self.xp.take(self.weight, there)).astype(float)
        kernel, gamma = config.kernel["kernel"], None
        if kernel.has_gamma:
            if kernel.distance_exponent == 2:
                size = max(float(self.xp.max(self.X)), -float(self.xp.min(self.X)))
                check_squares(size, float(self.xp.finfo(self.X.dtype).smallest_normal))
            gamma = kernel.in_units(X, weight, 1.0)[1]
            if kernel.gamma == "scale":
                gamma = natural_gamma(mean_distance(self.X, self.weight, kernel.distance_exponent))
            kernel = kernel.with_gamma(gamma)
        self._kernel = kernel
        y = np.full(len(index), -1) if self.y is None else self.y[index]
        known_nodes = np.empty(0, dtype=int) if self.y is None else np.unique(self.y[self.y >= 0])
        min_weight, is_all = float(self.xp.min(self.weight)), len(index) == self.m
        approximation = Nystroem() if kernel.learns_features else None
        return Drawn(index, X, weight, y, known_nodes, is_all, min_weight, gamma, rng, approximation)

    def pool(self, subsample: Drawn, start: Fit, climbing: dict[str, Any]) -> DevicePool:
        """Move more and more samples, in stages; return the pool of all."""
        xp, c, rounds, kernel = self.xp, len(start.n), 0, self._kernel
        if kernel.learns_features:
            kernel = LearnedKernel(start.kernel.source.features)  # type: ignore[attr-defined]
        make = _rows_of(xp, self.X, self.weight, kernel)
        labels = xp.asarray(start.labels, dtype=xp.int64, device=self.X.device)
        index, rows, sizes = subsample.index, make(self._there(subsample.index)), iter((MIDDLE, self.m))
        while True:
            free = None if self.y is None else xp.asarray(self.y[index] < 0, device=self.X.device)
            pool = DevicePool(rows, labels, c, free, climbing["allow_empty"])
            pool.rounds_before = rounds
            if len(index) == self.m:
                return pool
            done = climb(pool, start.moving_objective, **climbing | {"max_iter": STAGE_ROUNDS})
            rounds += len(done.history) - 1
            index = draw(self.m, next(sizes), self.y, subsample.rng)
            set_step("the next {} of {} samples", len(index), self.m)
            rows = make(None if len(index) == self.m else self._there(index))
            where = raw_assignment(start.moving_objective, done.S, done.n)  # no cluster that is empty
            G = xp.matrix_transpose(pool.rows.sums_of(rows.Z, pool.labels, c))
            labels = xp.astype(where.labels(G, None if self.y is None else self.y[index]), xp.int64)

    def _there(self, index: np.ndarray) -> Any:
        return self.xp.asarray(index, device=self.X.device)


class DevicePool(LabelledPool):
    """All samples on one device, with their similarity sums G (c, m), kept current by what moves."""

    def __init__(self, rows: Rows, labels: Any, n_clusters: int, free: Any = None, allow_empty: bool = False):
        self.rows, self.xp, self.labels, self.c = rows, rows.xp, labels, n_clusters
        self._free, self._allow_empty = free, allow_empty
        self.G, self.square = rows.sums(labels, n_clusters)  # the latter is sum_ij w_i w_j k_ij^2
        self.own = rows.own()
        self.levels, middle = weight_levels(to_host(rows.xp.unique_values(rows.weight)))
        self._level = level_of(rows.xp, rows.weight, middle)
        self._totals: tuple[np.ndarray, np.ndarray] | None = None

    def totals(self):
        if self._totals is None:
            self._totals = self._sums(self.G)
        return self._totals

    def _sums(self, G: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return S and n at the labels, from similarity sums."""
        S, n = np.zeros((self.c, self.c)), np.zeros(self.c)
        for part in parts(self.labels.shape[0]):
            P = one_hot(self.labels[part], self.c, self.rows.weight[part])
            S += to_host(G[:, part] @ P)
            n += to_host(self.xp.sum(P, axis=0))
        return (S + S.T) / 2, n

    def propose(self, objective, tol, allow_empty):
        xp = self.xp
        tables, threshold = tables_of(self, objective, self.levels, tol, allow_empty)
        to, gain = best_moves(xp, self.G, self.own, self.labels, self._level, tables)
        wanted = (to != self.labels) & (gain > threshold)
        if self._free is not None:
            wanted = wanted & self._free
        index = xp.nonzero(wanted)[0]
        self._keep(index, xp.take(to, index), xp.take(gain, index))
        return self._proposed[0].shape[0]

    def trial(self):
        index, was, to, _ = self._proposed
        (S, n), weight = self.totals(), self.xp.take(self.rows.weight, index)
        dP = one_hot(to, self.c, weight) - one_hot(was, self.c, weight)
        first = to_host(self.xp.take(self.G, index, axis=1) @ dP)
        second = to_host(self.rows.change(index, was, to, self.c, among=True) @ dP)
        S, n = S + first + first.T + (second + second.T) / 2, n + to_host(self.xp.sum(dP, axis=0))
        self._tried = S, n
        return S, n

    def accept(self):
        index, was, to, _ = self._proposed
        self.G = self.G + self.rows.change(index, was, to, self.c)
        self.labels = put(self.xp, self.labels, index, to)
        self._totals = self._tried

    def renumber(self, order: np.ndarray) -> None:
        """Let the cluster that is order[j] now be number j."""
        xp, on = self.xp, self.labels.device
        self.labels = xp.take(xp.asarray(np.argsort(order), dtype=self.labels.dtype, device=on), self.labels)
        self.G = xp.take(self.G, xp.asarray(order, device=on), axis=0)
        if self._totals is not None:
            self._totals = self._totals[0][np.ix_(order, order)], self._totals[1][order]

    def settle(self) -> float:
        """Take totals from a new pass; returns how far those that moves kept current were from them, relative."""
        S = self.rows.totals(self.labels, self.c)
        kept, (seen, n) = self.totals()[0], self._sums(self.G)
        self._totals = S, n
        return float(max(np.abs(kept - S).max(), np.abs(seen - S).max()) / (np.abs(S).max() or 1.0))

    def fresh(self) -> None:
        """Take the sums of all samples from a new pass."""
        (self.G, self.square), self._totals = self.rows.sums(self.labels, self.c), None

    def bounds(self):
        (raw, n), weight = self.totals(), self.rows.weight
        centring = self.centring
        found = [
            squares(self.xp, self.G[:, part], self.own[part], weight[part], centring)
            for part in parts(self.labels.shape[0])
        ]
        return bounds_of(found, self.square, raw, n)

    def finish(self, subsample, start):
        m = self.n_samples
        few = draw(m, PLACED, None, subsample.rng)
        (G, own), labels = self._seen(few), to_host(self.labels)
        return Whole(
            n_samples=m,
            similarities=DeviceSamples(self.rows, self.labels, self.centring),
            few=few,
            G=G,
            own=own,
            few_labels=labels[few],
            weight=to_host(self.xp.take(self.rows.weight, self._there(few))),
            medoids=np.array([self._nearest(j) for j in range(self.c)]),
            labelled=np.empty(0, dtype=int) if self._free is None else np.flatnonzero(~to_host(self._free)),
            labels=labels,
            position=self._positions,
            sampled=start.sampled(
                subsample.X, self._seen(subsample.index)[0], labels[subsample.index], subsample.weight
            ),
        )

    def _there(self, index: np.ndarray) -> Any:
        return self.xp.asarray(index, device=self.labels.device)

    def _seen(self, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return similarities of some samples with the clusters (k, c), and with themselves (k,)."""
        xp, there = self.xp, self._there(index)
        return self.centring.sums(to_host(xp.take(self.G, there, axis=1)).T, to_host(xp.take(self.own, there)))

    def _positions(self, places: Places) -> np.ndarray:
        assert places.scales is not None
        columns = [to_host(self._along(scale)) for scale in places.scales.scales]
        return places.scales.joined(columns, to_host(self.labels))

    def _along(self, scale: Any) -> Any:
        """Return continuous places of all samples (m,), as `Scale` has them, on the device."""
        centring = self.centring
        n, xp = centring.n, self.xp
        towards = scale.axis.towards / np.where(n > 0, n, np.inf)
        raw = like(towards - (towards @ n / n.sum())[:, None], self.G)
        place = xp.zeros_like(self.G[0, :])
        for j, (knots, share) in enumerate(zip(scale.at, scale.share, strict=True)):
            along = xp.full_like(place, float(scale.axis.coordinate[j]))
            if len(knots):
                score = raw[j, :] @ self.G - float(towards[j] @ centring.shift)
                along = along + _interpolated(xp, score, knots, share) - 0.5
            place = xp.where(self.labels == j, along, place)
        if not scale.axis.period:
            return place
        place = xp.remainder(place, xp.full_like(place, float(scale.axis.period)))
        return xp.where(place == scale.axis.period, xp.zeros_like(place), place)

    def _nearest(self, j: int) -> int:
        """Return the sample of a cluster that is nearest to its mean; -1 where it has none."""
        xp, n = self.xp, self.totals()[1]
        if not n[j] > 0:
            return -1
        near = xp.sum(self.G, axis=0) / float(n.sum())
        away = self.own - 2 * near - 2 * (self.G[j, :] - near * float(n[j])) / float(n[j])
        return int(xp.argmin(xp.where(self.labels == j, away, xp.full_like(away, np.inf))))


def _interpolated(xp: Any, x: Any, knots: np.ndarray, values: np.ndarray) -> Any:
    """Return values (m,) between knots that rise, constant beyond, as numpy.interp has them."""
    at_knot, value = like(knots, x), like(values, x)
    if len(knots) == 1:
        return xp.full_like(x, float(values[0]))
    upper = xp.searchsorted(at_knot, x, side="right")
    upper = xp.clip(upper, min=1, max=len(knots) - 1)
    low, high = xp.take(at_knot, upper - 1), xp.take(at_knot, upper)
    share = xp.clip((x - low) / (high - low), min=0.0, max=1.0)
    return xp.take(value, upper - 1) * (1 - share) + xp.take(value, upper) * share


@dataclass(frozen=True)
class DeviceSamples(NewSamples):
    """Similarities of new samples with clusters that lie on a device."""

    rows: Rows
    labels: Any
    centring: Centring

    def both(self, X_new):
        xp, Z = self.rows.xp, self.rows.function.prepare(X_new)
        G = to_host(self.rows.sums_of(Z, self.labels, len(self.centring.n))).T
        alone = xp.ones(Z.shape[0], dtype=xp.float64, device=Z.device)
        return self.centring.sums(G, to_host(type(self.rows)(Z, alone, self.rows.function).own()))


# -- bounds ------------------------------------------------------------------------------------------------------------


def squares(xp: Any, G: Any, own: Any, w: Any, centring: Centring) -> tuple[np.ndarray, float, float]:
    """Return what some samples, with raw similarity sums G (c, k), add to Pi' K^2 Pi (c, c), to the squares of the
    rows' means, and to the trace; of the centred kernel.
    """
    near = xp.sum(G, axis=0) / float(centring.n.sum())
    seen = G - like(centring.n, w)[:, None] * near[None, :] - like(centring.shift, w)[:, None]
    second = to_host((seen * w[None, :]) @ xp.matrix_transpose(seen))
    return second, float(xp.sum(w * near * near)), float(xp.sum(w * (own - 2 * near + centring.mean)))


def bounds_of(found: list, square: float, raw: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, float]:
    """Return upper bounds on the c - 1 leading eigenvalues of the centred kernel, by its products with the clusters
    found and its Frobenius norm; and its trace. `found` are the `squares` of all samples, `square` is sum_ij w_i w_j
    k_ij^2.
    """
    total, mean = float(n.sum()), Centring.of(raw, n).mean
    second, row_squares, trace = (sum(part) for part in zip(*found, strict=True))
    square = max(square - 2 * total * row_squares + (total * mean) ** 2, 0.0)
    values, vectors = np.linalg.eigh(np.diag(n) - np.outer(n, n) / total)
    some = values > 1e-12 * values[-1]
    C = vectors[:, some] / np.sqrt(values[some])
    theta, Y = np.linalg.eigh(C.T @ centred(raw, n) @ C)
    return eigenvalue_bounds(theta[::-1], Y[:, ::-1], _root(C.T @ second @ C), square, len(theta)), trace


def _root(gram: np.ndarray) -> np.ndarray:
    """Return a matrix R with R'R the given one."""
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    return np.sqrt(np.maximum(values, 0))[:, None] * vectors.T


# -- kernels -----------------------------------------------------------------------------------------------------------


@dataclass
class ArrayKernel:
    """A kernel of arrays of any namespace, and the point that samples are seen from."""

    kernel: Kernel
    shift: Any = None
    like: Any = None  # an array of the type, and on the device, that samples are wanted in

    def prepare(self, X: Any) -> Any:
        """Return samples as the kernel sees them."""
        xp = namespace(self.like)
        X = xp.asarray(X, dtype=self.like.dtype, device=self.like.device)
        X = X if self.shift is None else X - self.shift
        return self.kernel.array_features(xp, X) if self.kernel.has_features else X

    def __call__(self, X: Any, Y: Any) -> Any:
        return self.kernel.array_block(namespace(X), X, Y)


def _rows_of(xp: Any, X: Any, weight: Any, kernel: Kernel) -> Callable[[Any], Rows]:
    """Return a function from indices (None: all) to rows of samples as the kernel sees them."""
    function = ArrayKernel(kernel, like=X[:1, ...])
    if kernel.translation_invariant:
        function.shift = xp.astype(weight / xp.sum(weight), X.dtype) @ X
    Z = function.prepare(X)
    largest = float(xp.max(xp.abs(Z)))
    if largest > LARGEST:
        raise ValueError(
            f"X has entries of size {largest:.3g}, too large to be squared; rescale it, e.g. with "
            "sklearn.preprocessing.StandardScaler, which takes arrays on a device too."
        )
    kind, dtype = (FeatureRows, Z.dtype) if kernel.has_features else _kind(xp, Z, function)
    Z = xp.astype(Z, dtype, copy=False)
    function.like = Z[:1, ...]

    def make(index: Any) -> Rows:
        if index is None:
            return kind(Z, weight, function)
        return kind(xp.take(Z, index, axis=0), xp.take(weight, index), function)

    return make


def _kind(xp: Any, Z: Any, function: ArrayKernel) -> tuple[type[Rows], Any]:
    """Return fused passes where they exist and single precision is enough, plain blocks elsewhere; and their
    precision.
    """
    if not getattr(Z, "is_cuda", False) or find_spec("triton") is None:
        return Rows, Z.dtype
    from kernelclust.engine.holders import _gpu

    if function.kernel.name not in _gpu.KINDS:
        return Rows, Z.dtype
    if _gpu.is_exact_enough(Z, function):
        return _gpu.FusedRows, xp.float32
    warn(
        f"kernel={function.kernel.name!r}: samples lie too far apart for single precision, so that the kernel is "
        "computed in double precision, many times slower. Rescale X, or take outliers out."
    )
    return Rows, xp.float64
