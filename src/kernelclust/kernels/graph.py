"""Commute-time kernel of a connected nearest-neighbour graph: K = (L + regularization D)^+, L = D - W its Laplacian.

Two samples are similar if many short paths of the graph join them: for curved or elongated clusters, images and
cells. Weights W fall with distance as in UMAP, with a scale for each sample. The graph is made connected by the links
of a spanning tree, because the pseudo-inverse of a disconnected graph gives the right clustering a value of zero.
Neighbours: 1.5 x clip(m / 2c, 3, 10). Equal samples are one node of the graph.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from kernelclust.kernels._fitted_kernel import COMMUTE, FittedKernel
from kernelclust.kernels._graphs import commute_factor, commute_kernel
from kernelclust.kernels._nodes import NeighbourKernel


@dataclass(eq=False, repr=False)
class Graph(NeighbourKernel):
    """Compare two samples by commute times on the graph of nearest neighbours.

    Two samples are similar if many short paths of the graph join them. Choose it for curved or elongated clusters if
    you want to set the number of neighbours; kernel="auto" uses such graphs too.

    Parameters
    ----------
    n_neighbors : int, optional
        Number of neighbours of each sample; by default 1.5 x clip(m / 2c, 3, 10) for m samples and c clusters.
    regularization : float, default=0.0
        Fraction of the degrees that is added to the Laplacian. The larger it is, the sooner a random walk ends.
    n_functions : int, optional
        Number of smoothest functions that make the kernel beyond 3000 samples; by default 2c + 10.
    """

    example = "Graph(n_neighbors=10)"

    n_neighbors: int | None = None
    regularization: float = 0.0
    n_functions: int | None = None

    def fit(self, X, weight, *, n_clusters, approximation, center, rng) -> FittedKernel:
        self.check_regularization()
        fitted = self.fit_on_nodes(
            X,
            weight,
            n_clusters,
            rng,
            gram=lambda W: commute_kernel(W, self.regularization),
            factor=lambda W, number: commute_factor(W, number, self.regularization),
            dense=approximation is None,
        )
        return replace(fitted, **COMMUTE)


PART = Graph
