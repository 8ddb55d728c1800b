"""Checks that all scores of two labellings share."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_array, check_consistent_length

from kernelclust.structures import Structure

LARGEST = 1e100
Codes = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]


def check_values(labels: Any, name: str, dtype: Any = None, **checks: Any) -> npt.NDArray[Any]:
    """Return labels of any type, or weights, as a one-dimensional array without missing values."""
    array = check_array(labels, ensure_2d=False, dtype=dtype, input_name=name, **checks)
    if array.ndim != 1:
        raise ValueError(f"{name} must hold one value per sample, shape (n_samples,); got shape {array.shape}.")
    return np.asarray(array)


def codes(y_true: Any, y_pred: Any, names: tuple[str, str] = ("y_true", "y_pred")) -> tuple[Codes, Codes]:
    """Number the labels of both sides 0, 1, ... in sorted order."""
    true, pred = check_values(y_true, names[0]), check_values(y_pred, names[1])
    check_consistent_length(true, pred)
    return np.unique(true, return_inverse=True)[1], np.unique(pred, return_inverse=True)[1]


def node_labels(labels: Any, structure: Structure, name: str) -> Codes:
    """Check that labels are nodes of the structure, integers 0 .. c - 1."""
    array, c = check_values(labels, name), structure.n_clusters
    what = f"{name} must hold nodes of '{structure}', integers from 0 to {c - 1}"
    try:
        nodes = array.astype(np.intp)
        whole = bool((nodes == array).all())
    except (TypeError, ValueError):
        whole = False
    if not whole:
        raise ValueError(
            f"{what}; got {array.dtype} values such as {array[0]!r}. Number your labels in that order first."
        )
    if nodes.min() < 0 or nodes.max() >= c:
        raise ValueError(f"{what}; got values from {nodes.min()} to {nodes.max()}.")
    return nodes


def table(rows: Codes, columns: Codes, shape: tuple[int, int], sample_weight: Any = None) -> Floats:
    """Return the weight of samples with row label i and column label j, by default their number."""
    weight = None
    if sample_weight is not None:
        weight = check_values(sample_weight, "sample_weight", dtype=np.float64, ensure_non_negative=True)
        check_consistent_length(rows, weight)
        if not weight.any():
            raise ValueError("sample_weight is zero for every sample; at least one weight must be positive.")
        largest = float(weight.max())
        if not 1 / LARGEST < largest < LARGEST:  # scores are shares, and sums must neither overflow nor vanish
            weight = weight / largest
    counts = np.bincount(rows * shape[1] + columns, weights=weight, minlength=shape[0] * shape[1])
    return counts.reshape(shape).astype(np.float64)


def code_table(y_true: Any, y_pred: Any, sample_weight: Any = None) -> Floats:
    """Return the table of two labellings with arbitrary values."""
    true, pred = codes(y_true, y_pred)
    return table(true, pred, (int(true.max()) + 1, int(pred.max()) + 1), sample_weight)
