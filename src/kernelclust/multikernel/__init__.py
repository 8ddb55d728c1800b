"""Many kernels over the same samples: one file per method, found by its name ("mkkm-mr" is mkkm_mr.py; "mine.best" is
the module mine.best of a user).

A method is `solve(task, *, parameters) -> Relaxed`: kernel weights and an embedding whose rows are then clustered. What
it takes from its user are the keyword-only parameters. A file may also say:

NEEDS: members of kernels beyond the common ones, such as "affinity" (products of the kernel as it was given).
UNWEIGHTED: why it takes no sample weights.
MAY_RISE: True if its history need not fall.
MATRICES: (a, b) if it holds a m + b matrices of n x n beside m kernels.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from kernelclust._names import check_keywords, check_name, keywords, load, names
from kernelclust.kernels import KernelOperator
from kernelclust.multikernel._checks import check_similarities
from kernelclust.multikernel._choice import is_auto, kernels_of, pairwise_kernel
from kernelclust.multikernel._correlation import CORRELATIONS, correlation_matrix
from kernelclust.multikernel._prepare import prepare
from kernelclust.multikernel._refine import Refined, place, refine
from kernelclust.multikernel._simplex import minimize_on_simplex, optimality_gap
from kernelclust.multikernel._task import Relaxed, Task
from kernelclust.multikernel._views import Views, check_kernels, check_views, columns_of, is_many

from kernelclust.multikernel._fit import ManyFit, ManyRequest, fit_many  # isort: skip
from kernelclust.multikernel._sums import Weighing, raw_features, weighing  # isort: skip

__all__ = [
    "CORRELATIONS",
    "SHARED",
    "ManyFit",
    "ManyRequest",
    "Refined",
    "Relaxed",
    "Task",
    "Views",
    "Weighing",
    "check_kernels",
    "check_method_params",
    "check_method_weights",
    "check_similarities",
    "check_views",
    "columns_of",
    "correlation_matrix",
    "default_kernels",
    "fit_many",
    "is_auto",
    "is_many",
    "kernels_of",
    "load_method",
    "method_names",
    "minimize_on_simplex",
    "optimality_gap",
    "pairwise_kernel",
    "place",
    "prepare",
    "raw_features",
    "refine",
    "weighing",
]


def method_names() -> list[str]:
    return [name.replace("_", "-") for name in names(_package())]


def _part(name: str) -> Any:
    if isinstance(name, str) and "." in name:
        return import_module(name)
    check_name("method", name, method_names())
    return load(_package(), name.replace("-", "_"))


SHARED = ("tol",)  # parameters that every method takes


def check_method_params(name: str, given: Mapping | None) -> dict[str, Any]:
    """The user's parameters of a method, all of them known."""
    return check_keywords("method_params", given, f"method={name!r}", [*keywords(_part(name).solve), *SHARED])


def default_kernels(name: str) -> str:
    """What kernels="auto" stands for: a method that walks along affinities needs kernels that are such."""
    return "rbf" if "affinity" in getattr(_part(name), "NEEDS", ()) else "auto"


def check_method_weights(name: str, weight: np.ndarray) -> None:
    """Refuse weights that a method would have to ignore."""
    reason = getattr(_part(name), "UNWEIGHTED", None)
    if reason is not None and not np.all(weight == 1):
        raise ValueError(
            f"method={name!r} takes no sample_weight other than 0 and 1: {reason} Repeat samples instead, or use "
            "another method, such as 'mkkm-mr'."
        )


def load_method(name: str, kernels: Sequence[KernelOperator]) -> Callable:
    """The method's function, or an error that names what it needs and a kernel does not have."""
    part = _part(name)
    for need in getattr(part, "NEEDS", ()):
        for p, kernel in enumerate(kernels):
            if getattr(kernel, need, None) is None:
                raise ValueError(
                    f"method={name!r} needs kernels with `{need}`, which kernel {p} ({type(kernel).__name__}) lacks; "
                    "use another kernel or method."
                )
    return part.solve


def _package():
    import kernelclust.multikernel as package

    return package
