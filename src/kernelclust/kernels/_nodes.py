"""Code shared by kernels on one neighbour graph: equal samples are one node, and new samples use their neighbours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernelclust._names import check_number
from kernelclust._threads import in_order, one_thread
from kernelclust.kernels._base import Kernel
from kernelclust.kernels._fitted_kernel import FittedKernel
from kernelclust.kernels._graphs import n_neighbors_for, neighbour_graph
from kernelclust.kernels._new_samples import FeatureMap, Features, GraphFeatures, Neighbours
from kernelclust.kernels._views import ViewData, given_view
from kernelclust.kernels.operators import DenseKernel, LowRankKernel, row_blocks

MAX_GRAPH_SAMPLES = 10_000
FUNCTIONS = 10  # beyond 2c that are kept of a graph


def n_functions(wanted: int | None, n_clusters: int, n_nodes: int) -> int:
    """Number of smoothest functions that are kept."""
    return min(wanted or 2 * n_clusters + FUNCTIONS, n_nodes - 1)


class GraphKernel(Kernel):
    """A kernel of a graph: it exists between fitted samples, up to a constant, as a matrix or by smooth functions."""

    is_function = False
    has_uncentred_form = False
    dense_limit: float = 3000
    n_functions: int | None
    regularization: float = 0.0

    def check_regularization(self) -> None:
        check_number("regularization", self.regularization)


def graph_samples(n_samples: int, rng: np.random.RandomState) -> np.ndarray:
    """Return the samples that graphs join: all, or `MAX_GRAPH_SAMPLES` of them drawn at random."""
    if n_samples <= MAX_GRAPH_SAMPLES:
        return np.arange(n_samples)
    return np.sort(rng.choice(n_samples, MAX_GRAPH_SAMPLES, replace=False))


def extended(features: FeatureMap, X: Any, graphed: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the features of all samples, B those of the ones in the graph, the rest a few thousand at a time."""
    rest = np.setdiff1d(np.arange(X.shape[0]), graphed, assume_unique=True)
    out = np.empty((X.shape[0], B.shape[1]))
    out[graphed] = B
    blocks = [rest[rows] for rows in row_blocks(len(rest), 1, 2**11)]
    for index, found in zip(blocks, in_order(lambda index: features(X[index]), blocks), strict=True):
        out[index] = found
    return out


class NeighbourKernel(GraphKernel):
    """A kernel of the graph of nearest neighbours. Equal samples are one node of it."""

    n_neighbors: int | None

    def fit_on_nodes(
        self,
        X,
        weight: np.ndarray,
        n_clusters: int,
        rng: np.random.RandomState,
        *,
        gram: Callable,  # W -> K, both n x n
        factor: Callable,  # W, number -> B (n x number)
        dense: bool,
    ) -> FittedKernel:
        """Return the kernel of the neighbour graph of X: `gram` of the graph, or B B' with B its `factor`.

        Without `dense`, the graph joins some samples of many, and the others have the features of their neighbours.
        """
        with one_thread():
            m = X.shape[0]
            graphed = np.arange(m) if dense else graph_samples(m, rng)
            few, share = (X, weight) if len(graphed) == m else (X[graphed], weight[graphed])
            view = given_view(few, share)
            data = ViewData(view, view(few))
            which = data.which
            if len(data.first) < 2:
                return FittedKernel(LowRankKernel(np.zeros((m, 1)), weight), Neighbours([data.neighbours]))
            k = n_neighbors_for(len(data.first), n_clusters) if self.n_neighbors is None else self.n_neighbors
            W = neighbour_graph(data.nodes, k, data.neighbours.search)
            if dense:
                K = gram(W)
                K = K if len(data.first) == len(which) else K[np.ix_(which, which)]
                return FittedKernel(DenseKernel(K, weight), Neighbours([data.neighbours]))
            B = factor(W, n_functions(self.n_functions, n_clusters, W.shape[0]))
            features = GraphFeatures([data.neighbours], [B])
            B = data.spread(B)
            B = B if len(graphed) == m else extended(features, X, graphed, B)
            return FittedKernel(LowRankKernel(B, weight, overwrite=True), Features(features))
