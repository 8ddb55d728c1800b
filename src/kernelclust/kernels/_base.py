"""The base class of kernels, with everything that a kernel can declare.

A kernel function k(x, y) implements `block`. If `block` uses array API operations alone, it also runs on devices and in
Dask partitions, with no further code. A kernel that exists only between fitted samples (neighbour graphs, similarities
that the user passes) sets `is_function = False` and implements `fit` instead.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from kernelclust._names import check_name, check_number
from kernelclust._terms import Term
from kernelclust.kernels._scale import resolve_gamma


class Kernel(Term):
    """Base class of all kernels, the similarity of two samples. Class attributes declare what a kernel can do."""

    kind = "kernel"
    example = "RBF(gamma=0.5)"

    # -- input
    pairwise: ClassVar[bool] = False  # X holds similarities between samples instead of samples
    accepts_operators: ClassVar[bool] = False  # X may be a `KernelOperator` of the user's
    accepts_sparse: ClassVar[bool] = True
    sparse_advice: ClassVar[str] = ""  # what to do with a sparse X that is not accepted
    accepts_graphs: ClassVar[bool] = False  # X may be a networkx graph, whose nodes are the samples
    equal_rows_are_equal: ClassVar[bool] = True  # equal rows of X are copies of one sample
    reports_bad_entries: ClassVar[bool] = False  # `check_samples` itself refuses entries that are not finite
    # -- form
    is_function: ClassVar[bool] = True  # k(x, y) is a function of two samples; otherwise the kernel implements `fit`
    has_features: ClassVar[bool] = False  # `features` gives b with k(x, y) = <b(x), b(y)> exactly
    features_are_samples: ClassVar[bool] = False  # b(x) = x
    has_frequencies: ClassVar[bool] = False  # `frequencies` draws directions for random features
    has_gamma: ClassVar[bool] = False  # the parameter gamma is the width; see `GammaKernel`
    learns_features: ClassVar[bool] = False  # the fitted kernel has features of all samples, learned from some
    # -- numbers
    start_samples: ClassVar[int] = 0  # least number of samples that a fit on a device or in partitions begins with
    distance_exponent: ClassVar[int] = 2  # gamma multiplies distances to this power
    dense_limit: float = 25_000  # samples up to which approximation="auto" is exact
    # -- invariances and precision
    translation_invariant: ClassVar[bool] = False  # adding a vector to all samples changes nothing
    invariant_once_centred: ClassVar[bool] = False  # ... after centring, and not before
    has_uncentred_form: ClassVar[bool] = True  # the kernel has values before centring
    has_free_units: ClassVar[bool] = True  # X may be divided by a number where squares leave floating point
    cancels: ClassVar[bool] = False  # differences between samples can vanish in rounding beside the kernel's size
    # -- calls
    is_trusted: ClassVar[bool] = True  # symmetric, positive semidefinite, any precision, several threads at once

    def affinities(self, graph: Any) -> Any:
        """Return the matrix (m, m) of a networkx graph of m nodes, for kernels that declare `accepts_graphs`."""
        raise NotImplementedError(f"{type(self).__name__} takes no graphs.")

    def check_samples(self, X: Any) -> Any:
        """Return X as `fit` takes it, or refuse it; X is a finite array or sparse matrix."""
        return X

    # -- functions of two samples

    def block(self, X: Any, Y: Any) -> Any:
        """Return the similarities (n, m) of samples X (n, d) and Y (m, d)."""
        raise NotImplementedError(f"{type(self).__name__} is no function of two samples: it implements `fit`.")

    def array_block(self, xp: Any, X: Any, Y: Any) -> Any:
        """Return `block(X, Y)` for arrays of the array API namespace xp; implement it if `block` needs NumPy."""
        if self.has_features:
            return self.array_features(xp, X) @ xp.matrix_transpose(self.array_features(xp, Y))
        try:
            return self.block(X, Y)
        except (TypeError, AttributeError, ValueError) as error:
            raise TypeError(
                f"kernel={self!r} does not run on arrays of {xp.__name__}: {error}. Use array API operations in its "
                "`block`, implement `array_block`, or pass a NumPy array."
            ) from error

    def features(self, X: Any) -> Any:
        """Return B (n, r) with k(x, y) = <b(x), b(y)> exactly, for kernels that declare `has_features`."""
        raise NotImplementedError(f"{type(self).__name__} declares no features.")

    def array_features(self, xp: Any, X: Any) -> Any:
        """Return `features(X)` for arrays of the array API namespace xp."""
        return self.features(X)

    def frequencies(self, n_features: int, n_components: int, rng: np.random.RandomState) -> np.ndarray:
        """Draw directions (d, n) whose cosines average to the kernel, for kernels that declare `has_frequencies`."""
        raise NotImplementedError(f"{type(self).__name__} declares no frequencies.")

    def in_units(self, X: Any, weight: np.ndarray, unit: float) -> tuple[Kernel, float | None]:
        """Return the kernel for samples X / unit, every parameter a number, and gamma in the units of X."""
        return self, None

    # -- kernels between fitted samples

    def fit(self, X: Any, weight: np.ndarray, *, n_clusters: int, approximation: Any, center: bool, rng: Any) -> Any:
        """Return the `FittedKernel` of samples X, exact where `approximation` is None."""
        raise NotImplementedError(f"{type(self).__name__} is a function of two samples: it implements `block`.")


class GammaKernel(Kernel):
    """Base class of kernels with a width gamma: a positive number, or one of the names in `widths`."""

    has_gamma = True
    widths: ClassVar[tuple[str, ...]] = ("scale",)

    def __init__(self, gamma: float | str = "scale"):
        self.gamma: Any = gamma

    def check(self) -> None:
        if isinstance(self.gamma, str):
            check_name("gamma", self.gamma, self.widths, also=", or a positive number")
        else:
            check_number("gamma", self.gamma, above=True)

    def with_gamma(self, gamma: float) -> GammaKernel:
        """Return the same kernel with another width."""
        return clone(self).set_params(gamma=gamma)

    def in_units(self, X, weight, unit):
        inner, resolved = resolve_gamma(self.gamma, X, weight, unit, self.distance_exponent)
        return self.with_gamma(inner), resolved
