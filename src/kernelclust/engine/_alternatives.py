"""Other arrangements of the clusters of a fit, and which cluster to ask about to tell them apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
from scipy.sparse.csgraph import shortest_path

from kernelclust.solvers import PlacementProblem, different_placements
from kernelclust.structures import Structure

TEMPERATURE = 0.3  # standard deviations by which an arrangement that is e times less likely scores less
COMPARED = 200  # arrangements that questions tell apart, at most
TOGETHER = 3  # clusters that are chosen together, as a first answer may say nothing but where a ring begins
SETS = 3000  # sets of so many that are compared; beyond, one cluster is chosen after the other


class Alternative(NamedTuple):
    """An arrangement: the cluster at node j moves to `nodes[j]`. `score` is how much better it is than the fitted one,
    in standard deviations over all arrangements."""

    nodes: np.ndarray
    score: float


def alternatives(placing: PlacementProblem, structure: Structure, n: np.ndarray, number: int) -> list[Alternative]:
    """The fitted arrangement, then the best different ones; each written so that most samples stay in place."""
    others = different_placements(placing, number - 1) if number > 1 else []
    return [Alternative(np.arange(len(n)), 0.0)] + [
        Alternative(_nearest(placing, structure, n, p), score) for p, score in others
    ]


def _nearest(placing: PlacementProblem, structure: Structure, n: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The equivalent placement that moves the fewest samples, and no cluster whose place is known; p itself where soft
    labels make equivalent placements different."""
    benefit = np.zeros((len(n), len(n)))
    benefit[np.arange(len(n)), p] = np.where(placing.movable, n, 1 + 2 * n.sum())
    return p if placing.linear.any() else structure.align(benefit)[p]


def doubtful(placing: PlacementProblem, n: np.ndarray) -> np.ndarray:
    """Clusters (c,), the one first whose place says most about the arrangement, then that which adds most, and so on.

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
        """The part (r,) of every arrangement, those alike that the places of one more cluster cannot tell apart."""
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
        """Of the arrangement once its part is known, up to a constant; rounded, so that ties are ties."""
        mass = np.bincount(parts, self.weight)
        return round(float((mass * np.log(np.maximum(mass, np.finfo(float).tiny))).sum()), 9)

    def left(self, known: Sequence[int]) -> float:
        return self.entropy(self.parts(known))

    def ordered(self, chosen: Sequence[int], rest: Sequence[int]) -> list[int]:
        """The clusters chosen, then the rest, each time the one that leaves least open; the first of those that tie."""
        chosen, rest, parts = list(chosen), list(rest), self.parts(chosen)
        while rest:
            finer = [self.parted(parts, chosen, j) for j in rest]
            best = min(range(len(rest)), key=lambda i: self.entropy(finer[i]))
            parts = finer[best]
            chosen.append(rest.pop(best))
        return chosen


def _relations(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Kinds of places (c,), alike where steps to all others are, and steps between places (c, c), as numbers."""
    links = np.where((A > 0) & ~np.eye(len(A), dtype=bool), A.max() / np.where(A > 0, A, 1.0), 0.0)
    steps = np.round(shortest_path(links, directed=False), 9)
    kind = np.unique(np.sort(steps, axis=1), axis=0, return_inverse=True)[1].ravel()
    return kind, np.unique(steps, return_inverse=True)[1].reshape(steps.shape)
