"""What makes one labeling better than another, as functions of cluster sums and sizes."""

from kernelclust.objectives.dependence import Dependence, dependence_score, make_dependence

__all__ = ["Dependence", "dependence_score", "make_dependence"]
