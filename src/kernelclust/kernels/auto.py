"""The default that needs no choice: the mean of the graph kernels of two or three views of X.

Views: X as given, columns standardised, and rows scaled to length one from six columns on. The
kernel of a view is that of kernel="graph" with its smoothest functions alone: from the eigenvalues v and eigenvectors U
of its normalised Laplacian, degrees D,

    K_view = B B',    B = D^-1/2 U sqrt(1 / v - 1),    scaled to trace m together with the rest, D^-1

where the rest is what less smooth functions (v near 1) add, a diagonal that hardly tells clusters apart. It stands for
"neighbours are alike, whatever the units": images, cells, text. For round groups in few, well chosen columns
kernel="rbf" is as good or better.

Neighbours: 1.5 x clip(m / 2c, 3, 10), as in kernel="graph"; four times as many where the kernels of the views disagree
(mean alignment below 0.6), as they do on text: thin shapes want small neighbourhoods, noise wide ones. Twelve draws of
newsgroups of each of four shapes: 67.7, 73.5, 74.3, 76.1 and 74.8 % structured accuracy with 1, 2, 3, 4 and 6 times as
many.

Graphs join at most `MAX_GRAPH_SAMPLES` samples; the functions at all other samples, fitted or new, are those of their
nearest neighbours among these. So the kernel is a map to features at every size and on every device.

Measured with three sizes of graph and dense inverses beside it: families with a known order 70.4 % structured accuracy
(this kernel 70.8 %), clustering suite .766 (.791); `benchmarks/auto.py`, `benchmarks/leaderboard.py`.

This file is the kernel alone. What a fit with kernel="auto" decides beyond it is in `policies/auto.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from kernelclust._progress import stage_progress
from kernelclust._threads import in_order
from kernelclust.kernels._fitted_kernel import COMMUTE, FittedKernel
from kernelclust.kernels._graphs import n_neighbors_for, neighbour_graph, smoothest
from kernelclust.kernels._new_samples import Features, GraphFeatures
from kernelclust.kernels._nodes import MAX_GRAPH_SAMPLES, GraphKernel, extended, graph_samples, n_functions
from kernelclust.kernels._views import View, ViewData, informative_views
from kernelclust.kernels.operators import LowRankKernel, one_hot

MIN_VIEW_AGREEMENT = 0.6  # below it neighbourhoods are noise, and wider ones are taken
WIDE = 4  # times as many neighbours
MIN_PARALLEL_SAMPLES = 500  # from which on views are worked on in threads
MAX_RBF_SAMPLES = 500  # that rbf kernels of the views compare clusters on
RBF_WIDTH = 0.5  # gamma times the mean squared distance of one of these kernels; the other has twice as much


@dataclass(frozen=True)
class GraphMean(FittedKernel):
    """The mean of the graph kernels of the views, and what it is made of.

    `graphed` are the samples that graphs join, and `view_data` holds them as every view shows them. `view_agreement`
    is the mean alignment of the kernels of two views, None where all samples are equal. `n_distinct` counts equal
    samples once.
    """

    graphed: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=int))
    view_data: list[Any] = field(default_factory=list)
    view_agreement: float | None = None
    n_distinct: int = 0

    @property
    def views_disagree(self) -> bool:
        """Return whether neighbours in one of three views are no neighbours in another, which means that neighbourhoods
        are dominated by noise.
        """
        return _disagree(self.view_agreement, len(self.view_data))

    def companion_sums(self, labels: np.ndarray, n_clusters: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return cluster sums and sizes of some samples by rbf kernels of the views.

        Commute times between clusters that are joined by few links hold no order. The list is empty where a cluster
        has none of these samples.
        """
        number = len(self.graphed)
        chosen = np.unique(np.linspace(0, number - 1, min(number, MAX_RBF_SAMPLES)).astype(int))
        labels, weight = labels[self.graphed[chosen]], self.operator.weight[self.graphed[chosen]]
        sizes = np.bincount(labels, weight, minlength=n_clusters)
        if not sizes.all():
            return []
        each = in_order(lambda Z: _rbf_sums(Z[chosen], labels, weight, n_clusters), self.view_data, large=False)
        return [(S, sizes) for of_view in each for S in of_view]


class Auto(GraphKernel):
    """Compare samples by the mean of the graph kernels of two or three views of X. The default.

    The views are X as given, with standardised columns and, from six columns on, with rows of length one. Choose it for
    images, cells, text and curved clusters, or if you do not know.

    Parameters
    ----------
    n_neighbors : int, optional
        Number of neighbours of each sample; by default 1.5 x clip(m / 2c, 3, 10) for m samples and c clusters, and four
        times as many where the views disagree.
    n_functions : int, optional
        Number of smoothest functions that are stored of each graph; by default 2c + 10.
    """

    example = "Auto()"
    learns_features = True
    start_samples = MAX_GRAPH_SAMPLES

    def __init__(self, n_neighbors: int | None = None, n_functions: int | None = None):
        self.n_neighbors = n_neighbors
        self.n_functions = n_functions

    def fit(self, X, weight, *, n_clusters, approximation, center, rng) -> GraphMean:
        m = X.shape[0]
        graphed = graph_samples(m, rng)
        few, share = (X, weight) if len(graphed) == m else (X[graphed], weight[graphed])
        share = share / share.sum()
        views = informative_views(few, share)
        useful = [data for data in views if len(data.first) > 1]

        def factor(data: ViewData, width: int = 1) -> np.ndarray:
            nodes = data.nodes.shape[0]
            k = self.n_neighbors or width * n_neighbors_for(nodes, n_clusters)
            W = neighbour_graph(data.nodes, k, data.neighbours.search)
            B = _graph_factor(W, n_functions(self.n_functions, n_clusters, nodes), np.bincount(data.which, share))
            return B / np.sqrt(len(useful))

        factors = []
        for B in in_order(factor, useful, large=m >= MIN_PARALLEL_SAMPLES):
            factors.append(B)
            stage_progress(len(factors), len(useful))
        agreement: float | None = alignment([data.spread(B) for data, B in zip(useful, factors, strict=True)], share)
        if _disagree(agreement, len(useful)) and self.n_neighbors is None:
            factors = list(in_order(lambda data: factor(data, WIDE), useful, large=m >= MIN_PARALLEL_SAMPLES))
        if not factors:  # all samples are equal
            useful, factors, agreement = views[:1], [np.zeros((1, 1))], None
        features = GraphFeatures([data.neighbours for data in useful], factors)
        B = np.hstack([data.spread(B) for data, B in zip(useful, factors, strict=True)])
        if len(graphed) < m:
            B = extended(features, X, graphed, B)
        return GraphMean(
            LowRankKernel(B, weight, overwrite=True),
            Features(features),
            graphed=graphed,
            view_data=[data.Z for data in views],
            view_agreement=agreement,
            n_distinct=len(views[0].first),
            **COMMUTE,
        )


def _disagree(agreement: float | None, n_views: int) -> bool:
    """Return whether neighbourhoods are dominated by noise; with few columns there are only two views, and they are
    not.
    """
    return n_views == 3 and agreement is not None and agreement < MIN_VIEW_AGREEMENT


def alignment(factors: list[np.ndarray], weight: np.ndarray) -> float:
    """Return the mean of <K, L> / |K||L| over pairs of kernels B B' of these centred factors; one for a single one."""
    weighted = [B * np.sqrt(weight)[:, None] for B in factors]

    def product(one: np.ndarray, other: np.ndarray) -> float:
        return float(np.square(one.T @ other).sum())

    length = [np.sqrt(product(B, B)) for B in weighted]
    pairs = [
        product(weighted[i], weighted[j]) / (length[i] * length[j]) for i, j in combinations(np.flatnonzero(length), 2)
    ]
    return float(np.mean(pairs)) if pairs else 1.0


def _graph_factor(W, number: int, share: np.ndarray) -> np.ndarray:
    """Return B (n x number) of a graph; with the rest its kernel has trace one, its nodes counted by their shares.

    Where `number` functions are all there are, nothing is left for the rest: B B' is the commute kernel itself.
    """
    values, vectors = smoothest(W, number)
    degree = W.sum(axis=1)
    rest = 0.0 if number >= W.shape[0] - 1 else 1.0
    B = vectors / np.sqrt(degree)[:, None]
    B *= np.sqrt(np.maximum(1 / values - rest, 0.0))
    B -= share @ B
    B /= np.sqrt(share @ (np.einsum("ij,ij->i", B, B) + rest / degree))
    return B


def _rbf_sums(Z, labels: np.ndarray, weight: np.ndarray, n_clusters: int) -> list[np.ndarray]:
    """Return cluster sums by two rbf kernels."""
    Pi = one_hot(labels, n_clusters, weight)
    if len(labels) == 1:  # without pairs there is no width
        return []
    D = euclidean_distances(Z, squared=True)
    mean = weight @ D @ weight / (weight.sum() ** 2 - weight @ weight)
    if not mean > 0:
        return []
    K = np.exp(np.multiply(D, -RBF_WIDTH / mean, out=D), out=D)
    wide = Pi.T @ K @ Pi
    return [wide, Pi.T @ np.square(K, out=K) @ Pi]


def views(X, weight: np.ndarray) -> list[View]:
    """Return the views of X that tell samples apart."""
    return [data.view for data in informative_views(X, weight)]


PART = Auto
