"""What makes one labeling better than another, as functions of cluster sums and sizes."""

from kernelclust.objectives.dependence import (
    NORMALIZATIONS,
    POWER,
    Dependence,
    check_weights,
    dependence_score,
    flat_objective,
    loss_matrix,
    make_dependence,
)

__all__ = [
    "NORMALIZATIONS",
    "POWER",
    "Dependence",
    "check_weights",
    "dependence_score",
    "flat_objective",
    "loss_matrix",
    "make_dependence",
]
