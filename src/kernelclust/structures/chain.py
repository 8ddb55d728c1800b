"""Clusters in a row."""

from __future__ import annotations

import numpy as np

from ._axes import Axis, Network, Paths
from ._base import Floats, Ints, SizedStructure, from_to

MAX_PER_ROW = 12  # clusters; longer chains are drawn in several rows


def chain_kernel(n_clusters: int) -> Floats:
    """Return the tridiagonal matrix with 2 on the diagonal and 1 next to it."""
    return 2 * np.eye(n_clusters) + np.eye(n_clusters, k=1) + np.eye(n_clusters, k=-1)


class Chain(SizedStructure):
    """c clusters in a row: A_ij = 2 if i = j, 1 between neighbours, 0 else; loss abs(i - j).

    Choose it for stages, grades, ages, or anything that runs from one end to another. Only the direction
    is free, so there are two equivalent labellings.

    Parameters
    ----------
    n_clusters : int, optional
        Number of clusters; the default is the number of names.
    names : sequence of str, optional
        Names of the clusters, from one end to the other.

    Examples
    --------
    >>> from kernelclust.structures import Chain
    >>> Chain(3).kernel
    array([[2., 1., 0.],
           [1., 2., 1.],
           [0., 1., 2.]])
    >>> Chain(3).loss[0]
    array([0., 1., 2.])
    """

    text_form = "chain:5"
    is_one_dimensional = True

    def _make_kernel(self) -> Floats:
        return chain_kernel(self.n_clusters)

    def _make_loss(self) -> Floats:
        i = np.arange(self.n_clusters, dtype=np.float64)
        return np.abs(i[:, None] - i[None, :])

    def _relabellings(self) -> list[Ints]:
        i = np.arange(self.n_clusters)
        return [i, i[::-1]]

    def axes(self) -> list[Axis]:
        c, i = self.n_clusters, np.arange(self.n_clusters)
        return [Axis(i.astype(np.float64), from_to(np.maximum(i - 1, 0), np.minimum(i + 1, c - 1)))]

    @property
    def has_paths(self) -> bool:
        return self.n_clusters > 1

    def paths(self, position: Floats, root: int) -> Paths:
        c = self.n_clusters
        edge = np.clip(np.floor(position), 0, c - 2)
        network = Network(tuple((i, i + 1) for i in range(c - 1)), c)
        return network.paths(np.column_stack([edge, position - edge]), root)

    def positions(self) -> Floats:
        """Return points in one row; long chains alternate direction in several rows."""
        c = self.n_clusters
        rows = 1 if c <= MAX_PER_ROW else round(np.sqrt(c / 3))
        columns = -(-c // rows)
        row, step = np.divmod(np.arange(c), columns)
        x = np.where(row % 2, columns - 1 - step, step) / max(columns - 1, 1) if c > 1 else np.array([0.5])
        return np.column_stack([x, 0.5 + ((rows - 1) / 2 - row) / max(columns - 1, 1)])


PART = Chain
