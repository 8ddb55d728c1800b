"""Warn of columns on different scales, of which the largest decide alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kernelclust._input import column_names

MAX_VARIANCE_RATIO = 100  # of columns, without a warning
FEW_COLUMNS = 20


BY_HAND = "standardise them first (sklearn.preprocessing.StandardScaler)"


class ScaleWarning(UserWarning):
    """Columns may be on different scales."""


def scale_warning(
    X: ArrayLike, weight: np.ndarray | None = None, names: Iterable[Any] | None = None, advice: str = BY_HAND
) -> str:
    """Warn when the variances of the columns differ more than a hundredfold; constant columns do not count.

    Columns are called by their `names`, if given; `advice` says what to do. In more than 20 columns (pixels, spectra,
    profiles) some are often nearly constant: there the warning is for data in which at most half of the columns come
    within a hundredth of the widest.

    Examples
    --------
    >>> scale_warning([[0.0, 0.0], [1.0, 500.0], [2.0, 900.0]])
    'The variance of X[:, 1] is ... times that of X[:, 0]. ...'
    >>> scale_warning([[0.0, 0.0], [1.0, 500.0], [2.0, 900.0]], names=["age", "income"])
    "The variance of 'income' is ... times that of 'age'. ..."
    >>> scale_warning([[0.0, 0.0], [1.0, 2.0]])
    ''
    """
    X = np.asarray(X, dtype=float)
    share = np.full(len(X), 1 / len(X)) if weight is None else weight / weight.sum()
    Z = X / (np.abs(X).max(initial=0.0) or 1.0)
    smallest = 8 * np.finfo(float).eps * np.abs(Z).max(axis=0, initial=0.0)
    Z = Z - Z[:1]  # constant columns are exactly zero then, however many samples are summed
    variance = share @ (Z - share @ Z) ** 2
    varying = np.flatnonzero(variance > smallest**2)
    if len(varying) < 2:
        return ""
    least, most = varying[np.argmin(variance[varying])], varying[np.argmax(variance[varying])]
    wide = variance[varying] * MAX_VARIANCE_RATIO >= variance[most]
    if wide.all() or (len(wide) > FEW_COLUMNS and wide.mean() > 0.5):
        return ""
    ratio = variance[most] / variance[least]
    shown = column_names(names, X.shape[1])
    return (
        f"The variance of {shown[most]} is {ratio:.3g} times that of {shown[least]}. If the columns are in different "
        f"units, those with the largest variance dominate: {advice}. If they share one unit, leave them."
    )
