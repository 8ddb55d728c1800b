"""Kernels known by their products, some rows and their diagonal: a file for each way to hold one."""

from kernelclust.kernels.operators._base import BLOCK, KernelOperator, gram, one_hot, row_blocks, weighted_product
from kernelclust.kernels.operators._checks import check_operator, is_operator
from kernelclust.kernels.operators.dense import DenseKernel
from kernelclust.kernels.operators.low_rank import LowRankKernel, feature_sums
from kernelclust.kernels.operators.ridge import RidgeKernel
from kernelclust.kernels.operators.scaled import ScaledKernel
from kernelclust.kernels.operators.tiled import TiledKernel
from kernelclust.kernels.operators.weighted_sum import WeightedSumKernel

__all__ = [
    "BLOCK",
    "DenseKernel",
    "KernelOperator",
    "LowRankKernel",
    "RidgeKernel",
    "ScaledKernel",
    "TiledKernel",
    "WeightedSumKernel",
    "check_operator",
    "feature_sums",
    "gram",
    "is_operator",
    "one_hot",
    "row_blocks",
    "weighted_product",
]
