"""Objectives: functions of cluster sums and sizes that are larger for better labels."""

import sys

from kernelclust._terms import as_term, exposes_terms
from kernelclust.objectives._cluster_objective import POWER, Assignment, ClusterObjective, flat_objective
from kernelclust.objectives._score import check_weights, structured_hsic
from kernelclust.objectives.dependence import NORMALIZATIONS, PLACEMENTS, Dependence, loss_matrix

__all__ = [
    "NORMALIZATIONS",
    "PLACEMENTS",
    "POWER",
    "Assignment",
    "ClusterObjective",
    "Dependence",
    "as_objective",
    "check_weights",
    "flat_objective",
    "loss_matrix",
    "structured_hsic",
]

__getattr__, __dir__ = exposes_terms(__name__)


def as_objective(value: object) -> Dependence:
    """Return the objective that a user gave as a name or an object."""
    return as_term(value, Dependence, sys.modules[__name__])
