"""Factors B with K ~ B B' instead of a kernel itself: a file for each way to make one."""

from kernelclust._terms import exposes_terms
from kernelclust.kernels.approximations._base import Approximation

__getattr__, __dir__ = exposes_terms(__name__)

__all__ = ["Approximation"]
