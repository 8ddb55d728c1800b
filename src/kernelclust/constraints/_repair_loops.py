"""Loops that find allowed labelings: cannot-links kept, sizes brought within their bounds."""

from __future__ import annotations

from heapq import heapify, heapreplace

import numpy as np

from kernelclust._compiled import compiled

STEP = 30  # moves looked at that the other work of a step counts as


def count_blocked(label: np.ndarray, link_first: np.ndarray, link: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return how many blocks of each cluster may not be with each block (M x c)."""
    M, there = len(label), label[link]
    block = np.repeat(np.arange(M), np.diff(link_first))
    cell = (block * n_clusters + there)[there >= 0]
    return np.bincount(cell, minlength=M * n_clusters).reshape(M, n_clusters).astype(np.int32)


def colour(free, wish, label, link_first, link, score, dynamic: bool) -> bool:
    """Give every block of `free` (label -1) its wish, or the best-scored cluster that its cannot-links leave.

    In the given order, or the block with the fewest clusters left first, of these the one with most links. False where
    a block had none left; it then has the cluster with the fewest blocks that it may not be with.
    """
    c, M, F = score.shape[1], len(label), len(free)
    blocked = count_blocked(label, link_first, link, c)
    position = np.full(M, -1)
    position[free] = np.arange(F)
    rank = (c - (blocked > 0).sum(axis=1)) * (M + 1) + M - np.diff(link_first)
    queue = None
    if dynamic:  # the least is next: rank * F + position, after their number, with room for all that can follow
        queue = np.concatenate([[F], np.sort(rank[free] * F + position[free]), np.zeros(len(link), dtype=np.intp)])
    return give(free, wish, label, link_first, link, score, blocked, position, rank, queue)


@compiled
def push(queue, entry):
    """Add an entry to the heap queue[1:queue[0] + 1]."""
    queue[0] += 1
    at = queue[0]
    while at > 1 and queue[at // 2] > entry:
        queue[at] = queue[at // 2]
        at //= 2
    queue[at] = entry


@compiled
def pop(queue):
    """Take the least entry from the heap."""
    least, last = queue[1], queue[queue[0]]
    queue[0] -= 1
    at, size = 1, queue[0]
    while 2 * at <= size:
        child = 2 * at
        if child < size and queue[child + 1] < queue[child]:
            child += 1
        if last <= queue[child]:
            break
        queue[at] = queue[child]
        at = child
    queue[at] = last
    return least


@compiled
def give(free, wish, label, link_first, link, score, blocked, position, rank, queue):
    """Run the loop of `colour`; a queue, where there is one, says who is next."""
    c, M, F = score.shape[1], len(label), len(free)
    kept = True
    for step in range(F):
        u = free[step]
        if queue is not None:  # entries whose block has a label, or a newer entry before them, are passed over
            u = free[pop(queue) % F]
            while label[u] >= 0:
                u = free[pop(queue) % F]
        best = wish[u]
        if best < 0 or blocked[u, best] > 0:
            best = -1
            for j in range(c):
                if blocked[u, j] == 0 and (best < 0 or score[u, j] > score[u, best]):
                    best = j
        if best < 0:
            kept, best = False, 0
            for j in range(c):
                if blocked[u, j] < blocked[u, best]:
                    best = j
        label[u] = best
        for p in range(link_first[u], link_first[u + 1]):
            v = link[p]
            blocked[v, best] += 1
            if queue is not None:
                if blocked[v, best] == 1 and position[v] >= 0 and label[v] < 0:
                    rank[v] -= M + 1
                    push(queue, rank[v] * F + position[v])
    return kept


def mend_links(free, label, link_first, link, n_clusters: int, noise, looked: int) -> bool:
    """Move `free` blocks until no cannot-link is broken; whether that worked. Looks at about `looked` moves.

    Tabu search: every step moves the block in conflict that helps most, and forbids its return for 0.6 times as many
    steps as blocks are in conflict, and up to 9 more. The numbers `noise` say how many, and which of equal moves.
    """
    M = len(label)
    blocked = count_blocked(label, link_first, link, n_clusters)
    may = np.zeros(M, dtype=bool)
    may[free] = True
    until = np.zeros(blocked.shape, dtype=np.intp)
    first = free[blocked[free, label[free]] > 0]
    broken, where = np.empty(M, dtype=np.intp), np.full(M, -1)
    broken[: len(first)], where[first] = first, np.arange(len(first))
    return mend(len(first), broken, where, until, may, blocked, label, link_first, link, noise, looked)


@compiled
def mend(size, broken, where, until, may, blocked, label, link_first, link, noise, looked):
    """Run the loop of `mend_links`: broken[:size] are blocks in conflict, `where` says where each stands among them."""
    c = blocked.shape[1]
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


@compiled
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


def pack_largest(order, label, weight, room) -> None:
    """Give every block of `order` the cluster with most room."""
    queue = [(-left, j) for j, left in enumerate(room.tolist())]
    heapify(queue)
    for u in order.tolist():
        left, j = queue[0]
        label[u] = j
        heapreplace(queue, (left + weight[u], j))
    for left, j in queue:
        room[j] = -left


@compiled
def violation(size, lower, upper, slack):
    """Return how far a size is from its bounds."""
    if size > upper + slack:
        return size - upper
    if size < lower - slack:
        return lower - size
    return 0.0


@compiled
def clashes(u, j, gone, label, link_first, link):
    """Return whether a cannot-link forbids block u in cluster j once block `gone` has left it."""
    for p in range(link_first[u], link_first[u + 1]):
        if link[p] != gone and label[link[p]] == j:
            return True
    return False


@compiled
def best_exchange(free, label, weight, n, link_first, link, lower, upper, slack, score, total):
    """Return the move, or swap, of `free` blocks that lowers what all sizes miss (`total`) the most, at least cost in
    score.

    Returns the violation of all sizes then, the block, its partner in a swap or -1, and the block's new cluster; block
    -1 for none.
    """
    c = len(n)
    least, cheapest, block, partner, target = total * (1 - 1e-9), np.inf, -1, -1, -1
    for q in range(len(free)):
        u = free[q]
        a = label[u]
        here = violation(n[a], lower[a], upper[a], slack)
        for t in range(-c, len(free)):  # clusters to move to, then blocks to swap with
            v = free[t] if t >= 0 else -1
            b = label[v] if t >= 0 else t + c
            if b == a or (t >= 0 and a > b):
                continue
            there = violation(n[b], lower[b], upper[b], slack)
            if here == 0.0 and there == 0.0:
                continue
            shift = weight[u] - (weight[v] if t >= 0 else 0.0)
            after = total - here - there
            after += violation(n[a] - shift, lower[a], upper[a], slack) + violation(
                n[b] + shift, lower[b], upper[b], slack
            )
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


@compiled
def settle_sizes(free, label, weight, link_first, link, lower, upper, slack, score, kicks, rounds):
    """Bring sizes within their bounds by exchanges of `free` blocks, at most `rounds` of them; whether that worked.

    Where no exchange helps, the pairs of the next row of `kicks` are swapped, from the best labeling so far.
    """
    c, M = len(lower), len(label)
    best, least = np.empty(M, dtype=np.intp), np.inf
    n = np.empty(c)
    kick = 0
    while True:
        for j in range(c):
            n[j] = 0.0
        for u in range(M):
            n[label[u]] += weight[u]
        total = 0.0
        for j in range(c):
            total += violation(n[j], lower[j], upper[j], slack)
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
        better = total < least
        least = total if better else least
        for u in range(M):
            if better:
                best[u] = label[u]
            else:
                label[u] = best[u]
        if total == 0.0 or rounds == 0 or kick == len(kicks):
            return least == 0.0
        for p in range(kicks.shape[1]):
            u, v = kicks[kick, p, 0], kicks[kick, p, 1]
            a, b = label[u], label[v]
            if a != b and not (clashes(u, b, v, label, link_first, link) or clashes(v, a, u, label, link_first, link)):
                label[u], label[v] = b, a
        kick += 1
