"""The search for nodes, compiled: a placement p of clusters scores sum_jk A[p_j, p_k] M_jk + sum_j linear[j, p_j].

An exchange of two clusters changes the score by a sum over the others: c steps. Longer moves are walks of exchanges.
The nodes low..high are reversed by reversing low + 1..high - 1 and then exchanging the clusters at the ends; a cluster
is moved by exchanging it with the next one again and again. All reversals about one centre are judged on one walk, and
all nodes that a cluster can move to on two, so that a sweep over all of them takes c^3 steps, not c^4.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from kernelclust._compiled import compiled, floats, integers

MAX_CLUSTERS_FOR_CYCLES = 30  # 3-cycles are tried up to so many clusters: they take c^4 steps


def search(
    starts: np.ndarray, movable: np.ndarray, A: np.ndarray, M: np.ndarray, linear: np.ndarray, noise: float
) -> np.ndarray:
    """Return local optima (r, c), one from each start (r, c): no exchange, reversal, insertion or 3-cycle adds more
    than `noise`. Nothing is reversed or inserted where a cluster is not movable.

    3-cycles are left out on chains and rings where clusters are free: of 360 searches from 50 starts none ended higher
    with them there. On grids 11 of 120 did, and 44 of 360 on chains and rings with a `linear` term.
    """
    optima = np.array(starts, dtype=np.intp, order="C")
    c = optima.shape[1]
    at, (movable, paths) = np.empty(c, dtype=np.intp), _moves(movable)
    task = floats(A), floats(_symmetric(M)), floats(linear), float(noise)
    improve(optima, at, np.empty(c), movable, paths, *task)
    free = len(paths) > 0 and not linear.any()
    if c > MAX_CLUSTERS_FOR_CYCLES or (free and np.count_nonzero(A, axis=1).max() <= 3):
        return optima
    left = np.arange(len(optima))
    while len(left):
        tried = optima[left]
        changed = improve_by_cycles(tried, at, np.empty((c, c)), movable, *task)
        left, tried = left[changed], tried[changed]
        improve(tried, at, np.empty(c), movable, paths, *task)
        optima[left] = tried
    return optima


def neighbours(
    movable: np.ndarray, A: np.ndarray, M: np.ndarray, linear: np.ndarray, number: int | None = None
) -> np.ndarray:
    """Return the placements (r, c) one exchange, reversal or insertion away from the identity, in order of their
    scores; at most so many.
    """
    c = len(A)
    nodes = np.arange(c)
    rises = np.full((3, c, c), -np.inf)
    scratch = nodes.copy(), nodes.copy(), np.empty(c)
    fill_rises(rises, *scratch, *_moves(movable), floats(A), floats(_symmetric(M)), floats(linear))
    best = np.argsort(-rises, axis=None, kind="stable")[: np.isfinite(rises).sum()][:number]
    kind, i, j = (at[:, None] for at in np.unravel_index(best, rises.shape))
    inside = (np.minimum(i, j) <= nodes) & (nodes <= np.maximum(i, j))
    exchanged = np.where(nodes == i, j, np.where(nodes == j, i, nodes))
    reversed_ = np.where(inside, i + j - nodes, nodes)
    inserted = np.where(nodes == i, j, nodes - np.sign(j - i) * inside)
    return np.select([kind == 0, kind == 1], [exchanged, reversed_], inserted)


def _moves(movable: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which clusters may move, and the paths that are walked."""
    movable = np.array(movable, dtype=bool)
    return movable, integers(walks(len(movable)) if movable.all() else np.empty((0, 4)))


@lru_cache(maxsize=64)
def walks(c: int) -> np.ndarray:
    """Return (a, step of a, b, step of b) for each walk: clusters at nodes a and b are exchanged, then a and b step on
    while both are nodes. The first 2c - 3 reverse stretches of nodes, the others move one cluster.
    """
    centre, begin, ones = np.arange(1, 2 * c - 2), np.arange(c), np.ones(c, dtype=np.intp)
    low = (centre - 1) // 2
    reversals = np.column_stack([low, np.full_like(low, -1), centre - low, np.ones_like(low)])
    up, down = ([begin, way * ones, begin + way, way * ones] for way in (1, -1))
    return np.vstack([reversals, np.column_stack(up)[:-1], np.column_stack(down)[1:]])


def _symmetric(M: np.ndarray) -> np.ndarray:
    """Return M as the loops take it: where rounding made it uneven, moves could gain for ever."""
    return (M + M.T) / 2


@compiled(fastmath={"reassoc", "contract"})
def exchange_rise(p, i, j, A, M, linear):
    """Return what the score gains when clusters i and j exchange their nodes; A and M are symmetric."""
    a, b = p[i], p[j]
    rise = (A[b, b] - A[a, a]) * (M[i, i] - M[j, j]) / 2
    rise -= (A[b, a] - A[a, a]) * (M[i, i] - M[j, i]) + (A[b, b] - A[a, b]) * (M[i, j] - M[j, j])
    for k in range(len(p)):
        rise += (A[b, p[k]] - A[a, p[k]]) * (M[i, k] - M[j, k])
    return 2 * rise + linear[i, b] - linear[i, a] + linear[j, a] - linear[j, b]


@compiled
def exchange(p, at, i, j):
    """Exchange the nodes of clusters i and j in p, and in its inverse: at[node] is the cluster there."""
    p[i], p[j] = p[j], p[i]
    at[p[i]], at[p[j]] = i, j


@compiled
def walk_to_best(p, at, path, rises, A, M, linear, noise):
    """Walk a path of `walks`, write to rises[step] what the score has gained by then, and go back to where it was
    highest, or to the beginning if it gained no more than `noise`. Return whether p has changed.
    """
    a, b, total, best, number, step = path[0], path[2], 0.0, noise, 0, 0
    while 0 <= a < len(p) and 0 <= b < len(p):
        i, j = at[a], at[b]
        total += exchange_rise(p, i, j, A, M, linear)
        exchange(p, at, i, j)
        rises[step] = total
        step += 1
        if total > best:
            best, number = total, step
        a += path[1]
        b += path[3]
    while step > number:
        step -= 1
        a -= path[1]
        b -= path[3]
        exchange(p, at, at[a], at[b])
    return number > 0


@compiled
def fill_rises(table, p, at, rises, movable, paths, A, M, linear):
    """Write to table (3, c, c) what is added to the score of the identity p by the exchange of clusters i < j, the
    reversal of nodes low < high, and the insertion of cluster i at node j; `at` is another identity.
    """
    c = len(p)
    for i in range(c):
        for j in range(i + 1, c):
            if movable[i] and movable[j]:
                table[0, i, j] = exchange_rise(p, i, j, A, M, linear)
    for r in range(len(paths)):
        a, step_a, b, step_b = paths[r]
        walk_to_best(p, at, paths[r], rises, A, M, linear, np.inf)
        step = 1  # the first is an exchange
        while 0 <= a + step * step_a < c and 0 <= b + step * step_b < c:
            if step_a != step_b:
                table[1, a + step * step_a, b + step * step_b] = rises[step]
            else:
                table[2, a, b + step * step_b] = rises[step]
            step += 1


@compiled(fastmath={"reassoc", "contract"})
def fill_pull(pull, a, p, A, M):
    """Write to pull[a, x] = sum_l A[a, p_l] M[x, l] what cluster x at node a adds to half the score."""
    for x in range(len(p)):
        total = 0.0
        for k in range(len(p)):
            total += A[a, p[k]] * M[x, k]
        pull[a, x] = total


@compiled(fastmath={"reassoc", "contract"})
def cycle_rise(p, i, x, y, pull, A, M, linear):
    """Return what the score gains when i goes to the node of x, x to that of y, and y to that of i."""
    a, b, c = p[i], p[x], p[y]
    rise = pull[b, i] - pull[a, i] + pull[c, x] - pull[b, x] + pull[a, y] - pull[c, y]
    # among the three, pull knows where one of two has gone
    rise += (A[b, b] / 2 - A[b, a] + A[a, a] / 2) * M[i, i]
    rise += (A[c, c] / 2 - A[c, b] + A[b, b] / 2) * M[x, x]
    rise += (A[a, a] / 2 - A[a, c] + A[c, c] / 2) * M[y, y]
    rise += (A[b, c] - A[b, b] - A[a, c] + A[a, b]) * M[i, x]
    rise += (A[b, a] - A[b, c] - A[a, a] + A[a, c]) * M[i, y]
    rise += (A[c, a] - A[c, c] - A[b, a] + A[b, c]) * M[x, y]
    return 2 * rise + linear[i, b] - linear[i, a] + linear[x, c] - linear[x, b] + linear[y, a] - linear[y, c]


@compiled
def improve(optima, at, rises, movable, paths, A, M, linear, noise):
    """Exchange clusters and walk the paths until neither raises the score of any row of `optima`; `at` and `rises` (c,)
    are for it alone.
    """
    c = optima.shape[1]
    for r in range(len(optima)):
        p = optima[r]
        for k in range(c):
            at[p[k]] = k
        improved = True
        while improved:
            improved = False
            for i in range(c):
                for j in range(i + 1, c):
                    if movable[i] and movable[j] and exchange_rise(p, i, j, A, M, linear) > noise:
                        exchange(p, at, i, j)
                        improved = True
            if improved:  # longer moves only where no exchange is left: on chains and rings that ends higher
                continue
            for path in range(len(paths)):
                improved |= walk_to_best(p, at, paths[path], rises, A, M, linear, noise)


@compiled
def improve_by_cycles(optima, at, pull, movable, A, M, linear, noise):
    """Try every 3-cycle of clusters once in each row of `optima`, and return which rows it changed; `at` (c,) and
    `pull` (c, c) are for it alone.
    """
    c = optima.shape[1]
    changed = np.zeros(len(optima), dtype=np.bool_)
    for r in range(len(optima)):
        p = optima[r]
        for k in range(c):
            at[p[k]] = k
        for a in range(c):
            fill_pull(pull, a, p, A, M)
        for i in range(c):
            for j in range(i + 1, c):
                for k in range(j + 1, c):
                    if not (movable[i] and movable[j] and movable[k]):
                        continue
                    for x, y in ((j, k), (k, j)):  # i goes to the node of x, x to that of y, y to that of i
                        if cycle_rise(p, i, x, y, pull, A, M, linear) > noise:
                            exchange(p, at, i, x)
                            exchange(p, at, x, y)
                            for a in range(c):
                                fill_pull(pull, a, p, A, M)
                            changed[r] = True
    return changed
