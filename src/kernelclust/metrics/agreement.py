"""Scores of two labellings, whatever the clusters are called.

The Rand index and the mutual information are in scikit-learn: `rand_score`, `normalized_mutual_info_score`.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix, pair_confusion_matrix

from ._labels import code_table, codes


def clustering_accuracy(y_true: npt.ArrayLike, y_pred: npt.ArrayLike, *, sample_weight: Any = None) -> float:
    """Return the fraction of samples that are right under the best one-to-one naming of the clusters.

    max over p of (1/n) sum_i [y_true_i = p(y_pred_i)], an assignment problem. With more clusters than
    classes some clusters stay without a name, and their samples are wrong.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Labels of any kind.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples.

    Returns
    -------
    accuracy : float
        Between 0 and 1.

    Examples
    --------
    >>> from kernelclust.metrics import clustering_accuracy
    >>> clustering_accuracy(["a", "a", "b", "b"], [1, 1, 0, 1])
    0.75
    """
    counts = code_table(y_true, y_pred, sample_weight)
    return float(counts[linear_sum_assignment(counts, maximize=True)].sum() / counts.sum())


def purity_score(y_true: npt.ArrayLike, y_pred: npt.ArrayLike, *, sample_weight: Any = None) -> float:
    """Return the fraction of samples that belong to the most frequent class of their cluster.

    (1/n) sum_j max_i n_ij. Never below `clustering_accuracy`; it grows to 1 when every sample is a cluster of its
    own, so compare only equal numbers of clusters.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Labels of any kind.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples.

    Returns
    -------
    purity : float
        Above 0, at most 1.

    Examples
    --------
    >>> from kernelclust.metrics import purity_score
    >>> purity_score([0, 0, 0, 1], [0, 0, 1, 2])
    1.0
    """
    counts = code_table(y_true, y_pred, sample_weight)
    return float(counts.max(axis=0).sum() / counts.sum())


def pair_f_score(y_true: npt.ArrayLike, y_pred: npt.ArrayLike, beta: float = 1.0) -> float:
    """Return the F measure of the decision to put two samples together.

    F = (beta² + 1) P R / (beta² P + R), with precision P = pairs together in both / pairs together in y_pred and
    recall R = pairs together in both / pairs together in y_true. A beta above 1 punishes separated pairs that belong
    together more than joined pairs that do not. If P or R is 0/0, the equal form
    (beta² + 1) TP / ((beta² + 1) TP + beta² FN + FP) is used: 0 as soon as there is an error, and 1 if neither
    labelling puts any two samples together.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Labels of any kind.
    beta : float, default=1.0
        Weight of recall against precision, above 0.

    Returns
    -------
    score : float
        Between 0 and 1.

    Examples
    --------
    >>> from kernelclust.metrics import pair_f_score
    >>> pair_f_score([0, 0, 1, 1], [0, 0, 1, 2])
    0.6666666666666666
    """
    if not isinstance(beta, Real) or not np.isfinite(beta) or beta <= 0:
        raise ValueError(f"beta must be a finite number above 0, got {beta!r}.")
    (_, pred_only), (true_only, both) = pair_confusion_matrix(*codes(y_true, y_pred)).tolist()
    weight = float(beta) ** 2
    gained = (1 + weight) * both
    everything = gained + weight * true_only + pred_only
    return gained / everything if everything else 1.0


def clustering_distance(labels_1: npt.ArrayLike, labels_2: npt.ArrayLike) -> float:
    """Return the squared distance between the matrices of two clusterings.

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
