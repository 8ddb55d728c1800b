"""Positions of samples between clusters: ranks within a cluster along axes of a structure or edges of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernelclust.structures import Axis, Network, Structure

SAME = 1e-9  # differences up to this share of the numbers compared are rounding


@dataclass(frozen=True)
class Scales:
    """All scales of a structure, and the edges of the graph that their columns stand for, where there is one."""

    scales: list[Scale]
    edges: tuple[tuple[int, int], ...] | None

    @classmethod
    def of(
        cls, structure: Structure, inner: np.ndarray, labels: np.ndarray, weight: np.ndarray, n: np.ndarray
    ) -> Scales | None:
        """Return the scales of fitted samples with these products with means (m, c); None where nothing is between."""
        network = structure.network()
        axes = structure.axes() if network is None else network.axes()
        if axes is None:
            return None
        scales = [Scale.of(axis, inner, labels, weight, n) for axis in axes]
        return cls(scales, None if network is None else network.edges)

    @property
    def width(self) -> int | None:
        """Return the number of columns of a position; None for one number a sample."""
        n_columns = len(self.scales) if self.edges is None else 2
        return None if n_columns == 1 else n_columns

    def __call__(self, inner: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return self.joined([scale(inner, labels) for scale in self.scales], labels)

    def joined(self, columns: Sequence[np.ndarray], labels: np.ndarray) -> np.ndarray:
        """Return positions from places on every scale."""
        if self.edges is not None:
            return Network(self.edges, len(self.scales[0].at)).position(np.column_stack(columns), labels)
        return columns[0] if len(columns) == 1 else np.column_stack(columns)


@dataclass(frozen=True)
class Scale:
    """Distribution of the samples of each cluster along an axis: `share[j]` of them up to `at[j]`, both rising."""

    axis: Axis
    at: list[np.ndarray]
    share: list[np.ndarray]

    @classmethod
    def of(cls, axis: Axis, inner: np.ndarray, labels: np.ndarray, weight: np.ndarray, n: np.ndarray) -> Scale:
        towards = axis.towards * (n > 0)  # a cluster without samples has no mean: stay instead of going there
        towards = towards - np.diag(towards.sum(axis=1))
        scale = cls(axis._replace(towards=towards), [], [])
        score, noise = scale.scores(inner, labels), SAME * float(np.abs(inner).max(initial=0.0))
        for j in range(len(n)):
            at, share = _ranks(score[labels == j], weight[labels == j], noise)
            scale.at.append(at)
            scale.share.append(share)
        return scale

    def scores(self, inner: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return np.einsum("ij,ij->i", inner, self.axis.towards[labels])

    def __call__(self, inner: np.ndarray, labels: np.ndarray) -> np.ndarray:
        score, place = self.scores(inner, labels), self.axis.coordinate[labels]
        for j in np.unique(labels):
            here = labels == j
            place[here] += _between(score[here], self.at[j], self.share[j]) - 0.5 if len(self.at[j]) else 0.0
        if self.axis.period:
            place = place % self.axis.period
            place[place == self.axis.period] = 0.0  # a place just below zero, rounded
        return place


def _ranks(score: np.ndarray, weight: np.ndarray, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Return different scores, rising, and the share of the weight below each, half of its own included."""
    if not len(score):
        return score, score
    order = np.argsort(score, kind="stable")
    score, weight = score[order], weight[order]
    which = np.concatenate([[0], np.cumsum(np.diff(score) > noise)])
    each = np.bincount(which, weight)
    return np.bincount(which, weight * score) / each, (np.cumsum(each) - each / 2) / weight.sum()


def _between(score: np.ndarray, at: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return shares at scores between those given, as numpy.interp has them, whose slope overflows for subnormal
    scores.
    """
    lift = -np.frexp(np.abs(at).max())[1]
    return np.interp(np.ldexp(np.clip(score, at[0], at[-1]), lift), np.ldexp(at, lift), share)
