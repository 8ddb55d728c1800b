"""seriate: an order of the samples themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import squareform
from sklearn.manifold import spectral_embedding
from sklearn.metrics import pairwise_distances

from kernelclust._input import as_table, check_finite
from kernelclust._names import check_flag, check_number
from kernelclust._progress import working
from kernelclust._warnings import warn
from kernelclust.estimators._seriate_loops import insert, reverse
from kernelclust.metrics import anti_robinson_deviation, anti_robinson_events, path_length

LARGEST, HUGEST = 1e100, 1e300  # entries beyond would leave floating point when squared, or as distances
MAX_SAMPLES = 20_000  # all distances of more do not fit into memory: 3 GB here
N_NEIGHBORS = 15  # of the graph whose slowest function is a first order
MANY = 1000  # samples up to which two more first orders are tried
FEW_NEIGHBORS = 3  # for curves of few samples that come close to themselves, such as turning objects
LEAST_LINK = 1e-3  # weight of a link of the graph at least, as in kernel="graph"
WIDEST = 10  # the first band is this fraction of the samples; wider ones fold curves
MAX_SWEEPS = 3  # over the samples, for each band; more change little
REACH, LEAST_REACH = 4, 50  # bands, and steps at least, that a sample moves at once at most
NEARLY = 0.01  # relative difference of the criterion that does not decide: under noise, many orders are as short
SMALL = 10  # samples up to which the best order is sought, from random ones too
N_RANDOM = 50
FEW = 5  # samples whose graph has too few functions
N_SPLITS = 3  # into halves, for the confidence
NEAREST = 3  # samples of the other half that say where a sample belongs


@dataclass(frozen=True, repr=False)
class Seriation:
    """An order of samples, and the evidence for it.

    Attributes
    ----------
    order : (m,) int array
        Indices of the samples, first to last: `X[order]`, `D[order][:, order]`. Which end comes first is arbitrary, and
        on a circle also where it is cut: at its longest step.
    ranks : (m,) int array
        Rank of each sample in the order.
    cyclic : bool
    path_length : float
        Sum of the distances between neighbours.
    anti_robinson_events, anti_robinson_deviation : int, float
        How many triples contradict the order, and by how much, as in `kernelclust.metrics`.
    confidence : float or None
        Estimated fraction p of the pairs of samples that would come out in the same order again, 0.5 to 1. Each half of
        the samples is ordered separately, and the other half is ordered by it; q is the fraction of pairs on which both
        orders agree, and p^2 + (1 - p)^2 = q. On a circle triples are used instead of pairs. The noise of single
        samples does not enter, so with noisy samples this is an upper limit.
    """

    order: np.ndarray
    ranks: np.ndarray
    cyclic: bool
    path_length: float
    anti_robinson_events: int
    anti_robinson_deviation: float
    confidence: float | None

    def __repr__(self) -> str:
        sure = "" if self.confidence is None else f", confidence={self.confidence:.2f}"
        return (
            f"<Seriation of {len(self.order)} samples{' on a circle' if self.cyclic else ''}: "
            f"path_length={self.path_length:.6g}, anti_robinson_events={self.anti_robinson_events}{sure}>"
        )


def seriate(
    X: Any, *, metric: str = "euclidean", cyclic: bool = False, bandwidth: int = 1, compute_confidence: bool = True
) -> Seriation:
    """Order the samples themselves, such that similar ones are close to each other in the order.

    The order begins with the slowest function of a graph of nearest neighbours (on a circle: the angle of the two
    slowest; up to 1000 samples also with fewer neighbours, or the leaves of a dendrogram, where the path is shorter)
    and is improved by moving samples, one at a time, under the banded anti-Robinson criterion

        sum over pairs at most b steps apart of (b + 1 - steps) d(x, y),

    first with b = m / 10, then with half of it, and so on down to `bandwidth`. For b = 1 the criterion is the length of
    the path. The path is short, but not the shortest: under noise, shortest paths go back and forth and lose the order.
    With up to ten samples the criterion of `bandwidth` itself is minimised, from 50 random orders as well.
    Choose it for the rows of a heat map, or for samples along an unknown time or depth; `StructuredClustering` orders
    clusters of samples.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (m, d); distances (m, m) for metric="precomputed"
        Up to 20 000 samples: all distances are held in memory.
    metric : str, default="euclidean"
        As in `sklearn.metrics.pairwise_distances`.
    cyclic : bool, default=False
        Whether the last sample is a neighbour of the first.
    bandwidth : int, default=1
        Last value of b. A larger one includes samples farther apart in the order: smoother, with a longer path.
    compute_confidence : bool, default=True
        Whether to order halves of the samples as well, which takes about twice the time of the order.

    Returns
    -------
    seriation : Seriation

    Examples
    --------
    >>> import numpy as np
    >>> from kernelclust import seriate
    >>> depth = np.random.default_rng(0).permutation(30)
    >>> result = seriate(np.column_stack([depth, 0.1 * depth**2]))
    >>> bool(np.all(np.diff(depth[result.order]) == 1) or np.all(np.diff(depth[result.order]) == -1))
    True
    """
    check_flag("cyclic", cyclic)
    check_flag("compute_confidence", compute_confidence)
    check_number("bandwidth", bandwidth, whole=True, least=1)
    with working("seriate"):
        D = _distances(X, metric)
        scaled = D / _unit(float(D.max(initial=0.0)))  # which may be squared
        order = _ordered(scaled, bool(cyclic), int(bandwidth))
        ranks = np.empty_like(order)
        ranks[order] = np.arange(len(order))
        return Seriation(
            order=order,
            ranks=ranks,
            cyclic=bool(cyclic),
            path_length=path_length(D, order, cyclic=cyclic),
            anti_robinson_events=anti_robinson_events(D, order, cyclic=cyclic),
            anti_robinson_deviation=anti_robinson_deviation(D, order, cyclic=cyclic),
            confidence=_confidence(scaled, order, bool(cyclic), int(bandwidth)) if compute_confidence else None,
        )


def _distances(X: Any, metric: str) -> np.ndarray:
    """Return finite, symmetric distances (m, m)."""
    X = as_table(X)
    if np.ndim(X) != 2 and not sparse.issparse(X):
        raise ValueError(
            f"X has shape {np.shape(X)}: give samples (m, d), or distances (m, m) and metric='precomputed'."
        )
    if X.shape[0] > MAX_SAMPLES:
        raise ValueError(
            f"X has {X.shape[0]} samples, more than {MAX_SAMPLES}, whose distances are all held in memory. For the "
            "order of more, fit StructuredClustering(structure='chain:20') and sort by position_."
        )
    if metric != "precomputed":
        X = X if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
        check_finite(X)
        unit = 1.0
        if metric in ("euclidean", "l2") and not sparse.issparse(X):
            X, unit = _within_floating_point(X)
        D = unit * pairwise_distances(X, metric=metric)
        return np.asarray((D + D.T) / 2, dtype=np.float64)
    D = np.array(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    if D.shape[0] != D.shape[1]:
        raise ValueError(f"metric='precomputed' needs a square matrix of distances; X has shape {D.shape}.")
    check_finite(D)
    if np.abs(D - D.T).max(initial=0.0) > 1e-8 * np.abs(D).max(initial=0.0):
        raise ValueError("the distances are not symmetric; pass (D + D.T) / 2 if both directions mean the same.")
    if D.min(initial=0.0) < 0 or np.diagonal(D).any():
        raise ValueError(
            "metric='precomputed' needs distances, zero or more and zero on the diagonal; turn similarities S into "
            "them, e.g. S.max() - S with a diagonal of zeros."
        )
    return (D + D.T) / 2


def _within_floating_point(X: np.ndarray) -> tuple[np.ndarray, float]:
    """Return samples from their median, and the unit they are in: scikit-learn's distances are made of squares, from
    which those of samples far from the origin are lost.
    """
    with np.errstate(over="ignore"):
        Z = X - np.median(X, axis=0)
    largest = float(np.abs(Z).max(initial=0.0))
    if not largest < HUGEST:
        raise ValueError("distances between samples are beyond floating point: rescale X.")
    unit = _unit(largest)
    return Z / unit, unit


def _unit(largest: float) -> float:
    """Return a unit in which numbers up to the largest one may be squared: 1 for all but huge and tiny ones."""
    return largest if largest > LARGEST or 0 < largest < 1 / LARGEST else 1.0


def _ordered(D: np.ndarray, cyclic: bool, bandwidth: int) -> np.ndarray:
    """Return the order, from one end or from behind the longest step of a circle."""
    n = len(D)
    widest = (n - 2) // 2 if cyclic else n - 1
    if n < 3 or widest < 1 or not D.any():
        if n > 1 and not D.any():
            warn(f"all {n} samples are equal: there is no order to find.")
        return np.arange(n)
    bandwidth = min(bandwidth, widest)
    first = [_slowest(D, N_NEIGHBORS, cyclic)]
    if n <= MANY:
        first += [_slowest(D, FEW_NEIGHBORS, cyclic), _leaves(D)]
    band = max(bandwidth, min(n // WIDEST, widest))
    orders = [_searched(D, _turned(D, order, cyclic), cyclic, bandwidth, band) for order in first]
    if n <= SMALL:
        rng = np.random.RandomState(0)
        random = [orders[0][rng.permutation(n)] for _ in range(N_RANDOM)]
        orders += [_searched(D, order, cyclic, bandwidth, bandwidth) for order in random]
    values = [_banded(D, order, cyclic, bandwidth) for order in orders]
    enough = min(values) * (1.0 if n <= SMALL else 1.0 + NEARLY)
    return _turned(D, next(order for order, value in zip(orders, values, strict=True) if value <= enough), cyclic)


def _leaves(D: np.ndarray) -> np.ndarray:
    """Return the leaves of a tree of average linkage, ordered such that their path is shortest."""
    condensed = squareform(D, checks=False)
    return leaves_list(optimal_leaf_ordering(linkage(condensed, "average"), condensed))


def _slowest(D: np.ndarray, n_neighbors: int, cyclic: bool) -> np.ndarray:
    """Return samples by the slowest function of a neighbour graph, or by the angle of the two slowest."""
    n = len(D)
    if n <= FEW:
        return np.argsort(D.sum(axis=1), kind="stable")
    k = min(n_neighbors, n - 1)
    reach = np.partition(D, k, axis=1)[:, k]  # the sample itself is the nearest
    unit = np.maximum(reach, 1e-6 * D.max())
    linked = np.maximum.outer(reach, reach) >= D
    np.fill_diagonal(linked, False)
    if connected_components(linked, directed=False)[0] > 1:
        tree = minimum_spanning_tree(D + 1e-9 * D.max())  # zeros would be no links
        linked[tree.nonzero()] = True
        linked |= linked.T
    row, column = (index.astype(np.int32) for index in np.nonzero(linked))  # scikit-learn takes no others
    weight = np.maximum(np.exp(-(D[row, column] ** 2) / (unit[row] * unit[column])), LEAST_LINK)
    graph = sparse.csr_array((weight, (row, column)), shape=(n, n))
    functions = spectral_embedding(graph, n_components=1 + cyclic, eigen_solver="arpack", random_state=0)
    return np.argsort(np.arctan2(functions[:, 1], functions[:, 0]) if cyclic else functions[:, 0], kind="stable")


def _searched(D: np.ndarray, order: np.ndarray, cyclic: bool, bandwidth: int, widest: int) -> np.ndarray:
    """Improve an order with narrower and narrower bands."""
    order, noise, band = order.astype(np.intp), 1e-12 * float(D.sum()), widest
    small = len(D) <= SMALL
    while True:
        search = (band, cyclic, max(REACH * band, LEAST_REACH), len(D) if small else MAX_SWEEPS, noise)
        insert(D, order, *search)
        while small and reverse(D, order, band, cyclic, noise):
            insert(D, order, *search)
        if band == bandwidth:
            return order
        band = max(band // 2, bandwidth)


def _banded(D: np.ndarray, order: np.ndarray, cyclic: bool, band: int) -> float:
    """Return the criterion of an order."""
    steps = range(1, band + 1)
    if cyclic:
        return sum((band + 1 - step) * float(D[order, np.roll(order, step)].sum()) for step in steps)
    return sum((band + 1 - step) * float(D[order[:-step], order[step:]].sum()) for step in steps)


def _turned(D: np.ndarray, order: np.ndarray, cyclic: bool) -> np.ndarray:
    """Return an order from the end that lies farther from all samples; a circle is cut at its longest step."""
    if cyclic:
        order = np.roll(order, -1 - int(np.argmax(D[order, np.roll(order, -1)])))
    away = D[order[[0, -1]]].sum(axis=1)
    return order[::-1].copy() if away[1] > away[0] else order


# -- the confidence ----------------------------------------------------------------------------------------------------


def _confidence(D: np.ndarray, order: np.ndarray, cyclic: bool, bandwidth: int) -> float | None:
    """Return how likely a pair (on a circle: a triple) comes out in the same order, from halves of the samples."""
    n, rng = len(D), np.random.RandomState(0)
    if n < 10 or not D.any():
        return None
    same = [_agreement(*_halves(D, order[rng.permutation(n)], cyclic, bandwidth), cyclic, rng) for _ in range(N_SPLITS)]
    return float((1 + np.sqrt(max(2 * float(np.mean(same)) - 1, 0.0))) / 2)


def _halves(D: np.ndarray, shuffled: np.ndarray, cyclic: bool, bandwidth: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of all samples by the order of either half: for the other, the median of the nearest ones'."""
    places = []
    for half in (np.sort(shuffled[::2]), np.sort(shuffled[1::2])):
        order = half[_ordered(D[np.ix_(half, half)], cyclic, bandwidth)]
        near = np.argpartition(D[:, order], NEAREST, axis=1)[:, :NEAREST]
        place = near[np.arange(len(D)), np.take_along_axis(D[:, order], near, axis=1).argmin(axis=1)].astype(float)
        if not cyclic:
            place = np.median(near, axis=1)
        place[order] = np.arange(len(order))
        places.append(place)
    return places[0], places[1]


def _agreement(one: np.ndarray, other: np.ndarray, cyclic: bool, rng: np.random.RandomState) -> float:
    """Return the fraction of random pairs (triples) that two orders agree on, one of them reversed if that is more."""
    drawn = rng.randint(0, len(one), (2 + cyclic, 20_000))
    turns = []
    for place in (one, other):
        at = place[drawn]
        turns.append(np.sign(at[1] - at[0]) * (np.sign(at[2] - at[1]) * np.sign(at[0] - at[2]) if cyclic else 1.0))
    apart = (turns[0] != 0) & (turns[1] != 0)
    same = float(np.mean(turns[0][apart] == turns[1][apart])) if apart.any() else 0.5
    return max(same, 1 - same)
