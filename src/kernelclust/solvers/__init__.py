"""Solvers: a file each, found by its name, and the code that they share."""

import sys

from kernelclust._terms import as_term, exposes_terms, term_names
from kernelclust.solvers._base import Advice, Problem, Run, Solver
from kernelclust.solvers._climb import climb
from kernelclust.solvers._placement import (
    PlacementProblem,
    best_placement,
    different_placements,
    likely_placements,
    place_known,
    placement_margin,
    placement_problem,
)
from kernelclust.solvers._starts import cluster_means, fill_empty, many_kmeans, move_together, seeded_start

__all__ = [
    "Advice",
    "PlacementProblem",
    "Problem",
    "Run",
    "Solver",
    "as_solver",
    "best_placement",
    "climb",
    "cluster_means",
    "different_placements",
    "fill_empty",
    "likely_placements",
    "many_kmeans",
    "move_together",
    "place_known",
    "placement_margin",
    "placement_problem",
    "seeded_start",
    "solver_names",
]

__getattr__, __dir__ = exposes_terms(__name__)


def solver_names() -> list[str]:
    """List the names of all solvers."""
    return term_names(sys.modules[__name__])


def as_solver(value: object) -> Solver:
    """Return the solver that a user gave as a name or an object."""
    return as_term(value, Solver, sys.modules[__name__])
