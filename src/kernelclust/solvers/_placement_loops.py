"""The search for places, compiled: a placement p of clusters scores sum_jk A[p_j, p_k] M_jk + sum_j linear[j, p_j]."""

from __future__ import annotations

import numpy as np

from kernelclust._compiled import compiled, floats

MAX_CLUSTERS_FOR_CYCLES = 30  # 3-cycles are tried up to so many clusters


def search(
    starts: np.ndarray, movable: np.ndarray, A: np.ndarray, M: np.ndarray, linear: np.ndarray, noise: float
) -> np.ndarray:
    """Return the local optima (restarts x c) of all starts: first improvement over swaps, 3-cycles and reversals."""
    optima = np.array(starts, dtype=np.intp, order="C")
    moved, q = np.empty(optima.shape[1] + 1, dtype=np.intp), np.empty(optima.shape[1], dtype=np.intp)
    M = (M + M.T) / 2  # what a move gains is counted as if it were: else moves could gain for ever
    improve(optima, moved, q, np.array(movable, dtype=bool), floats(A), floats(M), floats(linear), float(noise))
    return optima


@compiled
def accept(p, q, moved, A, M, linear, noise):
    """Go from placement p to q, which differ in the clusters `moved`, up to -1, if that pays; else q becomes p."""
    rise, number = 0.0, 0
    while moved[number] >= 0:
        j = moved[number]
        number += 1
        new, old = q[j], p[j]
        rise += linear[j, new] - linear[j, old] + (A[new, new] - A[old, old]) * M[j, j]
        for k in range(len(p)):
            if k != j:  # two moved clusters see each other twice, others are seen once
                share = 2.0 if q[k] == p[k] else 1.0
                rise += share * (A[new, q[k]] - A[old, p[k]]) * M[j, k]
    for s in range(number):
        j = moved[s]
        if rise > noise:
            p[j] = q[j]
        else:
            q[j] = p[j]
    return rise > noise


@compiled
def improve(optima, moved, q, movable, A, M, linear, noise):
    """Run the loop of `search`: every row of `optima` becomes one; `moved` (c + 1,) and q (c,) are for it alone."""
    c = optima.shape[1]
    stuck = 0
    for k in range(c):
        stuck += not movable[k]
    for r in range(len(optima)):
        p = optima[r]
        for k in range(c):
            q[k] = p[k]
        improved = True
        while improved:
            improved = False
            for i in range(c):
                for j in range(i + 1, c):
                    if not (movable[i] and movable[j]):
                        continue
                    moved[0], moved[1], moved[2] = i, j, -1
                    q[i], q[j] = p[j], p[i]
                    improved |= accept(p, q, moved, A, M, linear, noise)
                    low, high = (p[i], p[j]) if p[i] < p[j] else (p[j], p[i])
                    if high < low + 2 or stuck:
                        continue
                    number = 0  # reverse the stretch of nodes between those of i and j
                    for k in range(c):
                        if low <= p[k] <= high and 2 * p[k] != low + high:
                            moved[number] = k
                            number += 1
                            q[k] = low + high - p[k]
                    moved[number] = -1
                    improved |= accept(p, q, moved, A, M, linear, noise)
            if improved or c > MAX_CLUSTERS_FOR_CYCLES:
                continue
            for i in range(c):
                for j in range(i + 1, c):
                    for k in range(j + 1, c):
                        if not (movable[i] and movable[j] and movable[k]):
                            continue
                        for turn in range(2):
                            moved[0], moved[1 + turn], moved[2 - turn], moved[3] = i, j, k, -1
                            for s in range(3):
                                q[moved[s]] = p[moved[(s + 1) % 3]]
                            improved |= accept(p, q, moved, A, M, linear, noise)
