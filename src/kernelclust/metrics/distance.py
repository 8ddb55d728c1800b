"""How far two clusterings are apart."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.metrics.cluster import contingency_matrix

from ._labels import codes


def clustering_distance(labels_1: npt.ArrayLike, labels_2: npt.ArrayLike) -> float:
    """Squared distance between the matrices of two clusterings.

    ||P1 P1' - P2 P2'||_F² = c1 + c2 - 2 sum_ij n_ij² / (n_i n_j), where column j of P is the indicator of cluster j
    divided by the root of its size, and c1, c2 count the clusters that occur. 0 for equal partitions,
    whatever their names; below c1 + c2. Its root is a metric. Use it to see how stable a clustering is.

    Parameters
    ----------
    labels_1, labels_2 : array-like of shape (n_samples,)
        Labels of any kind.

    Returns
    -------
    distance : float
        At least 0.

    Examples
    --------
    >>> from kernelclust.metrics import clustering_distance
    >>> clustering_distance([0, 0, 1, 1], [0, 1, 0, 1])
    2.0
    """
    counts = contingency_matrix(*codes(labels_1, labels_2, ("labels_1", "labels_2")), sparse=True, dtype=np.float64)
    counts = counts.tocoo()
    sizes_1, sizes_2 = np.ravel(counts.sum(axis=1)), np.ravel(counts.sum(axis=0))
    shared = (counts.data**2 / (sizes_1[counts.row] * sizes_2[counts.col])).sum()
    return float(max(len(sizes_1) + len(sizes_2) - 2 * shared, 0.0))
