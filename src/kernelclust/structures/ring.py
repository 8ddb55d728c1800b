"""Clusters on a circle."""

from __future__ import annotations

import numpy as np

from ._axes import Axis
from ._base import Floats, Ints, SizedStructure, from_to


class Ring(SizedStructure):
    """c clusters on a circle: A_ij = 2 if i = j, 1 between neighbours, 0 else.

    The loss is 0 for the same cluster, 1 for a neighbour, 2 for any other. Choose it for hours, seasons, the
    cell cycle, directions. The first cluster and the direction are free: 2c equivalent labellings. With c = 3 all
    clusters are neighbours, so all labellings are equivalent.

    Parameters
    ----------
    n_clusters : int, optional
        Number of clusters; the default is the number of names.
    names : sequence of str, optional
        Names of the clusters, in the order around the circle.

    Examples
    --------
    >>> from kernelclust.structures import Ring
    >>> Ring(4).kernel[0]
    array([2., 1., 0., 1.])
    >>> Ring(4).loss[0]
    array([0., 1., 2., 1.])
    """

    text_form = "ring:12"
    is_one_dimensional = True
    is_cyclic = True

    def _steps(self) -> Ints:
        """Return the number of steps from i to j along the shorter arc, (c, c)."""
        i = np.arange(self.n_clusters)
        ahead = (i[:, None] - i[None, :]) % self.n_clusters
        return np.asarray(np.minimum(ahead, self.n_clusters - ahead))

    def _make_kernel(self) -> Floats:
        return np.maximum(2 - self._steps(), 0).astype(np.float64)

    def _make_loss(self) -> Floats:
        return np.minimum(self._steps(), 2).astype(np.float64)

    def _relabellings(self) -> list[Ints]:
        c, i = self.n_clusters, np.arange(self.n_clusters)
        return [turned for shift in range(c) for turned in ((i + shift) % c, (shift - i) % c)]

    def axes(self) -> list[Axis]:
        c, i = self.n_clusters, np.arange(self.n_clusters)
        return [Axis(i.astype(np.float64), from_to((i - 1) % c, (i + 1) % c), period=c)]


PART = Ring
