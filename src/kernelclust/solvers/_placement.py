"""Placement: which cluster sits at which node of the structure, a c x c problem on (S, n) alone.

A placement p sends cluster j to node p_j and scores sum_jk A[p_j, p_k] M_jk, or F itself where a loss makes the
norms depend on the places. Up to `EXHAUSTIVE` clusters every placement is tried; beyond, local search by swaps,
3-cycles and reversals from many starts. Clusters whose place is known stay; what is known softly adds linear[j, p_j].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy.optimize import linear_sum_assignment

from kernelclust._names import check_name
from kernelclust.objectives import POWER, Dependence
from kernelclust.solvers._loops import loss_norms

RULES = ("distance", "F")
EXHAUSTIVE = 7  # 8! placements take longer than many local searches
EXHAUSTIVE_MARGIN = 8  # wanted once a fit, and exact
RESTARTS = 50
LOSS_RESTARTS = 5
CYCLES = 30  # 3-cycles are tried up to so many clusters
SAMPLES = 2000  # random placements that the spread of scores is taken from


@dataclass(frozen=True)
class PlacementProblem:
    """A, M and, with a loss, what F needs: everything a placement's score depends on; and who may move."""

    A: np.ndarray
    M: np.ndarray
    n: np.ndarray
    T: np.ndarray
    movable: np.ndarray
    linear: np.ndarray
    power: float = 0.0
    coef: float = 1.0
    penalty: float = 0.0
    has_loss: bool = False

    @property
    def arrays(self) -> tuple:
        return self.A, self.M, self.n, self.T, self.power, self.coef, self.penalty, self.has_loss, self.linear

    @property
    def symmetric(self) -> bool:
        """Whether all placements are equivalent because every node is like every other."""
        A, c = self.A, len(self.A)
        return c == 1 or bool(np.array_equal(A, np.where(np.eye(c, dtype=bool), A[0, 0], A[0, 1])))


def placement_problem(
    rule: str,
    objective: Dependence,
    S: np.ndarray,
    n: np.ndarray,
    *,
    movable: np.ndarray | None = None,
    linear: np.ndarray | None = None,
) -> PlacementProblem:
    """The score that a rule gives to placements of clusters with sums S and sizes n.

    "distance": minus the squared distances between cluster means that neighbours on the structure are apart,
    -sum_jk A_jk |mu_j - mu_k|^2; "F": the objective. Clusters that are not `movable` (all are by default) stay.
    `linear`[j, p] is what F gains with cluster j at node p; against distances it counts per sample of a mean cluster.
    """
    check_name("placement", rule, RULES)
    A, T = np.ascontiguousarray(objective.A), np.ascontiguousarray(objective.T)
    c = len(A)
    movable = np.ones(c, dtype=bool) if movable is None else movable
    linear = np.zeros((c, c)) if linear is None else linear
    if rule == "F" and objective.has_loss:
        power = POWER[objective.normalize]
        numbers = power, objective.coef, objective.penalty, True
        return PlacementProblem(A, np.ascontiguousarray(S), n, T, movable, linear, *numbers)
    if rule == "F":
        x = objective.inverse_norms(n)
        return PlacementProblem(A, S * np.outer(x, x), n, T, movable, linear)
    safe = np.where(n > 0, n, np.inf)
    mean_products = S / np.outer(safe, safe)
    own = np.diag(mean_products)
    return PlacementProblem(A, 2 * mean_products - own[:, None] - own, n, T, movable, linear * (c / n.sum()))


def best_placement(problem: PlacementProblem, restarts: int = RESTARTS) -> np.ndarray:
    """Node p_j of each cluster j; the identity when nothing is better. `restarts` of the local search."""
    c = len(problem.A)
    identity = np.arange(c)
    free = np.flatnonzero(problem.movable)
    if problem.symmetric and not problem.linear.any():
        return identity
    if problem.symmetric and not problem.has_loss:
        best = identity.copy()
        best[free] = free[linear_sum_assignment(problem.linear[np.ix_(free, free)], maximize=True)[1]]
    elif len(free) <= EXHAUSTIVE:
        best = _enumerate(identity, free, *problem.arrays)[0]
    else:
        starts = _starts(problem, restarts)
        optima = _search(starts, problem.movable, *problem.arrays)
        scores = _scores(optima, *problem.arrays)
        best = optima[int(np.argmax(scores))]
    gain = _score(best, *problem.arrays) - _score(identity, *problem.arrays)
    scale = np.abs(problem.M).sum() * np.abs(problem.A).max() + abs(_score(identity, *problem.arrays))
    return best if gain > 1e-12 * scale else identity


def placement_margin(problem: PlacementProblem) -> float:
    """How much better the present placement (the identity) scores than the best different one, in units of the
    standard deviation over all placements.

    Near zero: several arrangements fit almost equally well; negative: another fits better; infinite: there is no
    different arrangement. A large margin is no proof that the order is right. Clusters whose place is known are in
    it in every arrangement.
    """
    c = len(problem.A)
    free = np.flatnonzero(problem.movable)
    if problem.symmetric or len(free) < 2:
        return np.inf
    identity = np.arange(c)
    if len(free) <= EXHAUSTIVE_MARGIN:
        _, other, _, spread = _enumerate(identity, free, *problem.arrays)
    else:
        optima = np.vstack([_search(_starts(problem), problem.movable, *problem.arrays), _neighbours(identity)])
        optima = optima[np.all(optima[:, ~problem.movable] == identity[~problem.movable], axis=1)]
        different = np.array([not _equivalent(p, identity, problem.A) for p in optima])
        other = _scores(optima[different], *problem.arrays).max() if different.any() else -np.inf
        rng = np.random.RandomState(0)
        placements = np.tile(identity, (SAMPLES, 1))
        placements[:, free] = [rng.permutation(free) for _ in range(SAMPLES)]
        spread = _scores(placements, *problem.arrays).std()
    own = _score(identity, *problem.arrays)
    if not np.isfinite(other):
        return np.inf
    noise = 1e-12 * np.abs(problem.M).sum() * np.abs(problem.A).max()
    return float((own - other) / spread) if spread > noise else 0.0


def _starts(problem: PlacementProblem, restarts: int = RESTARTS) -> np.ndarray:
    """The identity, a matching of leading eigenvectors, and random placements, always the same."""
    c = len(problem.A)
    restarts = min(restarts, LOSS_RESTARTS) if problem.has_loss else restarts  # a score costs c^3 steps then
    rng = np.random.RandomState(0)
    free = np.flatnonzero(problem.movable)
    if len(free) < c:
        random = np.tile(np.arange(c), (restarts + 1, 1))
        random[1:, free] = [rng.permutation(free) for _ in range(restarts)]
        return random
    spectral = np.empty(c, dtype=np.intp)
    order_A = np.argsort(np.linalg.eigh(problem.A - problem.A.mean(0))[1][:, -1], kind="stable")
    M = problem.M - problem.M.mean(0) - problem.M.mean(1)[:, None] + problem.M.mean()
    spectral[np.argsort(np.linalg.eigh(M)[1][:, -1], kind="stable")] = order_A
    random = [rng.permutation(c) for _ in range(restarts if c <= CYCLES else min(restarts, 5))]
    return np.array([np.arange(c), spectral, *random], dtype=np.intp)


def _neighbours(p: np.ndarray) -> np.ndarray:
    """Every placement one swap, 3-cycle or reversal away."""
    c = len(p)
    out = []
    for i in range(c):
        for j in range(i + 1, c):
            swapped, reversed_ = p.copy(), p.copy()
            swapped[[i, j]] = p[[j, i]]
            reversed_[i : j + 1] = p[i : j + 1][::-1]
            out += [swapped, reversed_]
            for k in range(j + 1, c if c <= CYCLES else 0):
                for cycle in ([j, k, i], [k, i, j]):
                    turned = p.copy()
                    turned[[i, j, k]] = p[cycle]
                    out.append(turned)
    return np.array(out)


def _equivalent(p: np.ndarray, q: np.ndarray, A: np.ndarray) -> bool:
    return np.array_equal(A[np.ix_(p, p)], A[np.ix_(q, q)])


@njit(cache=True, nogil=True)
def _score(p, A, M, n, T, power, coef, penalty, has_loss, linear):
    c = len(p)
    value = 0.0
    if not has_loss:
        for j in range(c):
            for k in range(c):
                value += A[p[j], p[k]] * M[j, k]
            value += linear[j, p[j]]
        return value
    for j in range(c):
        value += linear[j, p[j]]
    sizes, x, absolute = np.empty(c), np.empty(c), np.empty(c)
    for j in range(c):
        sizes[p[j]] = n[j]
    loss_norms(sizes, T, power, x, absolute)
    half = np.zeros((c, c))  # M T with rows placed: cluster j sits at node p_j
    for j in range(c):
        for k in range(c):
            for b in range(c):
                half[j, b] += M[j, k] * T[p[k], b]
    for a in range(c):
        for b in range(c):
            inner = 0.0
            for j in range(c):
                inner += T[p[j], a] * half[j, b]
            value += coef * A[a, b] * inner * x[a] * x[b]
        value -= penalty * absolute[a] * x[a]
    return value


@njit(cache=True, nogil=True)
def _scores(placements, A, M, n, T, power, coef, penalty, has_loss, linear):
    out = np.empty(len(placements))
    for i in range(len(placements)):
        out[i] = _score(placements[i], A, M, n, T, power, coef, penalty, has_loss, linear)
    return out


@njit(cache=True, nogil=True)
def _same(p, q, A):
    for j in range(len(p)):
        for k in range(len(p)):
            if A[p[j], p[k]] != A[q[j], q[k]]:
                return False
    return True


@njit(cache=True, nogil=True)
def _enumerate(reference, free, A, M, n, T, power, coef, penalty, has_loss, linear):
    """Best placement, best score of one that differs from the reference, mean and spread, over all orders of `free`."""
    c = len(free)
    p = reference.copy()
    best, best_score, other = p.copy(), -np.inf, -np.inf
    total, square, number, shift = 0.0, 0.0, 0, 0.0
    counter = np.zeros(c, dtype=np.intp)
    i = -1
    while True:
        score = _score(p, A, M, n, T, power, coef, penalty, has_loss, linear)
        if number == 0:
            shift = score
        number += 1
        total += score - shift
        square += (score - shift) ** 2
        if score > best_score:
            best_score = score
            best[:] = p
        if score > other and not _same(p, reference, A):
            other = score
        i = 1
        while i < c and counter[i] >= i:  # Heap's order
            counter[i] = 0
            i += 1
        if i >= c:
            break
        j = 0 if i % 2 == 0 else counter[i]
        p[free[i]], p[free[j]] = p[free[j]], p[free[i]]
        counter[i] += 1
    mean = total / number
    return best, other, mean + shift, np.sqrt(max(square / number - mean * mean, 0.0))


@njit(cache=True, nogil=True)
def _change(p, moved, nodes, A, M, linear):
    """Rise of the quadratic score when the clusters `moved` go to `nodes`."""
    rise = 0.0
    for s in range(len(moved)):
        j = moved[s]
        rise += (A[nodes[s], nodes[s]] - A[p[j], p[j]]) * M[j, j] + linear[j, nodes[s]] - linear[j, p[j]]
        for k in range(len(p)):
            inside = False
            for t in range(len(moved)):
                inside = inside or moved[t] == k
            if not inside:
                rise += 2 * (A[nodes[s], p[k]] - A[p[j], p[k]]) * M[j, k]
        for t in range(s):
            i = moved[t]
            rise += 2 * (A[nodes[s], nodes[t]] - A[p[j], p[i]]) * M[j, i]
    return rise


@njit(cache=True, nogil=True)
def _try(p, moved, nodes, score, A, M, n, T, power, coef, penalty, has_loss, linear):
    """Score after a move."""
    if not has_loss:
        return score + _change(p, moved, nodes, A, M, linear)
    q = p.copy()
    for s in range(len(moved)):
        q[moved[s]] = nodes[s]
    return _score(q, A, M, n, T, power, coef, penalty, has_loss, linear)


@njit(cache=True, nogil=True)
def _search(starts, movable, A, M, n, T, power, coef, penalty, has_loss, linear):
    """Local optimum (restarts x c) from every start: first improvement over swaps, 3-cycles and reversals."""
    optima = starts.copy()
    c = starts.shape[1]
    noise = 1e-12 * np.abs(M).sum() * np.abs(A).max()
    all_movable = np.all(movable)
    for r in range(len(starts)):
        p = optima[r]
        score = _score(p, A, M, n, T, power, coef, penalty, has_loss, linear)
        improved = True
        while improved:
            improved = False
            for i in range(c):
                for j in range(i + 1, c):
                    if not (movable[i] and movable[j]):
                        continue
                    moved = np.array([i, j])
                    nodes = np.array([p[j], p[i]])
                    new = _try(p, moved, nodes, score, A, M, n, T, power, coef, penalty, has_loss, linear)
                    if new > score + noise:
                        p[i], p[j] = nodes[0], nodes[1]
                        score, improved = new, True
                    low, high = min(p[i], p[j]), max(p[i], p[j])
                    if high > low + 1 and all_movable:  # reverse the stretch of nodes between those of i and j
                        q = p.copy()
                        for k in range(c):
                            if low <= p[k] <= high:
                                q[k] = low + high - p[k]
                        new = _score(q, A, M, n, T, power, coef, penalty, has_loss, linear)
                        if new > score + noise:
                            p[:] = q
                            score, improved = new, True
            if improved or c > CYCLES:
                continue
            for i in range(c):
                for j in range(i + 1, c):
                    for k in range(j + 1, c):
                        if not (movable[i] and movable[j] and movable[k]):
                            continue
                        moved = np.array([i, j, k])
                        for turn in range(2):
                            if turn == 0:
                                nodes = np.array([p[j], p[k], p[i]])
                            else:
                                nodes = np.array([p[k], p[i], p[j]])
                            new = _try(p, moved, nodes, score, A, M, n, T, power, coef, penalty, has_loss, linear)
                            if new > score + noise:
                                p[i], p[j], p[k] = nodes[0], nodes[1], nodes[2]
                                score, improved = new, True
    return optima
