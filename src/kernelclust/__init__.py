"""Kernel clustering that listens to what people know: clusters on a chain, a ring, a grid, a tree.

Names are imported when they are first used: scikit-learn and scipy take seconds, which help and an interrupt need not
wait for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what editors and type checkers see; `_HOME` says the same to Python
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
    )
    from kernelclust.estimators.arrange import arrange
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

_HOME = {
    "dependence_score": "objectives",
    "load": "_model_files",
    "load_extra": "_model_files",
    "select_kernel": "selection",
    "select_n_clusters": "selection",
    "select_structure": "selection",
    "stability_bound": "selection",
}  # all others are estimators, or modules themselves


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in ("margin", "metrics", "structures"):
        return import_module(f"{__name__}.{name}")
    value = getattr(import_module(f"{__name__}.{_HOME.get(name, 'estimators')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
