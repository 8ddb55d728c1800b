"""Many kernels over the same samples: one class per method, a file each, found by its name ("mkkm-mr" is mkkm_mr.py).

A method is a `Method` with `solve(task) -> Relaxed`: kernel weights and an embedding whose rows are then clustered. The
base class says what a method may declare.
"""

import sys
from typing import Any

from kernelclust._terms import as_term, exposes_terms, term_names
from kernelclust.multikernel._base import Method, Relaxed, Task
from kernelclust.multikernel._correlation import CORRELATIONS, correlation_matrix
from kernelclust.multikernel._prepare import prepare
from kernelclust.multikernel._refine import place, refine
from kernelclust.multikernel._spectral import minimize_on_simplex, optimality_gap
from kernelclust.multikernel._views import (
    Views,
    check_kernels,
    check_similarities,
    check_views,
    columns_of,
    is_auto,
    is_many,
    kernels_of,
    one_kernel,
    pairwise_kernel,
)

from kernelclust.multikernel._fit import ManyFit, MultiKernelConfig, fit_many  # isort: skip
from kernelclust.multikernel._sums import FeatureAlternation, feature_alternation, raw_features  # isort: skip

__all__ = [
    "CORRELATIONS",
    "FeatureAlternation",
    "ManyFit",
    "Method",
    "MultiKernelConfig",
    "Relaxed",
    "Task",
    "Views",
    "as_method",
    "check_kernels",
    "check_similarities",
    "check_views",
    "columns_of",
    "correlation_matrix",
    "feature_alternation",
    "fit_many",
    "is_auto",
    "is_many",
    "kernels_of",
    "method_names",
    "minimize_on_simplex",
    "one_kernel",
    "optimality_gap",
    "pairwise_kernel",
    "place",
    "prepare",
    "raw_features",
    "refine",
]


def method_names() -> list[str]:
    """List the names of the methods."""
    return [name.replace("_", "-") for name in term_names(sys.modules[__name__])]


def as_method(value: Any) -> Method:
    """Return the method that a user gave as a name or an object, its parameters checked."""
    return as_term(value, Method, sys.modules[__name__])


__getattr__, __dir__ = exposes_terms(__name__)
