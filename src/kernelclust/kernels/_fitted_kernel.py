"""A kernel operator over the fitted samples, and what its users need beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernelclust.kernels._extension import DenseExtension, FeatureExtension, NeighbourExtension, SimilarityFunction
from kernelclust.kernels._operators import DenseKernel, LowRankKernel, one_hot


@dataclass
class Member:
    """One of the graphs that a mean kernel is made of: its view, its size, and the smoothest functions on it,
    B (m x k), centred."""

    view: str
    size: float
    B: np.ndarray


@dataclass
class FittedKernel:
    """A kernel operator over the fitted samples and the means to compare new ones."""

    operator: DenseKernel | LowRankKernel
    function: SimilarityFunction | None = None
    X: Any = None
    features: Callable | None = None
    searches: list[Any] = field(default_factory=list)
    gamma: float | None = None
    members: list[Member] = field(default_factory=list)
    pictures: list[Any] = field(default_factory=list)  # the samples as each view sees them

    def extension(self, labels: np.ndarray, n_clusters: int) -> Callable:
        """Function from new samples to their centred similarity sums with these clusters (n, c); holds no kernel."""
        operator = self.operator
        if not self.searches and operator.form == "low_rank":
            assert self.features is not None
            return FeatureExtension(self.features, operator.offset, operator.feature_sums(labels, n_clusters))
        return self.combination(one_hot(labels, n_clusters, operator.weight))

    def combination(self, coefficients: np.ndarray) -> Callable:
        """Function from new samples x to sum_i k(x, x_i) coefficients_i (n, c), k centred."""
        operator = self.operator
        if self.searches:
            return NeighbourExtension(self.searches, operator @ coefficients)
        if operator.form == "low_rank":
            assert self.features is not None
            return FeatureExtension(self.features, operator.offset, (operator.B.T @ coefficients).T)
        share = operator.weight / operator.weight.sum()
        return DenseExtension(self.function, self.X, coefficients, share, operator.row_mean, operator.mean)
