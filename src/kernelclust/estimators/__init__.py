"""scikit-learn estimators: thin, mostly docstring."""

from kernelclust.estimators.discriminative import Diffrac, DisKMeans
from kernelclust.estimators.margin import MaxMarginClustering
from kernelclust.estimators.multikernel import MultiKernelClustering
from kernelclust.estimators.presets import CLUHSIC, CLUHSICAL, KernelKMeans
from kernelclust.estimators.structured import StructuredClustering

__all__ = [
    "CLUHSIC",
    "CLUHSICAL",
    "Diffrac",
    "DisKMeans",
    "KernelKMeans",
    "MaxMarginClustering",
    "MultiKernelClustering",
    "StructuredClustering",
]
