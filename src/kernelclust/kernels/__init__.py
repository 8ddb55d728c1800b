"""How alike two samples are: kernel functions (one file each), operators, low-rank factors, spectra."""

from kernelclust.kernels._spectrum import Spectrum, certified, eigenvalue_bounds, leading_spectrum, spectrum_ends  # isort: skip
from kernelclust.kernels._fit import (
    APPROXIMATIONS,
    DEFAULT_COMPONENTS,
    check_kernel_params,
    check_precomputed,
    fit_kernel,
    is_pairwise,
    kernel_names,
    kernel_part,
)
from kernelclust.kernels._fitted_kernel import FittedKernel, discriminative
from kernelclust.kernels._function import SimilarityFunction
from kernelclust.kernels._low_rank import incomplete_cholesky
from kernelclust.kernels._new_samples import ExactFeatures, NewSamples, Nothing, Source, UnitScaled
from kernelclust.kernels._scale import safe_unit
from kernelclust.kernels.operators import (
    BLOCK,
    DenseKernel,
    KernelOperator,
    LowRankKernel,
    RidgeKernel,
    ScaledKernel,
    TiledKernel,
    WeightedSumKernel,
    check_operator,
    feature_sums,
    is_operator,
    one_hot,
    row_blocks,
)

__all__ = [
    "APPROXIMATIONS",
    "BLOCK",
    "DEFAULT_COMPONENTS",
    "DenseKernel",
    "ExactFeatures",
    "FittedKernel",
    "KernelOperator",
    "LowRankKernel",
    "NewSamples",
    "Nothing",
    "RidgeKernel",
    "ScaledKernel",
    "SimilarityFunction",
    "Source",
    "Spectrum",
    "TiledKernel",
    "UnitScaled",
    "WeightedSumKernel",
    "certified",
    "check_kernel_params",
    "check_operator",
    "check_precomputed",
    "discriminative",
    "eigenvalue_bounds",
    "feature_sums",
    "fit_kernel",
    "incomplete_cholesky",
    "is_operator",
    "is_pairwise",
    "kernel_names",
    "kernel_part",
    "leading_spectrum",
    "one_hot",
    "row_blocks",
    "safe_unit",
    "spectrum_ends",
]
