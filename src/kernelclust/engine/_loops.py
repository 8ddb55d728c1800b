"""Loops of a set of points: one-dimensional persistent homology of its Vietoris-Rips complex.

Join all points that are at most some distance apart, and fill every triangle of joined points. As the distance grows,
loops of links are born, and die when triangles have filled them. A ring has one loop that lives long; lines, trees and
filled discs have none, and chance gives several short-lived ones (Edelsbrunner, Letscher and Zomorodian 2002).
"""

from __future__ import annotations

import numpy as np

from kernelclust._compiled import compiled, floats

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
    lives = _lives(rank, floats(np.log(np.maximum(length[order], TINY * length.max()))))
    return np.sort(lives)[::-1]


@compiled
def _lives(rank, log_length):
    """Reduce the boundaries of triangles, sets of links as bits, in the order in which triangles appear (the standard
    algorithm): a link that is the last of a reduced boundary has born the loop that the triangle fills.
    """
    n, n_links = len(rank), len(log_length)
    n_words, n_triangles = (n_links + 63) // 64, n * (n - 1) * (n - 2) // 6
    triangles = np.empty((n_triangles, 3), dtype=np.intp)
    t = 0
    for a in range(n):
        for b in range(a + 1, n):
            for c in range(b + 1, n):
                x, y, z = rank[a, b], rank[a, c], rank[b, c]
                triangles[t, 0] = max(x, y, z)
                triangles[t, 1], triangles[t, 2] = x + y + z - max(x, y, z) - min(x, y, z), min(x, y, z)
                t += 1
    appearance = np.argsort(triangles[:, 0], kind="mergesort")
    reduced = np.zeros((n_links, n_words), dtype=np.uint64)  # by their last link
    is_reduced = np.zeros(n_links, dtype=np.bool_)
    boundary, lives, n_filled = np.empty(n_words, dtype=np.uint64), np.zeros(n_links), 0
    for t in appearance:
        if n_filled == n_links - (n - 1):  # all links but those that join parts have born a loop
            break
        boundary[:] = np.uint64(0)
        for link in triangles[t]:
            boundary[link // 64] |= np.uint64(1) << np.uint64(link % 64)
        word = n_words - 1
        while True:
            while word >= 0 and boundary[word] == 0:
                word -= 1
            if word < 0:
                break  # a void, no loop
            bit = 63
            while not boundary[word] >> np.uint64(bit) & np.uint64(1):
                bit -= 1
            last = 64 * word + bit
            if not is_reduced[last]:
                reduced[last], is_reduced[last] = boundary, True
                lives[n_filled] = log_length[triangles[t, 0]] - log_length[last]
                n_filled += 1
                break
            for w in range(word + 1):
                boundary[w] ^= reduced[last, w]
    return lives[:n_filled]
