"""Loops of a set of points: one-dimensional persistent homology of its Vietoris-Rips complex.

Join all points that are at most some distance apart, and fill every triangle of joined points. As the distance grows,
loops of links are born, and die when triangles have filled them. A ring has one loop that lives long; lines, trees and
filled discs have none, and chance gives several short-lived ones (Edelsbrunner, Letscher and Zomorodian 2002).
"""

from __future__ import annotations

import numpy as np

TINY = 1e-9  # of the largest distance: points that are closer are this far apart


def loop_lives(distance: np.ndarray) -> np.ndarray:
    """Return log (death / birth) of all loops of points with these distances (n, n), the longest-lived first.

    Every link that bears a loop is paired with the triangle that fills it, in cohomology (de Silva, Morozov and
    Vejdemo-Johansson 2011): from the longest link to the shortest, the set of triangles around a link is reduced by
    those of longer links, until no longer one has the same first triangle. Most sets need no reduction at all. A
    triangle is numbered by its longest link, and among those of one link by its third point.
    """
    n = len(distance)
    j, k = np.triu_indices(n, 1)
    if n < 4 or not distance.max() > 0:
        return np.zeros(0)
    order = np.argsort(distance[j, k], kind="stable")
    a, b, link = j[order], k[order], np.arange(len(order))
    log_length = np.log(np.maximum(distance[a, b], TINY * distance.max()))
    rank = np.zeros((n, n), dtype=np.intp)
    rank[a, b] = rank[b, a] = link
    third = np.arange(n)
    triangles = np.maximum(link[:, None] * n + third, np.maximum(rank[a] * n + b[:, None], rank[b] * n + a[:, None]))
    none = len(link) * n
    triangles[link, a] = triangles[link, b] = none
    owner: dict[int, int] = {}  # link whose set begins with this triangle
    reduced: dict[int, set[int]] = {}
    lives = []
    for e in link[~_joins(a, b, n)][::-1].tolist():
        first = int(triangles[e].min())
        while first in owner:
            for other in (e, owner[first]):
                if other not in reduced:
                    reduced[other] = set(triangles[other].tolist()) - {none}
            reduced[e] = reduced[e] ^ reduced[owner[first]]
            first = min(reduced[e])
        owner[first] = e
        lives.append(log_length[first // n] - log_length[e])
    return np.sort(lives)[::-1]


def _joins(a: np.ndarray, b: np.ndarray, n: int) -> np.ndarray:
    """Return which links, the shortest first, join parts that were separate: they bear no loop."""
    part, joins = np.arange(n), np.zeros(len(a), dtype=bool)
    for e in range(len(a)):
        one, other = part[a[e]], part[b[e]]
        if one != other:
            part[part == other], joins[e] = one, True
            n -= 1
        if n == 1:
            break
    return joins
