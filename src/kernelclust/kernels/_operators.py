"""The operators under their old names and attributes, until every user speaks the new protocol."""

from __future__ import annotations

from typing import Literal

import numpy as np

from kernelclust.kernels import operators
from kernelclust.kernels.operators import feature_sums, gram, one_hot, row_blocks

__all__ = ["DenseKernel", "Kernel", "LowRankKernel", "WeightedSumKernel", "one_hot", "row_blocks"]


class DenseKernel(operators.DenseKernel):
    form: Literal["dense"] = "dense"

    @property
    def K(self):
        return self._K

    @property
    def row_mean(self):
        return self._centring.row_mean

    @property
    def mean(self):
        return self._centring.mean

    def collapse(self):
        return self


class LowRankKernel(operators.LowRankKernel):
    form: Literal["low_rank"] = "low_rank"

    @property
    def B(self):
        return self.factor

    @B.setter
    def B(self, value):
        self.factor = value

    def gram(self) -> np.ndarray:
        return gram(self.factor, self.weight)

    def feature_sums(self, labels: np.ndarray, n_clusters: int) -> np.ndarray:
        return feature_sums(self.factor, self.weight, labels, n_clusters)

    def collapse(self):
        return self


WeightedSumKernel = operators.WeightedSumKernel
Kernel = DenseKernel | LowRankKernel | WeightedSumKernel
