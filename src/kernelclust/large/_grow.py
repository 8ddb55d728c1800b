"""A fit of many samples: the ordinary engine on a few thousand of them, then more and more samples by rounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from kernelclust._arrays import namespace, parts, to_host
from kernelclust._progress import progress_listener, set_step
from kernelclust._warnings import warn
from kernelclust.constraints import make_constraints
from kernelclust.engine import Fit, Places, Prediction, Request, fit, fitted_places
from kernelclust.kernels import Kernel, NewSamples, eigenvalue_bounds
from kernelclust.large._moves import centred, rises
from kernelclust.large._rounds import Climbed, DevicePool, climb
from kernelclust.large._rows import FeatureRows, Rows
from kernelclust.large._whole import canonical_order, whole_fit
from kernelclust.objectives import flat_objective

START, EACH = 2500, 50  # samples that the ordinary engine is asked about, or so many a cluster
MIDDLE = 2**16  # samples of the stage between
STAGE_ROUNDS = 30  # at most before the last stage
DRIFT = 1e-6  # of totals that calls for new sums of all samples
PLACED = 20_000  # samples that temperatures and scales of positions are made from
LARGEST = 1e12  # entries beyond would leave single precision when squared


@dataclass(frozen=True)
class Grown(Fit):
    """A fit whose labels, S and n are of all samples, and whose evidence is of the samples it started from."""

    pool: DevicePool | None = field(default=None, repr=False)
    few: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=int), repr=False)

    def prediction(self) -> Prediction:
        objective = flat_objective(self.objective) if self.solution.placed else self.objective
        assert self.pool is not None
        similarities = DeviceSamples(self.pool.rows, self.pool.labels, self.n, *self._centre())
        return Prediction.of(similarities, objective, self.S, self.n, reach=self.reach)

    def _centre(self) -> tuple[np.ndarray, float]:
        assert self.pool is not None
        S, n = self.pool.totals()
        s, total = S.sum(axis=1), n.sum()
        return s / total - s.sum() / total**2 * n, float(s.sum() / total**2)

    def places(self, prediction: Prediction) -> tuple[Places, np.ndarray, np.ndarray | None]:
        pool, c = self.pool, len(self.n)
        assert pool is not None
        few = pool.xp.asarray(self.few, device=pool.labels.device)
        G, own = self._seen(pool.xp.take(pool.G, few, axis=1), pool.xp.take(pool.own, few))
        labels = np.asarray(self.labels)
        weight = to_host(pool.xp.take(pool.rows.weight, few))
        found, rank, _ = fitted_places(prediction, self.structure.axes(), G, own, self.S, labels[self.few], weight)
        asked = np.full(len(labels), -1, dtype=np.intp)
        asked[self.few] = rank + 1
        for j in range(c):
            asked[self._nearest(j)] = 0
        if found.scales is None:
            return found, asked, None
        columns = [to_host(self._along(scale)) for scale in found.scales]
        return found, asked, columns[0] if len(columns) == 1 else np.column_stack(columns)

    def _along(self, scale: Any) -> Any:
        """Continuous places of all samples (m,), as `Scale` has them, on the device."""
        pool, n, (shift, _) = self.pool, self.n, self._centre()
        assert pool is not None
        xp, on = pool.xp, pool.labels.device
        towards = scale.axis.towards / np.where(n > 0, n, np.inf)
        raw = xp.asarray(towards - (towards @ n / n.sum())[:, None], dtype=xp.float64, device=on)
        place = xp.zeros(pool.labels.shape, dtype=xp.float64, device=on)
        for j, (knots, share) in enumerate(zip(scale.at, scale.share, strict=True)):
            along = xp.full_like(place, float(scale.axis.place[j]))
            if len(knots):
                score = raw[j, :] @ pool.G - float(towards[j] @ shift)
                along = along + _interpolated(xp, score, knots, share) - 0.5
            place = xp.where(pool.labels == j, along, place)
        if not scale.axis.period:
            return place
        place = xp.remainder(place, xp.full_like(place, float(scale.axis.period)))
        return xp.where(place == scale.axis.period, xp.zeros_like(place), place)

    def _seen(self, G: Any, own: Any = None) -> tuple[np.ndarray, np.ndarray]:
        shift, mean = self._centre()
        return centred_sums(to_host(G).T, None if own is None else to_host(own), self.n, shift, mean)

    def _nearest(self, j: int) -> int:
        """The sample of a cluster that is nearest to its mean."""
        pool = self.pool
        assert pool is not None
        xp, total = pool.xp, float(self.n.sum())
        near = xp.sum(pool.G, axis=0) / total
        away = pool.own - 2 * near - 2 * (pool.G[j, :] - near * float(self.n[j])) / max(float(self.n[j]), 1e-300)
        return int(xp.argmin(xp.where(pool.labels == j, away, xp.full_like(away, np.inf))))


def _interpolated(xp: Any, x: Any, knots: np.ndarray, values: np.ndarray) -> Any:
    """Values (m,) between knots that rise, constant beyond, as numpy.interp has them."""
    at_knot, value = (xp.asarray(one, dtype=xp.float64, device=x.device) for one in (knots, values))
    if len(knots) == 1:
        return xp.full_like(x, float(values[0]))
    upper = xp.searchsorted(at_knot, x, side="right")
    upper = xp.clip(upper, min=1, max=len(knots) - 1)
    low, high = xp.take(at_knot, upper - 1), xp.take(at_knot, upper)
    share = xp.clip((x - low) / (high - low), min=0.0, max=1.0)
    return xp.take(value, upper - 1) * (1 - share) + xp.take(value, upper) * share


def centred_sums(
    G: np.ndarray, own: np.ndarray | None, n: np.ndarray, shift: np.ndarray, mean: float
) -> tuple[np.ndarray, np.ndarray]:
    """Sums (m, c) and own similarities (m,) under the centred kernel from raw ones."""
    near = G.sum(axis=1) / n.sum()
    return G - np.outer(near, n) - shift, np.zeros(0) if own is None else own - 2 * near + mean


@dataclass(frozen=True)
class DeviceSamples(NewSamples):
    """Similarities of new samples with clusters that lie on a device."""

    rows: Rows
    labels: Any
    n: np.ndarray
    shift: np.ndarray
    mean: float

    def both(self, X_new):
        xp, Z = self.rows.xp, self.rows.function.prepare(X_new)
        G = to_host(self.rows.sums_of(Z, self.labels, len(self.n))).T
        alone = xp.ones(Z.shape[0], dtype=xp.float64, device=Z.device)
        own = to_host(type(self.rows)(Z, alone, self.rows.function).own())
        return centred_sums(G, own, self.n, self.shift, self.mean)


def grow(xp: Any, X: Any, weight: Any, request: Request, y: np.ndarray | None = None) -> Grown:
    """Fit samples X (m, d) of positive weights (m,), both arrays of xp on one device; y holds known labels, -1 none."""
    c, solver, report = request.structure.n_clusters, request.solver, request.run.report
    climbing = solver.climbing(request.run) | {"report": report}
    rng = check_random_state(request.random_state)
    make, gamma = _rows_of(xp, X, weight, request)
    m = int(X.shape[0])
    some = _few(m, max(START, EACH * c), y, rng)
    every = len(some) == m
    set_step("{} of {} samples, by the ordinary engine", len(some), m)
    kernel = request.kernel["kernel"]
    kernel = kernel if gamma is None else kernel.with_gamma(gamma)
    asked = replace(request, kernel={"kernel": kernel, "approximation": None}, random_state=rng)
    there = xp.asarray(some, device=X.device)
    w = to_host(xp.take(weight, there)).astype(float)
    known = None if y is None or (y[some] < 0).all() else make_constraints(w, c, labels=y[some])
    with progress_listener(None):  # stages of the start are not those of the whole
        start = fit(to_host(xp.take(X, there, axis=0)).astype(np.float64), w, asked, known)
    objective = flat_objective(start.objective) if start.solution.placed else start.objective
    labels = xp.asarray(start.labels, dtype=xp.int64, device=X.device)
    rows, n_iter = make(there), 0
    for at_most in (MIDDLE, m, 0):
        last = len(some) == m
        free = None if y is None else xp.asarray(y[some] < 0, device=X.device)
        pool = DevicePool(rows, labels, c, free, solver.allow_empty)
        done = climb(pool, objective, **climbing | ({} if last else {"max_iter": STAGE_ROUNDS}))
        n_iter += len(done.history) - 1
        if last:
            break
        some = _few(m, at_most, y, rng)
        set_step("the next {} of {} samples", len(some), m)
        there = None if len(some) == m else xp.asarray(some, device=X.device)
        rows = make(there)
        labels = _extended(pool, rows, objective, done, None if y is None else y[some])
    set_step("F by a new pass over all samples")
    drift = pool.settle()
    report(f"sums have drifted by {drift:.1e} of the largest")
    if drift > DRIFT:
        set_step("one more pass over all samples")
        pool.fresh()
        again = climb(pool, objective, **climbing)
        done = replace(again, history=[*done.history[:-1], *again.history])
        n_iter += len(again.history) - 1
        pool.settle()
    few = _few(m, PLACED, None, rng)
    movable = np.ones(c, dtype=bool)
    if y is not None:
        movable[y[y >= 0]] = False
    return _judged(start, pool, done, request, n_iter, gamma, movable, every, few)


def _few(m: int, at_most: int, y: np.ndarray | None, rng: np.random.RandomState) -> np.ndarray:
    """So many of the samples, those whose label is known among them (as far as they are no more than half)."""
    if m <= at_most or m - at_most < m // 4:
        return np.arange(m)
    told = np.empty(0, dtype=int) if y is None else np.flatnonzero(y >= 0)
    if len(told) > at_most // 2:
        told = rng.choice(told, at_most // 2, replace=False)
    others = rng.randint(0, m, size=at_most + at_most * at_most // (2 * m))  # some are drawn twice
    return np.unique(np.concatenate([told, others]))


def _extended(pool: DevicePool, rows: Rows, objective, done: Climbed, y: np.ndarray | None) -> Any:
    """Labels of more samples by those that are known; no cluster is left empty, for these have samples again."""
    xp = rows.xp
    M, h = rises(objective, done.S, done.n)
    on = rows.weight.device
    G = pool.rows.sums_of(rows.Z, pool.labels, pool.c)
    rise = xp.asarray(M.T, dtype=xp.float64, device=on) @ G + xp.asarray(h, dtype=xp.float64, device=on)[:, None]
    labels = xp.astype(xp.argmax(rise, axis=0), xp.int64)
    if y is None:
        return labels
    told = xp.asarray(y, dtype=xp.int64, device=on)
    return xp.where(told >= 0, told, labels)


def _judged(
    start: Fit, pool: DevicePool, done: Climbed, request: Request, n_iter: int, gamma, movable, every: bool, few
) -> Grown:
    """The fit of all samples: bounds that hold, canonical numbers."""
    raw, n = pool.totals()
    order = canonical_order(start, centred(raw, n), n, movable)
    pool.renumber(order)
    raw, n = pool.totals()
    S = centred(raw, n)
    bounds, trace = _bounds(pool)
    bounds = np.minimum(bounds, start.spectrum.bounds) if every else bounds
    return whole_fit(
        Grown,
        start,
        request.objective.rule,
        order=order,
        movable=movable,
        every=every,
        S=S,
        n=n,
        bounds=bounds,
        trace=trace,
        lightest=float(pool.levels.min()),
        labels=to_host(pool.labels),
        history=done.history,
        n_iter=n_iter,
        stopped_because=done.stopped_because,
        gamma=gamma,
        pool=pool,
        few=few,
    )


def _bounds(pool: DevicePool) -> tuple[np.ndarray, float]:
    (raw, n), weight = pool.totals(), pool.rows.weight
    found = [
        squares(pool.xp, pool.G[:, part], pool.own[part], weight[part], raw, n) for part in parts(pool.labels.shape[0])
    ]
    return bounds_of(found, pool.square, raw, n)


def squares(xp: Any, G: Any, own: Any, w: Any, raw: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Of some samples, with raw similarity sums G (c, k): what they add to Pi' K^2 Pi (c, c), to the squares of the
    rows' means, and to the trace; of the centred kernel."""
    on, total, s = w.device, float(n.sum()), raw.sum(axis=1)
    shift, mean = s / total - s.sum() / total**2 * n, float(s.sum() / total**2)
    near = xp.sum(G, axis=0) / total
    seen = G - xp.asarray(n, device=on)[:, None] * near[None, :] - xp.asarray(shift, device=on)[:, None]
    second = to_host((seen * w[None, :]) @ xp.matrix_transpose(seen))
    return second, float(xp.sum(w * near * near)), float(xp.sum(w * (own - 2 * near + mean)))


def bounds_of(found: list, square: float, raw: np.ndarray, n: np.ndarray) -> tuple[np.ndarray, float]:
    """Upper bounds on the c - 1 leading eigenvalues of the centred kernel, by its products with the clusters found and
    its Frobenius norm; and its trace. `found` are the `squares` of all samples, `square` is sum_ij w_i w_j k_ij^2."""
    total, mean = float(n.sum()), float(raw.sum()) / float(n.sum()) ** 2
    second, row_squares, trace = (sum(part) for part in zip(*found, strict=True))
    square = max(square - 2 * total * row_squares + (total * mean) ** 2, 0.0)
    values, vectors = np.linalg.eigh(np.diag(n) - np.outer(n, n) / total)
    some = values > 1e-12 * values[-1]
    C = vectors[:, some] / np.sqrt(values[some])
    theta, Y = np.linalg.eigh(C.T @ centred(raw, n) @ C)
    return eigenvalue_bounds(theta[::-1], Y[:, ::-1], _root(C.T @ second @ C), square, len(theta)), trace


def _root(gram: np.ndarray) -> np.ndarray:
    """A matrix R with R'R the given one."""
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
        """Samples as the kernel sees them."""
        xp = namespace(self.like)
        X = xp.asarray(X, dtype=self.like.dtype, device=self.like.device)
        X = X if self.shift is None else X - self.shift
        return self.kernel.array_features(xp, X) if self.kernel.has_features else X

    def __call__(self, X: Any, Y: Any) -> Any:
        return self.kernel.array_block(namespace(X), X, Y)


def _rows_of(xp: Any, X: Any, weight: Any, request: Request) -> tuple[Callable[[Any], Rows], float | None]:
    """A function from indices (None: all) to rows of samples as the kernel sees them, and gamma."""
    kernel: Kernel = request.kernel["kernel"]
    gamma = _gamma(xp, X, weight, kernel.gamma, kernel.distance_exponent) if kernel.has_gamma else None
    function = ArrayKernel(kernel if gamma is None else kernel.with_gamma(gamma), like=X[:1, ...])
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

    return make, gamma


def _gamma(xp: Any, X: Any, weight: Any, gamma: Any, power: int) -> float:
    """gamma, or 1 / the mean (squared) distance between samples."""
    if not isinstance(gamma, str):
        return float(gamma)
    total, distance = float(xp.sum(weight)), 0.0
    for j in range(X.shape[1]):
        x = xp.astype(X[:, j], xp.float64)
        if power == 2:
            x = x - xp.sum(weight * x) / total
            distance += 2 * float(xp.sum(weight * x * x)) / total
        else:
            order = xp.argsort(x)
            w = xp.take(weight, order)
            ranked = 2 * xp.cumulative_sum(w) - w - total
            distance += 2 * float(xp.sum(w * ranked * xp.take(x, order))) / total**2
    return 1.0 / distance if distance > 0 else 1.0


def _kind(xp: Any, Z: Any, function: ArrayKernel) -> tuple[type[Rows], Any]:
    """Fused passes where they exist and single precision is enough, plain blocks elsewhere; and their precision."""
    if not getattr(Z, "is_cuda", False) or find_spec("triton") is None:
        return Rows, Z.dtype
    from kernelclust.large import _card

    if function.kernel.name not in _card.KINDS:
        return Rows, Z.dtype
    if _card.is_exact_enough(Z, function):
        return _card.FusedRows, xp.float32
    warn(
        f"kernel={function.kernel.name!r}: samples lie too far apart for single precision, so that the kernel is "
        "computed in double precision, many times slower. Rescale X, or take outliers out."
    )
    return Rows, xp.float64
