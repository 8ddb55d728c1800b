"""Known labels as evidence about where clusters belong.

A known label says where its sample belongs. What it says about the cluster around that sample can be wrong, as far as
clusters run into each other, so that places are chosen from data and labels together: for a placement p

    -v log(1 + (best score - score(p)) / v t) + sum_i w_i log((1 - e_i) [p_j(i) = y_i] + e_i q(y_i | p_j(i)))

where j(i) is the cluster whose mean is nearest to labelled sample i, e_i the rate of mistakes there, q where mistakes
go to (neighbouring places more than others), and t what the score changes by if distances between means are a little
different. By how much they might be is itself unknown, hence the logarithm: of things that look alike from two sides
the best arrangement can be far from the right one. One label turns a ring; labels of every cluster outweigh an unclear
order, and sure ones a clear one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from kernelclust.kernels import feature_sums
from kernelclust.solvers._constraints import Constraints
from kernelclust.solvers._placement import EXHAUSTIVE, RESTARTS, PlacementProblem, best_placement, every_placement
from kernelclust.structures import Structure, as_structure

LEAST = 0.01  # rate of mistakes of the best sample of the best cluster
FOR = 1.1  # a label is so many times as likely where its place is the cluster's as anywhere else, at least
JITTER = 0.25  # distances between means might as well be so much longer or shorter
TAIL = 2.0  # v: the smaller, the more may the data be wrong altogether
WIDENED = (1.0, 4.0, 16.0)  # multiples of t that placements of many clusters are sought at
BORNE = 0.3  # of the labels may be against the clusters where these are unclear
TIE = 1e-3  # of the largest distance: neighbours save at least so much
TIED = 1e-9  # of log-probabilities
NEAR = 0.5  # share of mistakes that go to neighbouring places; the others go anywhere


def place_known(
    problem: PlacementProblem,
    constraints: Constraints | None,
    labels: np.ndarray,
    E: np.ndarray,
    structure: Structure | None = None,
    restarts: int = RESTARTS,
) -> np.ndarray:
    """Node of each cluster, best by the score of `problem` and by the known labels together.

    E are features (m, d), `structure` is what A is the kernel of.
    """
    free = best_placement(problem, restarts)
    if constraints is None or not constraints.votes.any():
        return free
    L = label_evidence(constraints, labels, E, problem.A)
    t, c = temperature(problem, free), len(free)
    if problem.symmetric:
        return best_placement(replace(problem, linear=problem.linear + t * L), restarts)
    movable = np.flatnonzero(problem.movable)
    if len(movable) <= EXHAUSTIVE:
        tried = every_placement(np.arange(c), movable)
    else:
        structure = as_structure(problem.A) if structure is None else structure
        turned = structure.align(L[np.argsort(free)].T)[free]  # equivalent, and as the labels say
        start = turned if problem.movable.all() else None
        known = [replace(problem, linear=problem.linear + k * t * L) for k in WIDENED]
        tried = np.array([best_placement(one, restarts, start) for one in known])
    bare = replace(problem, linear=np.zeros((c, c)))
    behind = np.maximum(bare.scores(free[None]) - bare.scores(tried), 0.0)
    value = (L + problem.linear / t)[np.arange(c), tried].sum(axis=1) - TAIL * np.log1p(behind / (TAIL * t))
    return tried[np.flatnonzero(value >= value.max() - TIED)[0]]


def numbered(constraints: Constraints, labels: np.ndarray, E: np.ndarray) -> np.ndarray:
    """Clusters without places, numbered so that sizes are kept and it costs least to put labelled samples where they
    belong: sum_i w_i |x_i - mu_j(i)|^2 with j(i) the cluster that gets the number y_i."""
    if not constraints.known:
        return labels
    votes, c = constraints.votes, constraints.n_clusters
    given = np.flatnonzero(votes.any(axis=1))
    far = cdist(np.asarray(constraints.mean[given] @ E), _means(constraints, labels, E)[0], "sqeuclidean")
    cost = far.T @ votes[given]
    cost = cost / max(cost.sum(), np.finfo(float).tiny) + c * constraints.missed(labels)
    return linear_sum_assignment(cost)[1][labels]


def size_wishes(constraints: Constraints | None, labels: np.ndarray, S: np.ndarray, A: np.ndarray) -> np.ndarray | None:
    """(c, c) `linear` of a placement problem that puts clusters where their sizes are allowed, before all else."""
    if constraints is None or not constraints.has_sizes:
        return None
    return -10 * np.abs(A).max() * np.abs(S).sum() * constraints.missed(labels)


def label_evidence(constraints: Constraints, labels: np.ndarray, E: np.ndarray, A: np.ndarray) -> np.ndarray:
    """(c, c) log-probability of the known labels near cluster j if its place is p."""
    L, q = np.zeros(A.shape), mistaken(A)
    block, place, near, e = mistakes(constraints, labels, E)
    e = np.minimum(e, 1 / (1 + FOR * q.max(axis=0)[place]))  # never evidence against its own place
    chance = e[:, None] * q[:, place].T  # (labels, c) of this label where the cluster's place is p
    chance[np.arange(len(place)), place] = 1 - e
    np.add.at(L, near, constraints.votes[block, place][:, None] * np.log(chance))
    return L


def mistakes(
    constraints: Constraints, labels: np.ndarray, E: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Block and place of every known label, the cluster of the nearest mean, and the rate e of mistakes there.

    1 - e = (1 - r^5 / 2) (1 - mean_j r^5 / 2): r is the distance from the nearest mean over that from the second
    nearest, 0 for a sample that is typical and 1 for one between two clusters; mean_j is over the samples near cluster
    j. A cluster of a share of the mean size is the more often a part of another group: the odds e / (1 - e) are divided
    by this share. Round groups that overlap, large and small, have about these rates.
    """
    c, weight = constraints.n_clusters, constraints.sample_weight
    means, used = _means(constraints, labels, E)
    if used.sum() < 2:  # nothing to tell apart, so that labels tell nothing
        nothing = np.empty(0, dtype=np.intp)
        return nothing, nothing, nothing, np.empty(0)
    near, doubt = _nearest(E, means, used)
    size = np.bincount(near, weight, minlength=c)
    unsure = np.bincount(near, weight * doubt**5, minlength=c) / np.where(size > 0, size, 1.0)
    share = np.minimum(np.bincount(labels, weight, minlength=c) * (used.sum() / weight.sum()), 1.0)
    block, place = np.nonzero(constraints.votes)
    near, doubt = _nearest(np.asarray(constraints.mean[block] @ E), means, used)
    right = (1 - doubt**5 / 2) * (1 - unsure[near] / 2)
    return block, place, near, np.maximum((1 - right) / (1 - right + right * share[near]), LEAST)


def contradicted(constraints: Constraints, labels: np.ndarray, E: np.ndarray) -> bool:
    """Whether more labels are against these clusters, however numbered, than mistakes explain: the mean and twice
    the standard deviation of their number, at rates of BORNE at most."""
    block, place, _, e = mistakes(constraints, labels, E)
    e = np.minimum(e, BORNE)
    count = constraints.votes[block, place]
    wrong = constraints.of_blocks(numbered(constraints, labels, E))[block] != place
    return bool(count @ wrong > count @ e + 2 * np.sqrt(count @ (e * (1 - e))))


def mistaken(A: np.ndarray) -> np.ndarray:
    """q (c, c): what a sample of place p (row) is labelled where its label is not p."""
    c = len(A)
    links = np.where(np.eye(c) > 0, 0.0, np.maximum(A, 0.0))
    total = links.sum(axis=1, keepdims=True)
    anywhere = (1 - np.eye(c)) / max(c - 1, 1)
    return np.where(total > 0, NEAR * links / np.where(total > 0, total, 1.0) + (1 - NEAR) * anywhere, anywhere)


def temperature(problem: PlacementProblem, p: np.ndarray) -> float:
    """What the score of placement p changes by if distances between means change by JITTER, for a typical cluster.

    Of a distance only that part counts which neighbours save: groups in many dimensions are all far from each other.
    """
    M, A = problem.M, problem.A[np.ix_(p, p)]
    if problem.objective is not None:
        x = problem.objective.inverse_norms(problem.n)
        M = M * np.outer(x, x)
    own, off = np.diag(M), ~np.eye(len(p), dtype=bool)
    far = np.abs(own[:, None] + own - 2 * M)
    links, others = np.where(off, A, 0.0), np.where(off, A[off].max(initial=0.0) - A, 0.0)
    if links.any() and others.any():
        saved = (far * others).sum() / others.sum() - (far * links).sum() / links.sum()
        far = np.minimum(far, max(saved, TIE * far.max()))
    size = float(np.abs(links * far).max())
    return JITTER / 2 * size * float(np.sqrt(((links * far / size) ** 2).sum() / len(p))) if size > 0 else 1.0


def _means(constraints: Constraints, labels: np.ndarray, E: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means of clusters (c, d), of samples without labels where there are such, and which clusters have one."""
    c, weight = constraints.n_clusters, constraints.sample_weight
    open_weight = np.where(constraints.votes.sum(axis=1)[constraints.block] > 0, 0.0, weight)
    n = np.bincount(labels, open_weight, minlength=c)
    counted = np.where(n[labels] > 0, open_weight, weight)
    n = np.bincount(labels, counted, minlength=c)
    return feature_sums(E, counted, labels, c) / np.where(n > 0, n, 1.0)[:, None], n > 0


def _nearest(E: np.ndarray, means: np.ndarray, used: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cluster of the nearest mean of each row, and its distance over that of the second nearest, 0 to 1."""
    far = cdist(E, means, "sqeuclidean")
    far[:, ~used] = np.inf
    near = np.argmin(far, axis=1)
    one, two = np.partition(far, 1, axis=1)[:, :2].T
    return near, np.where(two > 0, np.sqrt(one / np.where(two > 0, two, 1.0)), 1.0)
