"""Units and widths: what distances samples have, and in which precision their similarities can be computed."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from sklearn.metrics import euclidean_distances
from sklearn.utils.sparsefuncs import mean_variance_axis

from kernelclust._arrays import namespace
from kernelclust._warnings import warn

if TYPE_CHECKING:
    from kernelclust.kernels._function import SimilarityFunction

MEDIAN_SAMPLES = 2000
EXTREME, TYPICAL = 50, 150  # samples that single precision is tried on: farthest from the mean, and others
SQUARE_MARGIN = 1e4  # between the largest entry and one whose square is no normal number: others are smaller
ENOUGH = 1e-6  # error of single precision beside the mean centred similarity of a sample with itself


def safe_unit(X) -> float:
    """1, or the largest entry of X where its square would overflow or vanish."""
    largest = float(abs(X).max())
    limit = 1e100 if X.dtype == np.float64 else 1e12
    return largest if largest > limit or 0 < largest < 1 / limit else 1.0


QUANTILE_SAMPLES = 2000  # that quartiles are taken of


def robust_mean(X: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the weighted mean (d,), no farther out than the quartiles: one huge value must not be the origin, beside
    which all others round to the same number.
    """
    some = X[np.unique(np.linspace(0, len(X) - 1, QUANTILE_SAMPLES).astype(int))] if len(X) > QUANTILE_SAMPLES else X
    low, high = np.quantile(some, [0.25, 0.75], axis=0, method="inverted_cdf")  # values of X: a constant is itself
    return np.clip((weight / weight.sum()) @ X, low, high)


def set_units(function: SimilarityFunction, X, weight: np.ndarray) -> None:
    """Let the kernel see X from its mean and, where its squares would leave floating point, in units of its size."""
    function.scale = safe_unit(X)
    if not sparse.issparse(X):
        scaled = X if function.scale == 1.0 else X / function.scale
        mean = robust_mean(scaled, weight) * function.scale
        function.shift = np.clip(mean, X.min(axis=0), X.max(axis=0))  # rounded, a constant's would be another number


def resolve_gamma(gamma, X, weight: np.ndarray, unit: float, power: int) -> tuple[float, float]:
    """Gamma in the kernel's own units, and in the user's.

    "scale" is 1 / mean (squared) distance between samples: 1 / (2 x total variance) for squared distances. "median" is
    1 / (2 x squared median distance), or "scale" where that is zero.
    """
    if isinstance(gamma, str):
        scaled = X if unit == 1.0 else X / unit
        inner = median_gamma(scaled, weight) if gamma == "median" else None
        if inner is None:
            inner = natural_gamma(mean_distance(scaled, weight, power), _rounding(scaled, power))
        with np.errstate(all="ignore"):
            resolved = float(np.float64(inner) / np.float64(unit) ** power)
        if not 0 < resolved < np.inf:
            warn(
                f"gamma is {resolved:g}: X has entries of size {unit:.3g}, so that gamma overflows or underflows. "
                "The kernel was computed on rescaled data, so labels are not affected; rescale X to use the width."
            )
        return inner, resolved
    if not isinstance(gamma, Real) or not 0 < float(gamma) < np.inf:
        raise ValueError(f"gamma={gamma!r}: give a positive number or 'scale'.")
    with np.errstate(over="ignore"):
        inner = float(np.float64(float(gamma)) * np.float64(unit) ** power)
    if not np.isfinite(inner):
        raise ValueError(f"gamma={gamma!r} times the distances in X overflows; rescale X or use gamma='scale'.")
    return inner, float(gamma)


def natural_gamma(distance: float, rounding: float = 0.0) -> float:
    """Return 1 / the mean (squared) distance between samples; 1 where that is rounding."""
    return 1.0 if distance <= rounding else 1.0 / distance


def check_squares(size: float, smallest_normal: float) -> None:
    """Refuse samples whose largest entry has a square beyond this floating point: they are not rescaled in partitions
    and on devices.
    """
    limit = SQUARE_MARGIN * smallest_normal**0.5
    if size > 1 / limit or 0 < size < limit:
        raise ValueError(
            f"X has entries of size {size:.3g}, whose squares overflow or underflow; rescale X, e.g. with "
            "sklearn.preprocessing.StandardScaler."
        )


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


def is_constant(X, weight: np.ndarray, power: int = 2) -> bool:
    """Return whether samples differ by no more than rounding."""
    return mean_distance(X, weight, power) <= _rounding(X, power)


def _rounding(X, power: int) -> float:
    with np.errstate(over="ignore"):
        return float(np.float64(4 * np.finfo(X.dtype).eps * abs(X).max()) ** power * X.shape[1])


def mean_distance(X, weight: np.ndarray, power: int) -> float:
    """Weighted mean over all pairs of |x - y|^2 (power 2) or |x - y|_1 (power 1), exactly and without forming pairs."""
    if not isinstance(X, np.ndarray) and not sparse.issparse(X):
        return _mean_distance_there(X, weight, power)
    total = weight.sum()
    if power == 2:
        if sparse.issparse(X):
            return 2 * float(mean_variance_axis(X.tocsr().astype(np.float64), axis=0, weights=weight)[1].sum())
        share = weight / total
        centred = X - share @ X
        return 2 * float(share @ np.einsum("ij,ij->i", centred, centred))
    X = X.toarray() if sparse.issparse(X) else X
    order = np.argsort(X, axis=0)
    w = weight[order]
    ranked = 2 * np.cumsum(w, axis=0) - w - total
    return 2 * float((w * ranked * np.take_along_axis(X, order, axis=0)).sum()) / total**2


def _mean_distance_there(X, weight, power: int) -> float:
    """Return the same for arrays of the array API on a device, column by column: memory is short there."""
    xp = namespace(X)
    total, distance = float(xp.sum(weight)), 0.0
    for j in range(X.shape[1]):
        x = xp.astype(X[:, j], xp.float64)
        if power == 2:
            x = x - xp.sum(weight * x) / total
            distance += 2 * float(xp.sum(weight * x * x)) / total
        else:
            order = xp.argsort(x)
            w = xp.take(weight, order)
            ranked = 2 * xp.cumulative_sum(w) - w - total
            distance += 2 * float(xp.sum(w * ranked * xp.take(x, order))) / total**2
    return distance


def single_is_enough(function: SimilarityFunction, Z) -> bool:
    """Return whether single precision keeps the similarities that clusters depend on. This is tried on the farthest
    samples, where distances cancel, and on some others.
    """
    size = np.asarray(Z.multiply(Z).sum(axis=1)).ravel() if sparse.issparse(Z) else np.einsum("ij,ij->i", Z, Z)
    far = np.argpartition(-size, min(EXTREME, len(size) - 1))[:EXTREME]
    some = np.unique(np.concatenate([far, np.linspace(0, len(size) - 1, TYPICAL).astype(int)]))
    exact = function(Z[some], Z[some])
    if not function.kernel.is_trusted:  # it is called as the user knows it; only what it returns is shortened
        rounded = exact.astype(np.float32)
    else:
        few = Z[some].astype(np.float32)
        rounded = function(few, few)
    spread = float(np.mean(np.diagonal(exact)) - exact.mean())
    error = float(np.abs(rounded - exact).max())
    return bool(np.isfinite(error) and error <= ENOUGH * spread)
