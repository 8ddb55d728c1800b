"""Labels and sizes as users give them, checked."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from kernelclust._warnings import warn


def check_labels(labels: Any, n_samples: int, n_clusters: int) -> np.ndarray:
    """Known labels: a place of the structure for each sample, -1 where it is not known.

    Whole numbers that leave no sample unknown and do not fit the structure are classes, not places: ignored, with a
    warning.
    """
    if labels is None:
        return np.full(n_samples, -1)
    wanted = f"y holds known labels: whole numbers from 0 to {n_clusters - 1} (places), -1 where the label is unknown"
    given = np.asarray(labels)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.shape != (n_samples,):
        raise ValueError(f"y has shape {given.shape}, but X has {n_samples} samples; {wanted}.")
    if given.dtype.kind == "b":
        raise ValueError(f"y holds True and False; {wanted}.")
    try:
        numbers = given.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Unknown label type: y holds {given.dtype.type.__name__} values such as {given[0]!r}; {wanted}. Names "
            "need a structure that has them, such as 'chain:(low,high)'. To fit without labels, leave y out."
        ) from error
    whole = numbers == np.floor(numbers)
    wrong = np.flatnonzero(~(whole & (numbers >= -1) & (numbers < n_clusters)))
    if len(wrong) and whole.all() and numbers.min() >= 0:  # classes, as scikit-learn's tools hand them to everyone
        warn(
            f"y is ignored: it leaves no sample unknown (-1) and holds {given[wrong[0]]}, but the structure has places "
            f"0 to {n_clusters - 1}."
        )
        return np.full(n_samples, -1)
    if len(wrong):
        i = wrong[0]
        raise ValueError(
            f"Unknown label type: y[{i}] = {given[i]} is no place of the structure; {wanted}. To fit without labels, "
            "leave y out."
        )
    return numbers.astype(np.intp)


def size_bounds(min_size: Any, max_size: Any, c: int) -> tuple[np.ndarray, np.ndarray]:
    lower = _size_bound("min_cluster_size", min_size, c, 0.0)
    upper = _size_bound("max_cluster_size", max_size, c, np.inf)
    wrong = np.flatnonzero(lower > upper)
    if len(wrong):
        j = wrong[0]
        raise ValueError(
            f"min_cluster_size={lower[j]:g} is above max_cluster_size={upper[j]:g} (cluster {j}): no cluster can be "
            "both."
        )
    return lower, upper


def _size_bound(name: str, value: Any, c: int, nothing: float) -> np.ndarray:
    if value is None:
        return np.full(c, nothing)
    wanted = f"{name} must be a number of 0 or more, or {c} of them, one a cluster"
    if isinstance(value, (bool, np.bool_, str)) or not (isinstance(value, Real) or np.ndim(value) == 1):
        raise TypeError(f"{wanted}; got {value!r}.")
    try:
        sizes = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{wanted}; got {value!r}.") from error
    if sizes.ndim == 1 and len(sizes) != c:
        raise ValueError(f"{wanted}; got {len(sizes)}.")
    if not np.all(sizes >= 0) or (name.startswith("min") and np.isinf(sizes).any()):
        raise ValueError(f"{wanted}; got {value!r}.")
    return np.broadcast_to(sizes, c).copy()
