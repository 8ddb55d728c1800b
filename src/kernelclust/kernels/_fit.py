"""From samples to a kernel operator and the means to compare new samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config

import kernelclust.kernels as package
from kernelclust._names import check_name
from kernelclust._terms import as_term, term_class, term_names
from kernelclust._warnings import warn
from kernelclust.kernels import _tiles, approximations
from kernelclust.kernels._base import Kernel
from kernelclust.kernels._fitted_kernel import FittedKernel
from kernelclust.kernels._function import FunctionKernel, SimilarityFunction
from kernelclust.kernels._matrix import LARGEST, OF_A_FUNCTION, check_block, check_precomputed
from kernelclust.kernels._new_samples import ExactFeatures, Features, Function
from kernelclust.kernels._scale import is_constant, safe_unit, set_units, single_is_enough
from kernelclust.kernels.approximations import Approximation
from kernelclust.kernels.approximations.nystroem import AutoApproximation
from kernelclust.kernels.operators import DenseKernel, KernelOperator, LowRankKernel, TiledKernel

LOST = 1e-12  # share of a kernel's entries up to which differences between samples are rounding
IN_ROUNDING = (
    "kernel='polynomial' loses the differences between samples in rounding: gamma <x, y> varies too little beside "
    "coef0 or its own size; subtract the column means from X first, or rescale gamma."
)
DOUBLE_UP_TO = 4096  # samples whose similarities are kept in double precision; beyond, in single where that is enough
TRIED = 300  # samples that a kernel is tried on before it is computed for all


# -- from what users write to objects ----------------------------------------------------------------------------------


def kernel_names() -> list[str]:
    """List the names of the kernels."""
    return term_names(package)


def as_kernel(kernel: Any, *, also: str = ", or a function k(X, Y)") -> Kernel:
    """Return the kernel that a user gave as an object, a name or a function."""
    if callable(kernel) and not isinstance(kernel, type):
        return FunctionKernel(kernel)
    return as_term(kernel, Kernel, package, also=also)


def kernel_class(kernel: Any) -> type[Kernel]:
    """Return the class that declares what a kernel can do; the base class for what is no kernel."""
    if isinstance(kernel, str) and kernel in kernel_names():
        found: type[Kernel] = term_class(package, kernel)
        return found
    return type(kernel) if isinstance(kernel, Kernel) else Kernel


def as_approximation(approximation: Any) -> Approximation | None:
    """Return the approximation that a user gave as an object or a name; None is the exact kernel."""
    if approximation is None:
        return None
    if isinstance(approximation, str):
        if approximation == "auto":
            return AutoApproximation()
        check_name("approximation", approximation, [None, "auto", *term_names(approximations)])
    return as_term(approximation, Approximation, approximations, also=", 'auto' or None")


# -- fitting -----------------------------------------------------------------------------------------------------------


def fit_kernel(
    X,
    weight: np.ndarray,
    *,
    kernel: Kernel | str | Callable = "rbf",
    approximation: Approximation | str | None = "auto",
    n_clusters: int = 8,
    n_kernels: int = 1,
    center: bool = True,
    rng: np.random.RandomState,
) -> FittedKernel:
    """Turn samples X (validated) into a kernel operator: exact, in memory or not, or by a low-rank factor.

    `n_kernels` share the memory budget. `center=False` leaves the kernel as it is.
    """
    kernel, approximation = as_kernel(kernel), as_approximation(approximation)
    if approximation is not None:
        approximation.check_kernel(kernel)
        if approximation.is_auto and (X.shape[0] <= kernel.dense_limit or _by_features(kernel, X)):
            approximation = None
    if kernel.is_function:
        return _fit_function(kernel, X, weight, approximation, n_clusters, n_kernels, center, rng)
    if not (center or kernel.has_uncentred_form):
        raise ValueError(
            f"kernel={kernel.name!r} depends on differences between samples only: it cannot be left uncentred."
        )
    return kernel.fit(X, weight, n_clusters=n_clusters, approximation=approximation, center=center, rng=rng)


def _fit_function(
    kernel: Kernel, X, weight, approximation: Approximation | None, n_clusters: int, n_kernels: int, center: bool, rng
) -> FittedKernel:
    function, gamma = _in_units(kernel, X, weight, center)
    with np.errstate(over="ignore", invalid="ignore"):
        if approximation is not None:
            fitted = _fit_low_rank(function, X, weight, approximation, gamma, n_clusters, center, rng)
        elif _by_features(kernel, X):
            features = ExactFeatures(function)
            fitted = FittedKernel(
                LowRankKernel(np.asarray(features(X)), weight, center=center), Features(features), gamma
            )
        else:
            fitted = _fit_exact(function, X, weight, n_kernels, center, gamma)
    _check_finite(fitted.operator, X, kernel)
    return fitted if kernel.is_trusted else replace(fitted, remedy=OF_A_FUNCTION)


def _by_features(kernel: Kernel, X) -> bool:
    """Return whether exact features are fewer than samples."""
    m, d = X.shape
    return kernel.has_features and not sparse.issparse(X) and d <= max(m // 2, 1)


def _in_units(kernel: Kernel, X, weight: np.ndarray, center: bool) -> tuple[SimilarityFunction, float | None]:
    """Return the kernel in units that floating point bears, and gamma in the user's units."""
    function = SimilarityFunction(kernel)
    if not kernel.is_trusted:  # it is called with samples as they are
        return function, None
    if kernel.translation_invariant and (center or not kernel.invariant_once_centred):
        set_units(function, X, weight)
    else:
        function.scale = safe_unit(X)
    if not kernel.has_free_units and function.scale != 1.0:
        raise ValueError(
            f"products of entries of X (the largest is {function.scale:.3g} in size) overflow or underflow; rescale "
            "X, e.g. with sklearn.preprocessing.StandardScaler."
        )
    function.kernel, gamma = kernel.in_units(X, weight, function.scale)
    return function, gamma


def _fit_exact(
    function: SimilarityFunction, X, weight, n_kernels: int, center: bool, gamma: float | None
) -> FittedKernel:
    m = X.shape[0]
    single = m > DOUBLE_UP_TO and single_is_enough(function, function.prepare(X))
    dtype: Any = np.float32 if single else np.float64
    stored = n_kernels * m * m * np.dtype(dtype).itemsize / 2**20 <= get_config()["working_memory"]
    if function.kernel.is_trusted:
        function.dtype = dtype
    Z = _own(function.prepare(X), X)
    source = Function(function, Z)
    if not function.kernel.is_trusted:
        if m <= DOUBLE_UP_TO:  # the user's function is called once, and all it says is checked
            K = check_precomputed(function(Z, Z), "the matrix of the kernel function")
            return FittedKernel(DenseKernel(K, weight, center=center), source)
        some = np.linspace(0, m - 1, TRIED).astype(int)
        check_block(function.kernel, function(Z[some], Z[some]))
    if not stored:
        return FittedKernel(TiledKernel(function, Z, weight, dtype=dtype, center=center), source, gamma)
    share = weight / weight.sum() if center else np.zeros(len(weight))
    moments = _tiles.Moments(weight, share, dtype)
    K = _tiles.matrix(function, Z, dtype, moments)
    operator = DenseKernel(K, weight, center=center, sums=(moments.row_mean, moments.square))
    return FittedKernel(operator, source, gamma)


def _own(Z, X):
    """Return prepared samples that no longer change with the caller's X: new samples are compared with them."""
    one, other = (part.data if sparse.issparse(part) else part for part in (Z, X))
    return Z.copy() if np.may_share_memory(one, other) else Z


def _fit_low_rank(
    function: SimilarityFunction, X, weight, approximation: Approximation, gamma, n_clusters: int, center: bool, rng
) -> FittedKernel:
    if approximation.is_auto:
        m = X.shape[0]
        warn(
            f"{m} samples are many for an exact kernel: using a Nystrom approximation with "
            f"{min(m, approximation.rank)} components. Set approximation=None for the exact kernel (one pass over it "
            f"takes about {m * m * 3e-9:.0f} s on two cores), or approximation='nystroem' to accept this silently."
        )
    if function.kernel.is_trusted:
        function.dtype = np.float64
    Z = function.prepare(X)
    _check_differences(function, X, Z, weight)
    B, features = approximation.factor(function, X, Z, weight, n_clusters, rng)
    return FittedKernel(LowRankKernel(B, weight, center=center, overwrite=True), Features(features), gamma)


def _check_differences(function: SimilarityFunction, X, Z, weight: np.ndarray) -> None:
    """Refuse a factor of a polynomial kernel whose differences between samples are lost in rounding, tried on some."""
    some = np.unique(np.linspace(0, Z.shape[0] - 1, TRIED).astype(int))
    if not function.kernel.cancels or is_constant(X, weight):
        return
    K = function(Z[some], Z[some])
    if not np.abs(K).max() < LARGEST:
        return  # which is said elsewhere
    own = DenseKernel(K)
    if own.diagonal().max() < LOST * own.raw_size() and not is_constant(X[some], weight[some]):
        raise ValueError(IN_ROUNDING)


def _check_finite(operator: KernelOperator, X, kernel: Kernel) -> None:
    """Refuse a kernel that left floating point, or whose differences between samples are lost in rounding."""
    raw = operator.raw_size()
    if raw < LARGEST:
        own = operator.diagonal() if operator.cheap else np.array([raw])
        if np.isfinite(own).all() and np.abs(own).max() < LARGEST:
            lost = kernel.cancels and operator.factor is None and own.max() < LOST * raw
            if lost and not is_constant(X, operator.weight):
                raise ValueError(IN_ROUNDING)
            return
    raise ValueError(
        f"kernel={kernel.name!r} gives values that are not finite (the largest entry of X is {abs(X).max():.3g} in "
        "size); rescale X, e.g. with sklearn.preprocessing.StandardScaler."
    )
