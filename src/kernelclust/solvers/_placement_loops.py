"""The search for places, compiled: a placement p of clusters scores sum_jk A[p_j, p_k] M_jk + sum_j linear[j, p_j]."""

from __future__ import annotations

import numpy as np

from kernelclust._compiled import compiled

CYCLES = 30  # 3-cycles are tried up to so many clusters


@compiled
def accept(p, q, moved, number, A, M, linear, noise):
    """Go from placement p to q, which differ in the first `number` clusters `moved`, if that pays; else q becomes p."""
    rise = 0.0
    for s in range(number):
        j = moved[s]
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
def search(starts, movable, A, M, linear, noise):
    """Local optimum (restarts x c) from every start: first improvement over swaps, 3-cycles and reversals."""
    optima = starts.copy()
    c = starts.shape[1]
    moved, q = np.empty(c, dtype=np.intp), np.empty(c, dtype=np.intp)
    stuck = 0
    for k in range(c):
        stuck += not movable[k]
    for r in range(len(starts)):
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
                    moved[0], moved[1] = i, j
                    q[i], q[j] = p[j], p[i]
                    improved |= accept(p, q, moved, 2, A, M, linear, noise)
                    low, high = min(p[i], p[j]), max(p[i], p[j])
                    if high < low + 2 or stuck:
                        continue
                    number = 0  # reverse the stretch of nodes between those of i and j
                    for k in range(c):
                        if low <= p[k] <= high and 2 * p[k] != low + high:
                            moved[number] = k
                            number += 1
                            q[k] = low + high - p[k]
                    improved |= accept(p, q, moved, number, A, M, linear, noise)
            if improved or c > CYCLES:
                continue
            for i in range(c):
                for j in range(i + 1, c):
                    for k in range(j + 1, c):
                        if not (movable[i] and movable[j] and movable[k]):
                            continue
                        for turn in range(2):
                            moved[0], moved[1 + turn], moved[2 - turn] = i, j, k
                            for s in range(3):
                                q[moved[s]] = p[moved[(s + 1) % 3]]
                            improved |= accept(p, q, moved, 3, A, M, linear, noise)
    return optima
