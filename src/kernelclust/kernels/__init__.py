"""How alike two samples are: operators, functions (one file each) and low-rank factors."""

from kernelclust.kernels._discriminative import discriminative
from kernelclust.kernels._fitted import APPROXIMATIONS, FittedKernel, check_precomputed, fit_kernel, kernel_names
from kernelclust.kernels._loops import sum_rows
from kernelclust.kernels._low_rank import incomplete_cholesky
from kernelclust.kernels._operators import DenseKernel, Kernel, LowRankKernel, WeightedSumKernel, one_hot, row_blocks
from kernelclust.kernels._spectrum import Spectrum, check_definite, leading_spectrum
from kernelclust.kernels.precomputed_graph import check_graph

__all__ = [
    "APPROXIMATIONS",
    "DenseKernel",
    "FittedKernel",
    "Kernel",
    "LowRankKernel",
    "Spectrum",
    "WeightedSumKernel",
    "check_definite",
    "check_graph",
    "check_precomputed",
    "discriminative",
    "fit_kernel",
    "incomplete_cholesky",
    "kernel_names",
    "leading_spectrum",
    "one_hot",
    "row_blocks",
    "sum_rows",
]
