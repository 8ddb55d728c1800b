"""What kernels on one neighbour graph share: equal samples are one node, and new samples go by their neighbours."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from kernelclust._names import check_number
from kernelclust._threads import one_thread
from kernelclust.kernels._base import Kernel
from kernelclust.kernels._fitted_kernel import FittedKernel
from kernelclust.kernels._graphs import n_neighbors_for, neighbour_graphs
from kernelclust.kernels._new_samples import Neighbours
from kernelclust.kernels._views import ViewData, given_view
from kernelclust.kernels.operators import DenseKernel, LowRankKernel

SIZE = 1.5
FUNCTIONS = 10  # beyond 2c that are kept of a graph


def neighbour_graph(X, n_clusters: int, n_neighbors: int | None = None) -> sparse.csr_array:
    """Connected graph of the neighbours, symmetric weights."""
    k = n_neighbors_for(X.shape[0], n_clusters, SIZE) if n_neighbors is None else n_neighbors
    return neighbour_graphs(X, [k])[0]


def n_functions(wanted: int | None, n_clusters: int, n_nodes: int) -> int:
    """Number of smoothest functions that are kept."""
    return min(wanted or 2 * n_clusters + FUNCTIONS, n_nodes - 1)


class GraphKernel(Kernel):
    """A kernel of a graph: it exists between fitted samples, up to a constant, as a matrix or by smooth functions."""

    is_function = False
    has_functions = True
    has_uncentred_form = False
    dense_limit: float = 3000
    n_functions: int | None
    regularization: float = 0.0

    def check_regularization(self) -> None:
        check_number("regularization", self.regularization)


class NeighbourKernel(GraphKernel):
    """A kernel of the graph of nearest neighbours. Equal samples are one node of it."""

    n_neighbors: int | None

    def fit_on_nodes(
        self,
        X,
        weight: np.ndarray,
        n_clusters: int,
        *,
        gram: Callable,  # W -> K, both n x n
        factor: Callable,  # W, number -> B (n x number)
        dense: bool,
    ) -> FittedKernel:
        """Return the kernel of the neighbour graph of X: `gram` of the graph, or B B' with B its `factor`."""
        with one_thread():
            view = given_view(X, weight)
            data = ViewData(view, view(X))
            source = Neighbours([data.search()])
            which = data.which
            if len(data.first) < 2:
                return FittedKernel(DenseKernel(np.zeros((len(which), len(which))), weight), source)
            W = neighbour_graph(data.nodes, n_clusters, self.n_neighbors)
            if not dense:
                B = factor(W, n_functions(self.n_functions, n_clusters, W.shape[0]))
                return FittedKernel(LowRankKernel(data.spread(B), weight, overwrite=True), source)
            K = gram(W)
            K = K if len(data.first) == len(which) else K[np.ix_(which, which)]
            return FittedKernel(DenseKernel(K, weight), source)
