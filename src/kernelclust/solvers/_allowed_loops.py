"""Compiled loops that find allowed labelings: cannot-links kept, sizes brought within their bounds."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def count_blocked(label, link_first, link, n_clusters):
    """How many blocks of each cluster may not be with each block."""
    blocked = np.zeros((len(label), n_clusters), dtype=np.int32)
    for u in range(len(label)):
        for p in range(link_first[u], link_first[u + 1]):
            if label[link[p]] >= 0:
                blocked[u, label[link[p]]] += 1
    return blocked


@njit(cache=True, nogil=True)
def colour(free, wish, label, link_first, link, score, dynamic):
    """Give every block of `free` (label -1) its wish, or the best-scored cluster that its cannot-links leave.

    In the given order, or the block with the fewest clusters left first. False where a block has none left.
    """
    c = score.shape[1]
    blocked = count_blocked(label, link_first, link, c)
    for step in range(len(free)):
        u = free[step]
        if dynamic:
            most = -1
            for v in free:
                if label[v] >= 0:
                    continue
                rank = 0
                for j in range(c):
                    rank += blocked[v, j] > 0
                rank = rank * len(label) + link_first[v + 1] - link_first[v]
                if rank > most:
                    most, u = rank, v
        best = wish[u] if wish[u] >= 0 and blocked[u, wish[u]] == 0 else -1
        if best < 0:
            for j in range(c):
                if blocked[u, j] == 0 and (best < 0 or score[u, j] > score[u, best]):
                    best = j
        if best < 0:
            return False
        label[u] = best
        for p in range(link_first[u], link_first[u + 1]):
            blocked[link[p], best] += 1
    return True


@njit(cache=True, nogil=True)
def shift_sizes(block, target, filling, label, weight, n, link_first, link, lower, upper, slack):
    """Take moves of the list (block -> target), in its order, that bring sizes towards their bounds; returns how many.

    Out of clusters that are too large, or, `filling`, into clusters that are too small.
    """
    moves = 0
    for p in range(len(block)):
        u, j = block[p], target[p]
        a, w = label[u], weight[u]
        if a == j or n[j] + w > upper[j] + slack or n[a] - w < lower[a] - slack:
            continue
        if (filling and n[j] >= lower[j] - slack) or (not filling and n[a] <= upper[a] + slack):
            continue
        clash = False
        for q in range(link_first[u], link_first[u + 1]):
            clash = clash or label[link[q]] == j
        if clash:
            continue
        label[u] = j
        n[a] -= w
        n[j] += w
        moves += 1
    return moves
