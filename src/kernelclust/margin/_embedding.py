"""Coordinates in which a kernel is an inner product, and decision functions for new samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, svds
from sklearn.decomposition import PCA

from kernelclust.kernels import (
    Approximation,
    ExactFeatures,
    FittedKernel,
    Kernel,
    SimilarityFunction,
    as_kernel,
    fit_kernel,
    leading_spectrum,
    safe_unit,
)
from kernelclust.margin.cutting_plane import CuttingPlane

RANK = 100  # directions of a kernel, or of samples with many features, unless asked for more
MANY_FEATURES = 300
ROUNDING = 1e-14  # share of an uncentred kernel's entries that is rounding
SMALLEST = 1e-290  # of leading eigenvalues: coefficients are in units of its inverse
NEGLIGIBLE = 1e-10  # share of the largest eigenvalue below which there is nothing but rounding


@dataclass(frozen=True)
class LinearDecision:
    """x -> features(x) . coef + intercept."""

    features: Callable
    coef: np.ndarray  # (d, c)
    intercept: np.ndarray

    def __call__(self, X) -> np.ndarray:
        return self.features(X) @ self.coef + self.intercept


@dataclass(frozen=True)
class KernelDecision:
    """x -> sum_i k(x, x_i) a_i + intercept, k centred."""

    combination: Callable
    intercept: np.ndarray

    def __call__(self, X) -> np.ndarray:
        return self.combination(X) + self.intercept


@dataclass(frozen=True)
class Embedding:
    """Z (n, r) with Z Z' the kernel, or its best part of rank r."""

    Z: Any
    features: Callable | None = None  # of a linear kernel, before components
    components: np.ndarray | None = None  # (r, d)
    fitted: FittedKernel | None = None
    coefficients: np.ndarray | None = None  # (n, r): Z = K coefficients
    gamma: float | None = None

    @classmethod
    def of(cls, X) -> Embedding:
        """Return samples as their own coordinates."""
        return cls(X, ExactFeatures(SimilarityFunction(as_kernel("linear"))))

    def decision(self, V: np.ndarray, b: np.ndarray) -> LinearDecision | KernelDecision:
        """Return the function z . V + b of new samples, V (r, c)."""
        if self.fitted is not None:
            return KernelDecision(self.fitted.combination(self.coefficients @ V), b)
        assert self.features is not None
        return LinearDecision(self.features, V if self.components is None else self.components.T @ V, b)


def embed(
    X,
    weight: np.ndarray,
    *,
    kernel: Kernel,
    approximation: Approximation | None,
    solver: CuttingPlane,
    rng: np.random.RandomState,
    **options,
) -> Embedding:
    """Return coordinates of samples X, of positive weight, in a kernel's feature space; options as in `fit_kernel`.

    Kernels that are products of features (linear, cosine) keep them, sparse ones too, or their principal components;
    others get their leading eigenvectors, scaled.
    """
    n_components = solver.n_components
    if kernel.has_features and (approximation is None or approximation.is_auto):
        features = ExactFeatures(SimilarityFunction(kernel))
        Z = features(X)
        if n_components is None and Z.shape[1] > MANY_FEATURES and solver.center:
            n_components = RANK
        if n_components is None or n_components >= min(Z.shape):
            return Embedding(Z, features)
        components = _components(Z, weight, n_components, rng)
        return Embedding(Z @ components.T, features, components)
    options |= {"approximation": approximation, "center": bool(solver.center), "rng": rng}
    fitted = fit_kernel(X, weight, kernel=kernel, **options)
    fitted.check_definite()
    rank = min(n_components or RANK, X.shape[0])
    spectrum = leading_spectrum(fitted.operator, rank, 1, rng)
    values, functions = spectrum.values[:rank], spectrum.functions[:, :rank]
    kept = values > NEGLIGIBLE * max(float(values[0]), 0.0)
    if not values[0] > ROUNDING * fitted.operator.raw_size() * weight.sum():
        raise ValueError("all samples are equal to this kernel: there is nothing to separate.")
    if float(values[0]) < SMALLEST:
        raise ValueError(
            f"the kernel's largest eigenvalue is {values[0]:.3g}, too small for hyperplanes in floating point: "
            "multiply the kernel by a large number."
        )
    functions = functions[:, kept] * np.sign(weight @ functions[:, kept] ** 3 + np.finfo(float).tiny)
    coefficients = weight[:, None] * functions / np.sqrt(values[kept])
    return Embedding(fitted.operator @ coefficients, fitted=fitted, coefficients=coefficients, gamma=fitted.gamma)


def _components(Z, weight: np.ndarray, n_components: int, rng: np.random.RandomState) -> np.ndarray:
    """Return the principal directions (n_components, d) of weighted samples."""
    unit, weight = safe_unit(Z), weight / weight.max()
    Z = Z if unit == 1.0 else Z / unit
    if np.all(weight == weight[0]):
        pca = PCA(n_components, svd_solver="arpack" if sparse.issparse(Z) else "auto", random_state=rng)
        with np.errstate(invalid="ignore"):  # of constant samples it has no shares of variance, which are not asked for
            return pca.fit(Z).components_
    root, mean = np.sqrt(weight), np.asarray(Z.T @ (weight / weight.sum())).ravel()
    centred = LinearOperator(  # D^1/2 (Z - mean)
        Z.shape,
        matvec=lambda v: root * (Z @ v.ravel() - mean @ v.ravel()),
        rmatvec=lambda u: Z.T @ (root * u.ravel()) - mean * (root @ u.ravel()),
        dtype=float,
    )
    directions = svds(centred, n_components, v0=np.random.RandomState(0).uniform(-1, 1, min(Z.shape)))[2][::-1]
    largest = directions[np.arange(n_components), np.abs(directions).argmax(axis=1)]
    return directions * np.sign(largest)[:, None]  # as PCA signs them
