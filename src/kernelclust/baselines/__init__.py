"""The methods that structured clustering is measured against, with the structure built in as far as it goes."""

from kernelclust.baselines.hierarchical_kmeans import HierarchicalKernelKMeans
from kernelclust.baselines.linkage import TreeLinkage
from kernelclust.baselines.normalized_cut import NormalizedCut
from kernelclust.baselines.placed import PlacedClustering
from kernelclust.baselines.xwss import XWSS

__all__ = ["XWSS", "HierarchicalKernelKMeans", "NormalizedCut", "PlacedClustering", "TreeLinkage"]
