"""Positions between clusters: coordinates along axes, or an edge of a graph and a fraction along it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import shortest_path

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

TIE_DECIMALS = 9  # ranks in small clusters are often equal; rounding errors must not choose the edge


class Axis(NamedTuple):
    """A direction along which each sample has a coordinate of its own, finer than that of its cluster.

    `coordinate` (c,) is that of each cluster. `towards` (c, c) holds coefficients whose rows sum to zero: the
    coordinate of a sample x of cluster j increases with <x, sum_k towards[j, k] mu_k>. Coordinates are modulo `period`
    unless it is zero. `is_length` is True if differences of coordinates are lengths.
    """

    coordinate: Floats
    towards: Floats
    period: int = 0
    is_length: bool = True

    def distance(self, column: Floats, root: int) -> Floats:
        """Return the distance of coordinates (n,) from cluster `root`, or from its outer side if it is at an end."""
        first, last, start = map(float, (self.coordinate.min(), self.coordinate.max(), self.coordinate[root]))
        if self.period:
            ahead = (column - start) % self.period
            return np.asarray(np.minimum(ahead, self.period - ahead))
        if first == last:
            return np.zeros_like(column)
        return np.asarray(np.abs(column - (start - 0.5 if start == first else start + 0.5 if start == last else start)))


class Paths(NamedTuple):
    """Paths over a network from a root to every other end, with the pseudotime of samples along each."""

    nodes: list[list[int]]  # one list per path, the root first
    pseudotime: Floats  # (n, paths)
    weights: Floats  # (n, paths)


@dataclass(frozen=True)
class Network:
    """A graph whose nodes are the clusters; a position on it is an edge and a fraction along that edge.

    A sample of cluster j lies on the half of an edge that begins at j: between j (0) and the middle (0.5). Of the
    edges at j, the sample is on the one along which its rank in the cluster is highest. At an end of the graph (a node
    with one edge), the half of the samples that faces away from the edge lies beyond the node.

    Parameters
    ----------
    edges : tuple of pairs of int
    n_clusters : int
    """

    edges: tuple[tuple[int, int], ...]
    n_clusters: int

    @cached_property
    def _at_node(self) -> Ints:
        """Indices of the edges at every node (c, largest degree), padded with -1."""
        at: list[list[int]] = [[] for _ in range(self.n_clusters)]
        for number, pair in enumerate(self.edges):
            for node in pair:
                at[node].append(number)
        most = max(map(len, at))
        return np.array([[*numbers, *[-1] * (most - len(numbers))] for numbers in at], dtype=np.intp)

    @cached_property
    def degree(self) -> Ints:
        return np.asarray((self._at_node >= 0).sum(axis=1), dtype=np.intp)

    @cached_property
    def steps(self) -> Floats:
        """Number of edges on the shortest path between nodes (c, c); infinite where there is none."""
        linked = np.zeros((self.n_clusters, self.n_clusters))
        for a, b in self.edges:
            linked[a, b] = linked[b, a] = 1
        return np.asarray(shortest_path(linked, unweighted=True, directed=False))

    @property
    def is_tree(self) -> bool:
        """True if exactly one path connects any two nodes."""
        return len(self.edges) == self.n_clusters - 1 and bool(np.isfinite(self.steps).all())

    def axes(self) -> list[Axis]:
        """Return one axis per edge slot of a node: from the node's other neighbours towards that edge's neighbour.

        The coordinate is the rank in the cluster minus one half. A node with one edge uses itself as other neighbour.
        """
        c = self.n_clusters
        axes = []
        for slot in range(self._at_node.shape[1]):
            towards = np.zeros((c, c))
            for node, edges in enumerate(self._at_node):
                if edges[slot] >= 0:
                    neighbours = [sum(self.edges[edge]) - node for edge in edges if edge >= 0]
                    ahead = neighbours.pop(slot)
                    towards[node, neighbours or [node]] = -1 / max(len(neighbours), 1)
                    towards[node, ahead] = 1.0
            axes.append(Axis(np.zeros(c), towards))
        return axes

    def position(self, columns: Floats, labels: Ints) -> Floats:
        """Return edges and fractions (n, 2) from coordinates on `axes()` (n, largest degree); NaN at isolated nodes."""
        at = self._at_node[labels]
        slot = np.where(at >= 0, np.round(columns, TIE_DECIMALS), -np.inf).argmax(axis=1)
        row = np.arange(len(labels))
        edge, fraction = at[row, slot], columns[row, slot]
        fraction = np.where(self.degree[labels] > 1, np.maximum(fraction, 0.0), fraction)
        second = np.array(self.edges)[edge, 1] == labels
        fraction = np.where(second, 1.0 - fraction, fraction)
        return np.where((edge >= 0)[:, None], np.column_stack([edge, fraction]), np.nan)

    def distance(self, position: Floats, root: int) -> Floats:
        """Return the length of the shortest path from node `root` (n,), in edges; from its outer side if it is an end.

        Infinite where there is no path.
        """
        a, b, f = self._on_edge(position)
        from_a, from_b = self.steps[root, a], self.steps[root, b]
        behind = np.where((f < 0) & (a != root), from_a - f, from_a + f)  # f < 0: the sample lies beyond an end
        ahead = np.where((f > 1) & (b != root), from_b + f - 1, from_b + 1 - f)
        return np.asarray(np.minimum(behind, ahead) + (0.5 if self.degree[root] == 1 else 0.0))

    def paths(self, position: Floats, root: int) -> Paths:
        """Follow a tree from node `root` to each other end.

        On the paths that a sample lies on, it has the pseudotime of its position and weight one. On the others it has
        the pseudotime of the node where its own path branches off; its weight falls from one at that node to zero at
        the middle of the edge that leaves the path.
        """
        a, b, f = self._on_edge(position)
        time, depth = self.distance(position, root), self.steps[root] + (0.5 if self.degree[root] == 1 else 0.0)
        nodes = [self._path(root, int(end)) for end in np.flatnonzero(self.degree == 1) if end != root]
        times, weights = np.empty((len(f), len(nodes))), np.empty((len(f), len(nodes)))
        for number, path in enumerate(nodes):
            on_path = np.isin(np.arange(self.n_clusters), path)
            left = depth[np.array(path)[self.steps[:, path].argmin(axis=1)]]  # nearest node of the path
            on_edge, away = on_path[a] & on_path[b], np.where(on_path[a], f, np.where(on_path[b], 1 - f, 0.5))
            times[:, number] = np.where(on_edge, time, left[a])
            weights[:, number] = np.where(on_edge, 1.0, np.clip(1 - 2 * away, 0.0, 1.0))
        return Paths(nodes, times, weights)

    def _on_edge(self, position: Floats) -> tuple[Ints, Ints, Floats]:
        """Return both ends of the edges of positions (n, 2), and the fractions (NaN without an edge)."""
        pairs = np.array(self.edges)[np.nan_to_num(position[:, 0]).astype(np.intp)]
        return pairs[:, 0], pairs[:, 1], position[:, 1]

    def _path(self, start: int, end: int) -> list[int]:
        nodes = [end]
        while nodes[-1] != start:
            before = self.steps[start] == self.steps[start, nodes[-1]] - 1
            nodes.append(int(np.flatnonzero(before & (self.steps[nodes[-1]] == 1))[0]))
        return nodes[::-1]
