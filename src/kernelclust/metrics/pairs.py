"""Scores that ask of every pair of samples: together or apart?"""

from __future__ import annotations

from numbers import Real

import numpy as np
import numpy.typing as npt
from sklearn.metrics.cluster import pair_confusion_matrix

from ._labels import codes


def rand_index(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> float:
    """Share of pairs of samples on which two labellings agree.

    (TP + TN) / (n (n - 1) / 2): together in both, or apart in both. Not corrected for chance; scikit-learn's
    `adjusted_rand_score` is. Counts from the contingency table in whole numbers, so in O(n) and without
    rounding. A single sample scores 1.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Labels of any kind.

    Returns
    -------
    index : float
        Between 0 and 1.

    Examples
    --------
    >>> from kernelclust.metrics import rand_index
    >>> rand_index([0, 0, 1, 1], [0, 0, 1, 2])
    0.8333333333333334
    """
    both, true_only, pred_only, neither = _pairs(y_true, y_pred)
    pairs = both + true_only + pred_only + neither
    return (both + neither) / pairs if pairs else 1.0


def pair_f_score(y_true: npt.ArrayLike, y_pred: npt.ArrayLike, beta: float = 1.0) -> float:
    """F measure of the decision to put two samples together.

    F = (beta² + 1) P R / (beta² P + R), with precision P = pairs together in both / pairs together in y_pred and
    recall R = pairs together in both / pairs together in y_true. A beta above 1 punishes separating what belongs
    together more than joining what does not. Where a share is 0/0 the equal form
    (beta² + 1) TP / ((beta² + 1) TP + beta² FN + FP) decides: 0 as soon as there is an error, and 1 if neither
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
    both, true_only, pred_only, _ = _pairs(y_true, y_pred)
    weight = float(beta) ** 2
    gained = (1 + weight) * both
    everything = gained + weight * true_only + pred_only
    return gained / everything if everything else 1.0


def _pairs(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> tuple[int, int, int, int]:
    """Ordered pairs together in both, in y_true only, in y_pred only, in neither."""
    (neither, pred_only), (true_only, both) = pair_confusion_matrix(*codes(y_true, y_pred)).tolist()
    return both, true_only, pred_only, neither
