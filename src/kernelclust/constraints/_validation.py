"""Check labels, sizes and links as users pass them.

Links are pairs of row indices of X, or one number per sample. Cross-validation splits the numbers together with the
samples; it passes pairs on unchanged, and an index that exceeds the rows of a fold is an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from kernelclust._warnings import warn
from kernelclust.constraints._constraints import some

EXACT = 2.0**53  # integers that a float holds


def check_labels(labels: Any, n_samples: int, n_clusters: int) -> np.ndarray:
    """Return known labels: a node of the structure for each sample, -1 where it is unknown.

    Integers that leave no sample unknown and do not fit the structure are classes, not nodes: they are ignored, with a
    warning.
    """
    if labels is None:
        return np.full(n_samples, -1)
    wanted = f"y holds known labels: integers from 0 to {n_clusters - 1} (nodes), -1 where the label is unknown"
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
            f"y is ignored, because it contains the label {given[wrong[0]]}, but the structure has nodes 0 to "
            f"{n_clusters - 1}. To pass known labels use these numbers, and -1 where the label is unknown."
        )
        return np.full(n_samples, -1)
    if len(wrong):
        i = wrong[0]
        raise ValueError(
            f"Unknown label type: y[{i}] = {given[i]} is not a node of the structure; {wanted}. To fit without labels, "
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
    wanted = f"{name} must be a number of 0 or more, or {c} of them, one per cluster"
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


@dataclass(frozen=True)
class Links:
    """Pairs of samples (n, 2), and the number of each sample's group (m,) where numbers were given."""

    name: str
    pairs: np.ndarray
    group: np.ndarray | None = None

    def say(self, row: int) -> str:
        """Return the pair in the words that it was given in."""
        i, j = self.pairs[row].tolist()
        if self.group is None:
            return f"{self.name}[{row}] = [{i}, {j}]"
        return f"{self.name} is {self.group[i]} for samples {i} and {j}"


def check_links(name: str, given: Any, n_samples: int, n_clusters: int) -> Links:
    """Return pairs (n, 2) of sample indices, or numbers (m,): samples of one number are linked, -1 with none.

    A must_link group becomes a star around its first sample, a cannot_link group all its pairs.
    """
    nothing = np.empty((0, 2), dtype=np.intp)
    if given is None:
        return Links(name, nothing)
    meaning = (
        "the same for samples that belong together"
        if name == "must_link"
        else "the same for samples of which no two belong together"
    )
    wanted = (
        f"{name} holds pairs of sample indices, shape (n, 2), integers from 0 to {n_samples - 1}, or one "
        f"integer per sample, shape ({n_samples},), {meaning}, -1 for none"
    )
    try:
        array = np.asarray(given if hasattr(given, "__array__") else list(given))
        numbers = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{wanted}; got {str(given)[:100]}.") from error
    if array.size == 0:
        return Links(name, nothing)
    by_sample = array.shape == (n_samples,)
    if not (by_sample or (array.ndim == 2 and array.shape[1] == 2)) or array.dtype.kind == "b":
        raise ValueError(f"{wanted}; got shape {array.shape} of {array.dtype}.")
    if by_sample:
        group = _check_groups(name, array, numbers, wanted)
        if name == "must_link":
            return Links(name, _stars(group), group)
        return Links(name, _all_pairs(group, n_clusters), group)
    return Links(name, _check_pairs(name, array, numbers, n_samples, wanted))


def _check_pairs(name: str, array: np.ndarray, numbers: np.ndarray, n_samples: int, wanted: str) -> np.ndarray:
    wrong = np.flatnonzero(~((numbers >= 0) & (numbers < n_samples) & (numbers == np.floor(numbers))).all(axis=1))
    if len(wrong):
        pair = numbers[wrong[0]]
        far = pair[(pair >= n_samples) & (pair == np.floor(pair))]
        beyond = (
            f" There is no sample {far[0]:.0f}: X has {n_samples}, counted from 0. Pairs are rows of the X of this "
            "fit; in cross-validation, where a fit sees the rows of a fold, give one integer per sample instead."
            if len(far)
            else ""
        )
        raise ValueError(f"{name}[{wrong[0]}] = {array[wrong[0]].tolist()} is not a pair of samples: {wanted}.{beyond}")
    pairs = numbers.astype(np.intp)
    same = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if name == "cannot_link" and len(same):
        raise ValueError(f"cannot_link[{same[0]}] = {pairs[same[0]].tolist()} separates a sample from itself.")
    return pairs


def _check_groups(name: str, array: np.ndarray, numbers: np.ndarray, wanted: str) -> np.ndarray:
    if array.dtype.kind in "iu":  # kept as they are: a float would mix up numbers beyond 2^53
        group, good = array, array >= -1
    else:
        good = (numbers >= -1) & (numbers < EXACT) & (numbers == np.floor(numbers))
        group = np.where(good, numbers, -1.0).astype(np.int64)
    if not good.all():
        i = int(np.argmin(good))
        raise ValueError(f"{name}[{i}] = {array[i]} is not the number of a group: {wanted}.")
    return group


def _in_groups(group: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return samples that have a number, those of one number next to each other, and which of these follow another."""
    samples = np.flatnonzero(group >= 0)
    samples = samples[np.argsort(group[samples], kind="stable")]
    return samples, np.concatenate([[False], group[samples][1:] == group[samples][:-1]])[: len(samples)]


def _stars(group: np.ndarray) -> np.ndarray:
    samples, follows = _in_groups(group)
    centre = samples[np.maximum.accumulate(np.where(follows, 0, np.arange(len(samples))))]
    return np.stack([centre, samples], axis=1)[follows]


def _all_pairs(group: np.ndarray, n_clusters: int) -> np.ndarray:
    samples, follows = _in_groups(group)
    start = np.flatnonzero(~follows)
    size = np.diff(np.append(start, len(samples)))
    if len(size) and size.max() > n_clusters:
        largest = int(np.argmax(size))
        members = samples[start[largest] : start[largest] + size[largest]]
        raise ValueError(
            f"cannot_link is {group[members[0]]} for {len(members)} samples ({some(members)}), which separates "
            f"all of them, but there are {n_clusters} clusters: raise n_clusters or set some of them to -1."
        )
    number = np.cumsum(~follows)
    steps = [np.flatnonzero(number[step:] == number[:-step]) for step in range(1, int(size.max(initial=1)))]
    pairs = [np.stack([samples[i], samples[i + step]], axis=1) for step, i in enumerate(steps, start=1)]
    return np.concatenate([np.empty((0, 2), dtype=np.intp), *pairs])
