"""From samples to a kernel operator."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from numbers import Real
from types import SimpleNamespace

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.utils import check_array
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from sklearn.utils.sparsefuncs import mean_variance_axis

import kernelclust.kernels as package
from kernelclust._names import check_name, load, names
from kernelclust._threads import one_thread
from kernelclust.kernels._extension import (
    ExactFeatures,
    LandmarkFeatures,
    RandomFeatures,
    SimilarityFunction,
)
from kernelclust.kernels._fitted_kernel import FittedKernel
from kernelclust.kernels._loops import size_and_skew
from kernelclust.kernels._low_rank import cholesky_map, guided_cholesky, in_blocks, nystroem_map
from kernelclust.kernels._operators import DenseKernel, LowRankKernel, row_blocks
from kernelclust.kernels._spectrum import check_definite, leading_spectrum

APPROXIMATIONS = (None, "auto", "nystroem", "cholesky", "random_features")
DEFAULT_COMPONENTS = 300
LARGEST = 1e100  # entries of a kernel beyond would overflow in its sums of squares


def kernel_names(*, graphs: bool = True) -> list[str]:
    """Names of kernels; without `graphs`, those for estimators that take no graph in the place of samples."""
    return [*(name for name in names(package) if graphs or name != "precomputed_graph"), "precomputed"]


def fit_kernel(
    X,
    weight: np.ndarray,
    *,
    kernel: str | Callable = "rbf",
    gamma: str | float = "scale",
    degree: float = 3,
    coef0: float = 1,
    kernel_params: dict | None = None,
    n_clusters: int = 8,
    approximation: str | None = "auto",
    n_components: int | None = None,
    rng: np.random.RandomState,
) -> FittedKernel:
    """Turn samples X (validated) into a kernel operator, exactly or by a low-rank factor."""
    method = _choose(kernel, X, approximation, n_components)
    if kernel == "precomputed":
        _given_params(SimpleNamespace(PARAMETERS=()), kernel, kernel_params)
        return _fit_precomputed(X, weight, method, n_components, rng, n_clusters)
    function = SimilarityFunction(kernel)
    given = _given_params(function.part, kernel, kernel_params)
    if hasattr(function.part, "fit"):  # a kernel between the fitted samples only
        return function.part.fit(X, weight, n_clusters=n_clusters, method=method, n_components=n_components, **given)

    resolved = None
    if not callable(kernel):
        function.scale = _safe_unit(X)
        if kernel == "linear" and function.scale != 1.0:
            raise ValueError(
                f"products of entries of X (the largest is {function.scale:.3g} in size) leave floating point; rescale "
                "X, e.g. with sklearn.preprocessing.StandardScaler."
            )
        if getattr(function.part, "TRANSLATION_INVARIANT", False):
            _set_units(function, X, weight)
        settings = {"gamma": gamma, "degree": degree, "coef0": coef0} | given
        if "gamma" in function.part.PARAMETERS:
            power = getattr(function.part, "DISTANCE_POWER", 2)
            settings["gamma"], resolved = _resolve_gamma(settings["gamma"], X, weight, function.scale, power)
        function.params = {name: settings[name] for name in function.part.PARAMETERS}
    else:
        function.params = given
    Z = function.prepare(X)

    with np.errstate(over="ignore", invalid="ignore"):
        if method == "features":
            features: Callable = ExactFeatures(function)
            operator: DenseKernel | LowRankKernel = LowRankKernel(np.asarray(features(X)), weight)
            fitted = FittedKernel(operator, features=features, gamma=resolved)
        elif method is None:
            fitted = FittedKernel(DenseKernel(_gram(function, Z), weight), function, Z, gamma=resolved)
        else:
            fitted = _fit_low_rank(function, X, Z, weight, method, n_components, rng, resolved, n_clusters)
    _check_finite(fitted.operator, X, kernel)
    return fitted


def _choose(kernel, X, approximation: str | None, n_components: int | None) -> str | None:
    """The way to hold the kernel: None (matrix), "features" (exact factor) or an approximation."""
    m, d = X.shape
    part = None if callable(kernel) or kernel == "precomputed" else load(package, kernel)
    if approximation in (None, "auto") and hasattr(part, "features") and not sparse.issparse(X) and d <= max(m // 2, 1):
        return "features"
    if approximation != "auto":
        if approximation == "random_features" and not hasattr(part, "frequencies"):
            raise ValueError(
                f"approximation='random_features' knows kernel='rbf' and 'laplacian', not {kernel!r}; "
                "use approximation='nystroem' or 'cholesky'."
            )
        return approximation
    dense_up_to = getattr(part, "DENSE_UP_TO", None)
    if dense_up_to is not None:
        return None if m <= dense_up_to else "functions"
    budget = get_config()["working_memory"]
    needed = m * m * X.dtype.itemsize / 2**20
    if kernel == "precomputed" or needed <= budget:
        return None
    rank = min(m, n_components or DEFAULT_COMPONENTS)
    warnings.warn(
        f"the {m} x {m} kernel matrix would take {needed:.0f} MiB, more than scikit-learn's working_memory of "
        f"{budget:.0f} MiB: using a Nystrom approximation with {rank} components. Set approximation=None for the exact "
        "kernel, approximation='nystroem' to accept this silently, or sklearn.set_config(working_memory=...).",
        UserWarning,
        stacklevel=7,
    )
    return "nystroem"


def _given_params(part, kernel, kernel_params: dict | None) -> dict:
    given = dict(kernel_params or {})
    if callable(kernel):
        return given
    for name in given:
        if name not in part.PARAMETERS:
            allowed = ", ".join(part.PARAMETERS) or "none"
            raise ValueError(
                f"kernel_params has {name!r}, which kernel={kernel!r} does not take (it takes: {allowed})."
            )
    return given


def _gram(function: SimilarityFunction, Z) -> np.ndarray:
    """K (m x m), made in row blocks by as many threads as scikit-learn would use; the same bits for any number."""
    m = Z.shape[0]
    if callable(function.kernel):
        return check_precomputed(function(Z, Z), "the matrix of the kernel function")
    K = np.empty((m, m), dtype=Z.dtype if Z.dtype in (np.float32, np.float64) else np.float64)

    def fill(rows: slice) -> None:
        K[rows] = function(Z[rows], Z)

    blocks = list(row_blocks(m, m, entries=2**20))
    threads = min(_openmp_effective_n_threads(), len(blocks))
    with one_thread():
        if threads == 1:
            for rows in blocks:
                fill(rows)
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(fill, blocks))
    return K


def _fit_low_rank(function, X, Z, weight, method: str, n_components, rng, resolved, n_clusters) -> FittedKernel:
    m = X.shape[0]
    rank = min(m, n_components or DEFAULT_COMPONENTS)
    features: Callable
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
        diagonal = np.concatenate([np.diagonal(function(Z[rows], Z[rows])) for rows in row_blocks(m, m, 2**16)])
        B, pivots = guided_cholesky(diagonal, lambda index: function(Z, Z[index]), n_components, n_clusters, weight)
        _check_own(function, function(Z[pivots], Z[pivots]))
        features = LandmarkFeatures(function, Z[pivots], cholesky_map(B[pivots]))
    return FittedKernel(LowRankKernel(B, weight, overwrite=True), features=features, gamma=resolved)


def _check_own(function: SimilarityFunction, K: np.ndarray) -> np.ndarray:
    """A part of a kernel must be finite, and of a user's own one symmetric and not far from positive semidefinite."""
    if not np.isfinite(K).all():
        raise ValueError(f"kernel={function.kernel!r} gives values beyond floating point; rescale X or gamma.")
    if not callable(function.kernel):
        return K
    K = check_precomputed(K, "the matrix of the kernel function")
    dense = DenseKernel(K)
    check_definite(leading_spectrum(dense, 1, 1, np.random.RandomState(0)), dense)
    if K.diagonal().min() < 0:
        raise ValueError("the kernel is far from positive semidefinite: k(x, x) is negative for some samples.")
    return K


def _fit_precomputed(K, weight, method: str | None, n_components, rng, n_clusters) -> FittedKernel:
    dense = DenseKernel(K, weight)
    if method is None:
        return FittedKernel(dense)
    check_definite(leading_spectrum(dense, 1, 1, np.random.RandomState(0)), dense)
    rank = min(len(K), n_components or DEFAULT_COMPONENTS)
    if method == "nystroem":
        landmarks = np.sort(rng.choice(len(K), rank, replace=False))
        M = nystroem_map(K[np.ix_(landmarks, landmarks)])
        B = K[:, landmarks] @ M
    else:
        B, landmarks = guided_cholesky(np.diagonal(K), lambda index: K[:, index], n_components, n_clusters, weight)
        M = cholesky_map(B[landmarks])
    return FittedKernel(LowRankKernel(B, weight, overwrite=True), features=LandmarkFeatures(None, landmarks, M))


def _set_units(function: SimilarityFunction, X, weight: np.ndarray) -> None:
    """Let the kernel see X from its mean and, where its squares would leave floating point, in units of its size."""
    function.scale = _safe_unit(X)
    if not sparse.issparse(X):
        function.shift = _mean(X / function.scale, weight) * function.scale


def check_precomputed(K, name: str = "the kernel matrix") -> np.ndarray:
    """A square, finite, symmetric float matrix; a view of the user's where it is one already."""
    K = check_array(K, dtype=[np.float64, np.float32], input_name=name)
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"a precomputed kernel must be square, one row and one column a sample; this is {K.shape}.")
    scale, skew = size_and_skew(K)
    if scale > LARGEST:
        raise ValueError(f"{name} has entries of size {scale:.3g}, too large for sums of squares; rescale it.")
    tolerance = scale * (1e-8 if K.dtype == np.float64 else 1e-4)
    if skew <= tolerance:
        return K
    for rows in row_blocks(*K.shape):
        difference = np.abs(K[rows] - K[:, rows].T)
        if difference.max() > tolerance:
            i, j = np.unravel_index(int(difference.argmax()), difference.shape)
            i += rows.start
            raise ValueError(
                f"the kernel matrix is not symmetric: K[{i}, {j}] = {K[i, j]:.6g} but K[{j}, {i}] = "
                f"{K[j, i]:.6g}. If that is meant, pass (K + K.T) / 2."
            )
    return K


def _check_finite(operator, X, kernel) -> None:
    ok = np.isfinite(operator.mean) if operator.form == "dense" else np.isfinite(operator.offset).all()
    if ok and kernel == "polynomial" and operator.form == "dense":
        raw = float(np.abs(np.diagonal(operator.K)).max())
        if operator.diagonal().max() < 1e-12 * raw and not _is_constant(X, operator.weight, 2):
            raise ValueError(
                "kernel='polynomial' loses the differences between samples in rounding: gamma <x, y> varies too little "
                "beside coef0 or its own size; subtract the column means from X first, or rescale gamma."
            )
    if not ok or not np.abs(operator.diagonal()).max() < LARGEST:
        largest = abs(X).max()
        raise ValueError(
            f"kernel={kernel!r} gives values beyond floating point (the largest entry of X is {largest:.3g} in size); "
            "rescale X, e.g. with sklearn.preprocessing.StandardScaler."
        )


def _safe_unit(X) -> float:
    """1, or the largest entry of X where its square would overflow or vanish."""
    largest = float(abs(X).max())
    limit = 1e100 if X.dtype == np.float64 else 1e12
    return largest if largest > limit or 0 < largest < 1 / limit else 1.0


def _mean(X, weight: np.ndarray) -> np.ndarray:
    return ((weight / weight.sum()) @ X).astype(X.dtype)


def _resolve_gamma(gamma, X, weight: np.ndarray, unit: float, power: int) -> tuple[float, float]:
    """gamma in the kernel's own units, and in the user's.

    "scale" is 1 / mean (squared) distance between samples: 1 / (2 x total variance) for squared distances.
    """
    if isinstance(gamma, str):
        check_name("gamma", gamma, ["scale"], also=", or a positive number")
        scaled = X if unit == 1.0 else X / unit
        inner = 1.0 if _is_constant(scaled, weight, power) else 1.0 / _mean_distance(scaled, weight, power)
        with np.errstate(all="ignore"):
            return inner, float(np.float64(inner) / np.float64(unit) ** power)
    if not isinstance(gamma, Real) or not 0 < float(gamma) < np.inf:
        raise ValueError(f"gamma={gamma!r}: give a positive number or 'scale'.")
    with np.errstate(over="ignore"):
        inner = float(np.float64(float(gamma)) * np.float64(unit) ** power)
    if not np.isfinite(inner):
        raise ValueError(f"gamma={gamma!r} times the distances in X overflows; rescale X or use gamma='scale'.")
    return inner, float(gamma)


def _is_constant(X, weight: np.ndarray, power: int) -> bool:
    """Whether samples differ by no more than rounding."""
    rounding = (4 * np.finfo(X.dtype).eps * float(abs(X).max())) ** power * X.shape[1]
    return _mean_distance(X, weight, power) <= rounding


def _mean_distance(X, weight: np.ndarray, power: int) -> float:
    """Weighted mean over all pairs of |x - y|^2 (power 2) or |x - y|_1 (power 1), exactly and without forming pairs."""
    total = weight.sum()
    if power == 2:
        if sparse.issparse(X):
            return 2 * float(mean_variance_axis(X.tocsr(), axis=0, weights=weight)[1].sum())
        share = weight / total
        centred = X - share @ X
        return 2 * float(share @ np.einsum("ij,ij->i", centred, centred))
    X = X.toarray() if sparse.issparse(X) else X
    order = np.argsort(X, axis=0)
    w = weight[order]
    ranked = 2 * np.cumsum(w, axis=0) - w - total
    return 2 * float((w * ranked * np.take_along_axis(X, order, axis=0)).sum()) / total**2
