"""The default that needs no choice: the mean of commute kernels over three views of X and three sizes of graph.

Views: X as given, columns standardised, rows scaled to length one. In each, neighbours of three numbers make three
graphs (b, 1.5 sqrt(b B) and 2 B, with b = clip(m / 2c, 3, 10) and B = clip(m / 2c, 3, 50), or 15 beyond 3000 samples),
each a commute kernel as in kernel="graph", scaled to trace m; K is their mean. It stands for "neighbours are alike,
whatever the units": images, cells, text. For round groups in few, well chosen columns kernel="rbf" is as good or
better. Beyond `DENSE_UP_TO` samples each kernel keeps its smoothest functions alone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelclust._progress import within
from kernelclust._threads import in_order
from kernelclust.kernels._fitted_kernel import COMMUTE, FittedKernel, Member
from kernelclust.kernels._graphs import commute_factor_and_start, commute_kernel, neighbour_graphs, spread_neighbors
from kernelclust.kernels._new_samples import Neighbours
from kernelclust.kernels._views import Picture, View, informative_pictures
from kernelclust.kernels.operators import DenseKernel, KernelOperator, LowRankKernel

SIZES = (1.0, 1.5, 2.0)  # names of the three graphs, small to large
DENSE_UP_TO = 3000
FUNCTIONS = 10  # beyond 2c that are kept of each graph
MIDDLE, OTHERS = 1, (0, 2)  # the functions of the middle graph are the start for the others


def fit(X, weight: np.ndarray, *, n_clusters: int, method: str | None, n_components: int | None = None) -> FittedKernel:
    """The mean kernel of samples X (m x d): its matrix (method None), or the factors of all graphs side by side."""
    m, share = X.shape[0], weight / weight.sum()
    pictures = informative_pictures(X, weight)
    seen = [picture for picture in pictures if len(picture.first) > 1]
    number = n_components or 2 * n_clusters + FUNCTIONS
    K = None
    factors: list[np.ndarray] = []

    def begin(picture: Picture) -> tuple[list, np.ndarray, np.ndarray]:
        graphs = neighbour_graphs(picture.nodes, spread_neighbors(picture.nodes.shape[0], n_clusters))
        return graphs, *commute_factor_and_start(graphs[MIDDLE], number)

    def finish(graphs: list, start: np.ndarray) -> Callable[[int], np.ndarray]:
        return lambda i: commute_factor_and_start(graphs[i], number, start=start)[0]

    for k, (graphs, middle, start) in enumerate(in_order(begin, seen, large=m > DENSE_UP_TO)):
        picture = seen[k]
        found = {MIDDLE: middle}  # the others are found while the next pictures begin
        found |= zip(OTHERS, in_order(finish(graphs, start), OTHERS, large=m > DENSE_UP_TO), strict=True)
        factors += [_scaled(picture.spread(found[i]), share) for i in range(len(SIZES))]
        within(k + 1, len(seen))
        for W in graphs if method is None else []:
            one = _dense(W, picture, share)
            K = one if K is None else np.add(K, one, out=K)
    members = [
        Member(picture.view.name, size, B)
        for (picture, size), B in zip(((picture, size) for picture in seen for size in SIZES), factors, strict=True)
    ]
    operator: KernelOperator
    if not members:
        operator = DenseKernel(np.zeros((m, m)), weight)
    elif K is not None:
        operator = DenseKernel(np.divide(K, len(members), out=K), weight)
    else:
        operator = LowRankKernel(_side_by_side(members), weight, overwrite=True)
    return FittedKernel(
        operator,
        Neighbours([picture.search() for picture in pictures]),
        members=members,
        pictures=[picture.Z for picture in pictures],
        n_different=len(pictures[0].first),
        **COMMUTE,
    )


def _side_by_side(members: list[Member]) -> np.ndarray:
    """The factors of all graphs as one, of which they are columns from now on, so that nothing is held twice."""
    widths = [member.B.shape[1] for member in members]
    B = np.empty((len(members[0].B), sum(widths)))
    for member, end, width in zip(members, np.cumsum(widths), widths, strict=True):
        B[:, end - width : end] = member.B
        member.B = B[:, end - width : end]
    B /= np.sqrt(len(members))
    return B


def views(X, weight: np.ndarray) -> list[View]:
    """The views of X that say something."""
    return [picture.view for picture in informative_pictures(X, weight)]


def _scaled(B: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Centred, and of trace one a sample."""
    B = B - share @ B
    B /= np.sqrt(share @ np.einsum("ij,ij->i", B, B))
    return B


def _dense(W, picture: Picture, share: np.ndarray) -> np.ndarray:
    """A graph's kernel matrix, of trace one a sample."""
    K = commute_kernel(W)
    whole = np.bincount(picture.which, share, minlength=len(K))
    K /= whole @ np.diagonal(K) - whole @ K @ whole
    return K if len(picture.first) == len(picture.which) else K[np.ix_(picture.which, picture.which)]
