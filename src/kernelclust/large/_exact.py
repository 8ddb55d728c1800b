"""A fit of partitions by an exact kernel, rows of which are made tile by tile where a partition lies, never stored.

Every partition holds its labels and its similarity sums G = K Pi. The first pass shows one partition after the other to
all of them; after that samples that move are shown to all, and nothing else travels but sums, labels and gains.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.utils import check_array

from kernelclust._arrays import namespace, parts
from kernelclust._progress import set_step
from kernelclust._threads import one_thread
from kernelclust.engine import Fit, Places, Prediction, Request, fitted_places
from kernelclust.kernels import NewSamples
from kernelclust.large._dask import DaskShards
from kernelclust.large._grow import bounds_of, centred_sums, squares
from kernelclust.large._moves import Tables, best_moves, centred, rises
from kernelclust.large._rounds import LEVELS, LabelledPool, climb, level_of, weight_levels
from kernelclust.large._shards import begin
from kernelclust.large._whole import canonical_order, whole_fit
from kernelclust.objectives import flat_objective

TILE = 512  # rows and columns of the kernel that are made at a time
SHOWN = 2**17  # samples that move in a round, at most: those that gain most


# -- what is computed where the samples are ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Held:
    """What a partition of k samples holds: labels, -1 for a weight of zero, k(x, x), and raw similarity sums."""

    labels: np.ndarray  # (k,)
    own: np.ndarray  # (k,)
    G: np.ndarray  # (c, k)
    square: float = 0.0  # sum_ij w_i w_j k_ij^2 over the samples i here and all j that were shown


def _tiles(function: Any, Z: np.ndarray, Y: np.ndarray) -> Iterator[tuple[slice, slice, np.ndarray]]:
    with one_thread():
        for rows in parts(len(Z), TILE):
            for columns in parts(len(Y), TILE):
                yield rows, columns, function(Z[rows], Y[columns])


def _sums(function: Any, Z: np.ndarray, Y: np.ndarray, V: np.ndarray) -> np.ndarray:
    """K(Z, Y) V, transposed (c, k)."""
    out = np.zeros((V.shape[1], len(Z)))
    for rows, columns, K in _tiles(function, Z, Y):
        out[:, rows] += V[columns].T @ K.T
    return out


def _weights(w: Any, n: int) -> np.ndarray:
    return np.ones(n) if w is None else np.asarray(w, dtype=float)


def _hot(labels: np.ndarray, w: np.ndarray, c: int) -> np.ndarray:
    """Pi (k, c), weighted; zero where there is no label."""
    return (labels[:, None] == np.arange(c)) * w[:, None]


def first_labels(X, w, y, some, function, few: np.ndarray, P: np.ndarray, M: np.ndarray, h: np.ndarray) -> Held:
    """Labels by the samples that the fit starts from, `few` with Pi = P: each where F rises most; theirs as they are.

    `some` says which of them are here, and their labels."""
    Z = function.prepare(np.asarray(X))
    labels = np.argmax(M.T @ _sums(function, Z, few, P) + h[:, None], axis=0)
    labels[some[0]] = some[1]
    labels = labels if y is None else np.where(np.asarray(y) >= 0, np.asarray(y), labels)
    labels = np.where(_weights(w, len(Z)) > 0, labels, -1).astype(np.int64)
    return Held(labels, function.own(Z), np.zeros((len(h), len(Z))))


def compare(X, w, y, held: Held, function, other, other_weight, other_held: Held) -> Held:
    """Sums with one more partition."""
    Z, Y = function.prepare(np.asarray(X)), function.prepare(np.asarray(other))
    mine, theirs = _weights(w, len(Z)), _weights(other_weight, len(Y))
    V = _hot(other_held.labels, theirs, len(held.G))
    G, square = held.G.copy(), held.square
    for rows, columns, K in _tiles(function, Z, Y):
        G[:, rows] += V[columns].T @ K.T
        square += float(mine[rows] @ (np.square(K, out=K) @ theirs[columns]))
    return replace(held, G=G, square=square)


def count(X, w, y, held: Held) -> tuple[np.ndarray, np.ndarray, float]:
    """S (c, c), n (c,), and the square."""
    P = _hot(held.labels, _weights(w, len(held.labels)), len(held.G))
    return held.G @ P, P.sum(axis=0), held.square


def weights_here(X, w, y, held: Held) -> tuple[np.ndarray, np.ndarray]:
    """Labels, and different weights that count: all, or as many as tell how they are spread."""
    w = np.unique(_weights(w, len(held.labels)))
    w = w[w > 0]
    return held.labels, w if len(w) <= 8 * LEVELS else np.quantile(w, np.linspace(0, 1, 8 * LEVELS))


def propose(X, w, y, held: Held, tables: list[Tables], threshold: float, middle: np.ndarray):
    """(index, where to, gain) of samples that gain by a move."""
    xp = namespace(held.G)
    level = level_of(xp, _weights(w, len(held.labels)), middle)
    to, gain = best_moves(xp, held.G, held.own, held.labels, level, tables)
    wanted = (to != held.labels) & (gain > threshold)
    wanted = wanted if y is None else wanted & (np.asarray(y) < 0)
    index = np.flatnonzero(wanted)
    return index, to[index], gain[index]


@dataclass(frozen=True)
class Moves:
    """Proposals of a partition."""

    index: np.ndarray  # (k,)
    was: np.ndarray  # (k,)
    to: np.ndarray  # (k,)

    def change(self, w: Any, n: int, c: int) -> np.ndarray:
        """What Pi changes by (k, c)."""
        weight = _weights(w, n)[self.index]
        return _hot(self.to, weight, c) - _hot(self.was, weight, c)


def shown(X, w, y, moves: Moves, function, c: int) -> tuple[np.ndarray, np.ndarray]:
    """Samples that would move, prepared, and their change of Pi."""
    return function.prepare(np.asarray(X)[moves.index]), moves.change(w, len(X), c)


def side_by_side(found: list) -> tuple[np.ndarray, np.ndarray]:
    Z, V = zip(*found, strict=True)
    return np.concatenate(Z), np.concatenate(V)


def tried(X, w, y, held: Held, moves: Moves, function, moving) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What this partition adds to S, in first and in second order, and to n, were all moves taken."""
    V = moves.change(w, len(X), len(held.G))
    Z = function.prepare(np.asarray(X)[moves.index])
    return held.G[:, moves.index] @ V, _sums(function, Z, *moving) @ V, V.sum(axis=0)


def take(X, w, y, held: Held, moves: Moves, function, moving) -> Held:
    """All moves, of this partition and the others, taken."""
    labels = held.labels.copy()
    labels[moves.index] = moves.to
    return replace(held, labels=labels, G=held.G + _sums(function, function.prepare(np.asarray(X)), *moving))


def spreads(X, w, y, held: Held, raw: np.ndarray, n: np.ndarray):
    """What the samples add to the `squares` that bounds are made from."""
    return squares(namespace(held.G), held.G, held.own, _weights(w, len(held.labels)), raw, n)


def looked_at(X, w, y, held: Held, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Raw sums (k, c) and own similarities (k,) of some samples."""
    return held.G[:, rows].T, held.own[rows]


def settle(X, w, y, held: Held, comparison: Comparison, places: Places, order: np.ndarray):
    """(labels, positions, medoids): of all samples here, and of each cluster how near the nearest is, and its row."""
    seen = comparison.seen_sums(held.G[order].T, held.own)
    labels = np.where(held.labels >= 0, np.argsort(order)[held.labels], places.prediction.labels(seen))
    labels = labels if y is None else np.where(np.asarray(y) >= 0, np.asarray(y), labels)
    near, row = np.full(len(order), np.inf), np.full(len(order), -1)
    for j in range(len(order)):
        here = np.flatnonzero((labels == j) & (held.labels >= 0))
        if len(here):
            away = seen[here, -1] - 2 * seen[here, j] / comparison.n[j]
            near[j], row[j] = away.min(), here[np.argmin(away)]
    return labels, places.position(seen, labels), near, row


# -- new samples -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Comparison:
    """How samples are compared with clusters: the kernel, and what centring takes from raw sums."""

    function: Any
    n: np.ndarray
    shift: np.ndarray
    mean: float

    @property
    def width(self) -> int:
        return len(self.n) + 1

    def prepare(self, X: np.ndarray) -> np.ndarray:
        return self.function.prepare(check_array(X, input_name="X", ensure_min_samples=0))

    def added(self, G: np.ndarray | None, Z: np.ndarray, X, w, labels: np.ndarray) -> np.ndarray:
        """Raw sums (c, k) of prepared samples Z with clusters, those in another partition X added."""
        V = _hot(labels, _weights(w, len(X)), len(self.n))
        new = _sums(self.function, Z, self.function.prepare(np.asarray(X)), V)
        return new if G is None else G + new

    def seen(self, Z: np.ndarray, G: np.ndarray) -> np.ndarray:
        return self.seen_sums(G.T, self.function.own(Z))

    def seen_sums(self, G: np.ndarray, own: np.ndarray) -> np.ndarray:
        """Rows of centred sums, and centred own similarities behind them (k, c + 1)."""
        return np.column_stack(centred_sums(G, own, self.n, self.shift, self.mean))


def sums_with(X, w, y, comparison: Comparison, Z: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return comparison.added(None, Z, X, w, labels)


class Read(NewSamples):
    """New samples that are given as rows of `Comparison.seen`."""

    def both(self, X_new):
        return X_new[:, :-1], X_new[:, -1]


@dataclass(frozen=True)
class PartitionSamples(NewSamples):
    """Similarities of new samples with clusters that lie in partitions: these are asked, each for its own."""

    shards: DaskShards = field(repr=False)
    comparison: Comparison
    labels: list[np.ndarray] = field(repr=False)  # of the partitions

    def both(self, X_new):
        Z = self.comparison.prepare(X_new)
        found = self.shards.each(sums_with, comparison=self.comparison, Z=Z, labels=self.labels)
        return Read().both(self.comparison.seen(Z, sum(found[1:], found[0])))

    def seen_in(self, X_new: Any) -> Any:
        """Rows of `Comparison.seen` of a Dask array, when they are asked for."""
        return self.shards.compared(X_new, self.comparison, self.labels)


# -- what is computed by whoever asks ----------------------------------------------------------------------------------


class PartitionPool(LabelledPool):
    """Samples in partitions, their labels at hand and their similarity sums where they are."""

    def __init__(self, shards: DaskShards, held: list, function: Any, n_clusters: int, allow_empty: bool):
        self.shards, self.held, self.function, self.c, self._allow_empty = (
            shards,
            held,
            function,
            n_clusters,
            allow_empty,
        )
        labels, weights = zip(*shards.each(weights_here, samples=False, held=held), strict=True)
        self.labels = np.concatenate(labels)
        self.xp = namespace(self.labels)
        self.levels, self._middle = weight_levels(np.unique(np.concatenate(weights)))
        self._first = np.cumsum([0, *shards.sizes])
        self._totals: tuple[np.ndarray, np.ndarray] | None = None

    def totals(self):
        if self._totals is None:
            S, n, square = (
                sum(part) for part in zip(*self.shards.each(count, samples=False, held=self.held), strict=True)
            )
            self._totals, self.square = ((S + S.T) / 2, n), square
        return self._totals

    def propose(self, tables, threshold):
        given = {"tables": tuple(tables), "threshold": threshold, "middle": self._middle}
        found = self.shards.each(propose, samples=False, held=self.held, **given)
        index = np.concatenate([first + one[0] for first, one in zip(self._first, found, strict=False)])
        to, gain = (np.concatenate([one[i] for one in found]) for i in (1, 2))
        if len(index) > SHOWN:
            best = np.sort(np.argsort(-gain, kind="stable")[:SHOWN])
            index, to, gain = index[best], to[best], gain[best]
        self._keep(index, to, gain)
        return len(self._proposed[0])

    def trial(self):
        (S, n), moves = self.totals(), self._moves()
        rows = self.shards.each(shown, moves=moves, function=self.function, c=self.c, keep=True)
        self._moving = self.shards.joined(side_by_side, rows)
        given = {"function": self.function, "moving": self._moving}
        found = self.shards.each(tried, held=self.held, moves=moves, **given)
        first, second, dn = (sum(part) for part in zip(*found, strict=True))
        self._tried = S + first + first.T + (second + second.T) / 2, n + dn
        return self._tried

    def accept(self):
        given = {"function": self.function, "moving": self._moving}
        self.held = self.shards.each(take, held=self.held, moves=self._moves(), keep=True, **given)
        index, _, to, _ = self._proposed
        self.labels[index] = to
        self._totals = self._tried

    def _moves(self) -> list[Moves]:
        """Proposals of the partitions."""
        index, was, to, _ = self._proposed
        there = (_local(index, self.shards, values) for values in (None, was, to))
        return [Moves(*one) for one in zip(*there, strict=True)]

    def fresh(self) -> None:
        """S and n from the similarity sums as they are."""
        self._totals = None


@dataclass(frozen=True)
class Compared(Fit):
    """An exact fit of partitions: `labels` are those of the samples it started from, everything else is of all."""

    similarities: PartitionSamples | None = field(default=None, repr=False)
    placed: tuple = field(default=(), repr=False)  # places and ranks, as `places` returns them
    few: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=int), repr=False)  # samples it started from
    medoids: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=int), repr=False)
    whole: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=int), repr=False)  # all labels
    position: np.ndarray | None = field(default=None, repr=False)  # of all samples

    def prediction(self) -> Prediction:
        assert self.similarities is not None
        return _prediction(self, self.similarities)

    def places(self, prediction: Prediction) -> tuple[Places, np.ndarray, np.ndarray | None]:
        places, rank = self.placed
        return replace(places, prediction=prediction), rank, self.position


def _prediction(found: Fit, similarities: NewSamples) -> Prediction:
    objective = flat_objective(found.objective) if found.solution.placed else found.objective
    return Prediction.of(similarities, objective, found.S, found.n, reach=found.reach)


def fit_exact(shards: DaskShards, request: Request) -> Compared:
    """Fit partitions of samples by the exact kernel."""
    begun, c, solver = begin(shards, request), request.structure.n_clusters, request.solver
    function = replace(begun.start.kernel.source.function, dtype=np.float64)  # type: ignore[attr-defined]
    few, P = function.prepare(begun.X), begun.clusters
    M, h = rises(begun.objective, P.T @ _sums(function, few, few, P).T, P.sum(axis=0))
    some = list(zip(_local(begun.few, shards), _local(begun.few, shards, begun.start.labels), strict=True))
    held = shards.each(first_labels, some=some, function=function, few=few, P=P, M=M, h=h, keep=True)
    at_first = list(held)
    for i in range(len(held)):
        set_step("similarities of all samples with partition {} of {}", i + 1, len(held))
        X, w = shards.one(i)
        other = {"other": X, "other_weight": w, "other_held": at_first[i]}
        held = shards.each(compare, held=held, function=function, keep=True, **other)
    pool = PartitionPool(shards, held, function, c, solver.allow_empty)
    done = climb(pool, begun.objective, **solver.climbing(request.run), report=request.run.report)
    pool.fresh()
    return _judged(begun, pool, done, request)


def _local(few: np.ndarray, shards: DaskShards, values: np.ndarray | None = None) -> list[np.ndarray]:
    """Which of some samples, in rising order, are in each partition, by their rows there; or values of these."""
    first = np.cumsum([0, *shards.sizes])
    cuts = np.searchsorted(few, first)
    return [few[a:b] - row if values is None else values[a:b] for a, b, row in zip(cuts, cuts[1:], first, strict=False)]


def _judged(begun, pool: PartitionPool, done, request: Request) -> Compared:
    """The fit of all samples: canonical numbers, bounds that hold, places."""
    shards, (raw, n) = pool.shards, pool.totals()
    order = canonical_order(begun.start, centred(raw, n), n, begun.movable)
    set_step("bounds and places")
    given: dict[str, Any] = {"samples": False, "held": pool.held}
    bounds, trace = bounds_of(shards.each(spreads, raw=raw, n=n, **given), pool.square, raw, n)
    bounds = np.minimum(bounds, begun.start.spectrum.bounds) if begun.every else bounds
    raw, n = raw[np.ix_(order, order)], n[order]
    s, total = raw.sum(axis=1), n.sum()
    comparison = Comparison(pool.function, n, s / total - s.sum() / total**2 * n, float(s.sum() / total**2))
    few, first = begun.few, np.cumsum([0, *shards.sizes])
    whole = np.argsort(order)[pool.labels]
    found = whole_fit(
        Compared,
        begun.start,
        request.objective.rule,
        order=order,
        movable=begun.movable,
        every=begun.every,
        S=centred(raw, n),
        n=n,
        bounds=bounds,
        trace=trace,
        lightest=begun.lightest,
        labels=whole[few],
        history=done.history,
        n_iter=len(done.history) - 1,
        stopped_because=done.stopped_because,
        gamma=begun.gamma,
        few=few,
    )
    rows = _local(few, shards)
    G, own = (np.concatenate(part) for part in zip(*shards.each(looked_at, rows=rows, **given), strict=True))
    seen = comparison.seen_sums(G[:, order], own)
    reading = _prediction(found, Read())
    axes = found.structure.axes()
    places, rank, _ = fitted_places(reading, axes, seen[:, :-1], seen[:, -1], found.S, found.labels, begun.w)
    settled = shards.each(settle, comparison=comparison, places=places, order=order, **given)
    labels, position, near, row = zip(*settled, strict=True)
    nearest = np.argmin(near, axis=0)
    return replace(
        found,
        similarities=PartitionSamples(shards, comparison, list(labels)),
        placed=(places, np.where(begun.told, -1, rank)),
        whole=np.concatenate(labels),
        position=None if places.scales is None else np.concatenate(position),
        medoids=np.array([first[i] + row[i][j] if row[i][j] >= 0 else -1 for j, i in enumerate(nearest)]),
    )
