"""Links as users give them: pairs of samples, or one number a sample, which cross-validation can divide."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelclust.solvers._constraints import some

EXACT = 2.0**53  # whole numbers that a float holds


@dataclass(frozen=True)
class Links:
    """Pairs of samples (n, 2), and the number of each sample's group (m,) where numbers were given."""

    name: str
    pairs: np.ndarray
    group: np.ndarray | None = None

    def say(self, row: int) -> str:
        """The pair in the words that it was given in."""
        i, j = self.pairs[row].tolist()
        if self.group is None:
            return f"{self.name}[{row}] = [{i}, {j}]"
        return f"{self.name} is {self.group[i]} for samples {i} and {j}"


def check_links(name: str, given: Any, n_samples: int, n_clusters: int) -> Links:
    """Pairs (n, 2) of sample indices, or numbers (m,): samples of one number are linked, -1 with none.

    A must_link group becomes a star around its first sample, a cannot_link group all its pairs.
    """
    nothing = np.empty((0, 2), dtype=np.intp)
    if given is None:
        return Links(name, nothing)
    meaning = "the same for samples that belong together" if name == "must_link" else "the same for samples all apart"
    wanted = (
        f"{name} holds pairs of sample indices, shape (n, 2), whole numbers from 0 to {n_samples - 1}, or one whole "
        f"number a sample, shape ({n_samples},), {meaning}, -1 for none"
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
    if _called_by_cross_validation():
        raise ValueError(
            f"{name} holds pairs, which cannot be used under cross-validation: their indices name samples of the whole "
            f"set, and each fit sees a part of it. Give one whole number a sample instead, {meaning}, -1 for none: it "
            "is divided with the samples."
        )
    return Links(name, _check_pairs(name, array, numbers, n_samples, wanted))


def _check_pairs(name: str, array: np.ndarray, numbers: np.ndarray, n_samples: int, wanted: str) -> np.ndarray:
    wrong = np.flatnonzero(~((numbers >= 0) & (numbers < n_samples) & (numbers == np.floor(numbers))).all(axis=1))
    if len(wrong):
        pair = numbers[wrong[0]]
        far = pair[(pair >= n_samples) & (pair == np.floor(pair))]
        beyond = f" There is no sample {far[0]:.0f}: X has {n_samples}, counted from 0." if len(far) else ""
        raise ValueError(f"{name}[{wrong[0]}] = {array[wrong[0]].tolist()} is no pair of samples: {wanted}.{beyond}")
    pairs = numbers.astype(np.intp)
    same = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if name == "cannot_link" and len(same):
        raise ValueError(f"cannot_link[{same[0]}] = {pairs[same[0]].tolist()} parts a sample from itself.")
    return pairs


def _check_groups(name: str, array: np.ndarray, numbers: np.ndarray, wanted: str) -> np.ndarray:
    if array.dtype.kind in "iu":  # kept as they are: a float would mix up numbers beyond 2^53
        group, good = array, array >= -1
    else:
        good = (numbers >= -1) & (numbers < EXACT) & (numbers == np.floor(numbers))
        group = np.where(good, numbers, -1.0).astype(np.int64)
    if not good.all():
        i = int(np.argmin(good))
        raise ValueError(f"{name}[{i}] = {array[i]} is no number of a group: {wanted}.")
    return group


def _in_groups(group: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Samples that have a number, those of one number next to each other, and which of these follow another."""
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
            f"cannot_link is {group[members[0]]} for {len(members)} samples ({some(members)}), which parts them all "
            f"from each other, but there are {n_clusters} clusters: raise n_clusters or set some of them to -1."
        )
    number = np.cumsum(~follows)
    steps = [np.flatnonzero(number[step:] == number[:-step]) for step in range(1, int(size.max(initial=1)))]
    pairs = [np.stack([samples[i], samples[i + step]], axis=1) for step, i in enumerate(steps, start=1)]
    return np.concatenate([np.empty((0, 2), dtype=np.intp), *pairs])


def _called_by_cross_validation() -> bool:
    """Whether scikit-learn's model selection asked for this fit, itself or through a pipeline of its own.

    The search ends at other callers: code that a user wrote may well make pairs for the samples at hand.
    """
    frame = sys._getframe()
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.startswith("sklearn.model_selection"):
            return True
        if module.split(".")[0] not in ("kernelclust", "sklearn"):
            return False
        frame = frame.f_back  # type: ignore[assignment]
    return False
