"""A fit of partitions by an exact kernel, rows of which are made tile by tile where a partition lies, never stored.

Every partition holds its labels and its similarity sums G = K Pi. The first pass shows one partition after the other to
all of them; after that samples that move are shown to all, and nothing else travels but sums, labels and gains.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.utils import check_array

from kernelclust._arrays import namespace, parts
from kernelclust._progress import set_step
from kernelclust._threads import one_thread
from kernelclust.engine._judge import Fit
from kernelclust.engine._moves import Centring, Tables, best_moves, centred, one_hot, raw_assignment
from kernelclust.engine._places import Places, Prediction, Whole
from kernelclust.engine._rounds import Drawn, Holder
from kernelclust.engine.holders._device import bounds_of, squares
from kernelclust.engine.holders._features import look_at_all, nearest_of
from kernelclust.engine.holders._labelled import LEVELS, LabelledPool, level_of, tables_of, weight_levels
from kernelclust.engine.holders._partitions import DaskPartitions
from kernelclust.kernels import NewSamples
from kernelclust.objectives import Assignment

TILE = 512  # rows and columns of the kernel that are made at a time
SHOWN = 2**17  # samples that move in a round, at most: those that gain most


# -- what is computed where the samples are ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Held:
    """State of a partition of k samples: labels (-1 for a weight of zero), k(x, x), and raw similarity sums."""

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
    """Return K(Z, Y) V, transposed (c, k)."""
    out = np.zeros((V.shape[1], len(Z)))
    for rows, columns, K in _tiles(function, Z, Y):
        out[:, rows] += V[columns].T @ K.T
    return out


def _weights(w: Any, n: int) -> np.ndarray:
    return np.ones(n) if w is None else np.asarray(w, dtype=float)


def first_labels(X, w, y, some, function, few: np.ndarray, P: np.ndarray, rule: Assignment) -> Held:
    """Return labels by the samples that the fit starts from, `few` with Pi = P: each where F rises most; theirs as they
    are.

    `some` says which of them are here, and their labels.
    """
    Z = function.prepare(np.asarray(X))
    labels = rule.labels(_sums(function, Z, few, P).T)
    labels[some[0]] = some[1]
    labels = labels if y is None else np.where(np.asarray(y) >= 0, np.asarray(y), labels)
    labels = np.where(_weights(w, len(Z)) > 0, labels, -1).astype(np.int64)
    return Held(labels, function.own(Z), np.zeros((len(rule.h), len(Z))))


def compare(X, w, y, held: Held, function, other, other_weight, other_held: Held) -> Held:
    """Return sums with one more partition."""
    Z, Y = function.prepare(np.asarray(X)), function.prepare(np.asarray(other))
    mine, theirs = _weights(w, len(Z)), _weights(other_weight, len(Y))
    V = one_hot(other_held.labels, len(held.G), theirs)
    G, square = held.G.copy(), held.square
    for rows, columns, K in _tiles(function, Z, Y):
        G[:, rows] += V[columns].T @ K.T
        square += float(mine[rows] @ (np.square(K, out=K) @ theirs[columns]))
    return replace(held, G=G, square=square)


def count(X, w, y, held: Held) -> tuple[np.ndarray, np.ndarray, float]:
    """Return S (c, c), n (c,), and the square."""
    P = one_hot(held.labels, len(held.G), _weights(w, len(held.labels)))
    return held.G @ P, P.sum(axis=0), held.square


def weights_here(X, w, y, held: Held) -> tuple[np.ndarray, np.ndarray]:
    """Return labels, and different weights that count: all, or as many as tell how they are spread."""
    w = np.unique(_weights(w, len(held.labels)))
    w = w[w > 0]
    return held.labels, w if len(w) <= 8 * LEVELS else np.quantile(w, np.linspace(0, 1, 8 * LEVELS))


def propose(X, w, y, held: Held, tables: Sequence[Tables], threshold: float, middle: np.ndarray):
    """Return (index, where to, gain) of samples that gain by a move."""
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
        """Return what Pi changes by (k, c)."""
        weight = _weights(w, n)[self.index]
        return one_hot(self.to, c, weight) - one_hot(self.was, c, weight)


def shown(X, w, y, moves: Moves, function, c: int) -> tuple[np.ndarray, np.ndarray]:
    """Return samples that would move, prepared, and their change of Pi."""
    return function.prepare(np.asarray(X)[moves.index]), moves.change(w, len(X), c)


def side_by_side(found: list) -> tuple[np.ndarray, np.ndarray]:
    Z, V = zip(*found, strict=True)
    return np.concatenate(Z), np.concatenate(V)


def tried(X, w, y, held: Held, moves: Moves, function, moving) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what this partition adds to S, in first and in second order, and to n, were all moves taken."""
    V = moves.change(w, len(X), len(held.G))
    Z = function.prepare(np.asarray(X)[moves.index])
    return held.G[:, moves.index] @ V, _sums(function, Z, *moving) @ V, V.sum(axis=0)


def take(X, w, y, held: Held, moves: Moves, function, moving) -> Held:
    """Take all moves, of this partition and the others."""
    labels = held.labels.copy()
    labels[moves.index] = moves.to
    return replace(held, labels=labels, G=held.G + _sums(function, function.prepare(np.asarray(X)), *moving))


def spreads(X, w, y, held: Held, centring: Centring):
    """Return what the samples add to the `squares` that bounds are made from."""
    return squares(namespace(held.G), held.G, held.own, _weights(w, len(held.labels)), centring)


def looked_at(X, w, y, held: Held, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return raw sums (k, c) and own similarities (k,) of some samples."""
    return held.G[:, rows].T, held.own[rows]


def renumbered(X, w, y, held: Held, order: np.ndarray) -> Held:
    """Renumber the clusters: the one that is order[j] now becomes number j."""
    return replace(held, labels=np.where(held.labels >= 0, np.argsort(order)[held.labels], -1), G=held.G[order])


def settled(X, w, y, held: Held, comparison: Comparison, rule: Assignment):
    """Return (labels, how near, row, known): of all samples here, and of each cluster the one nearest to its mean."""
    seen = comparison.seen_sums(held.G.T, held.own)
    labels = np.where(held.labels >= 0, held.labels, rule.labels(seen[:, :-1]))
    labels = labels if y is None else np.where(np.asarray(y) >= 0, np.asarray(y), labels)
    c = len(rule.h)
    near, row, told = np.full(c, np.inf), np.full(c, -1), np.zeros(c, dtype=bool)
    for j in range(c):
        here = np.flatnonzero((labels == j) & (held.labels >= 0))
        if len(here):
            away = seen[here, -1] - 2 * seen[here, j] / comparison.centring.n[j]
            near[j], row[j] = away.min(), here[np.argmin(away)]
            told[j] = y is not None and np.asarray(y)[row[j]] >= 0
    return labels, near, row, told


def placed(X, w, y, held: Held, comparison: Comparison, places: Places, labels: np.ndarray) -> np.ndarray:
    """Return continuous places of all samples here."""
    places = replace(places, prediction=reading(places.prediction))
    found = places.position(comparison.seen_sums(held.G.T, held.own), labels)
    assert found is not None
    return found


# -- new samples -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Comparison:
    """Comparison of samples with clusters: the kernel, and what centring subtracts from raw sums."""

    function: Any
    centring: Centring

    @property
    def width(self) -> int:
        return len(self.centring.n) + 1

    def prepare(self, X: np.ndarray) -> np.ndarray:
        return self.function.prepare(check_array(X, input_name="X", ensure_min_samples=0))

    def added(self, G: np.ndarray | None, Z: np.ndarray, X, w, labels: np.ndarray) -> np.ndarray:
        """Return raw sums (c, k) of prepared samples Z with clusters, those in another partition X added."""
        V = one_hot(labels, len(self.centring.n), _weights(w, len(X)))
        new = _sums(self.function, Z, self.function.prepare(np.asarray(X)), V)
        return new if G is None else G + new

    def seen(self, Z: np.ndarray, G: np.ndarray) -> np.ndarray:
        return self.seen_sums(G.T, self.function.own(Z))

    def seen_sums(self, G: np.ndarray, own: np.ndarray) -> np.ndarray:
        """Return rows of centred sums, and centred own similarities behind them (k, c + 1)."""
        return np.column_stack(self.centring.sums(G, own))


def sums_with(X, w, y, comparison: Comparison, Z: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return comparison.added(None, Z, X, w, labels)


class Read(NewSamples):
    """New samples that are given as rows of `Comparison.seen`."""

    def both(self, X_new):
        return X_new[:, :-1], X_new[:, -1]


def reading(prediction: Prediction) -> Prediction:
    """Return the prediction for samples that are given by such rows."""
    read = Read()
    return replace(prediction, similarities=read, judge=read)


@dataclass(frozen=True)
class PartitionSamples(NewSamples):
    """Similarities of new samples with clusters that lie in partitions: these are asked, each for its own."""

    partitions: DaskPartitions = field(repr=False)
    comparison: Comparison
    labels: list[np.ndarray] = field(repr=False)  # of the partitions

    def both(self, X_new):
        Z = self.comparison.prepare(X_new)
        found = self.partitions.each(sums_with, comparison=self.comparison, Z=Z, labels=self.labels)
        return Read().both(self.comparison.seen(Z, sum(found[1:], found[0])))

    def seen_in(self, X_new: Any) -> Any:
        """Return rows of `Comparison.seen` of a Dask array, when they are asked for."""
        return self.partitions.compared(X_new, self.comparison, self.labels)


# -- what is computed by whoever asks ----------------------------------------------------------------------------------


class ExactHolder(Holder):
    """Partitions whose samples are compared by the kernel itself."""

    def __init__(self, partitions: DaskPartitions):
        self.partitions = partitions

    def draw(self, config, rng):
        return look_at_all(self.partitions, config.structure.n_clusters, rng, config)

    def pool(self, subsample: Drawn, start: Fit, climbing: dict[str, Any]) -> PartitionPool:
        partitions, c = self.partitions, len(start.n)
        function = replace(start.kernel.source.function, dtype=np.float64)  # type: ignore[attr-defined]
        few, P = function.prepare(subsample.X), np.eye(c)[start.labels] * subsample.weight[:, None]
        rule = raw_assignment(start.moving_objective, P.T @ _sums(function, few, few, P).T, P.sum(axis=0))
        index = subsample.index
        here = list(zip(_local(index, partitions), _local(index, partitions, start.labels), strict=True))
        held = partitions.each(first_labels, some=here, function=function, few=few, P=P, rule=rule, keep=True)
        at_first = list(held)
        for i in range(len(held)):
            set_step("similarities of all samples with partition {} of {}", i + 1, len(held))
            X, w = partitions.one(i)
            other = {"other": X, "other_weight": w, "other_held": at_first[i]}
            held = partitions.each(compare, held=held, function=function, keep=True, **other)
        return PartitionPool(partitions, held, function, c, climbing["allow_empty"])


class PartitionPool(LabelledPool):
    """Samples in partitions, their labels at hand and their similarity sums where they are."""

    def __init__(self, partitions: DaskPartitions, held: list, function: Any, n_clusters: int, allow_empty: bool):
        self.partitions, self.held, self.function = partitions, held, function
        self.c, self._allow_empty = n_clusters, allow_empty
        labels, weights = zip(*partitions.each(weights_here, samples=False, held=held), strict=True)
        self.labels = np.concatenate(labels)
        self.xp = namespace(self.labels)
        self.levels, self._middle = weight_levels(np.unique(np.concatenate(weights)))
        self._first = np.cumsum([0, *partitions.sizes])
        self._totals: tuple[np.ndarray, np.ndarray] | None = None

    def totals(self):
        if self._totals is None:
            S, n, square = (
                sum(part) for part in zip(*self.partitions.each(count, samples=False, held=self.held), strict=True)
            )
            self._totals, self.square = ((S + S.T) / 2, n), square
        return self._totals

    def propose(self, objective, tol, allow_empty):
        tables, threshold = tables_of(self, objective, self.levels, tol, allow_empty)
        given = {"tables": tables, "threshold": threshold, "middle": self._middle}
        found = self.partitions.each(propose, samples=False, held=self.held, **given)
        index = np.concatenate([first + one[0] for first, one in zip(self._first, found, strict=False)])
        to, gain = (np.concatenate([one[i] for one in found]) for i in (1, 2))
        if len(index) > SHOWN:
            best = np.sort(np.argsort(-gain, kind="stable")[:SHOWN])
            index, to, gain = index[best], to[best], gain[best]
        self._keep(index, to, gain)
        return len(self._proposed[0])

    def trial(self):
        (S, n), moves = self.totals(), self._moves()
        rows = self.partitions.each(shown, moves=moves, function=self.function, c=self.c, keep=True)
        self._moving = self.partitions.joined(side_by_side, rows)
        given = {"function": self.function, "moving": self._moving}
        found = self.partitions.each(tried, held=self.held, moves=moves, **given)
        first, second, dn = (sum(part) for part in zip(*found, strict=True))
        self._tried = S + first + first.T + (second + second.T) / 2, n + dn
        return self._tried

    def accept(self):
        given = {"function": self.function, "moving": self._moving}
        self.held = self.partitions.each(take, held=self.held, moves=self._moves(), keep=True, **given)
        index, _, to, _ = self._proposed
        self.labels[index] = to
        self._totals = self._tried

    def _moves(self) -> list[Moves]:
        """Return proposals of the partitions."""
        index, was, to, _ = self._proposed
        there = (_local(index, self.partitions, values) for values in (None, was, to))
        return [Moves(*one) for one in zip(*there, strict=True)]

    def settle(self) -> float:
        self._totals = None
        return 0.0

    def renumber(self, order):
        self.held = self.partitions.each(renumbered, samples=False, held=self.held, order=order, keep=True)
        self.labels, self._totals = np.where(self.labels >= 0, np.argsort(order)[self.labels], -1), None

    def bounds(self):
        raw, n = self.totals()
        found = self.partitions.each(spreads, samples=False, held=self.held, centring=self.centring)
        return bounds_of(found, self.square, raw, n)

    def finish(self, subsample, start):
        partitions, (raw, n) = self.partitions, self.totals()
        comparison, given = Comparison(self.function, self.centring), {"samples": False, "held": self.held}
        rows = _local(subsample.index, partitions)
        found = zip(*partitions.each(looked_at, rows=rows, **given), strict=True)
        G, own = self.centring.sums(*(np.concatenate(part) for part in found))
        rule = start.moving_objective.assignment(centred(raw, n), n)
        labels, *nearest = zip(*partitions.each(settled, comparison=comparison, rule=rule, **given), strict=True)
        medoids, told = nearest_of(list(zip(*nearest, strict=True)), partitions.sizes)

        def position(places: Places) -> Any:
            there = {"comparison": comparison, "places": places, "labels": list(labels)}
            return partitions.spread(np.concatenate(partitions.each(placed, **there, **given)))

        every = np.concatenate(labels)
        return Whole(
            n_samples=self.n_samples,
            similarities=PartitionSamples(partitions, comparison, list(labels)),
            few=subsample.index,
            G=G,
            own=own,
            few_labels=every[subsample.index],
            weight=subsample.weight,
            medoids=medoids,
            labelled=np.union1d(subsample.index[subsample.y >= 0], told),
            labels=partitions.spread(every),
            position=position,
            sampled=start.sampled(subsample.X, G, every[subsample.index], subsample.weight),
        )


def _local(few: np.ndarray, partitions: DaskPartitions, values: np.ndarray | None = None) -> list[np.ndarray]:
    """Return which of some samples, in rising order, are in each partition, by their rows there; or values of these."""
    first = np.cumsum([0, *partitions.sizes])
    cuts = np.searchsorted(few, first)
    return [few[a:b] - row if values is None else values[a:b] for a, b, row in zip(cuts, cuts[1:], first, strict=False)]
