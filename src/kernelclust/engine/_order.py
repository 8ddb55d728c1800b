"""Evidence about the order of clusters: against noise, from halves of the samples, and under small changes.

Everything comes from the cluster sums S and sizes n, the leading eigenvectors of the kernel and the structure, so that
it is the same question for every kernel. Random draws have a seed of their own: a fit with the same labels has the same
answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import permutations
from math import lgamma
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from kernelclust._threads import one_thread
from kernelclust.engine._steps import (
    distance_fit,
    is_connected,
    links,
    order_agreement,
    place,
    squared_distances,
    steps,
)
from kernelclust.engine._structure_table import StructureTable
from kernelclust.engine._structure_weights import CONFIDENCE
from kernelclust.engine._structures import MAX_CLUSTERS, MIN_CLUSTERS, structure_table
from kernelclust.kernels import LowRankKernel, leading_spectrum
from kernelclust.objectives import ClusterObjective
from kernelclust.solvers import cluster_means, many_kmeans, move_together

MOST_CLUSTERS = 50  # that are placed often enough in the time of a fit
HALVED = 1000  # samples that are divided into halves, or 40 a cluster
MANY_COLUMNS, FEW_SAMPLES = 400, 400  # of views with more columns so many samples are compared, in the time of a fit
SPLITS = 4
STARTS = 3
EXTRA_DIMENSIONS = 7  # beyond c that samples are seen in
JITTERS = 20
JITTER = 0.2  # standard deviation of the logarithm of distances
KEPT = 0.9  # agreement from which an order counts as the same
NOISE_DIMENSIONS = (2, 3)
NOISE_DRAWS = 99  # in each number of dimensions, of noise (Gaussian and uniform in turn) and of random centres,
FEWER_DRAWS, MANY_CLUSTERS = 39, 12  # and fewer beyond so many clusters
NOISE_SAMPLES = 15  # a cluster
NOISE_ROUNDS = 5  # of refinement at most
RHO = 2.0


# Logistic regressions on simulated fits, half of them in the right order (benchmarks/order.py draws others): chains,
# rings and grids of 4 to 24 clusters along smooth curves with noise up to the loss of the order, and noise without any;
# kernels rbf, linear, graph and auto (353 fits; 44 of three arrangements; 100 of trees and products).
CONNECTED = (3.2, 2.2, 1.8, 5.3)  # of atanh T, h, J; less a constant
SHRUNK = 0.2  # of the exponent with three arrangements, where signals hardly tell
PARTS, LESS = 5.0, 4.0  # of J in trees and products: weak, and the others say nothing on real ones
LINK = 0.6  # of the share of repeats that keep a link, where the order is wrong
FEW = 3  # arrangements that data can hardly choose between
UNSURE = 0.5  # confidence below which there is a warning
LOOSE = 0.8  # correlation of distances with steps
# Another structure is named that has this probability and is so many times as probable as the one asked for: on
# simulated fits 40 % of those on a wrong structure are warned of, 96 % of the warnings are justified, and 89 % name the
# true structure. A probability of 0.9 alone would warn of 21 %.
CLEARLY, CLEAR_ODDS = 0.7, 20
NOISE = 0.2  # p-value from which noise is named
# Where structures are not compared, high confidences with such a p-value are warned of: under kernel="graph" this names
# 20 of 21 false orders of separate clusters, and 2 of 38 true ones (chains and rings of 6 along curves).
SMALLEST_PROBABILITY = 1e-4  # of a structure, as in training


@dataclass(frozen=True)
class Order:
    """Evidence about an order; the confidence is computed from `fit`, `halves` and `jitter`."""

    pvalue: float
    confidence: float
    links: np.ndarray = field(repr=False)  # (c, c)
    connected: bool
    arrangements: float  # how many there are, infinite for more than a few clusters
    fit: float = np.nan  # T
    halves: float = np.nan  # h
    jitter: float = np.nan  # J
    structures: StructureTable | None = field(default=None, repr=False)
    family: str | None = None  # of the structure, in this table; None where it has none, or labels say what is where
    nodes: np.ndarray | None = field(default=None, repr=False)  # (r, c) of the clusters, by slightly changed distances
    assumed: bool = False  # an order is assumed to exist: structures of 12 clusters at most were not compared

    def renumbered(self, node: np.ndarray) -> Order:
        """Return the same with cluster j at node[j]."""
        old = np.argsort(node)
        table = None if self.structures is None else self.structures.renumbered(node)
        nodes = None if self.nodes is None else node[self.nodes][:, old]
        return replace(self, links=self.links[np.ix_(old, old)], structures=table, nodes=nodes)


@dataclass(frozen=True)
class Clusters:
    """The clusters of a fit: how samples (rows of E) are labelled, and who may be placed elsewhere."""

    A: np.ndarray
    E: np.ndarray  # (m, k) leading directions of the kernel, in units of the largest entry
    weight: np.ndarray
    labels: np.ndarray
    S: np.ndarray
    n: np.ndarray
    known: np.ndarray  # (c,) clusters whose place is known
    movable: np.ndarray | None = None  # (c,) and those that may be placed elsewhere
    views: Sequence[np.ndarray] = ()  # squared distances (c, c) between their means by other kernels

    def distances(self) -> np.ndarray:
        """Return squared distances between means (c, c): the kernel's own or, where they follow the structure
        better, the mean of these and the views', each in units of its mean. Commute times between clusters that hang
        together by few links know no order.
        """
        own = squared_distances(self.S, self.n)
        seen = [D / max(float(D.mean()), np.finfo(float).tiny) for D in (own, *self.views)]
        G = steps(self.A)
        return max([own, np.asarray(np.mean(seen, axis=0))], key=lambda D: distance_fit(D, G)[0])

    @property
    def rank(self) -> np.ndarray:
        """Number of each cluster by size and spread: the same wherever it is placed."""
        rank = np.empty(len(self.n), dtype=np.intp)
        rank[np.lexsort((np.diag(self.S) / np.where(self.n > 0, self.n, 1.0), self.n))] = np.arange(len(self.n))
        return rank


def leading_directions(embedding: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return the first c + 7 columns, in units of the largest entry."""
    E = embedding[:, : n_clusters + EXTRA_DIMENSIONS]
    return E / max(float(np.abs(E).max(initial=0.0)), np.finfo(float).tiny)


def order_of(clusters: Clusters, table: StructureTable | None = None, family: str | None = None) -> Order:
    """Return p-value, confidence and links of an order; nan where there is one arrangement only.

    `table` are the probabilities of structures over these clusters, and `family` is the one that was asked for.
    """
    return replace(_order_of(clusters, table, family), structures=table, family=family)


def is_judged(given: Clusters) -> bool:
    """Return whether an order can be judged: there are different arrangements, few enough clusters and no empty one."""
    return n_arrangements(given.A) > 1 and len(given.A) <= MOST_CLUSTERS and bool((given.n > 0).all())


def _order_of(given: Clusters, table: StructureTable | None, family: str | None) -> Order:
    A, c = given.A, len(given.A)
    linked, connected, number = links(A), is_connected(A), n_arrangements(A)
    nothing = np.full((c, c), np.nan)
    if not is_judged(given):
        return Order(np.nan, np.nan, nothing, connected, number)
    D = given.distances()
    fit, rank_fit = distance_fit(D, steps(A))
    jitters, halves, h = _jitters(given, D), None, np.nan
    J, question = float((jitters.agreement >= KEPT).mean()), _open(given.known)
    if table is not None and family in CONFIDENCE:
        confidence = _probability(fit, J, family, table) ** question
    else:
        halves = _halves(_thinned(given, max(HALVED, 40 * c)))
        h = float(halves.agreement.mean()) if len(halves.nodes) else 0.0
        confidence = _likelihood(fit, h, J, connected, number) ** question
    kept = [repeats.kept(A) for repeats in (jitters, halves) if repeats is not None and len(repeats.nodes)]
    told = (np.mean(kept, axis=0) * (LINK + (1 - LINK) * confidence)) ** question
    shares = np.where(linked, (told + told.T) / 2, np.nan)
    pvalue = order_pvalue(A, fit, rank_fit)
    assumed = table is None and connected and c <= MAX_CLUSTERS and not given.known.any()
    return Order(pvalue, confidence, shares, connected, number, fit, h, J, nodes=jitters.nodes, assumed=assumed)


def compare_structures(
    given: Clusters, views: Sequence[Any] = (), second: np.ndarray | None = None
) -> StructureTable | None:
    """Return the probabilities of structures over the same clusters, whatever their numbers and the order of samples.

    Samples are seen in the leading directions of the kernel or, where `views` (m, d) are given, in the leading
    principal components of these, each of total variance one. `second` are labels of as many other clusters of the
    samples, whose probabilities count as well. None for fewer than 4 or more than 12 clusters, for empty ones, and
    where all means are equal.
    """
    c = len(given.n)
    if not MIN_CLUSTERS <= c <= MAX_CLUSTERS:
        return None
    n_columns = sum(Z.shape[1] for Z in views)
    kept = _kept(given, HALVED if n_columns <= MANY_COLUMNS else FEW_SAMPLES)
    rank, weight = given.rank, given.weight[kept]
    labels = rank[given.labels[kept]]
    if not np.bincount(labels, minlength=c).all():
        return None
    with one_thread():
        E = _principal_components([Z[kept] for Z in views], weight, c) if len(views) else given.E[kept]
        table = structure_table(E, weight, labels, None if second is None else second[kept])
    return None if table is None else table.renumbered(np.argsort(rank))


def _principal_components(views: list[Any], weight: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return the leading directions of all views together."""
    share, columns = weight / weight.sum(), []
    for view in views:
        Z = view.toarray() if issparse(view) else np.asarray(view, dtype=np.float64)
        Z = Z - share @ Z
        columns.append(Z / max(float(np.sqrt(share @ (Z**2).sum(axis=1))), np.finfo(float).tiny))
    kernel = LowRankKernel(np.hstack(columns), weight, overwrite=True)
    spectrum = leading_spectrum(kernel, n_clusters + EXTRA_DIMENSIONS, 1, np.random.RandomState(0))
    return leading_directions(spectrum.embedding, n_clusters)


def doubt_in_words(order: Order, structure: str, table: str = "see order_.structures") -> str:
    """Return the warning that an order deserves; empty for none. `table` says where the probabilities are."""
    better = _fits_better(order, table)
    if order.assumed and len(order.links) < MIN_CLUSTERS:
        return (
            f"three clusters cannot show whether there is an order at all: the confidence on '{structure}' "
            f"({order.confidence:.2f}) assumes that there is one. Structures are compared from 4 clusters on."
        )
    if order.confidence >= UNSURE and order.assumed and order.arrangements > FEW and order.pvalue >= NOISE:
        return (
            f"the confidence in the order of these clusters on '{structure}' ({order.confidence:.2f}) assumes that "
            "there is an order, because structures are not compared under this kernel. But clusters without any order "
            f"often follow this structure as well (p = {order.pvalue:.2g})."
        )
    if not order.confidence < UNSURE:
        return f"'{structure}' may be the wrong structure for these clusters.{better}" if better else ""
    said = f"the order of these clusters on '{structure}' is uncertain"
    if order.arrangements <= FEW:
        return f"{said}: only {order.arrangements:.0f} arrangements exist, and data can hardly show which is right."
    fits = f" Clusters without any order often follow this structure as well (p = {order.pvalue:.2g})."
    noise = fits if order.pvalue >= NOISE else ""
    noise += better
    if not order.connected:
        share = f"{JITTERS * order.jitter:.0f} of {JITTERS} slight changes of the distances between them kept it"
        return f"{said}: {share}.{noise} The clusters may be right."
    follow = f"follow it {'loosely' if order.fit < LOOSE else 'well'} (correlation {order.fit:.2f})"
    kept = f"{JITTERS * order.jitter:.0f} of {JITTERS} slight changes of these distances kept it"
    return (
        f"{said} (confidence {order.confidence:.2f}): the distances between them {follow}, and {kept}.{noise} "
        "The clusters may be right."
    )


def _fits_better(order: Order, table: str) -> str:
    """Return the sentence that names a structure which is clearly more probable than the one asked for; empty for
    none.
    """
    if order.structures is None or order.family is None:
        return ""
    likely, asked = order.structures.rows[0], order.structures[order.family]
    if likely.probability <= max(CLEARLY, CLEAR_ODDS * asked.probability):
        return ""
    name = "No order" if likely.name == "flat" else f"A {likely.name}"
    than = f"a {asked.name} ({asked.probability:.2f}): {table}."
    return f" {name} (probability {likely.probability:.2f}) fits these clusters better than {than}"


def n_arrangements(A: np.ndarray) -> float:
    """Number of arrangements that differ, counted up to four clusters; infinity stands for many."""
    c = len(A)
    off = A[~np.eye(c, dtype=bool)]
    if c == 1 or (np.ptp(off) == 0 and np.ptp(np.diag(A)) == 0):
        return 1
    return len({A[np.ix_(p, p)].tobytes() for p in permutations(range(c))}) if c <= 4 else np.inf


def _open(known: np.ndarray) -> float:
    """Return the share of the question that is left where some places are known: log of arrangements of the others over
    all.
    """
    free = int((~known).sum())
    return lgamma(free + 1) / lgamma(len(known) + 1)


# -- repeats ----------------------------------------------------------------------------------------------------------


class Repeats(NamedTuple):
    """Orders of changed or fewer data: agreement (r,) with the fitted order, and the node (r, c) of each cluster."""

    agreement: np.ndarray
    nodes: np.ndarray

    def kept(self, A: np.ndarray) -> np.ndarray:
        """Return the fraction of repeats that keep each link (c, c)."""
        return np.asarray((A[self.nodes[:, :, None], self.nodes[:, None]] >= A).mean(axis=0))


def _jitters(given: Clusters, D: np.ndarray) -> Repeats:
    """Return the same clusters with all distances changed a little: D_jk exp(0.2 N(0, 1))."""
    c, rank = len(D), given.rank
    D = D / D.max() if D.any() else 1 - np.eye(c)  # equal means: no order is nearer than another
    noise = np.triu(np.random.RandomState(0).standard_normal((JITTERS, c, c)), 1)
    noise = (noise + noise.swapaxes(1, 2))[:, rank[:, None], rank]
    nodes = place(given.A, -D * np.exp(JITTER * noise), movable=given.movable)
    moved = given.n[:, None] * (nodes[:, :, None] == np.arange(c))
    return Repeats(order_agreement(steps(given.A), moved, best=1.0), nodes)


def _halves(given: Clusters) -> Repeats:
    """Return halves of the samples, clustered and placed by themselves; nodes are those of most of a cluster."""
    c, m = len(given.A), len(given.labels)
    if m // 2 <= c:
        return Repeats(np.zeros(0), np.zeros((0, c), dtype=np.intp))
    rng = np.random.RandomState(0)
    first = np.stack([rng.permutation(m) < m // 2 for _ in range(SPLITS)])
    half = np.concatenate([first, ~first]) * given.weight
    E = given.E[None]
    found = many_kmeans(E, half, c, rng, STARTS)
    means, _ = cluster_means(E, half, found, c)
    nodes = np.take_along_axis(place(given.A, -_squares(means)), found, axis=1)
    tables = np.stack([_table(given, labels) for labels in nodes])
    return Repeats(order_agreement(steps(given.A), tables), tables.argmax(axis=2))


def _thinned(given: Clusters, at_most: int) -> Clusters:
    some = _kept(given, at_most)
    return replace(given, E=given.E[some], weight=given.weight[some], labels=given.labels[some])


def _kept(given: Clusters, at_most: int) -> np.ndarray:
    """Return every so many of the samples, cluster by cluster from the middle outwards, whatever order they came in."""
    m = len(given.labels)
    radius = (given.E**2).sum(axis=1)
    order = np.lexsort((np.round(radius / max(radius.max(), np.finfo(float).tiny), 9), given.rank[given.labels]))
    return np.asarray(order[np.unique(np.linspace(0, m - 1, min(m, at_most)).astype(int))])


def _table(given: Clusters, labels: np.ndarray) -> np.ndarray:
    c = len(given.A)
    flat = np.bincount(given.labels * c + labels, given.weight, minlength=c * c)
    return flat.reshape(c, c)


def _probability(fit: float, jitter: float, family: str, table: StructureTable) -> float:
    """Return the probability that there is an order of this family and that all clusters are strictly in it.

    A chain may be a ring that is cut at one place: its order is right all the same.
    """
    p = table[family].probability + (table["ring"].probability if family == "chain" else 0.0)
    p = min(max(p, SMALLEST_PROBABILITY), 1 - SMALLEST_PROBABILITY)
    signals = np.array([np.arctanh(fit), jitter, np.log(p / (1 - p)), np.log(len(table.links)), 1.0])
    return float(1 / (1 + np.exp(-signals @ CONFIDENCE[family])))


def _likelihood(fit: float, halves: float, jitter: float, connected: bool, arrangements: float) -> float:
    """Return how often orders with such signals were right among simulated ones, where structures are not compared;
    see the constants.
    """
    atanh, half, kept, less = CONNECTED
    z = atanh * np.arctanh(fit) + half * halves + kept * jitter - less if connected else PARTS * jitter - LESS
    return float(1 / (1 + np.exp(-z * (SHRUNK if arrangements <= FEW else 1.0))))


# -- noise: what an order is tested against ---------------------------------------------------------------------------


def order_pvalue(A: np.ndarray, fit: float, rank_fit: float) -> float:
    """Return the share of draws without an order that follow the structure A at least as well: the largest of noise cut
    into clusters, and of separate clusters at random centres, in 2 and 3 dimensions.

    u = (atanh T - mean) / sd + (atanh R - mean) / sd, T and R the correlations of `distance_fit`, means and standard
    deviations over the draws, and p = (1 + number of draws with no smaller u) / (1 + draws). In the plane noise is
    arranged like a ring or a grid more often than in space, beyond which it is less and less; few random centres lie
    along a chain more often than pieces of noise do.
    """
    told = []
    for draws in noise_fits(A):
        spread = np.where(draws.std(axis=0) > 0, draws.std(axis=0), 1.0)
        u = ((draws - draws.mean(axis=0)) / spread).sum(axis=1)
        own = float(((np.arctanh([fit, rank_fit]) - draws.mean(axis=0)) / spread).sum())
        told.append((1 + int((u >= own - 1e-9).sum())) / (1 + len(u)))
    return float(max(told))


def noise_fits(A: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return (atanh T, atanh R) of draws of noise (draws, 2), for each number of dimensions; kept for the next fit."""
    return _noise_fits(np.ascontiguousarray(A, dtype=float).tobytes(), len(A))


@lru_cache(maxsize=64)
def _noise_fits(A: bytes, c: int) -> tuple[np.ndarray, ...]:
    kernel, rng = np.frombuffer(A).reshape(c, c), np.random.RandomState(0)
    return tuple(draw(kernel, d, rng) for draw in (_draw_noise, _draw_centres) for d in NOISE_DIMENSIONS)


def _n_draws(c: int) -> int:
    return NOISE_DRAWS if c <= MANY_CLUSTERS else FEWER_DRAWS


def _draw_centres(A: np.ndarray, dimensions: int, rng: np.random.RandomState) -> np.ndarray:
    """Return the fits of separate clusters at random centres."""
    D = _squares(rng.standard_normal((_n_draws(len(A)), len(A), dimensions)))
    old = np.argsort(place(A, -D), axis=1)
    return np.arctanh([distance_fit(far[np.ix_(at, at)], steps(A)) for far, at in zip(D, old, strict=True)])


def _draw_noise(A: np.ndarray, dimensions: int, rng: np.random.RandomState) -> np.ndarray:
    """Return the fits of noise that was cut into clusters."""
    c = len(A)
    shape = (_n_draws(c), NOISE_SAMPLES * c, dimensions)
    X = rng.standard_normal(shape)
    X[1::2] = rng.uniform(-1.0, 1.0, X[1::2].shape)
    X -= X.mean(axis=1, keepdims=True)
    weight = np.ones(shape[:2])
    labels = many_kmeans(X, weight, c, rng, starts=1)
    means, _ = cluster_means(X, weight, labels, c)
    nodes = place(A, -_squares(means))
    objective = ClusterObjective(A + RHO * np.eye(c), np.eye(c))
    labels = move_together(X, weight, objective, np.take_along_axis(nodes, labels, axis=1), NOISE_ROUNDS)[0]
    means, _ = cluster_means(X, weight, labels, c)
    return np.arctanh([distance_fit(D, steps(A)) for D in _squares(means)])


def _squares(means: np.ndarray) -> np.ndarray:
    """Return squared distances (r, c, c) between means (r, c, d)."""
    return np.asarray(((means[:, :, None] - means[:, None]) ** 2).sum(axis=3))
