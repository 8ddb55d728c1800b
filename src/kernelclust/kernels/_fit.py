"""From samples to a kernel operator and the means to compare new samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.utils import check_array

import kernelclust.kernels as package
from kernelclust._names import check_keywords, keywords, load, names
from kernelclust._warnings import warn
from kernelclust.kernels import _tiles
from kernelclust.kernels._fitted_kernel import FittedKernel
from kernelclust.kernels._function import SimilarityFunction
from kernelclust.kernels._low_rank import cholesky_map, guided_cholesky, in_blocks, nystroem_map
from kernelclust.kernels._new_samples import (
    ExactFeatures,
    Features,
    Function,
    LandmarkFeatures,
    RandomFeatures,
)
from kernelclust.kernels._scale import is_constant, resolve_gamma, safe_unit, set_units, single_is_enough
from kernelclust.kernels._spectrum import check_definite
from kernelclust.kernels.operators import DenseKernel, KernelOperator, LowRankKernel, TiledKernel

APPROXIMATIONS = (None, "auto", "nystroem", "cholesky", "random_features")
DEFAULT_COMPONENTS = 300
LOST = 1e-12  # share of a kernel's entries up to which differences between samples are rounding
IN_ROUNDING = (
    "kernel='polynomial' loses the differences between samples in rounding: gamma <x, y> varies too little beside "
    "coef0 or its own size; subtract the column means from X first, or rescale gamma."
)
OF_A_FUNCTION = ", or clip the negative eigenvalues of its matrix"
TRIED = 1000  # rows and columns of a matrix whose entries say what is typical
LARGEST = 1e100  # entries of a kernel beyond would overflow in its sums of squares
DOUBLE_UP_TO = 4096  # samples whose similarities are kept in double precision; beyond, in single where that is enough
TILE = 256  # rows and columns of a kernel that are looked at together
EXACT_UP_TO = 25_000  # samples up to which approximation="auto" is exact, stored or not
FITTED_KEYWORDS = ("n_clusters", "method", "n_components", "rng", "center")  # that a kernel file's `fit` is given


def kernel_names() -> list[str]:
    return names(package)


def kernel_part(kernel: str | Callable) -> Any:
    """The file of a named kernel; None for the user's own function."""
    return None if callable(kernel) else load(package, kernel)


def is_pairwise(kernel: object) -> bool:
    """Whether X holds similarities between samples instead of samples."""
    return (
        isinstance(kernel, str) and kernel in kernel_names() and bool(getattr(kernel_part(kernel), "PAIRWISE", False))
    )


def kernel_parameters(kernel: str | Callable) -> list[str]:
    """What `kernel_params` may hold for a named kernel."""
    part = kernel_part(kernel)
    taken = keywords(part.fit if hasattr(part, "fit") else part.block)
    return [name for name in taken if name not in FITTED_KEYWORDS]


def check_kernel_params(kernel: str | Callable, kernel_params: dict | None) -> dict:
    if callable(kernel):
        return dict(kernel_params or {})
    given = check_keywords("kernel_params", kernel_params, f"kernel={kernel!r}", kernel_parameters(kernel))
    getattr(kernel_part(kernel), "check_params", dict)(**given)
    return given


def fit_kernel(
    X,
    weight: np.ndarray,
    *,
    kernel: str | Callable = "rbf",
    gamma: str | float = "scale",
    kernel_params: dict | None = None,
    n_clusters: int = 8,
    approximation: str | None = "auto",
    n_components: int | None = None,
    n_kernels: int = 1,
    center: bool = True,
    rng: np.random.RandomState,
) -> FittedKernel:
    """Turn samples X (validated) into a kernel operator: exact, in memory or not, or by a low-rank factor.

    `n_kernels` share the memory budget. `center=False` leaves the kernel as it is.
    """
    given = check_kernel_params(kernel, kernel_params)
    part = kernel_part(kernel)
    if approximation == "random_features" and not hasattr(part, "frequencies"):
        raise ValueError(
            f"approximation='random_features' knows kernel='rbf' and 'laplacian', not {kernel!r}; "
            "use approximation='nystroem' or 'cholesky'."
        )
    if hasattr(part, "fit"):
        method = _fitted_method(part, X, approximation)
        options = {"n_clusters": n_clusters, "method": method, "n_components": n_components, "rng": rng}
        taken = keywords(part.fit)
        options["center"] = center
        if not center and "center" not in taken:
            raise ValueError(f"kernel={kernel!r} knows differences between samples only: it cannot be left uncentred.")
        return part.fit(X, weight, **{name: options[name] for name in options if name in taken}, **given)
    function = SimilarityFunction(kernel)
    resolved = None
    if callable(kernel):
        function.params = given
    else:
        resolved = _set_parameters(function, X, weight, gamma, given, center)
    method, dtype = _choose(function, X, approximation, n_components, n_kernels)
    with np.errstate(over="ignore", invalid="ignore"):
        if method == "features":
            features = ExactFeatures(function)
            fitted = FittedKernel(
                LowRankKernel(np.asarray(features(X)), weight, center=center), Features(features), resolved
            )
        elif method in ("stored", "tiled"):
            fitted = _fit_exact(function, X, weight, method, dtype, center, resolved)
        else:
            fitted = _fit_low_rank(function, X, weight, method, n_components, rng, resolved, n_clusters, center)
    _check_finite(fitted.operator, X, kernel)
    return replace(fitted, remedy=OF_A_FUNCTION) if callable(kernel) else fitted


def _set_parameters(function: SimilarityFunction, X, weight, gamma, given: dict, center: bool) -> float | None:
    """Units, width and other parameters of a named kernel; returns the width in the user's units."""
    part, resolved = function.part, None
    if getattr(part, "TRANSLATION_INVARIANT", False) and (center or not getattr(part, "ONCE_CENTRED", False)):
        set_units(function, X, weight)
    else:
        function.scale = safe_unit(X)
    if function.kernel == "linear" and function.scale != 1.0:
        raise ValueError(
            f"products of entries of X (the largest is {function.scale:.3g} in size) leave floating point; rescale "
            "X, e.g. with sklearn.preprocessing.StandardScaler."
        )
    function.params = dict(given)
    if "gamma" in keywords(part.block):
        power = getattr(part, "DISTANCE_POWER", 2)
        function.params["gamma"], resolved = resolve_gamma(given.get("gamma", gamma), X, weight, function.scale, power)
    return resolved


def _fitted_method(part, X, approximation: str | None) -> str | None:
    """How a kernel between fitted samples is held: None (matrix), "functions", or an approximation of the matrix."""
    if approximation != "auto":
        return approximation
    dense_up_to = getattr(part, "DENSE_UP_TO", np.inf)
    return None if X.shape[0] <= dense_up_to else "functions"


def _choose(function: SimilarityFunction, X, approximation, n_components, n_kernels: int) -> tuple[str, Any]:
    """The way to hold a kernel function ("features", "stored", "tiled" or an approximation) and its precision."""
    m, d = X.shape
    part = function.part
    if approximation in (None, "auto") and hasattr(part, "features") and not sparse.issparse(X) and d <= max(m // 2, 1):
        return "features", None
    if approximation not in (None, "auto"):
        return approximation, None
    if approximation == "auto" and m > EXACT_UP_TO:
        rank = min(m, n_components or DEFAULT_COMPONENTS)
        warn(
            f"{m} samples are many for an exact kernel: using a Nystrom approximation with {rank} components. Set "
            f"approximation=None for the exact kernel (one pass over it takes about {m * m * 3e-9:.0f} s on two "
            "cores), or approximation='nystroem' to accept this silently."
        )
        return "nystroem", None
    single = m > DOUBLE_UP_TO and single_is_enough(function, function.prepare(X))
    dtype = np.float32 if single else np.float64
    fits = n_kernels * m * m * np.dtype(dtype).itemsize / 2**20 <= get_config()["working_memory"]
    return "stored" if fits else "tiled", dtype


def _fit_exact(function: SimilarityFunction, X, weight, method: str, dtype, center: bool, gamma) -> FittedKernel:
    if not callable(function.kernel):
        function.dtype = dtype
    Z = function.prepare(X)
    source = Function(function, Z)
    if callable(function.kernel):
        whole = X.shape[0] <= DOUBLE_UP_TO
        if whole:  # the user's function is called once, and all it says is checked
            K = check_precomputed(function(Z, Z), "the matrix of the kernel function")
            return FittedKernel(DenseKernel(K, weight, center=center), source)
        _check_part(function, Z)
    if method == "tiled":
        return FittedKernel(TiledKernel(function, Z, weight, dtype=dtype, center=center), source, gamma)
    share = weight / weight.sum() if center else np.zeros(len(weight))
    moments = _tiles.Moments(weight, share, dtype)
    K = _tiles.matrix(function, Z, dtype, moments)
    operator = DenseKernel(K, weight, center=center, sums=(moments.row_mean, moments.square))
    return FittedKernel(operator, source, gamma)


def _fit_low_rank(function, X, weight, method: str, n_components, rng, gamma, n_clusters, center) -> FittedKernel:
    if not callable(function.kernel):
        function.dtype = np.float64
    m, Z = X.shape[0], function.prepare(X)
    rank = min(m, n_components or DEFAULT_COMPONENTS)
    features: Callable
    _check_differences(function, X, Z, weight)
    if method == "random_features":
        rank = n_components or DEFAULT_COMPONENTS
        W = function.part.frequencies(X.shape[1], max(rank // 2, 1), rng, gamma=function.params["gamma"])
        features = RandomFeatures(function, W.astype(Z.dtype))
        B = in_blocks(lambda rows: features(X[rows]), m, 2 * W.shape[1], Z.dtype, rank)
    elif method == "nystroem":
        landmarks = Z[np.sort(rng.choice(m, rank, replace=False))]
        M = nystroem_map(_check_own(function, function(landmarks, landmarks))).astype(Z.dtype)
        features = LandmarkFeatures(function, landmarks, M)
        B = in_blocks(lambda rows: function(Z[rows], landmarks) @ M, m, M.shape[1], Z.dtype, rank)
    else:
        B, pivots = guided_cholesky(
            function.own(Z), lambda index: function(Z, Z[index]), n_components, n_clusters, weight
        )
        _check_own(function, function(Z[pivots], Z[pivots]))
        features = LandmarkFeatures(function, Z[pivots], cholesky_map(B[pivots]))
    return FittedKernel(LowRankKernel(B, weight, center=center, overwrite=True), Features(features), gamma)


def _check_differences(function: SimilarityFunction, X, Z, weight: np.ndarray) -> None:
    """Refuse a factor of a polynomial kernel whose differences between samples are lost in rounding, tried on some."""
    some = np.unique(np.linspace(0, Z.shape[0] - 1, DEFAULT_COMPONENTS).astype(int))
    if function.kernel != "polynomial" or is_constant(X, weight):
        return
    K = function(Z[some], Z[some])
    if not np.abs(K).max() < LARGEST:
        return  # which is said elsewhere
    own = DenseKernel(K)
    if own.diagonal().max() < LOST * own.raw_size() and not is_constant(X[some], weight[some]):
        raise ValueError(IN_ROUNDING)


def low_rank_matrix(
    K: np.ndarray, weight, method: str, n_components, rng, n_clusters: int, center: bool = True
) -> FittedKernel:
    """A factor of a given matrix, by some of its columns; new samples bring similarities with the fitted ones."""
    rank = min(len(K), n_components or DEFAULT_COMPONENTS)
    if method == "nystroem":
        landmarks = np.sort(rng.choice(len(K), rank, replace=False))
        M = nystroem_map(K[np.ix_(landmarks, landmarks)])
        B = K[:, landmarks] @ M
    else:
        B, landmarks = guided_cholesky(np.diagonal(K), lambda index: K[:, index], n_components, n_clusters, weight)
        M = cholesky_map(B[landmarks])
    operator = LowRankKernel(B, weight, center=center, overwrite=True)
    return FittedKernel(operator, Features(LandmarkFeatures(None, landmarks, M)))


def _check_part(function: SimilarityFunction, Z) -> None:
    """Try a user's own function on some samples before it is called for all."""
    some = np.linspace(0, Z.shape[0] - 1, DEFAULT_COMPONENTS).astype(int)
    _check_own(function, function(Z[some], Z[some]))


def _check_own(function: SimilarityFunction, K: np.ndarray) -> np.ndarray:
    """A part of a kernel must be finite, and of a user's own one symmetric and not far from positive semidefinite."""
    if not np.isfinite(K).all():
        raise ValueError(f"kernel={function.kernel!r} gives values beyond floating point; rescale X or gamma.")
    if not callable(function.kernel):
        return K
    K = check_precomputed(K, "the matrix of the kernel function")
    check_definite(DenseKernel(K), OF_A_FUNCTION)
    if K.diagonal().min() < 0:
        raise ValueError("the kernel is far from positive semidefinite: k(x, x) is negative for some samples.")
    return K


def size_and_skew(K: np.ndarray, own: np.ndarray, typical: float) -> tuple[float, float, int, int]:
    """Largest |K_ij|; and where |K_ij - K_ji| is largest beside |K_ij|, |K_ji|, own_i own_j and `typical`, whichever is
    larger: (size, ratio, i, j). Tile by tile, so that rows and columns are read once."""
    largest, worst, at = 0.0, 0.0, (0, 0)
    for a, b in combinations_with_replacement(range(0, len(K), TILE), 2):
        rows, columns = slice(a, a + TILE), slice(b, b + TILE)
        X, Y = K[rows, columns], K[columns, rows].T
        size = np.maximum(np.abs(X), np.abs(Y))
        largest = max(largest, float(size.max()))
        skew = np.abs(X - Y)
        if not skew.any():
            continue
        ratio = skew / np.maximum(np.maximum(size, typical), np.outer(own[rows], own[columns]))
        i, j = np.unravel_index(int(ratio.argmax()), ratio.shape)
        if ratio[i, j] > worst:
            worst, at = float(ratio[i, j]), (a + int(i), b + int(j))
    return largest, worst, *at


def check_precomputed(K, name: str = "the kernel matrix") -> np.ndarray:
    """A square, finite, symmetric float matrix; a view of the user's where it is one already."""
    K = check_array(K, dtype=[np.float64, np.float32], input_name=name)
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"a precomputed kernel must be square, one row and one column a sample; this is {K.shape}.")
    own = np.sqrt(np.abs(np.diagonal(K)).astype(np.float64))  # |k(x, y)| is at most own(x) own(y), and so is rounding
    step = -(-len(K) // TRIED)
    typical = float(np.median(np.abs(K[::step, ::step])))
    size, skew, i, j = size_and_skew(K, own, typical)
    if size > LARGEST:
        raise ValueError(f"{name} has entries of size {size:.3g}, too large for sums of squares; rescale it.")
    if skew > (1e-8 if K.dtype == np.float64 else 1e-4):
        raise ValueError(
            f"the kernel matrix is not symmetric: K[{i}, {j}] = {K[i, j]:.6g} but K[{j}, {i}] = {K[j, i]:.6g}. If that "
            "is meant, pass (K + K.T) / 2."
        )
    return K


def _check_finite(operator: KernelOperator, X, kernel) -> None:
    """Refuse a kernel that left floating point, or whose differences between samples are lost in rounding."""
    raw = operator.raw_size()
    if raw < LARGEST:
        own = operator.diagonal() if operator.cheap else np.array([raw])
        if np.isfinite(own).all() and np.abs(own).max() < LARGEST:
            lost = kernel == "polynomial" and operator.factor is None and own.max() < LOST * raw
            if lost and not is_constant(X, operator.weight):
                raise ValueError(IN_ROUNDING)
            return
    raise ValueError(
        f"kernel={kernel!r} gives values beyond floating point (the largest entry of X is {abs(X).max():.3g} in size); "
        "rescale X, e.g. with sklearn.preprocessing.StandardScaler."
    )
