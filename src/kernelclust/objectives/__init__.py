"""What makes one labeling better than another, as functions of cluster sums and sizes."""

from kernelclust.objectives.dependence import Dependence, dependence_score, make_dependence
from kernelclust.objectives.first_order import first_order_error

__all__ = ["Dependence", "dependence_score", "first_order_error", "make_dependence"]
