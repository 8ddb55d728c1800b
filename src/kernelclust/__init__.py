"""Kernel clustering with structure: clusters on a chain, a ring, a grid or a tree.

Names and submodules (`kernelclust.plots`, `kernelclust.anndata`, ...) are imported at their first use, because
scikit-learn and SciPy take seconds to import.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for editors and type checkers; `_HOME` is the same for Python
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
    from kernelclust.estimators.seriate import seriate
    from kernelclust.objectives import structured_hsic
    from kernelclust.selection import select_n_clusters, select_structure, stability_bound

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
    "load",
    "load_extra",
    "select_n_clusters",
    "select_structure",
    "seriate",
    "stability_bound",
    "structured_hsic",
]

_HOME = {
    "structured_hsic": "objectives",
    "load": "_model_files",
    "load_extra": "_model_files",
    "select_n_clusters": "selection",
    "select_structure": "selection",
    "stability_bound": "selection",
}  # all others are estimators


def _submodules() -> set[str]:
    """Return the names of the public modules and packages in this folder, without importing them."""
    from pkgutil import iter_modules

    return {module.name for module in iter_modules(__path__) if not module.name.startswith("_")}


def __getattr__(name: str) -> Any:
    if name in __all__:
        value = getattr(import_module(f"{__name__}.{_HOME.get(name, 'estimators')}"), name)
        globals()[name] = value
        return value
    if not name.startswith("_") and name in _submodules():
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_submodules()})
