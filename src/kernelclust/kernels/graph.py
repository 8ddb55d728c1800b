"""Commute-time kernel of a connected nearest-neighbour graph: K = (L + regularization D)^+, L = D - W its Laplacian.

Two samples are alike when many short ways through the graph join them: for curved or elongated clusters, images and
cells. Weights W fall with distance as in UMAP, each sample in its own units. The graph is made connected by the links
of a spanning tree, because the pseudo-inverse of a disconnected graph gives the right clustering a value of zero.
Neighbours: 1.5 x clip(m / 2c, 3, 10). Equal samples are one node of the graph.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kernelclust._names import check_number
from kernelclust.kernels._fitted_kernel import COMMUTE, FittedKernel
from kernelclust.kernels._graphs import commute_factor, commute_kernel
from kernelclust.kernels._nodes import fit_on_nodes, n_functions, neighbour_graph

__all__ = ["DENSE_UP_TO", "fit", "neighbour_graph"]

DENSE_UP_TO = 3000  # beyond, the smoothest functions on the graph make the kernel


def fit(
    X,
    weight: np.ndarray,
    *,
    n_clusters: int,
    method: str | None,
    n_components: int | None = None,
    n_neighbors: int | None = None,
    regularization: float = 0.0,
) -> FittedKernel:
    """The kernel between samples X (m x d): its matrix (method None), or the factor of its smoothest functions."""
    check_number("regularization", regularization)
    fitted = fit_on_nodes(
        X,
        weight,
        n_clusters,
        n_neighbors,
        gram=None if method else lambda W: commute_kernel(W, regularization),
        factor=lambda W: commute_factor(W, n_functions(n_components, n_clusters, W.shape[0]), regularization),
    )
    return replace(fitted, **COMMUTE)
