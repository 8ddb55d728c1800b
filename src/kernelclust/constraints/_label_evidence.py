"""Known labels as evidence about which node of the structure a cluster belongs to.

A known label fixes the node of its sample. It is also evidence about the cluster around that sample, with an error rate
that grows where clusters overlap: the log-probability of the labels if cluster j is at node p_j is

    sum_i w_i log((1 - e_i) [p_j(i) = y_i] + e_i q(y_i | p_j(i)))

where j(i) is the cluster whose mean is nearest to labelled sample i, e_i the error rate there, and q(. | p) the
distribution of wrong labels at node p (neighbouring nodes are more likely than others).
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from kernelclust.constraints._constraints import Constraints
from kernelclust.kernels import feature_sums

LEAST = 0.01  # rate of mistakes of the best sample of the best cluster
FOR = 1.1  # a label is so many times as likely where its place is the cluster's as anywhere else, at least
BORNE = 0.3  # of the labels may be against the clusters where these are unclear
NEAR = 0.5  # share of mistakes that go to neighbouring places; the others go anywhere


def numbered(constraints: Constraints, labels: np.ndarray, E: np.ndarray) -> np.ndarray:
    """Return clusters without places, numbered so that sizes are kept and it costs least to put labelled samples
    where they belong: sum_i w_i |x_i - mu_j(i)|^2 with j(i) the cluster that gets the number y_i.
    """
    if not constraints.known:
        return labels
    known, c = constraints.label_weight, constraints.n_clusters
    given = np.flatnonzero(known.any(axis=1))
    far = cdist(np.asarray(constraints.mean[given] @ E), _means(constraints, labels, E)[0], "sqeuclidean")
    cost = far.T @ known[given]
    cost = cost / max(cost.sum(), np.finfo(float).tiny) + c * constraints.size_violation(labels)
    return linear_sum_assignment(cost)[1][labels]


def size_penalty(
    constraints: Constraints | None, labels: np.ndarray, S: np.ndarray, A: np.ndarray
) -> np.ndarray | None:
    """Return (c, c) `linear` of a placement problem that puts clusters where their sizes are allowed, before all
    else.
    """
    if constraints is None or not constraints.has_sizes:
        return None
    return -10 * np.abs(A).max() * np.abs(S).sum() * constraints.size_violation(labels)


def label_evidence(constraints: Constraints, labels: np.ndarray, E: np.ndarray, A: np.ndarray) -> np.ndarray:
    """Return (c, c) log-probability of the known labels near cluster j if its place is p."""
    L, q = np.zeros(A.shape), mistaken(A)
    block, place, near, e = mistakes(constraints, labels, E)
    e = np.minimum(e, 1 / (1 + FOR * q.max(axis=0)[place]))  # never evidence against its own place
    chance = e[:, None] * q[:, place].T  # (labels, c) of this label where the cluster's place is p
    chance[np.arange(len(place)), place] = 1 - e
    np.add.at(L, near, constraints.label_weight[block, place][:, None] * np.log(chance))
    return L


def mistakes(
    constraints: Constraints, labels: np.ndarray, E: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return block and place of every known label, the cluster of the nearest mean, and the rate e of mistakes there.

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
    block, place = np.nonzero(constraints.label_weight)
    near, doubt = _nearest(np.asarray(constraints.mean[block] @ E), means, used)
    right = (1 - doubt**5 / 2) * (1 - unsure[near] / 2)
    return block, place, near, np.maximum((1 - right) / (1 - right + right * share[near]), LEAST)


def contradicted(constraints: Constraints, labels: np.ndarray, E: np.ndarray) -> bool:
    """Return whether more labels are against these clusters, however numbered, than mistakes explain: the mean and
    twice the standard deviation of their number, at rates of BORNE at most.
    """
    block, place, _, e = mistakes(constraints, labels, E)
    e = np.minimum(e, BORNE)
    count = constraints.label_weight[block, place]
    wrong = constraints.of_blocks(numbered(constraints, labels, E))[block] != place
    return bool(count @ wrong > count @ e + 2 * np.sqrt(count @ (e * (1 - e))))


def mistaken(A: np.ndarray) -> np.ndarray:
    """Return q (c, c): what a sample of place p (row) is labelled where its label is not p."""
    c = len(A)
    links = np.where(np.eye(c) > 0, 0.0, np.maximum(A, 0.0))
    total = links.sum(axis=1, keepdims=True)
    anywhere = (1 - np.eye(c)) / max(c - 1, 1)
    return np.where(total > 0, NEAR * links / np.where(total > 0, total, 1.0) + (1 - NEAR) * anywhere, anywhere)


def _means(constraints: Constraints, labels: np.ndarray, E: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return means of clusters (c, d), of samples without labels where there are such, and which clusters have one."""
    c, weight = constraints.n_clusters, constraints.sample_weight
    open_weight = np.where(constraints.label_weight.sum(axis=1)[constraints.block] > 0, 0.0, weight)
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
