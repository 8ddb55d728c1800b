"""Assign clusters to nodes by the data and the known labels jointly.

An assignment p of clusters to nodes has the log-probability

    -v log(1 + (best score - score(p)) / v t) + sum_j L[j, p_j]

where L is the evidence of the labels (`label_evidence`) and t the change of the score if distances between means change
a little. By how much they might change is itself unknown, hence the logarithm: the best-scored arrangement can be far
from the correct one, for example for objects that look alike from two sides. One label turns a ring; labels of every
cluster outweigh an unclear order, and certain labels a clear one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kernelclust.constraints import Constraints, label_evidence
from kernelclust.solvers._placement import MAX_EXHAUSTIVE, N_RESTARTS, PlacementProblem, best_placement, every_placement
from kernelclust.structures import Structure, as_structure

DISTANCE_ERROR = 0.25  # distances between means might as well be so much longer or shorter
TAIL_DEGREES = 2.0  # v: the smaller, the more may the data be wrong altogether
WIDTHS = (1.0, 4.0, 16.0)  # multiples of t that placements of many clusters are sought at
MIN_SAVING = 1e-3  # of the largest distance: neighbours save at least so much
TIE_TOL = 1e-9  # of log-probabilities


def place_known(
    problem: PlacementProblem,
    constraints: Constraints | None,
    labels: np.ndarray,
    E: np.ndarray,
    structure: Structure | None = None,
    restarts: int = N_RESTARTS,
) -> np.ndarray:
    """Node of each cluster, best by the score of `problem` and by the known labels together.

    E are features (m, d), `structure` is what A is the kernel of.
    """
    free = best_placement(problem, restarts)
    if constraints is None or not constraints.label_weight.any():
        return free
    L = label_evidence(constraints, labels, E, problem.A)
    t, c = temperature(problem, free), len(free)
    if problem.symmetric:
        return best_placement(replace(problem, linear=problem.linear + t * L), restarts)
    movable = np.flatnonzero(problem.movable)
    if len(movable) <= MAX_EXHAUSTIVE:
        tried = every_placement(np.arange(c), movable)
    else:
        structure = as_structure(problem.A) if structure is None else structure
        turned = structure.align(L[np.argsort(free)].T)[free]  # equivalent, and as the labels say
        start = turned if problem.movable.all() else None
        known = [replace(problem, linear=problem.linear + k * t * L) for k in WIDTHS]
        tried = np.array([best_placement(one, restarts, start) for one in known])
    bare = replace(problem, linear=np.zeros((c, c)))
    behind = np.maximum(bare.scores(free[None]) - bare.scores(tried), 0.0)
    evidence = (L + problem.linear / t)[np.arange(c), tried].sum(axis=1)
    value = evidence - TAIL_DEGREES * np.log1p(behind / (TAIL_DEGREES * t))
    return tried[np.flatnonzero(value >= value.max() - TIE_TOL)[0]]


def temperature(problem: PlacementProblem, p: np.ndarray) -> float:
    """What the score of placement p changes by if distances between means do by DISTANCE_ERROR, for a typical cluster.

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
        far = np.minimum(far, max(saved, MIN_SAVING * far.max()))
    size = float(np.abs(links * far).max())
    return DISTANCE_ERROR / 2 * size * float(np.sqrt(((links * far / size) ** 2).sum() / len(p))) if size > 0 else 1.0
