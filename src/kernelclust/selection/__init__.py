"""Selection of the number of clusters and of the structure, and the stability bound."""

from kernelclust.selection._bound import StabilityBound, stability_bound
from kernelclust.selection._result import Selection
from kernelclust.selection._select import select_n_clusters
from kernelclust.selection._structure import select_structure

__all__ = ["Selection", "StabilityBound", "select_n_clusters", "select_structure", "stability_bound"]
