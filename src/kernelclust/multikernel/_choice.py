"""Which kernels each view is to have, and how wide."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from sklearn.metrics import euclidean_distances

from kernelclust._names import check_name, check_number
from kernelclust.kernels import check_kernel_params, is_pairwise, kernel_names

MEDIAN_SAMPLES = 2000

Kernel = tuple[Any, dict[str, Any]]


def kernels_of(kernels, n_views: int) -> list[list[Kernel]]:
    """Kernels, each with its parameters, for every view."""
    if not isinstance(kernels, list):
        return [[_one(kernels)] for _ in range(n_views)]
    if not kernels:
        raise ValueError("kernels is empty; give at least one kernel, or 'auto'.")
    if n_views == 1:
        return [[_one(kernel) for kernel in kernels]]
    if len(kernels) != n_views:
        raise ValueError(
            f"kernels lists {len(kernels)} for {n_views} views: give one for each view (or a list of several for it)."
        )
    return [[_one(k) for k in kernel] if isinstance(kernel, list) else [_one(kernel)] for kernel in kernels]


def is_auto(kernels) -> bool:
    """Whether nothing was chosen."""
    return isinstance(kernels, str) and kernels == "auto"


def pairwise_kernel(kernels) -> Kernel | None:
    """The kernel and its parameters where X holds similarities, as in "precomputed" or ("precomputed", {...})."""
    kernel, params = _split(kernels)
    return (kernel, check_kernel_params(kernel, params)) if is_pairwise(kernel) else None


def _split(kernel) -> Kernel:
    """A kernel and its parameters."""
    if isinstance(kernel, tuple) and len(kernel) == 2 and isinstance(kernel[1], Mapping):
        return kernel[0], dict(kernel[1])
    return kernel, {}


def _one(kernel) -> Kernel:
    if isinstance(kernel, Real) and not isinstance(kernel, bool):
        check_number("gamma in kernels", kernel, above=True)
        return "rbf", {"gamma": float(kernel)}
    kernel, params = _split(kernel)
    if not callable(kernel):
        known = [name for name in kernel_names() if not is_pairwise(name)]
        also = ", a function k(X, Y), a number (gamma of 'rbf'), or (kernel, {parameter: value})"
        check_name("kernel", kernel, known, also=also)
    if isinstance(kernel, str):
        check_kernel_params(kernel, params)
    if kernel == "rbf":
        params = {"gamma": "median"} | params
    return kernel, params


def median_gamma(X, weight: np.ndarray) -> float | None:
    """1 / (2 s^2), s the median distance between samples and their copies (of at most 2000); None where it is zero."""
    n = X.shape[0]
    if n > MEDIAN_SAMPLES:
        chosen = np.sort(np.random.RandomState(0).choice(n, MEDIAN_SAMPLES, replace=False))
        X, weight = X[chosen], weight[chosen]
    with np.errstate(all="ignore"):
        middle = _median_squared_distance(X, weight)
        gamma = 1 / (2 * np.float64(middle))
    return float(gamma) if 0 < gamma < np.inf else None


def _median_squared_distance(X, weight: np.ndarray) -> float:
    """Median over pairs of samples and their copies; zero for a single one."""
    n = X.shape[0]
    squared = euclidean_distances(X, squared=True)
    if np.all(weight == 1):
        at = n + n * (n - 1) // 2  # behind the n zeros of the diagonal every pair stands twice
        return float(np.partition(squared.ravel(), (at - 1, at))[at - 1 : at + 1].mean()) if n > 1 else 0.0
    pairs = np.triu_indices(n, 1)
    order = np.argsort(squared[pairs])
    value = np.concatenate([[0.0], squared[pairs][order]])
    copies = float(np.maximum(weight * (weight - 1), 0).sum()) / 2  # pairs of copies of one sample
    share = np.cumsum(np.concatenate([[copies], (weight[pairs[0]] * weight[pairs[1]])[order]]))
    half = share[-1] / 2
    slack = 1e-9 * share[-1]
    lower, upper = np.searchsorted(share, half - slack), np.searchsorted(share, half + slack)
    return float(value[lower] + value[min(upper, len(value) - 1)]) / 2
