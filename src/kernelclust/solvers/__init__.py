"""How labels are found: a file for each solver, found by its name, and what all of them share."""

from collections.abc import Callable, Mapping
from typing import Any

from kernelclust._names import check_keywords, check_name, keywords, load, names
from kernelclust.kernels import KernelOperator
from kernelclust.solvers._climb import climb
from kernelclust.solvers._label_placement import place_known
from kernelclust.solvers._placement import (
    RULES,
    PlacementProblem,
    best_placement,
    different_placements,
    likely_placement,
    placement_margin,
    placement_problem,
)
from kernelclust.solvers._problem import Options, Problem
from kernelclust.solvers._starts import fill_empty, seeded_start
from kernelclust.solvers.greedy import INITS, SEARCHES, check_start

__all__ = [
    "INITS",
    "RULES",
    "SEARCHES",
    "Options",
    "PlacementProblem",
    "Problem",
    "best_placement",
    "check_solver_params",
    "check_start",
    "climb",
    "different_placements",
    "fill_empty",
    "likely_placement",
    "load_solver",
    "place_known",
    "placement_margin",
    "placement_problem",
    "seeded_start",
    "solver_names",
]

SHARED = ("tol", "allow_empty")  # parameters that every solver takes
RELAXED = ("polish",)  # and those that relaxations take too


def solver_names() -> list[str]:
    return names(_package())


def check_solver_params(name: str, given: Mapping | None) -> dict[str, Any]:
    """The user's parameters of a solver, all of them known."""
    check_name("solver", name, solver_names())
    part = load(_package(), name)
    own = list(keywords(part.solve))
    shared = [*SHARED, *(RELAXED if getattr(part, "RELAXES", False) else ())]
    return check_keywords("solver_params", given, f"solver={name!r}", own + shared)


def load_solver(name: str, kernel: KernelOperator) -> Callable:
    """The solver's function, or an error that names what it needs and this kernel does not have."""
    part = load(_package(), name)
    for need in getattr(part, "NEEDS", ()):
        if getattr(kernel, need, None) is None:
            raise ValueError(f"solver={name!r} needs a kernel with `{need}`, which {type(kernel).__name__} lacks.")
    return part.solve


def _package():
    import kernelclust.solvers as package

    return package
