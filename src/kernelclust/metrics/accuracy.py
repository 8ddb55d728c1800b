"""Scores that match clusters to classes, whatever the clusters are called."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from ._labels import code_table


def clustering_accuracy(y_true: npt.ArrayLike, y_pred: npt.ArrayLike, *, sample_weight: Any = None) -> float:
    """Share of samples that are right under the best one-to-one naming of the clusters.

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
    """Share of samples that belong to the commonest class of their cluster.

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
