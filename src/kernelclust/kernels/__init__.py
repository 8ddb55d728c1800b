"""Kernels, the similarity of two samples: one file each, with approximations, operators and spectra.

The classes are reachable here: `from kernelclust.kernels import RBF, Nystroem`. Only the files that are asked for are
imported.
"""

from kernelclust.kernels._spectrum import Spectrum, certified, eigenvalue_bounds, leading_spectrum, spectrum_ends  # isort: skip
from kernelclust._terms import exposes_terms
from kernelclust.kernels._base import GammaKernel, Kernel
from kernelclust.kernels._fit import as_approximation, as_kernel, fit_kernel, kernel_class, kernel_names
from kernelclust.kernels._fitted_kernel import FittedKernel, discriminative
from kernelclust.kernels._function import FunctionKernel, SimilarityFunction
from kernelclust.kernels._matrix import check_precomputed
from kernelclust.kernels._new_samples import (
    ExactFeatures,
    FeatureMap,
    LearnedKernel,
    NewSamples,
    Nothing,
    Source,
    UnitScaled,
)
from kernelclust.kernels._scale import check_squares, mean_distance, natural_gamma, safe_unit
from kernelclust.kernels._views import given_view
from kernelclust.kernels.approximations import Approximation
from kernelclust.kernels.approximations.cholesky import incomplete_cholesky
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
    weighted_product,
)

__all__ = [
    "BLOCK",
    "Approximation",
    "DenseKernel",
    "ExactFeatures",
    "FeatureMap",
    "FittedKernel",
    "FunctionKernel",
    "GammaKernel",
    "Kernel",
    "KernelOperator",
    "LearnedKernel",
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
    "as_approximation",
    "as_kernel",
    "certified",
    "check_operator",
    "check_precomputed",
    "check_squares",
    "discriminative",
    "eigenvalue_bounds",
    "feature_sums",
    "fit_kernel",
    "given_view",
    "incomplete_cholesky",
    "is_operator",
    "kernel_class",
    "kernel_names",
    "leading_spectrum",
    "mean_distance",
    "natural_gamma",
    "one_hot",
    "row_blocks",
    "safe_unit",
    "spectrum_ends",
    "weighted_product",
]

__getattr__, __dir__ = exposes_terms(__name__, f"{__name__}.approximations")
