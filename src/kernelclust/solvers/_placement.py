"""Placement: which cluster sits at which node of the structure, a c x c problem on (S, n) alone.

A placement p sends cluster j to node p_j and scores sum_jk A[p_j, p_k] M_jk, or F itself where a loss makes the
norms depend on the places. Up to `MAX_EXHAUSTIVE` clusters every placement is tried; beyond, local search by exchanges,
reversals, insertions and 3-cycles from many starts. Clusters whose place is known stay; what is known softly adds
linear[j, p_j].
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import repeat
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from kernelclust._compiled import floats
from kernelclust._names import check_name
from kernelclust.constraints import Constraints, label_evidence, size_penalty
from kernelclust.kernels import KernelOperator
from kernelclust.objectives import PLACEMENTS, ClusterObjective
from kernelclust.solvers._climb import compiled_form
from kernelclust.solvers._loops import improve_under_loss
from kernelclust.solvers._placement_loops import MAX_CLUSTERS_FOR_CYCLES, neighbours, search
from kernelclust.structures import Structure, as_structure

MAX_EXHAUSTIVE = 7  # 8! placements take longer than many local searches
MAX_EXHAUSTIVE_MARGIN = 8  # wanted once a fit, and exact
N_RESTARTS = 50
N_RESTARTS_OF_MANY = 10  # beyond MAX_CLUSTERS_FOR_CYCLES clusters, where a search takes longer
LOSS_COST = 5  # F under a loss is so many times as dear to search: fewer restarts
N_NEIGHBOURS = 1000  # of many clusters, placements one move away that are compared with the present one
MAX_TANGENTS = 20  # steps at most, from one quadratic score that touches F to the next
N_RANDOM_PLACEMENTS = 2000  # random placements that the spread of scores is taken from
ENTRIES_AT_A_TIME = 2**21  # entries of placed matrices at a time
DISTANCE_ERROR = 0.25  # distances between means might as well be so much longer or shorter
TAIL_DEGREES = 2.0  # v: the smaller, the more may the data be wrong altogether
WIDTHS = (1.0, 4.0, 16.0)  # multiples of t that placements of many clusters are sought at
MIN_SAVING = 1e-3  # of the largest distance: neighbours save at least so much
TIE_TOL = 1e-9  # of log-probabilities


@dataclass(frozen=True)
class PlacementProblem:
    """A and M, or with a loss the objective and S in place of M; sizes n, and who may move."""

    A: np.ndarray
    M: np.ndarray
    n: np.ndarray
    movable: np.ndarray
    linear: np.ndarray
    objective: ClusterObjective | None = None  # where there is a loss, and F is the score

    def __post_init__(self) -> None:
        c = len(self.A)
        loss = () if self.objective is None else (self.objective.A, self.objective.T)
        square = (self.A, self.M, self.linear, *loss)
        if any(one.shape != (c, c) for one in square) or self.n.shape != (c,) or self.movable.shape != (c,):
            raise ValueError(f"a placement of {c} clusters needs {c} sizes and matrices of {c} x {c}.")

    @property
    def symmetric(self) -> bool:
        """Return whether all placements are equivalent because every node is like every other."""
        c = len(self.A)
        matrices = [self.A] if self.objective is None else [self.A, self.objective.T]
        return c == 1 or all(np.array_equal(A, np.where(np.eye(c) > 0, A[0, 0], A[0, 1])) for A in matrices)

    @property
    def noise(self) -> float:
        """Return the difference of scores up to which it is rounding."""
        return 1e-12 * float(np.abs(self.M).sum() * np.abs(self.A).max())

    def scores(self, placements: np.ndarray) -> np.ndarray:
        """Return the score of each placement (r, c)."""
        c = placements.shape[1]
        step = max(1, ENTRIES_AT_A_TIME // c**2)
        parts = [self._scores(placements[i : i + step]) for i in range(0, len(placements), step)]
        return np.concatenate(parts) if parts else np.empty(0)

    def _scores(self, P: np.ndarray) -> np.ndarray:
        soft = self.linear[np.arange(P.shape[1]), P].sum(axis=1) if self.linear.any() else 0.0
        if self.objective is None:
            at = P[:, :, None] * P.shape[1] + P[:, None, :]
            return np.take(self.A.ravel(), at).reshape(len(P), -1) @ self.M.ravel() + soft
        c, objective, sizes = P.shape[1], self.objective, np.empty(P.shape)
        np.put_along_axis(sizes, P, np.broadcast_to(self.n, P.shape), axis=1)
        x = objective.inverse_norms(sizes)
        Z = objective.T[P] * x[:, None, :]  # F = coef tr(S Z A Z') - penalty, with Z as clusters see it
        SZ = (self.M @ Z.transpose(1, 0, 2).reshape(c, -1)).reshape(c, len(P), c)
        inner = np.einsum("jrb,rjb->r", SZ, (Z.reshape(-1, c) @ objective.A).reshape(Z.shape))
        penalty = objective.total_penalty(sizes, x)
        return objective.coef * inner - penalty + soft

    def tangent(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (A, M, linear) of the quadratic score that F has to first order in the norms, seen from placement
        p.
        """
        assert self.objective is not None
        order = np.argsort(p)
        M, h = self.objective.slopes(self.M[np.ix_(order, order)], self.n[order])
        return M / 2, self.M, self.linear + np.outer(self.n, h)


def placement_problem(
    rule: str,
    objective: ClusterObjective,
    S: np.ndarray,
    n: np.ndarray,
    *,
    power: float = 1.0,
    movable: np.ndarray | None = None,
    linear: np.ndarray | None = None,
) -> PlacementProblem:
    """Return the score that a rule gives to placements of clusters with sums S and sizes n.

    "distance": minus the squared distances between cluster means that neighbours on the structure are apart,
    -sum_jk A_jk (|mu_j - mu_k|^2)^power; "F": the objective. Clusters that are not `movable` (all are by default) stay.
    `linear`[j, p] is what F gains with cluster j at node p; against distances it counts per sample of a mean cluster.
    """
    check_name("placement", rule, PLACEMENTS)
    A = objective.A
    c = len(A)
    movable = np.ones(c, dtype=bool) if movable is None else movable
    linear = np.zeros((c, c)) if linear is None else linear
    if rule == "F" and objective.has_loss:
        return PlacementProblem(A, S, n, movable, linear, objective)
    if rule == "F":
        x = objective.inverse_norms(n)
        return PlacementProblem(A, S * np.outer(x, x), n, movable, linear)
    safe = np.where(n > 0, n, np.inf)
    mean_products = S / np.outer(safe, safe)
    own = np.diag(mean_products)
    M = 2 * mean_products - own[:, None] - own
    if power != 1:
        M = -(np.maximum(-M, 0.0) ** power)
    return PlacementProblem(A, M, n, movable, linear * (c / n.sum()))


def best_placement(
    problem: PlacementProblem, restarts: int = N_RESTARTS, start: np.ndarray | None = None
) -> np.ndarray:
    """Return the node p_j of each cluster j; the identity when nothing is better. Local search with `restarts` and a
    `start`.
    """
    c = len(problem.A)
    identity = np.arange(c)
    free = np.flatnonzero(problem.movable)
    if problem.symmetric and not problem.linear.any():
        return identity
    if problem.symmetric and problem.objective is None:
        tried = np.vstack([identity, identity])
        tried[1, free] = free[linear_sum_assignment(problem.linear[np.ix_(free, free)], maximize=True)[1]]
    elif len(free) <= MAX_EXHAUSTIVE:
        tried = every_placement(identity, free)
    else:
        tried = np.vstack([identity, _optima(problem, restarts, start)])
    scores = problem.scores(tried)
    scale = np.abs(problem.M).sum() * np.abs(problem.A).max() + abs(scores[0])
    return tried[np.flatnonzero(scores >= scores.max() - 1e-12 * scale)[0]]  # the first of those that tie


def place_by_value(
    objective: ClusterObjective, restarts: int, S: np.ndarray, n: np.ndarray, **known: Any
) -> np.ndarray:
    """Return the node of each cluster, the best by F."""
    return best_placement(placement_problem("F", objective, S, n, **known), restarts)


def likely_placements(A: np.ndarray, M: np.ndarray, movable: np.ndarray, restarts: int) -> np.ndarray:
    """Return the nodes (r, c) of clusters with scores M (r, c, c): for each the best placement that the local search
    finds from the identity, a matching of eigenvectors and few other starts. `best_placement` would try every placement
    of each.
    """
    noise = 1e-12 * np.abs(M).sum(axis=(1, 2)) * np.abs(A).max()
    starts, none = _starts(A, M, movable, restarts), np.zeros_like(A)
    tried = np.stack([search(*given) for given in zip(starts, repeat(movable), repeat(A), M, repeat(none), noise)])
    scores = (A[tried[:, :, :, None], tried[:, :, None]] * M[:, None]).sum(axis=(2, 3))
    return tried[np.arange(len(M)), scores.argmax(axis=1)]


def placement_margin(problem: PlacementProblem) -> float:
    """Return how much better the present placement (the identity) scores than the best different one, in units of the
    standard deviation over all placements.

    Near zero: several arrangements fit almost equally well; negative: another fits better; infinite: there is no
    different arrangement. A large margin is no proof that the order is right. Clusters whose place is known are in
    it in every arrangement.
    """
    others = different_placements(problem, 1)
    return -others[0][1] if others else np.inf


def different_placements(problem: PlacementProblem, number: int) -> list[tuple[np.ndarray, float]]:
    """Return the best placements that are no symmetry of the structure away from the present one (the identity) or
    from each other, at most so many, best first; and how much better each scores than the present one, in units of
    the standard deviation over all placements. All placements are compared where 8 clusters or fewer are free, local
    optima and what is one step from the present one beyond.
    """
    free = np.flatnonzero(problem.movable)
    if problem.symmetric or len(free) < 2:
        return []
    others, gains = _compared(problem, free)
    seen, found = {_arrangement(problem, np.arange(len(problem.A)))}, []
    for i in np.argsort(-gains, kind="stable"):
        key = _arrangement(problem, others[i])
        if key not in seen:
            seen.add(key)
            found.append((others[i], float(gains[i])))
            if len(found) == number:
                break
    return found


def _arrangement(problem: PlacementProblem, p: np.ndarray) -> bytes:
    """Return the same for placements that differ by a symmetry of the structure."""
    return np.ascontiguousarray(problem.A[np.ix_(p, p)]).tobytes()


def _compared(problem: PlacementProblem, free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return placements (r, c), and by how many standard deviations each scores better than the identity (r,)."""
    identity = np.arange(len(problem.A))
    if len(free) <= MAX_EXHAUSTIVE_MARGIN:
        others = every_placement(identity, free)
        scores = problem.scores(others)
        all_scores = scores
    else:
        others = np.vstack([_optima(problem), _neighbours(problem)])
        scores = problem.scores(others)
        rng = np.random.RandomState(0)
        placements = np.tile(identity, (N_RANDOM_PLACEMENTS, 1))
        placements[:, free] = [rng.permutation(free) for _ in range(N_RANDOM_PLACEMENTS)]
        all_scores = problem.scores(placements)
    own = problem.scores(identity[None])[0]
    unit = max(float(np.abs(all_scores).max()), np.finfo(float).tiny)  # squares of scores may leave floating point
    spread = float((all_scores / unit).std())
    even = not spread > problem.noise / unit
    return others, np.zeros(len(scores)) if even else (scores - own) / unit / spread


@lru_cache(maxsize=MAX_EXHAUSTIVE_MARGIN + 1)
def _orders(c: int) -> np.ndarray:
    """Return all permutations of 0..c-1 (c!, c), in lexicographic order."""
    if c == 0:
        return np.zeros((1, 0), dtype=np.intp)
    shorter = _orders(c - 1)
    return np.vstack([np.column_stack([np.full(len(shorter), i), shorter + (shorter >= i)]) for i in range(c)])


def every_placement(reference: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Return the reference with the clusters `free` in every order."""
    orders = _orders(len(free))
    placements = np.tile(reference, (len(orders), 1))
    placements[:, free] = reference[free][orders]
    return placements


# -- known labels -----------------------------------------------------------------------------------------------------


def place_known(
    problem: PlacementProblem,
    constraints: Constraints | None,
    labels: np.ndarray,
    E: np.ndarray,
    structure: Structure | None = None,
    restarts: int = N_RESTARTS,
) -> np.ndarray:
    """Return the node of each cluster, best by the score of `problem` and by the known labels together.

    An assignment p of clusters to nodes has the log-probability

        -v log(1 + (best score - score(p)) / v t) + sum_j L[j, p_j]

    where L is the evidence of the labels (`label_evidence`) and t the change of the score if distances between means
    change a little. By how much they might change is itself unknown, hence the logarithm: the best-scored arrangement
    can be far from the correct one, for example for objects that look alike from two sides. One label turns a ring;
    labels of every cluster outweigh an unclear order, and certain labels a clear one.

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


def number_by_structure(
    rule: str,
    objective: ClusterObjective,
    kernel: KernelOperator,
    constraints: Constraints | None,
    labels: np.ndarray,
    E: np.ndarray,
    structure: Structure | None = None,
    restarts: int = N_RESTARTS,
) -> np.ndarray:
    """Return labels with clusters renumbered: sizes of places kept, the rule's score large, and known labels right."""
    S, n = kernel.cluster_sums(labels, len(objective.A)), np.bincount(labels, kernel.weight, minlength=len(objective.A))
    placing = placement_problem(rule, objective, S, n, linear=size_penalty(constraints, labels, S, objective.A))
    return place_known(placing, constraints, labels, E, structure, restarts)[labels]


def temperature(problem: PlacementProblem, p: np.ndarray) -> float:
    """Return what the score of placement p changes by if distances between means do by DISTANCE_ERROR, for a typical
    cluster.

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


# -- local search -----------------------------------------------------------------------------------------------------


def _starts(A: np.ndarray, M: np.ndarray, movable: np.ndarray, restarts: int) -> np.ndarray:
    """Return placements (r, n, c) to search from under scores M (r, c, c): the identity, a matching of leading
    eigenvectors, and random ones, always the same.
    """
    c = len(A)
    free = np.flatnonzero(movable)
    if len(free) < c:
        random = np.tile(np.arange(c), (restarts + 1, 1))
        random[1:, free] = free[_random_orders(len(free), restarts)]
        return np.broadcast_to(random, (len(M), *random.shape))
    spectral = np.empty((len(M), c), dtype=np.intp)
    order_A = np.argsort(np.linalg.eigh(A - A.mean(0))[1][:, -1], kind="stable")
    M = M - M.mean(1)[:, None] - M.mean(2)[:, :, None] + M.mean((1, 2))[:, None, None]
    order_M = np.argsort(np.linalg.eigh(M)[1][:, :, -1], axis=1, kind="stable")
    np.put_along_axis(spectral, order_M, np.broadcast_to(order_A, spectral.shape), axis=1)
    random = _random_orders(c, restarts if c <= MAX_CLUSTERS_FOR_CYCLES else min(restarts, N_RESTARTS_OF_MANY))
    same = np.vstack([np.arange(c), random])
    return np.insert(np.broadcast_to(same, (len(M), *same.shape)), 1, spectral, axis=1)


@lru_cache(maxsize=64)
def _random_orders(c: int, number: int) -> np.ndarray:
    """Return some orders of 0..c-1 (number, c), always the same: to draw them took longer than to search from them."""
    rng = np.random.RandomState(0)
    return np.array([rng.permutation(c) for _ in range(number)], dtype=np.intp).reshape(number, c)


def _optima(problem: PlacementProblem, restarts: int = N_RESTARTS, start: np.ndarray | None = None) -> np.ndarray:
    """Return local optima (r, c), one from every start."""
    restarts = restarts if problem.objective is None else -(-restarts // LOSS_COST)
    starts = _starts(problem.A, problem.M[None], problem.movable, restarts)[0]
    starts = starts if start is None else np.vstack([start, starts])
    if problem.objective is None:
        return search(starts, problem.movable, problem.A, problem.M, problem.linear, problem.noise)
    return np.vstack([_by_exchanges(problem, _by_tangents(problem, p[None])) for p in starts])


def _by_tangents(problem: PlacementProblem, p: np.ndarray) -> np.ndarray:
    """Return the optimum of the quadratic score that touches F at a placement (1, c), again and again while F rises."""
    score = problem.scores(p)[0]
    for _ in range(MAX_TANGENTS):
        new = search(p, problem.movable, *problem.tangent(p[0]), problem.noise)
        value = problem.scores(new)[0]
        if not value > score + problem.noise:
            break
        p, score = new, value
    return p


def _by_exchanges(problem: PlacementProblem, p: np.ndarray) -> np.ndarray:
    """Return a placement (1, c) that no exchange of two clusters improves."""
    assert problem.objective is not None
    form, loss = compiled_form(problem.objective, float(problem.n.sum()))
    assert loss is not None
    c, found = len(problem.n), np.array(p[0], dtype=np.intp)
    S = floats((problem.M + problem.M.T) / 2)
    about = S, floats(problem.n), floats(problem.linear), form, loss, problem.noise, np.empty((4, c))
    improve_under_loss(found, np.array(problem.movable, dtype=bool), *about)
    return found[None]


def _neighbours(problem: PlacementProblem) -> np.ndarray:
    """Return placements one exchange, reversal, insertion or 3-cycle away from the identity: all of them where clusters
    are few; else, without 3-cycles, those of the highest score, to first order in the norms where there is a loss.
    """
    identity = np.arange(len(problem.A))
    terms = (problem.A, problem.M, problem.linear) if problem.objective is None else problem.tangent(identity)
    if len(identity) > MAX_CLUSTERS_FOR_CYCLES:
        return neighbours(problem.movable, *terms, N_NEIGHBOURS)
    i, j, k = (at.ravel() for at in np.meshgrid(*[np.flatnonzero(problem.movable)] * 3, indexing="ij"))
    some = (i < j) & (i < k) & (j != k)
    i, j, k = i[some], j[some], k[some]
    turned, row = np.tile(identity, (len(i), 1)), np.arange(len(i))
    turned[row, i], turned[row, j], turned[row, k] = j, k, i
    return np.vstack([neighbours(problem.movable, *terms), turned])
