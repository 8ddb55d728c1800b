"""Scores from information theory."""

from __future__ import annotations

import numpy.typing as npt
from sklearn.metrics import normalized_mutual_info_score

from ._labels import codes

AVERAGES = ("geometric", "arithmetic", "max", "min")


def normalized_mutual_info(y_true: npt.ArrayLike, y_pred: npt.ArrayLike, average: str = "geometric") -> float:
    """Information that two labellings share, as a share of what they hold.

    I(y_true, y_pred) / average(H(y_true), H(y_pred)). The geometric mean is the older convention and the default here;
    scikit-learn's own function, which does the work, takes the arithmetic mean. Two
    labellings with a single label each score 1, one such labelling against any other 0.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
        Labels of any kind.
    average : {"geometric", "arithmetic", "max", "min"}, default="geometric"
        How to average the two entropies.

    Returns
    -------
    nmi : float
        Between 0 and 1.

    Examples
    --------
    >>> from kernelclust.metrics import normalized_mutual_info
    >>> round(normalized_mutual_info([0, 0, 1, 1], [1, 1, 0, 0]), 12)
    1.0
    """
    if average not in AVERAGES:
        raise ValueError(f"unknown average {average!r}; known: {', '.join(AVERAGES)}.")
    return float(normalized_mutual_info_score(*codes(y_true, y_pred), average_method=average))
