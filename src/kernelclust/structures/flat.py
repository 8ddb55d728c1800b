"""Clusters without neighbours."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from ._base import Floats, Ints, SizedStructure


class Flat(SizedStructure):
    """c unrelated clusters: A = I, and every error has loss one.

    Choose it when clusters have no order; with normalised labels the method is then
    kernel k-means. All c! relabellings are equivalent.

    Parameters
    ----------
    n_clusters : int, optional
        Number of clusters; the default is the number of names.
    names : sequence of str, optional
        Names of the clusters.

    Examples
    --------
    >>> from kernelclust.structures import Flat
    >>> Flat(3).kernel
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """

    text_form = "flat:8"

    def _make_kernel(self) -> Floats:
        return np.eye(self.n_clusters)

    def _make_loss(self) -> Floats:
        return 1.0 - np.eye(self.n_clusters)

    def _best_relabelling(self, benefit: Floats) -> Ints:
        return np.asarray(linear_sum_assignment(benefit.T, maximize=True)[1], dtype=np.intp)

    def positions(self) -> Floats:
        side = int(np.ceil(np.sqrt(self.n_clusters)))
        row, column = np.divmod(np.arange(self.n_clusters), side)
        return np.column_stack([column + 0.5, (side + row.max()) / 2 - row]) / side


PART = Flat
