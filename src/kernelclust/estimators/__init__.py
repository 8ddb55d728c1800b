"""scikit-learn estimators: thin, mostly docstring."""

from kernelclust.estimators._base import check_enough_samples, check_structure
from kernelclust.estimators._callbacks import run_with_callbacks
from kernelclust.estimators._placing import has_intervals, structures_of
from kernelclust.estimators._pseudotime import Lineages, Placed
from kernelclust.estimators.arrange import Arrangement, arrange
from kernelclust.estimators.discriminative import Diffrac, DisKMeans
from kernelclust.estimators.margin import MaxMarginClustering
from kernelclust.estimators.multikernel import MultiKernelClustering
from kernelclust.estimators.presets import CLUHSIC, CLUHSICAL, KernelKMeans
from kernelclust.estimators.seriate import Seriation, seriate
from kernelclust.estimators.structured import StructuredClustering, adopt, config_of

__all__ = [
    "CLUHSIC",
    "CLUHSICAL",
    "Arrangement",
    "Diffrac",
    "DisKMeans",
    "KernelKMeans",
    "Lineages",
    "MaxMarginClustering",
    "MultiKernelClustering",
    "Placed",
    "Seriation",
    "StructuredClustering",
    "adopt",
    "arrange",
    "check_enough_samples",
    "check_structure",
    "config_of",
    "has_intervals",
    "run_with_callbacks",
    "seriate",
    "structures_of",
]
