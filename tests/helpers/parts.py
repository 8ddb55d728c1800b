"""Parts by what they declare: a test over these lists covers a new part without an edit."""

from __future__ import annotations

import inspect

import kernelclust
from kernelclust import StructuredClustering
from kernelclust._terms import term_names
from kernelclust.kernels import approximations, kernel_class, kernel_names
from kernelclust.solvers import as_solver, solver_names
from kernelclust.structures import Structure, structure_class, structure_names


def kernels(*, without: tuple[str, ...] = (), **declared: object) -> list[str]:
    """Return the names of the kernels that declare these capabilities: kernels(has_gamma=True)."""
    return [
        name
        for name in kernel_names()
        if name not in without and all(getattr(kernel_class(name), key) == value for key, value in declared.items())
    ]


def structures(n_clusters: int) -> list[Structure]:
    """Return one structure of every kind, with about `n_clusters` clusters."""
    return [structure_class(name).example(n_clusters) for name in structure_names()]


APPROXIMATIONS = term_names(approximations)
RELAXATIONS = [name for name in solver_names() if as_solver(name).is_relaxation]
ESTIMATORS = [  # StructuredClustering and its presets
    one
    for one in (getattr(kernelclust, name) for name in kernelclust.__all__)
    if inspect.isclass(one) and issubclass(one, StructuredClustering)
]
