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


@njit(cache=True, nogil=True)
def missed(size, lower, upper, slack):
    """How far a size is from its bounds."""
    if size > upper + slack:
        return size - upper
    if size < lower - slack:
        return lower - size
    return 0.0


@njit(cache=True, nogil=True)
def clashes(u, j, gone, label, link_first, link):
    """Whether a cannot-link forbids block u in cluster j once block `gone` has left it."""
    for p in range(link_first[u], link_first[u + 1]):
        if link[p] != gone and label[link[p]] == j:
            return True
    return False


@njit(cache=True, nogil=True)
def best_exchange(free, label, weight, n, link_first, link, lower, upper, slack, score, total):
    """The move, or swap, of `free` blocks that lowers what all sizes miss (`total`) the most, at least cost in score.

    Returns what is missed then, the block, its partner in a swap or -1, and the block's new cluster; block -1 for none.
    """
    c = len(n)
    least, cheapest, block, partner, target = total * (1 - 1e-9), np.inf, -1, -1, -1
    for u in free:
        a = label[u]
        here = missed(n[a], lower[a], upper[a], slack)
        for t in range(-c, len(free)):  # clusters to move to, then blocks to swap with
            v = free[t] if t >= 0 else -1
            b = label[v] if t >= 0 else t + c
            if b == a or (t >= 0 and a > b):
                continue
            there = missed(n[b], lower[b], upper[b], slack)
            if here == 0.0 and there == 0.0:
                continue
            shift = weight[u] - (weight[v] if t >= 0 else 0.0)
            after = total - here - there
            after += missed(n[a] - shift, lower[a], upper[a], slack) + missed(n[b] + shift, lower[b], upper[b], slack)
            after = 0.0 if after < 1e-12 * total else after
            if after > least:
                continue
            cost = score[u, a] - score[u, b] + (score[v, b] - score[v, a] if t >= 0 else 0.0)
            if after == least and cost >= cheapest:
                continue
            if clashes(u, b, v, label, link_first, link) or (t >= 0 and clashes(v, a, u, label, link_first, link)):
                continue
            least, cheapest, block, partner, target = after, cost, u, v, b
    return least, block, partner, target


@njit(cache=True, nogil=True)
def settle_sizes(free, label, weight, link_first, link, lower, upper, slack, score, kicks, rounds):
    """Bring sizes within their bounds by exchanges of `free` blocks, at most `rounds` of them; whether that worked.

    Where no exchange helps, the pairs of the next row of `kicks` are swapped, from the best labeling so far.
    """
    c = len(lower)
    best, least = label.copy(), np.inf
    n = np.empty(c)
    kick = 0
    while True:
        n[:] = 0.0
        for u in range(len(label)):
            n[label[u]] += weight[u]
        total = 0.0
        for j in range(c):
            total += missed(n[j], lower[j], upper[j], slack)
        while total > 0.0 and rounds > 0:
            rounds -= 1
            after, u, v, b = best_exchange(free, label, weight, n, link_first, link, lower, upper, slack, score, total)
            if u < 0:
                break
            a, shift = label[u], weight[u] - (weight[v] if v >= 0 else 0.0)
            label[u] = b
            if v >= 0:
                label[v] = a
            n[a] -= shift
            n[b] += shift
            total = after
        if total < least:
            least = total
            best[:] = label
        if total == 0.0 or rounds == 0 or kick == len(kicks):
            break
        label[:] = best
        for p in range(kicks.shape[1]):
            u, v = kicks[kick, p]
            a, b = label[u], label[v]
            if a != b and not (clashes(u, b, v, label, link_first, link) or clashes(v, a, u, label, link_first, link)):
                label[u], label[v] = b, a
        kick += 1
    label[:] = best
    return least == 0.0
