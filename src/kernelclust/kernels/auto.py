"""The default that needs no choice: the mean of commute kernels over three views of X and three sizes of graph.

Views: X as given, columns standardised, rows scaled to length one. In each, neighbours of three numbers make three
graphs (b, 1.5 sqrt(b B) and 2 B, with b = clip(m / 2c, 3, 10) and B = clip(m / 2c, 3, 50), or 15 beyond 3000 samples),
each a commute kernel as in kernel="graph", scaled to trace m; K is their mean. It stands for "neighbours are alike,
whatever the units": images, cells, text. For round groups in few, well chosen columns kernel="rbf" is as good or
better. Beyond `DENSE_LIMIT` samples each kernel keeps its smoothest functions alone.

This file is the kernel alone. What a fit with kernel="auto" decides beyond it is in `policies/auto.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

from kernelclust._progress import stage_progress
from kernelclust._threads import in_order
from kernelclust.kernels._fitted_kernel import COMMUTE, FittedKernel
from kernelclust.kernels._graphs import commute_factor_and_start, commute_kernel, neighbour_graphs, spread_neighbors
from kernelclust.kernels._new_samples import Neighbours
from kernelclust.kernels._nodes import GraphKernel
from kernelclust.kernels._views import View, ViewData, informative_views
from kernelclust.kernels.operators import DenseKernel, KernelOperator, LowRankKernel, one_hot

DENSE_LIMIT = 3000
FUNCTIONS = 10  # beyond 2c that are kept of each graph
N_GRAPHS = 3  # of every view, small to large
MIDDLE, OTHERS = 1, (0, 2)  # the functions of the middle graph are the start for the others
MAX_RBF_SAMPLES = 2000  # that rbf kernels of the views compare clusters on
RBF_WIDTHS = (0.5, 1.0)  # gamma of these kernels times the mean squared distance


@dataclass(frozen=True)
class GraphMean(FittedKernel):
    """The mean of commute kernels, and what it is made of.

    `view_data` holds the samples as every view shows them. `view_factors` holds B (m x k), the smoothest functions on
    the middle graph of every view that tells samples apart, centred. `n_distinct` counts equal samples once.
    """

    view_data: list[Any] = field(default_factory=list)
    view_factors: list[np.ndarray] = field(default_factory=list)
    n_distinct: int = 0

    def companion_sums(self, labels: np.ndarray, n_clusters: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return cluster sums and sizes of some samples by rbf kernels of the views.

        Commute times between clusters that are joined by few links hold no order. The list is empty where a cluster
        has none of these samples.
        """
        chosen = evenly_spaced(len(labels), MAX_RBF_SAMPLES)
        labels, weight = labels[chosen], self.operator.weight[chosen]
        sizes = np.bincount(labels, weight, minlength=n_clusters)
        if not sizes.all():
            return []

        def sums(Z: Any) -> list[np.ndarray]:
            return _rbf_sums(Z[chosen], labels, weight, n_clusters)

        each = in_order(sums, self.view_data, large=len(chosen) == MAX_RBF_SAMPLES)
        return [(S, sizes) for of_view in each for S in of_view]


class Auto(GraphKernel):
    """The mean of commute kernels over views of X and sizes of graph.

    Parameters
    ----------
    n_functions : int, optional
        Smoothest functions that are kept of each graph; by default 2c + 10.
    dense_limit : int, default=3000
        Samples up to which the matrix is held.
    """

    example = "Auto()"
    dense_among_many = False

    def __init__(self, n_functions: int | None = None, dense_limit: float = DENSE_LIMIT):
        self.n_functions = n_functions
        self.dense_limit = dense_limit

    def fit(self, X, weight, *, n_clusters, approximation, center, rng) -> GraphMean:
        m, share = X.shape[0], weight / weight.sum()
        views = informative_views(X, weight)
        useful = [data for data in views if len(data.first) > 1]
        number = self.n_functions or 2 * n_clusters + FUNCTIONS
        large = m > DENSE_LIMIT

        def begin(data: ViewData) -> tuple[list[sparse.csr_array], np.ndarray, np.ndarray]:
            graphs = neighbour_graphs(data.nodes, spread_neighbors(data.nodes.shape[0], n_clusters))
            return graphs, *commute_factor_and_start(graphs[MIDDLE], number)

        def finish(graphs: list[sparse.csr_array], start: np.ndarray) -> Callable[[int], np.ndarray]:
            return lambda i: commute_factor_and_start(graphs[i], number, start=start)[0]

        K = None if useful else np.zeros((m, m))
        middles: list[np.ndarray] = []
        factors: list[np.ndarray] = []
        for k, (graphs, middle, start) in enumerate(in_order(begin, useful, large=large)):
            data = useful[k]
            if approximation is None:
                middles.append(_scaled(data.spread(middle), share))
                for W in graphs:
                    K_graph = _dense(W, data, share)
                    K = K_graph if K is None else np.add(K, K_graph, out=K)
            else:
                of_size = {MIDDLE: middle}  # the others are computed while the next views begin
                of_size |= zip(OTHERS, in_order(finish(graphs, start), OTHERS, large=large), strict=True)
                factors += [_scaled(data.spread(of_size[i]), share) for i in range(N_GRAPHS)]
            stage_progress(k + 1, len(useful))
        operator: KernelOperator
        if K is not None:
            operator = DenseKernel(np.divide(K, max(N_GRAPHS * len(middles), 1), out=K), weight)
        else:
            B, columns = _side_by_side(factors)
            operator = LowRankKernel(B, weight, overwrite=True)
            middles = columns[MIDDLE::N_GRAPHS]
        return GraphMean(
            operator,
            Neighbours([data.search() for data in views]),
            view_data=[data.Z for data in views],
            view_factors=middles,
            n_distinct=len(views[0].first),
            **COMMUTE,
        )


def evenly_spaced(number: int, at_most: int) -> np.ndarray:
    """Return indices of at most so many of `number` samples, as far apart as they can be."""
    return np.unique(np.linspace(0, number - 1, min(number, at_most)).astype(int))


def _rbf_sums(Z, labels: np.ndarray, weight: np.ndarray, n_clusters: int) -> list[np.ndarray]:
    """Return cluster sums by rbf kernels, one for each of the widths."""
    Pi = one_hot(labels, n_clusters, weight)
    D = euclidean_distances(Z, squared=True)
    mean = weight @ D @ weight / (weight.sum() ** 2 - weight @ weight)
    return [Pi.T @ np.exp(-width / mean * D) @ Pi for width in RBF_WIDTHS] if mean > 0 else []


def _side_by_side(factors: list[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return B with B B' the mean of the kernels of the factors, and its columns factor by factor.

    The list of factors is emptied on the way, so that nothing is held twice.
    """
    number, ends = len(factors), np.cumsum([B.shape[1] for B in factors])
    B = np.empty((len(factors[0]), ends[-1]))
    columns = []
    for end in ends:
        factor = factors.pop(0)
        columns.append(B[:, end - factor.shape[1] : end])
        columns[-1][:] = factor
    B /= np.sqrt(number)
    return B, columns


def views(X, weight: np.ndarray) -> list[View]:
    """Return the views of X that tell samples apart."""
    return [data.view for data in informative_views(X, weight)]


def _scaled(B: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return a factor centred, and of trace one per sample."""
    B = B - share @ B
    B /= np.sqrt(share @ np.einsum("ij,ij->i", B, B))
    return B


def _dense(W, data: ViewData, share: np.ndarray) -> np.ndarray:
    """Return the kernel matrix of a graph, of trace one per sample."""
    K = commute_kernel(W)
    total = np.bincount(data.which, share, minlength=len(K))
    K /= total @ np.diagonal(K) - total @ K @ total
    return K if len(data.first) == len(data.which) else K[np.ix_(data.which, data.which)]


PART = Auto
