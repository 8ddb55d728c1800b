"""Ways to a labeling with a large F, and what is known about samples that all of them keep."""

from kernelclust.solvers._constraints import Constraints
from kernelclust.solvers._copies import equal_rows
from kernelclust.solvers._side_information import make_constraints

__all__ = ["Constraints", "equal_rows", "make_constraints"]
