"""Commute-time kernel of a graph that you bring: X is the (m x m) matrix of affinities, sparse or dense, or a networkx
graph, whose nodes are the samples in the graph's own order and whose affinities are the edge attribute "weight" (1
where an edge has none).

K = (L + regularization D)^+, L = D - W its Laplacian, as in kernel="graph": for graphs of neighbours that are there
already, such as `connectivities` of scanpy or scikit-learn's `kneighbors_graph`. Affinities are weights of links, zero
or more; only their ratios matter, and the diagonal does not count. A link given in one direction is taken for both, at
the larger of its two weights.

A graph in several pieces is joined through a hub. Every piece has weak links to it, which together weigh as much as
one weak link of the graph (the tenth percentile), so that pieces lie apart and count by their size. Where functions
make the kernel, the largest pieces have functions, and samples of the others lie at the hub.

New samples come as (n x m) affinities with the fitted ones, and are averages of those weighted by affinity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from kernelclust._threads import one_thread
from kernelclust._warnings import warn
from kernelclust.kernels._fitted_kernel import COMMUTE, FittedKernel
from kernelclust.kernels._graphs import commute_factor, commute_kernel
from kernelclust.kernels._new_samples import Neighbours
from kernelclust.kernels._nodes import GraphKernel, n_functions
from kernelclust.kernels.operators import DenseKernel, LowRankKernel

WEAK = 0.1  # quantile of the weights that counts as a weak link
ROUNDING = 1e-6  # relative difference of two directions that needs no warning


@dataclass(eq=False, repr=False)
class PrecomputedGraph(GraphKernel):
    """Compare samples by commute times on a given graph, whose affinities (m, m) are passed as X.

    Parameters
    ----------
    regularization, n_functions
        As in `Graph`.
    """

    example = "PrecomputedGraph(regularization=0.01)"
    pairwise = True
    accepts_graphs = True
    equal_rows_are_equal = False
    reports_bad_entries = True

    regularization: float = 0.0
    n_functions: int | None = None

    def fit(self, X, weight, *, n_clusters, approximation, center, rng) -> FittedKernel:
        self.check_regularization()
        W = sparse.csr_array(X, dtype=np.float64)
        W = W / (W.data.max() if W.nnz else 1.0)
        count, piece = connected_components(W, directed=False)
        hub = None
        if count > 1:
            sizes = np.sort(np.bincount(piece))[::-1]
            warn(
                f"the graph has {count} pieces without links between them (the largest have "
                f"{', '.join(map(str, sizes[:3]))} samples): they are joined by weak links to a hub. If they should "
                "not be, cluster them one by one, or build the graph with more neighbours."
            )
            hub = hub_links(W, piece)
        source = Neighbours([Affinities()])
        with one_thread():
            if approximation is None:
                return FittedKernel(DenseKernel(commute_kernel(W, self.regularization, hub), weight), source, **COMMUTE)
            number = n_functions(self.n_functions, n_clusters, W.shape[0])
            if hub is None:
                B = commute_factor(W, number, self.regularization)
            else:
                B = _factor_of_pieces(W, piece, number, self.regularization)
            return FittedKernel(LowRankKernel(B, weight, overwrite=True), source, **COMMUTE)

    def affinities(self, graph: Any) -> sparse.csr_array:
        """Return the edge weights between the nodes, in the graph's order."""
        from networkx import to_scipy_sparse_array

        if not len(graph):
            raise ValueError("X is a networkx graph without nodes; its nodes are the samples.")
        return to_scipy_sparse_array(graph, dtype=np.float64, weight="weight")

    def check_samples(self, X) -> sparse.csr_array:
        """Return affinities (m x m) as a symmetric sparse matrix with an empty diagonal, or refuse what is no graph."""
        W = sparse.coo_array(X).astype(np.float64)
        if W.shape[0] != W.shape[1]:
            raise ValueError(
                "kernel='precomputed_graph' needs a square matrix of affinities, one row and one column a sample; this "
                f"is {W.shape}. For samples with columns use kernel='graph', which builds the graph."
            )
        check_affinities(W)
        keep = (W.row != W.col) & (W.data > 0)
        if not keep.any():
            raise ValueError("the graph has no links: no affinity off the diagonal is positive.")
        W = sparse.csr_array((W.data[keep], (W.row[keep], W.col[keep])), shape=W.shape)
        skew = abs(W - W.T)
        if skew.nnz and skew.max() > ROUNDING * W.data.max():
            one_sided = (W > 0).astype(np.int8) - (W.T > 0).astype(np.int8)
            warn(
                f"the graph is not symmetric ({int((one_sided.data > 0).sum())} links are given in one direction "
                "only): the larger of two weights counts for both. Pass (X + X.T) / 2 for their mean."
            )
        return sparse.csr_array(W.maximum(W.T))


def check_affinities(X) -> None:
    """Refuse weights that are negative or not finite, by name."""
    W = sparse.coo_array(X)
    for bad, what, advice in (
        (~np.isfinite(W.data), "is not finite", "Leave out links that are unknown."),
        (
            W.data < 0,
            "is negative",
            "Affinities are zero or more; turn distances D into them, e.g. exp(-D / D.mean()).",
        ),
    ):
        if bad.any():
            k = int(np.flatnonzero(bad)[0])
            raise ValueError(f"affinity X[{W.row[k]}, {W.col[k]}] = {W.data[k]:.6g} {what}. {advice}")


@dataclass
class Affinities:
    """New samples by their affinities with the fitted ones: shares (n, k) and the fitted samples (n, k) they go to."""

    def __call__(self, X_new) -> tuple[np.ndarray, np.ndarray]:
        W = sparse.csr_array(X_new)
        check_affinities(W)
        W.eliminate_zeros()
        total = W.sum(axis=1)
        if not (total > 0).all():
            row = int(np.flatnonzero(total <= 0)[0])
            raise ValueError(
                f"new sample {row} has no affinity with any fitted sample, so nothing says where it belongs; give it "
                "one at least, or leave it out."
            )
        number = np.diff(W.indptr)
        place = np.arange(W.nnz) - np.repeat(W.indptr[:-1], number)
        rows = np.repeat(np.arange(W.shape[0]), number)
        share, index = (np.zeros((W.shape[0], int(number.max(initial=1))), dtype=kind) for kind in (float, int))
        share[rows, place], index[rows, place] = W.data / total[rows], W.indices
        return share, index


def hub_links(W: sparse.csr_array, piece: np.ndarray) -> np.ndarray:
    """Weights (m,) of the links to the hub: in every piece they add up to a weak link, and follow the degrees."""
    degree = W.sum(axis=1)
    degree = np.where(degree > 0, degree, 1.0)  # a sample by itself
    return _weak(W) * degree / np.bincount(piece, degree)[piece]


def _weak(W: sparse.csr_array) -> float:
    return float(np.quantile(W.data, WEAK))


def _factor_of_pieces(W: sparse.csr_array, piece: np.ndarray, number: int, regularization: float) -> np.ndarray:
    """B (m x number) of a graph in pieces joined by a hub: the pieces' own functions, the weightiest of all.

    A hub adds weak / volume to all values of a piece, and the function that is constant on it.
    """
    sizes = np.bincount(piece)
    weak, columns = _weak(W), []
    for one in np.argsort(-sizes, kind="stable")[: max(2, number // 2)]:
        inside = np.flatnonzero(piece == one)
        part = sparse.csr_array(W[inside][:, inside])
        volume = float(part.sum())
        columns.append((inside, np.full(len(inside), 1 / np.sqrt(weak + regularization * volume))))
        if len(inside) > 1:
            B = commute_factor(part, min(number, len(inside) - 1), regularization + weak / volume)
            columns += [(inside, b) for b in B.T]
    columns.sort(key=lambda column: -float(column[1] @ column[1]))
    B = np.zeros((len(piece), min(number, len(columns))))
    for j, (inside, b) in enumerate(columns[:number]):
        B[inside, j] = b
    return B


PART = PrecomputedGraph
