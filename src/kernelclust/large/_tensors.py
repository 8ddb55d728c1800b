"""Samples on a device as partitions: what `_shards.py` asks of partitions, by any library of the array API.

Features are given by objects that are functions of numpy arrays, and have `array(xp, X)` for all others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernelclust._arrays import namespace_of, parts, to_host
from kernelclust.large._shards import (
    FeatureSamples,
    Last,
    Moments,
    Rule,
    Seen,
    Shards,
    Sums,
    drawn,
    feature_gram,
    feature_moments,
    last_look,
    look,
    mapped,
    sweep,
)

BLOCKS = 16  # partitions of all samples
ROWS = 2**16  # of a partition that are looked at together


class TensorShards(Shards):
    """Rows of X (m, d), an array of xp, with weights (m,) and known labels (m,) on the host."""

    def __init__(self, xp: Any, X: Any, weight: np.ndarray, y: np.ndarray | None):
        m = int(X.shape[0])
        self.xp, self.X, self.weight, self.y = xp, X, weight, y
        self.blocks = list(parts(m, -(-m // BLOCKS)))
        self.sizes = [rows.stop - rows.start for rows in self.blocks]

    def each(
        self, function: Callable, /, *, numbered: bool = False, samples: bool = True, keep: bool = False, **given: Any
    ) -> list:
        there, found = _THERE[function], []
        for i, rows in enumerate(self.blocks):
            own = {name: one[i] if isinstance(one, list) else one for name, one in given.items()}
            own |= {"number": i} if numbered else {}
            known = None if self.y is None else self.y[rows]
            found.append(there(self.xp, self.X[rows, :], self.weight[rows], known, **own))
        return found


def labels_there(shards: TensorShards, raw: Any, rules: list[Rule]) -> Any:
    """Labels of all samples (m,), on the device."""
    found = []
    for rows, rule in zip(shards.blocks, rules, strict=True):
        known = None if shards.y is None else shards.y[rows]
        for some, B in _features(shards.xp, shards.X[rows, :], raw):
            found.append(_labels(shards.xp, B, rule, None if known is None else known[some]))
    return shards.xp.concat(found)


def features_there(shards: TensorShards, raw: Any, image: np.ndarray) -> Any:
    """b(x) times `image` (r, k) of all samples (m, k), on the device."""
    xp, X = shards.xp, shards.X
    return xp.concat([B @ _on(xp, B, image) for _, B in _features(xp, X, raw)])


class ThereSamples(FeatureSamples):
    """Similarities of new samples with clusters, computed where the samples are."""

    def both(self, X_new):
        xp = namespace_of(X_new)
        if xp is None:
            return super().both(X_new)
        G, own = [], []
        for _, B in _features(xp, X_new, self.features.raw):
            B = mapped(B, None if self.features.T is None else _on(xp, B, self.features.T))
            G.append(to_host(B @ _on(xp, B, self.sums.T)))
            own.append(to_host(xp.sum(B * B, axis=1)))
        return np.concatenate(G), np.concatenate(own)


def _features(xp: Any, X: Any, raw: Any):
    """(rows, raw features of these in double precision), a few rows at a time."""
    for rows in parts(int(X.shape[0]), ROWS):
        yield rows, raw.array(xp, xp.astype(X[rows, :], xp.float64))


def _on(xp: Any, like: Any, values: Any) -> Any:
    return xp.asarray(np.ascontiguousarray(values), dtype=like.dtype, device=like.device)


def _labels(xp: Any, B: Any, rule: Rule, known: np.ndarray | None) -> Any:
    found = xp.argmax(B @ _on(xp, B, rule.W) + _on(xp, B, rule.h), axis=1)
    if known is None:
        return found
    told = xp.asarray(np.asarray(known), dtype=found.dtype, device=found.device)
    return xp.where(told >= 0, told, found)


def _one_hot(xp: Any, labels: Any, c: int, weight: Any) -> Any:
    names = xp.arange(c, dtype=labels.dtype, device=labels.device)
    return xp.where(labels[:, None] == names[None, :], weight[:, None], xp.zeros_like(weight)[:, None])


def _look(xp: Any, X: Any, w: np.ndarray, y: np.ndarray | None, number: int, share: float, seed: int) -> Seen:
    """As `look`; entries were checked before, and the mean is not asked for."""
    y = np.full(len(w), -1) if y is None else y
    some, used = drawn(w, y, number, share, seed), w > 0
    rows = to_host(xp.take(X, xp.asarray(some, device=X.device), axis=0)).astype(np.float64)
    ends = to_host(xp.stack([xp.min(X, axis=0), xp.max(X, axis=0)])).astype(np.float64)
    light = float(w.min(initial=0.0)), float(w[used].min(initial=np.inf)), int(used.sum())
    mean = np.full(int(X.shape[1]), np.nan)
    largest = float(y.max(initial=-1))
    places = np.unique(y[(y >= 0) & used])
    return Seen(float(w.sum()), mean, *light, np.nan, None, some, rows, w[some], y[some], largest, places, ends)


def _sweep(xp: Any, X: Any, w: np.ndarray, y: np.ndarray | None, raw: Any, rule: Rule, before: Rule | None) -> Sums:
    c, total = len(rule.h), None
    for rows, B in _features(xp, X, raw):
        known, weight = None if y is None else y[rows], _on(xp, B, w[rows])
        labels = _labels(xp, B, rule, known)
        P = _one_hot(xp, labels, c, weight)
        moved = 0
        if before is not None:
            moved = int(xp.sum(xp.astype(_labels(xp, B, before, known) != labels, xp.int64)))
        part = Sums(to_host(xp.matrix_transpose(P) @ B), to_host(xp.sum(P, axis=0)), moved)
        total = part if total is None else total + part
    assert total is not None
    return total


def _last_look(xp: Any, X: Any, w: np.ndarray, y: np.ndarray | None, raw: Any, T, rule: Rule, means) -> Last:
    c, gram = len(rule.h), np.zeros((len(rule.W), len(rule.W)))
    near, row = np.full(c, np.inf), np.full(c, -1)
    for rows, B in _features(xp, X, raw):
        weight, labels = _on(xp, B, w[rows]), _labels(xp, B, rule, None if y is None else y[rows])
        gram += to_host(xp.matrix_transpose(B) @ (B * weight[:, None]))
        full = mapped(B, None if T is None else _on(xp, B, T))
        away = xp.sum(full * full, axis=1)[:, None] - 2 * (full @ _on(xp, B, means))
        names = xp.arange(c, dtype=labels.dtype, device=labels.device)
        here = (labels[:, None] == names[None, :]) & (weight > 0)[:, None]
        away = xp.where(here, away, xp.full_like(away, np.inf))
        best, least = to_host(xp.argmin(away, axis=0)), to_host(xp.min(away, axis=0))
        closer = least < near
        near, row = np.where(closer, least, near), np.where(closer, rows.start + best, row)
    return Last(gram, near, row)


def _moments(xp: Any, X: Any, w: np.ndarray, y: np.ndarray | None, raw: Any, width: int) -> Moments:
    total = Moments(0.0, np.zeros(width), np.zeros(width), np.zeros(width))
    for rows, B in _features(xp, X, raw):
        weight, square = _on(xp, B, w[rows]), B * B
        found = [to_host(one) for one in (weight @ B, weight @ square, xp.max(square, axis=0))]
        total += Moments(float(w[rows].sum()), *found)
    return total


def _gram(xp: Any, X: Any, w: np.ndarray, y: np.ndarray | None, raw: Any, width: int) -> np.ndarray:
    gram = np.zeros((width, width))
    for rows, B in _features(xp, X, raw):
        gram += to_host(xp.matrix_transpose(B) @ (B * _on(xp, B, w[rows])[:, None]))
    return gram


_THERE: dict[Callable, Callable] = {
    look: _look,
    sweep: _sweep,
    last_look: _last_look,
    feature_moments: _moments,
    feature_gram: _gram,
}
