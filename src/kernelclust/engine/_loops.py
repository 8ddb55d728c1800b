"""Loops of a set of points: one-dimensional persistent homology of its Vietoris-Rips complex.

Join all points that are at most some distance apart, and fill every triangle of joined points. As the distance grows,
loops of links are born, and die when triangles have filled them. A ring has one loop that lives long; lines, trees and
filled discs have none, and chance gives several short-lived ones (Edelsbrunner, Letscher and Zomorodian 2002).
"""

from __future__ import annotations

import numpy as np

from kernelclust._compiled import compiled, floats, integers

TINY = 1e-9  # of the largest distance: points that are closer are this far apart


def loop_lives(distance: np.ndarray) -> np.ndarray:
    """Return log (death / birth) of all loops of points with these distances (n, n), the longest-lived first."""
    n = len(distance)
    j, k = np.triu_indices(n, 1)
    length = distance[j, k]
    if n < 4 or not length.max() > 0:
        return np.zeros(0)
    order = np.argsort(length, kind="stable")
    rank = np.zeros((n, n), dtype=np.intp)
    rank[j[order], k[order]] = rank[k[order], j[order]] = np.arange(len(order))
    ends = np.column_stack([j[order], k[order]])
    log_length = np.log(np.maximum(length[order], TINY * length.max()))
    return np.sort(_lives(integers(rank), integers(ends), floats(log_length)))[::-1]


@compiled
def _lives(rank, ends, log_length):
    """Pair every link that bears a loop with the triangle that fills it, in cohomology (de Silva, Morozov and
    Vejdemo-Johansson 2011): from the longest link to the shortest, the set of triangles around a link is reduced by
    those of longer links, until no longer one has the same first triangle. Most sets need no reduction at all.

    A triangle is numbered by its last link, and among those of one link by its third point. Links that join parts bear
    no loop.
    """
    n, n_links = len(rank), len(log_length)
    joins, part = np.zeros(n_links, dtype=np.bool_), np.arange(n)
    for e in range(n_links):
        a, b = ends[e]
        while part[a] != a:
            a = part[a]
        while part[b] != b:
            b = part[b]
        if a != b:
            joins[e], part[a] = True, b
    n_words = (n_links * n + 63) // 64
    owner = np.full(n_links * n, -1)  # link whose set begins with this triangle
    reduced, row = np.empty((n_links, n_words), dtype=np.uint64), np.full(n_links, -1)  # sets that were reduced
    triangles, lives = np.zeros(n_words, dtype=np.uint64), np.empty(n_links)
    n_reduced = n_lives = 0
    for e in range(n_links - 1, -1, -1):
        if joins[e]:
            continue
        first = _toggle(triangles, e, rank, ends)
        while owner[first] >= 0:
            other = owner[first]
            if row[other] < 0:
                _toggle(triangles, other, rank, ends)
            else:
                for w in range(first // 64, n_words):
                    triangles[w] ^= reduced[row[other], w]
            row[e] = n_reduced
            word = first // 64
            while not triangles[word]:
                word += 1
            bit = 0
            while not triangles[word] >> np.uint64(bit) & np.uint64(1):
                bit += 1
            first = 64 * word + bit
        owner[first] = e
        lives[n_lives] = log_length[first // n] - log_length[e]
        n_lives += 1
        if row[e] >= 0:
            for w in range(n_words):
                reduced[n_reduced, w] = triangles[w]
            n_reduced += 1
        for w in range(n_words):
            triangles[w] = np.uint64(0)
    return lives[:n_lives]


@compiled
def _toggle(triangles, link, rank, ends):
    """Add the triangles around a link to a set of triangles, or take them out; return the first of them."""
    n, (a, b) = len(rank), ends[link]
    first = len(triangles) * 64
    for w in range(n):
        if w in (a, b):
            continue
        triangle = max(link * n + w, rank[a, w] * n + b, rank[b, w] * n + a)
        triangles[triangle // 64] ^= np.uint64(1) << np.uint64(triangle % 64)
        first = min(first, triangle)
    return first
