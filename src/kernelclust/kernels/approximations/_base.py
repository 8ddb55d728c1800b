"""The base class of approximations: a factor of a kernel, and features of new samples with the same inner products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from kernelclust._names import check_number
from kernelclust._terms import Term
from kernelclust._threads import in_order
from kernelclust.kernels._base import Kernel
from kernelclust.kernels._fitted_kernel import FittedKernel
from kernelclust.kernels._function import SimilarityFunction
from kernelclust.kernels._matrix import check_block
from kernelclust.kernels._new_samples import FeatureMap, Features, LandmarkFeatures
from kernelclust.kernels.operators import LowRankKernel, row_blocks

DEFAULT_COMPONENTS = 300


class Approximation(Term):
    """Base class of approximations K ~ B B'. Class attributes declare where an approximation can be used."""

    kind = "approximation"
    example = "Nystroem(n_components=300)"

    has_array_features: ClassVar[bool] = False  # its features can be computed on a device
    depends_on_clusters: ClassVar[bool] = False  # its rank follows the number of clusters
    in_partitions: ClassVar[bool] = True  # features made from a few samples serve all others
    is_auto: ClassVar[bool] = False  # the exact kernel up to its `dense_limit`, an approximation beyond

    n_components: int | None

    def check(self) -> None:
        if self.n_components is not None:
            check_number("n_components", self.n_components, whole=True, least=1)

    def check_kernel(self, kernel: Kernel) -> None:
        """Raise an error if this kernel cannot be approximated in this way."""

    def factor(
        self, function: SimilarityFunction, X: Any, Z: Any, weight: np.ndarray, n_clusters: int, rng: Any
    ) -> tuple[np.ndarray, FeatureMap]:
        """Return B (m x r) for samples X, prepared in Z, and the features x -> b(x) of new samples."""
        raise NotImplementedError

    def matrix_factor(
        self, K: np.ndarray, weight: np.ndarray, n_clusters: int, rng: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return B (m x r), columns of K, and M with b(x) = k(x, columns) M, for a given matrix K."""
        raise NotImplementedError

    def fit_matrix(self, K: np.ndarray, weight: np.ndarray, *, n_clusters: int, center: bool, rng) -> FittedKernel:
        """Return a factor of a given matrix; new samples bring similarities with the fitted ones."""
        B, columns, M = self.matrix_factor(K, weight, n_clusters, rng)
        operator = LowRankKernel(B, weight, center=center, overwrite=True)
        return FittedKernel(operator, Features(LandmarkFeatures(None, columns, M)))

    def beyond_limit(self) -> Approximation:
        """Return the approximation to use beyond the size limit of exact kernels."""
        return self

    @property
    def rank(self) -> int:
        """Number of components for any number of samples and clusters."""
        return self.n_components or DEFAULT_COMPONENTS


def in_blocks(function: Callable[[slice], np.ndarray], n_rows: int, n_columns: int, dtype, width: int) -> np.ndarray:
    """Stack function(rows) for row blocks into one array; at most one block per thread is in memory besides it."""
    out = np.empty((n_rows, n_columns), dtype=dtype)

    def fill(rows: slice) -> None:
        out[rows] = function(rows)

    for _ in in_order(fill, row_blocks(n_rows, max(width, n_columns), 2**20)):
        pass
    return out


__all__ = ["DEFAULT_COMPONENTS", "Approximation", "check_block", "in_blocks"]
