"""What the graphs of kernel="auto" say one by one: do the views agree on the clusters, do the graphs on their order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

from kernelclust._threads import in_order, one_thread
from kernelclust.engine._steps import squared_distances
from kernelclust.kernels import LowRankKernel, Member, leading_spectrum, one_hot
from kernelclust.objectives import Dependence
from kernelclust.solvers import Options, Problem, best_placement, greedy, placement_problem

DISAGREE = 0.5  # mean alignment of the views' own clusterings below which sizes are expected to be alike
TRUSTED = 0.7  # unless X as given leads graph and rbf to clusterings that are alike by so much
CRUMB = 0.25  # of the mean size: a smaller cluster is a few outliers
SIZE_PRIOR = 0.2
MIDDLE = 1.5  # size of the graph whose clusterings are compared
STARTS = 5
RBF_SAMPLES = 2000  # that placements by rbf kernels are judged on
CLUSTERED = 3000  # samples that the graphs' own clusterings are compared on
RBF_WIDTHS = (0.5, 1.0)


def alignment(A: np.ndarray, one: np.ndarray, other: np.ndarray, weight: np.ndarray) -> float:
    """Kernel alignment of two labelings as A compares them: the cosine of H Pi A Pi' H and H Pi~ A Pi~' H."""
    c = len(A)
    n, k = (np.bincount(labels, weight, minlength=c) for labels in (one, other))

    def product(first: np.ndarray, second: np.ndarray, sizes: np.ndarray, others: np.ndarray) -> float:
        table = sparse.coo_array((weight, (first, second)), shape=(c, c)).toarray()
        table = table - np.outer(sizes, others) / weight.sum()
        return float(((A @ table) * (table @ A)).sum())

    scale = np.sqrt(product(one, one, n, n) * product(other, other, k, k))
    return product(one, other, n, k) / scale if scale > 0 else 1.0


@dataclass
class Evidence:
    """The graphs of kernel="auto" one by one: do views agree on the clusters, do graphs agree on their order."""

    members: list[Member]
    weight: np.ndarray
    n_clusters: int
    rng: np.random.RandomState

    @cached_property
    def _clusterings(self) -> dict[int, np.ndarray]:
        return {}

    @cached_property
    def compared(self) -> np.ndarray:
        """The samples that clusterings are compared on: all of a small set, every so many of a large one."""
        return _evenly(len(self.weight), max(CLUSTERED, 100 * self.n_clusters))

    def clustering(self, number: int) -> np.ndarray:
        """Labels of the compared samples by kernel k-means with one graph alone.

        In a large set the graphs of a view start from the clusters of its middle one.
        """
        if number not in self._clusterings:
            kernel = LowRankKernel(self.members[number].B[self.compared], self.weight[self.compared])
            flat = Dependence(np.eye(self.n_clusters), np.eye(self.n_clusters), "l2")
            spectrum = leading_spectrum(kernel, kernel.factor.shape[1], self.n_clusters - 1, self.rng)
            options = Options(n_init=STARTS)
            middle = self._middle(self.members[number].view)
            if number != middle and len(self.compared) < len(self.weight):
                options = Options(init=self.clustering(middle))
            found = greedy.solve(Problem(kernel, spectrum, flat, flat), options, self.rng)
            self._clusterings[number] = found.labels
        return self._clusterings[number]

    def _middle(self, view: str) -> int:
        return next(i for i, one in enumerate(self.members) if one.view == view and one.size == MIDDLE)

    def agreement(self) -> float:
        """Mean alignment of the clusterings that the views give, over pairs of views; one for a single view."""
        labels = [self.clustering(i) for i, member in enumerate(self.members) if member.size == MIDDLE]
        A = np.eye(self.n_clusters)
        weight = self.weight[self.compared]
        pairs = [alignment(A, one, other, weight) for one, other in combinations(labels, 2)]
        return float(np.mean(pairs)) if pairs else 1.0

    def confirms(self, labels: np.ndarray) -> bool:
        """Whether labels by rbf are much as the clustering that X as given leads to, and none is a crumb: where rbf
        sets outliers apart, as in text, its clusters say nothing about groups."""
        own = self.clustering(self._middle(self.members[0].view))
        n = np.bincount(labels, self.weight, minlength=self.n_clusters)
        alike = alignment(np.eye(self.n_clusters), own, labels[self.compared], self.weight[self.compared])
        return alike >= TRUSTED and n.min() >= CRUMB * n.mean()

    def support(self, A: np.ndarray, labels: np.ndarray, seen: list[np.ndarray], power: float = 1.0) -> float:
        """How far other kernels arrange the samples in the same way: agree x place, one when all do.

        agree: mean alignment of Pi A Pi' with the arrangement of every graph's own clusters. place: mean alignment
        with the arrangements of *these* clusters that every graph chooses, and rbf kernels of the views (`seen_sums`).
        Graphs arrange by squared distances to this `power`.
        """
        c, objective = self.n_clusters, Dependence(A, np.eye(self.n_clusters), "l2")

        def arranged(S: np.ndarray, which: np.ndarray, by: np.ndarray, judged: np.ndarray, power: float = 1.0) -> float:
            """Alignment, on the judged samples, of the labels with clusters `which` as S arranges them."""
            n = np.bincount(which, self.weight[by], minlength=c)
            node = best_placement(placement_problem("distance", objective, S, n, power=power))
            return alignment(A, labels[judged], node[which if by is judged else labels[judged]], self.weight[judged])

        def of_graph(member: Member, which: np.ndarray, samples: np.ndarray) -> float:
            sums = one_hot(which, c, self.weight[samples]).T @ member.B[samples]
            return arranged(sums @ sums.T, which, samples, samples, power)

        with one_thread():
            some = self.compared
            everyone = np.arange(len(labels)) if len(some) < len(labels) else some
            agree = [of_graph(member, self.clustering(i), some) for i, member in enumerate(self.members)]
            place = [of_graph(member, labels, everyone) for member in self.members]
            few = _evenly(len(labels), RBF_SAMPLES)
            place += [arranged(S, labels[few], few, everyone) for S in seen]
        return float(np.mean(agree) * np.mean(place))


def seen_sums(pictures: list, labels: np.ndarray, weight: np.ndarray, n_clusters: int) -> list[np.ndarray]:
    """Cluster sums (c, c) of a few samples by rbf kernels of the views; none where a cluster has none of them."""
    few = _evenly(len(labels), RBF_SAMPLES)
    if not np.bincount(labels[few], weight[few], minlength=n_clusters).all():
        return []

    def sums_of(Z) -> list[np.ndarray]:
        return _rbf_sums(Z[few], labels[few], weight[few], n_clusters)

    seen = in_order(sums_of, pictures, large=len(few) == RBF_SAMPLES)
    return [S for sums in seen for S in sums]


def seen_distances(seen: list[np.ndarray], labels: np.ndarray, weight: np.ndarray) -> list[np.ndarray]:
    """Squared distances (c, c) between the clusters' means as rbf kernels of the views see them."""
    few = _evenly(len(labels), RBF_SAMPLES)
    return [squared_distances(S, np.bincount(labels[few], weight[few], minlength=len(S))) for S in seen]


def _evenly(number: int, at_most: int) -> np.ndarray:
    return np.unique(np.linspace(0, number - 1, min(number, at_most)).astype(int))


def _rbf_sums(Z, labels: np.ndarray, weight: np.ndarray, n_clusters: int) -> list[np.ndarray]:
    """Cluster sums of rbf kernels of a few widths, tau / mean squared distance each."""
    Pi = one_hot(labels, n_clusters, weight)
    D = euclidean_distances(Z, squared=True)
    mean = weight @ D @ weight / (weight.sum() ** 2 - weight @ weight)
    return [Pi.T @ np.exp(-tau / mean * D) @ Pi for tau in RBF_WIDTHS] if mean > 0 else []
