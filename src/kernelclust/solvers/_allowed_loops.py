"""Compiled loops that find allowed labelings: cannot-links kept, sizes brought within their bounds."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np
from numba import njit

STEP = 30  # moves looked at that the other work of a step counts as


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

    In the given order, or the block with the fewest clusters left first, of these the one with most links. False where
    a block had none left; it then has the cluster with the fewest blocks that it may not be with.
    """
    c, M = score.shape[1], len(label)
    blocked = count_blocked(label, link_first, link, c)
    kept = True
    taken = np.zeros(M, dtype=np.intp)
    position = np.full(M, -1)
    for s in range(len(free)):
        position[free[s]] = s
        for j in range(c):
            taken[free[s]] += blocked[free[s], j] > 0
    queue = [(-taken[u] * M - link_first[u + 1] + link_first[u], position[u]) for u in free]
    if dynamic:
        heapify(queue)
    for step in range(len(free)):
        u = free[step]
        if dynamic:  # entries whose block has a label, or a newer entry before them, are passed over
            u = free[heappop(queue)[1]]
            while label[u] >= 0:
                u = free[heappop(queue)[1]]
        best = wish[u] if wish[u] >= 0 and blocked[u, wish[u]] == 0 else -1
        if best < 0:
            for j in range(c):
                if blocked[u, j] == 0 and (best < 0 or score[u, j] > score[u, best]):
                    best = j
        if best < 0:
            kept, best = False, np.argmin(blocked[u])
        label[u] = best
        for p in range(link_first[u], link_first[u + 1]):
            v = link[p]
            blocked[v, best] += 1
            if blocked[v, best] == 1 and dynamic and position[v] >= 0 and label[v] < 0:
                taken[v] += 1
                heappush(queue, (-taken[v] * M - link_first[v + 1] + link_first[v], position[v]))
    return kept


@njit(cache=True, nogil=True)
def mend_links(free, label, link_first, link, n_clusters, noise, looked):
    """Move `free` blocks until no cannot-link is broken; whether that worked. Looks at about `looked` moves.

    Tabu search: every step moves the block in conflict that helps most, and forbids its return for 0.6 times as many
    steps as blocks are in conflict, and up to 9 more. The numbers `noise` say how many, and which of equal moves.
    """
    c, M = n_clusters, len(label)
    blocked = count_blocked(label, link_first, link, c)
    may = np.zeros(M, dtype=np.bool_)
    may[free] = True
    until = np.zeros((M, c), dtype=np.intp)
    broken = np.empty(M, dtype=np.intp)  # blocks in conflict, and where each stands among them
    where = np.full(M, -1)
    size = 0
    for u in free:
        if blocked[u, label[u]] > 0:
            broken[size], where[u] = u, size
            size += 1
    step = 0
    while size > 0 and looked > 0:
        step += 1
        looked -= size * c + STEP
        least, ties, block, target = 1 << 40, 0, -1, -1
        for s in range(size):
            u = broken[s]
            for j in range(c):
                if j == label[u] or (until[u, j] > step and blocked[u, j] > 0):
                    continue
                change = blocked[u, j] - blocked[u, label[u]]
                if change < least:
                    least, ties, block, target = change, 1, u, j
                elif change == least:
                    ties += 1
                    if noise[(step + ties * 7919) % len(noise)] % ties == 0:
                        block, target = u, j
        if block < 0:
            continue
        u, a = block, label[block]
        until[u, a] = step + 6 * size // 10 + noise[step % len(noise)] % 10
        label[u] = target
        for p in range(-1, link_first[u + 1] - link_first[u]):
            v = u if p < 0 else link[link_first[u] + p]
            if p >= 0:
                blocked[v, a] -= 1
                blocked[v, target] += 1
            if not may[v]:
                continue
            if blocked[v, label[v]] > 0 and where[v] < 0:
                broken[size], where[v] = v, size
                size += 1
            elif blocked[v, label[v]] == 0 and where[v] >= 0:
                size -= 1
                last = broken[size]
                broken[where[v]], where[last] = last, where[v]
                where[v] = -1
    return size == 0


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
def pack_largest(order, label, weight, room):
    """Give every block of `order` the cluster with most room."""
    for u in order:
        j = np.argmax(room)
        label[u] = j
        room[j] -= weight[u]


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
