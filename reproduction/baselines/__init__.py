"""The papers' rivals of structured clustering: functions of a kernel matrix K (m, m) that return labels (m,)."""

from reproduction.baselines.hierarchical_kmeans import hierarchical_kmeans
from reproduction.baselines.linkage import tree_linkage
from reproduction.baselines.normalized_cut import normalized_cut
from reproduction.baselines.xwss import xwss

__all__ = ["hierarchical_kmeans", "normalized_cut", "tree_linkage", "xwss"]
