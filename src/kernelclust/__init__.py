"""Kernel clustering that listens to what people know: clusters on a chain, a ring, a grid, a tree."""

from kernelclust import margin, metrics, structures
from kernelclust._model_files import load, load_extra
from kernelclust.estimators import (
    CLUHSIC,
    CLUHSICAL,
    Diffrac,
    DisKMeans,
    KernelKMeans,
    MaxMarginClustering,
    MultiKernelClustering,
    StructuredClustering,
    arrange,
)
from kernelclust.objectives import dependence_score
from kernelclust.selection import select_kernel, select_n_clusters, select_structure, stability_bound

__version__ = "0.1.0.dev0"

__all__ = [
    "CLUHSIC",
    "CLUHSICAL",
    "Diffrac",
    "DisKMeans",
    "KernelKMeans",
    "MaxMarginClustering",
    "MultiKernelClustering",
    "StructuredClustering",
    "arrange",
    "dependence_score",
    "load",
    "load_extra",
    "margin",
    "metrics",
    "select_kernel",
    "select_n_clusters",
    "select_structure",
    "stability_bound",
    "structures",
]
