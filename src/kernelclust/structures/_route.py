"""Discretize a structure into points: a chain or ring from beginning to end, a graph edge by edge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ._axes import Axis, Floats, Ints, Network

MAX_POINTS = 200  # per structure: a points x points table is stored
MAX_POINTS_PER_EDGE, MIN_POINTS_PER_EDGE = 10, 2  # even: both halves of an edge have equally many


@dataclass(frozen=True)
class Route:
    """Equally spaced points along the edges between clusters, and half an edge beyond the ends.

    Parameters
    ----------
    network : Network
        The clusters and the edges between them.
    axis : Axis, optional
        The axis of positions; None if positions are edges and fractions.
    """

    network: Network
    axis: Axis | None = None

    @classmethod
    def along(cls, axis: Axis) -> Route | None:
        """Return the route over clusters 0, 1, 2, ... on an axis, closed if the axis has a period."""
        c = len(axis.coordinate)
        edges = [(j, j + 1) for j in range(c - 1)] + ([(c - 1, 0)] if axis.period else [])
        return cls(Network(tuple(edges), c), axis) if c > 1 else None

    @cached_property
    def _points(self) -> tuple[Ints, Floats]:
        edges, degree = self.network.edges, self.network.degree
        n = int(np.clip(MAX_POINTS // len(edges), MIN_POINTS_PER_EDGE, MAX_POINTS_PER_EDGE)) // 2 * 2
        points: list[tuple[int, float]] = []
        for number, (a, b) in enumerate(edges):
            first = -n // 2 if degree[a] == 1 else 0
            last = n + n // 2 if degree[b] == 1 else n
            points += [(number, (i + 0.5) / n) for i in range(first, last)]
        number, fraction = zip(*points, strict=True)
        return np.array(number, dtype=np.intp), np.array(fraction)

    @property
    def edge(self) -> Ints:
        """Index of the edge of each point (p,)."""
        return self._points[0]

    @property
    def fraction(self) -> Floats:
        """Fraction along the edge of each point (p,)."""
        return self._points[1]

    @property
    def node(self) -> Ints:
        """Cluster that each point is nearest to (p,)."""
        ends = np.array(self.network.edges)[self.edge]
        return np.where(self.fraction < 0.5, ends[:, 0], ends[:, 1])

    @property
    def position(self) -> Floats:
        """Position of each point in the format of sample positions: (p,) or (p, 2)."""
        if self.axis is None:
            return np.column_stack([self.edge, self.fraction])
        return self.edge + self.fraction

    @property
    def mean_weights(self) -> Floats:
        """Weights (p, c) with which each point interpolates between the means of clusters."""
        ends, weights = np.array(self.network.edges)[self.edge], np.zeros((len(self.edge), self.network.n_clusters))
        row = np.arange(len(weights))
        np.add.at(weights, (row, ends[:, 0]), 1 - self.fraction)
        np.add.at(weights, (row, ends[:, 1]), self.fraction)
        return weights

    def located(self, position: Floats) -> tuple[Ints, Floats]:
        """Return edges (n,) and fractions (n,) of positions; the fraction is NaN where there is no position."""
        if self.axis is None:
            return np.nan_to_num(position[:, 0]).astype(np.intp), position[:, 1]
        edge = np.clip(np.floor(np.nan_to_num(position)), 0, len(self.network.edges) - 1)
        return edge.astype(np.intp), position - edge

    def between(self, position: Floats, values: Floats) -> Floats:
        """Interpolate values at points (p, k) at positions (n, k).

        The value at a cluster is the mean of the points next to it on all its edges.
        """
        edge, fraction = self.located(position)
        nearest = np.minimum(np.abs(self.fraction), np.abs(1 - self.fraction))
        nearby = nearest < 1.5 * nearest.min()
        count = np.bincount(self.node[nearby], minlength=self.network.n_clusters)
        columns = [
            np.bincount(self.node[nearby], v, minlength=len(count)) / np.maximum(count, 1) for v in values[nearby].T
        ]
        interpolated = np.full((len(position), values.shape[1]), np.nan)
        for number in np.unique(edge):
            samples, points, ends = edge == number, self.edge == number, list(self.network.edges[number])
            at = np.append(self.fraction[points], [0.0, 1.0])
            order = np.argsort(at)
            for k, at_nodes in enumerate(columns):
                known = np.append(values[points, k], at_nodes[ends])
                interpolated[samples, k] = np.interp(fraction[samples], at[order], known[order])
        return interpolated

    def distance(self, position: Floats) -> Floats:
        """Return the distance along the edges between positions and points (n, p)."""
        (edge, f), (point_edge, g) = self.located(position), (self.edge, self.fraction)
        a, b = np.array(self.network.edges)[edge].T
        u, v = np.array(self.network.edges)[point_edge].T
        steps, behind, ahead = self.network.steps, np.abs(f)[:, None], np.abs(1 - f)[:, None]
        to_u = np.minimum(steps[np.ix_(a, u)] + behind, steps[np.ix_(b, u)] + ahead) + np.abs(g)
        to_v = np.minimum(steps[np.ix_(a, v)] + behind, steps[np.ix_(b, v)] + ahead) + np.abs(1 - g)
        apart = np.minimum(to_u, to_v)
        same = edge[:, None] == point_edge
        return np.asarray(np.where(same, np.minimum(np.abs(f[:, None] - g), apart), apart))
