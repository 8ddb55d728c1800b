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
from kernelclust.objectives.first_order import StructuredRidge, check_regression, first_order_error

__all__ = [
    "NORMALIZATIONS",
    "POWER",
    "Dependence",
    "StructuredRidge",
    "check_regression",
    "check_weights",
    "dependence_score",
    "first_order_error",
    "flat_objective",
    "loss_matrix",
    "make_dependence",
]
