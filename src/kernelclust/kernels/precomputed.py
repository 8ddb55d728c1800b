"""X is the kernel: an (m, m) symmetric matrix of similarities between the samples."""

from __future__ import annotations

import numpy as np

from kernelclust.kernels._fit import FittedKernel, check_precomputed, low_rank_matrix
from kernelclust.kernels._new_samples import Function
from kernelclust.kernels._spectrum import check_definite, leading_spectrum
from kernelclust.kernels.operators import DenseKernel

PAIRWISE = True
SPARSE = False


def check(X) -> np.ndarray:
    """A square, finite, symmetric matrix."""
    return check_precomputed(X)


def fit(
    X,
    weight: np.ndarray,
    *,
    n_clusters: int,
    method: str | None,
    n_components: int | None,
    rng,
    center: bool = True,
) -> FittedKernel:
    """The matrix itself, or a factor of it."""
    dense = DenseKernel(X, weight, center=center)
    if method is None:
        return FittedKernel(dense, Function(None))
    check_definite(leading_spectrum(dense, 1, 1, np.random.RandomState(0)), dense)
    return low_rank_matrix(X, weight, method, n_components, rng, n_clusters, center)
