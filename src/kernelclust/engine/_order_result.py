"""The evidence about the order of the clusters, as users see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from kernelclust._names import check_number
from kernelclust.engine._order import Order
from kernelclust.engine._steps import steps
from kernelclust.engine._structure_table import StructureTable
from kernelclust.engine._structures import MAX_CLUSTERS
from kernelclust.solvers import PlacementProblem, different_placements
from kernelclust.structures import Structure

TEMPERATURE = 0.3  # standard deviations by which an arrangement that is e times less likely scores less
COMPARED = 200  # arrangements that questions tell apart, at most
TOGETHER = 3  # clusters that are chosen together, as a first answer may say nothing but where a ring begins
SETS = 3000  # sets of so many that are compared; beyond, one cluster is chosen after the other


class Alternative(NamedTuple):
    """An arrangement in which the cluster at node j moves to `nodes[j]`.

    `score` is the difference from the fitted one, in standard deviations over all arrangements; larger is better.
    """

    nodes: np.ndarray
    score: float


@dataclass(frozen=True, repr=False)
class ClusterOrder:
    """Arrangement of the clusters on the structure, and the evidence for it.

    Attributes
    ----------
    confidence : float or None
        Estimated probability that there is an order of the requested kind and that this order is correct, with every
        cluster at exactly its node; the estimator's `order_confidence_`. A chain through clusters on a ring is correct
        if it follows the ring. Beyond 12 clusters, with known labels, and for hierarchies, products and kernels without
        `structures`, it assumes that there is an order. None without `compute_confidence`, with an empty cluster, and
        beyond 50 clusters.
    pvalue : float or None
        P-value of a test of any order at all: the fraction of draws without an order that fit this structure at least
        as well after they were arranged on it. It is the largest of four fractions: for clustered noise and for
        separate clusters at random centres, both in 2 and in 3 dimensions. A few clusters of noise in a plane do lie on
        a ring or grid, so four clusters on a ring are never significant. A small value means that there is some order,
        not that this one is correct.
    links : (c, c) array or None
        Estimated probability that two neighbours on the structure are true neighbours: the fraction of perturbed
        distances (without `structures`, the mean of this and the fraction of reclustered halves of the samples) that
        make them neighbours, times 0.6 + 0.4 `confidence`; NaN where there is no link. It separates certain orders from
        uncertain ones better than it separates correct and wrong links of one order.
    margin : float or None
        Distance to the best different arrangement, in standard deviations over all arrangements. It is not a
        probability: for a long chain it is small however clear the order is. None if known labels leave no other.
    structures : StructureTable or None
        Probabilities of "flat" (no order), "chain", "ring", "tree", "grid" and "hierarchy" over the same clusters, most
        probable first, with the best arrangement of each: `structures["chain"].probability`, and `structures.links`
        for every pair of clusters. The weights come from simulated data (see docs/guide/how-sure.md). None without
        `confidence`, for fewer than 4 or more than 12 clusters, and with discriminative and graph kernels, whose
        distances do not show a structure; under the default kernel clusters are compared in the views of the data, and
        rbf clusters are used as well.
    """

    confidence: float | None
    pvalue: float | None
    links: np.ndarray | None
    margin: float | None
    structures: StructureTable | None
    structure: Structure
    _problem: PlacementProblem = field(repr=False)
    _sizes: np.ndarray = field(repr=False)
    _labels: np.ndarray = field(repr=False)
    _query_rank: np.ndarray = field(repr=False)  # (m,) rank in the cluster by distance to its mean; -1: not asked for

    def alternatives(self, n: int = 5) -> list[Alternative]:
        """Return the best different arrangements of the clusters on the structure, the fitted one first.

        Arrangements that the structure cannot tell apart (a rotated ring, a reversed chain) count as one, and are
        written such that most samples keep their label. All arrangements are compared up to 8 clusters; beyond, those
        that a local search from many initializations finds, and those one exchange, reversal, insertion or 3-cycle
        away (beyond 30 clusters the best 1000 of them, without 3-cycles).

        Parameters
        ----------
        n : int, default=5
            Largest number of arrangements.

        Returns
        -------
        arrangements : list of (nodes, score)
            `nodes` (c,): the cluster that is at node j would be at nodes[j]; `nodes[labels_]` are the labels then.
            `score`: the difference from the fitted arrangement under the rule of `placement`, in standard deviations
            over all arrangements: 0 for the first, -`margin` for the second.
        """
        check_number("n", n, whole=True, least=1)
        if self.margin is None:
            raise ValueError(
                f"there is only one arrangement of the clusters on '{self.structure}' that agrees with the "
                "known labels."
            )
        return alternatives(self._problem, self.structure, self._sizes, int(n))

    def queries(self, n: int = 3) -> np.ndarray:
        """Return the samples whose labels would decide best between the possible arrangements, best first.

        These are typical samples (`medoids_`) of the n clusters whose nodes would leave the least entropy over the
        `alternatives`, where an arrangement of score s has a probability proportional to e^(s / 0.3). After one sample
        of each cluster come the samples next closest to its mean. Samples with a known label are never returned. Put
        the nodes of these samples into y, and -1 for all others, and call `fit(X, y)`.

        Parameters
        ----------
        n : int, default=3

        Returns
        -------
        samples : (n,) int array
            Indices of fitted samples.
        """
        check_number("n", n, whole=True, least=1)
        candidates = np.flatnonzero(self._query_rank >= 0)
        if n > len(candidates):
            raise ValueError(
                f"n={n} queries, but {len(candidates)} samples (of positive weight, without a known label) can be "
                "asked for; ask for fewer."
            )
        turn = np.argsort(doubtful(self._problem, self._sizes))
        order = np.lexsort((turn[self._labels[candidates]], self._query_rank[candidates]))
        return candidates[order[: int(n)]]

    def __repr__(self) -> str:
        parts = [f"{name}={getattr(self, name):.3g}" for name in ("confidence", "pvalue", "margin") if self._has(name)]
        if self.links is not None and np.isfinite(self.links).any():
            parts.append(f"weakest link={np.nanmin(self.links):.3g}")
        if self.structures is not None:
            likely = self.structures.rows[0]
            parts.append(f"most probable structure={likely.name} ({likely.probability:.2f})")
        elif self.confidence is not None and len(self._sizes) > MAX_CLUSTERS:
            parts.append(f"structures are compared up to {MAX_CLUSTERS} clusters")
        return f"ClusterOrder('{self.structure}': {', '.join(parts) or 'not estimated'})"

    def _has(self, name: str) -> bool:
        return getattr(self, name) is not None


def cluster_order(
    judged: Order | None,
    margin: float,
    structure: Structure,
    problem: PlacementProblem,
    sizes: np.ndarray,
    labels: np.ndarray,
    query_rank: np.ndarray,
) -> ClusterOrder | None:
    """Return the evidence about an arrangement; None where the structure has only one."""
    if problem.symmetric:
        return None
    links = None if judged is None or np.isnan(judged.confidence) else judged.links
    return ClusterOrder(
        confidence_of(judged),
        None if judged is None else _or_none(judged.pvalue),
        links,
        _or_none(margin),
        None if judged is None else judged.structures,
        structure,
        problem,
        sizes,
        labels,
        query_rank,
    )


def confidence_of(judged: Order | None) -> float | None:
    """Return the probability that an order is correct; None where it was not judged."""
    return None if judged is None else _or_none(judged.confidence)


def _or_none(value: float) -> float | None:
    return value if np.isfinite(value) else None


# -- alternatives, and which cluster to ask about ---------------------------------------------------------------------


def alternatives(placing: PlacementProblem, structure: Structure, n: np.ndarray, number: int) -> list[Alternative]:
    """Return the fitted arrangement, then the best different ones; each written so that most samples stay in place."""
    others = different_placements(placing, number - 1) if number > 1 else []
    return [Alternative(np.arange(len(n)), 0.0)] + [
        Alternative(_nearest(placing, structure, n, p), score) for p, score in others
    ]


def _nearest(placing: PlacementProblem, structure: Structure, n: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return the equivalent placement that moves the fewest samples, and no cluster whose place is known; p itself
    where soft labels make equivalent placements different.
    """
    benefit = np.zeros((len(n), len(n)))
    benefit[np.arange(len(n)), p] = np.where(placing.movable, n, 1 + 2 * n.sum())
    return p if placing.linear.any() else structure.align(benefit)[p]


def doubtful(placing: PlacementProblem, n: np.ndarray) -> np.ndarray:
    """Return clusters (c,), the one first whose place says most about the arrangement, then that which adds most, and
    so on.

    Arrangements have probabilities e^(score / 0.3). What places of some clusters say is what does not depend on where
    a ring begins or a chain's direction: how many steps they are apart, and from the ends. The first three are chosen
    together. Where nothing is left to tell, large clusters come first; those whose place is known come last.
    """
    c = len(n)
    large = np.lexsort((np.arange(c), -n))
    others = different_placements(placing, COMPARED)
    if not others:
        return large
    placements = np.vstack([np.arange(c), *(p for p, _ in others)])
    scores = np.array([0.0, *(score for _, score in others)])
    weight = np.exp((scores - scores.max()) / TEMPERATURE)
    told = _Told(placements, weight / weight.sum(), *_relations(placing.A))
    known = [j for j in large.tolist() if not placing.movable[j]]
    rest = [j for j in large.tolist() if placing.movable[j]]
    chosen, some = known, min(TOGETHER, len(rest))
    if comb(len(rest), some) <= SETS:
        best = min(combinations(rest, some), key=lambda clusters: told.left([*known, *clusters]))
        chosen = told.ordered(known, best)
    chosen = told.ordered(chosen, [j for j in rest if j not in chosen])
    return np.array([*chosen[len(known) :], *known])


class _Told(NamedTuple):
    placements: np.ndarray  # (r, c)
    weight: np.ndarray  # (r,)
    kind: np.ndarray  # (c,) of a place
    steps: np.ndarray  # (c, c) between places; numbers that stand for them, as in `kind`

    def parted(self, parts: np.ndarray, known: Sequence[int], new: int) -> np.ndarray:
        """Return the part (r,) of every arrangement, those alike that the places of one more cluster cannot tell
        apart.
        """
        at = self.placements[:, new]
        for kind in [self.kind[at], *(self.steps[at, self.placements[:, j]] for j in known)]:
            parts = np.unique(parts * (kind.max() + 1) + kind, return_inverse=True)[1]
        return parts

    def parts(self, known: Sequence[int]) -> np.ndarray:
        parts = np.zeros(len(self.placements), dtype=np.int64)
        for number, j in enumerate(known):
            parts = self.parted(parts, known[:number], j)
        return parts

    def entropy(self, parts: np.ndarray) -> float:
        """Return the entropy of the arrangement once its part is known, up to a constant; rounded, so that ties are
        ties.
        """
        mass = np.bincount(parts, self.weight)
        return round(float((mass * np.log(np.maximum(mass, np.finfo(float).tiny))).sum()), 9)

    def left(self, known: Sequence[int]) -> float:
        return self.entropy(self.parts(known))

    def ordered(self, chosen: Sequence[int], rest: Sequence[int]) -> list[int]:
        """Return the clusters chosen, then the rest, each time the one that leaves least open; the first of those
        that tie.
        """
        chosen, rest, parts = list(chosen), list(rest), self.parts(chosen)
        while rest:
            finer = [self.parted(parts, chosen, j) for j in rest]
            best = min(range(len(rest)), key=lambda i: self.entropy(finer[i]))
            parts = finer[best]
            chosen.append(rest.pop(best))
        return chosen


def _relations(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return kinds of places (c,), alike where steps to all others are, and steps between places (c, c), as numbers."""
    G = np.round(steps(A), 9)
    kind = np.unique(np.sort(G, axis=1), axis=0, return_inverse=True)[1].ravel()
    return kind, np.unique(G, return_inverse=True)[1].reshape(G.shape)
