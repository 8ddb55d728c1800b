"""Compiled loops of a search with side information: whole blocks of linked samples move, where they are allowed to.

Arguments come in tuples of arrays:

    data    values (K or B), row_mean, mean, dense, weight           the kernel, as the sweeps of `_loops` see it
    blocks  first, member, weight, own, place, link_first, link      samples of a block, its weight and its similarity
                                                                     with itself, its known place or -1, cannot-links
    state   labels, label, count, sums, n, blocked                   of samples, of blocks; blocked[u, j] = how many
                                                                     blocks of cluster j may not be with block u
    limits  lower, upper, pull, allow_empty, slack                   sizes; what F gains with block u in cluster j
    form    A, T, first, neighbour, power, added, coef, penalty, has_loss
"""

from __future__ import annotations

import numpy as np
from numba import njit

from kernelclust.solvers._loops import decide, inverse_norm, loss_norms, low_rank_gains, move_row

LONGEST = 64  # blocks in a chain of exchanges


@njit(cache=True, nogil=True)
def block_gains(u, data, blocks, sums, g, row):
    """Similarity sums of a block's mean with the clusters."""
    _, _, _, dense, weight = data
    first, member, total = blocks[0], blocks[1], blocks[2]
    if dense:
        for j in range(len(g)):
            g[j] = 0.0
            for p in range(first[u], first[u + 1]):
                g[j] += weight[member[p]] * sums[j, member[p]]
            g[j] /= total[u]
        return
    block_mean(u, data, blocks, row)
    low_rank_gains(sums, row, g)


@njit(cache=True, nogil=True)
def block_mean(u, data, blocks, row):
    """Mean of a block's rows of B."""
    B, weight = data[0], data[4]
    first, member, total = blocks[0], blocks[1], blocks[2]
    row[:] = 0.0
    for p in range(first[u], first[u + 1]):
        i = member[p]
        for f in range(len(row)):
            row[f] += weight[i] * B[i, f]
    for f in range(len(row)):
        row[f] /= total[u]


@njit(cache=True, nogil=True)
def between(u, v, data, blocks, row, other):
    """Similarity of two blocks' means."""
    values, row_mean, mean, dense, weight = data
    first, member, total = blocks[0], blocks[1], blocks[2]
    result = 0.0
    if dense:
        for p in range(first[u], first[u + 1]):
            i = member[p]
            inner = 0.0
            for q in range(first[v], first[v + 1]):
                j = member[q]
                inner += weight[j] * (values[i, j] - row_mean[i] - row_mean[j] + mean)
            result += weight[i] * inner
        return result / (total[u] * total[v])
    block_mean(u, data, blocks, row)
    block_mean(v, data, blocks, other)
    for f in range(len(row)):
        result += row[f] * other[f]
    return result


@njit(cache=True, nogil=True)
def self_similarities(data, blocks, diagonal):
    """Similarity of every block's mean with itself."""
    first, member = blocks[0], blocks[1]
    own = np.empty(len(first) - 1)
    width = data[0].shape[1]
    row, other = np.empty(width), np.empty(width)
    for u in range(len(own)):
        if first[u + 1] - first[u] == 1:
            own[u] = diagonal[member[first[u]]]
        else:
            own[u] = between(u, u, data, blocks, row, other)
    return own


@njit(cache=True, nogil=True)
def move_block(u, b, data, blocks, state):
    """Keep labels, running sums and cannot-links current; n and count are the caller's."""
    values, row_mean, mean, dense, weight = data
    first, member, link_first, link = blocks[0], blocks[1], blocks[5], blocks[6]
    labels, label, sums, blocked = state[0], state[1], state[3], state[5]
    a = label[u]
    label[u] = b
    for p in range(first[u], first[u + 1]):
        i = member[p]
        labels[i] = b
        if dense:
            move_row(values[i], row_mean, row_mean[i] - mean, weight[i], sums[a], sums[b])
        else:
            for f in range(values.shape[1]):
                sums[a, f] -= weight[i] * values[i, f]
                sums[b, f] += weight[i] * values[i, f]
    for p in range(link_first[u], link_first[u + 1]):
        blocked[link[p], a] -= 1
        blocked[link[p], b] += 1


@njit(cache=True, nogil=True)
def sweep_blocks(data, blocks, state, limits, form, S, x, threshold):
    """One visit to every block that may move; S is T'ST under a loss. Returns the moves."""
    A, T, near, neighbour, power, added, coef, penalty, has_loss = form
    total, own, place = blocks[2], blocks[3], blocks[4]
    label, count, sums, n, blocked = state[1], state[2], state[3], state[4], state[5]
    lower, upper, pull, allow_empty, slack = limits
    c = len(n)
    g, row, scratch, extra = np.empty(c), np.empty(c), np.empty((4, c)), np.empty(c)
    mean_row = np.empty(data[0].shape[1] if not data[3] else 0)
    moves = 0
    for u in range(len(label)):
        a, w = label[u], total[u]
        if place[u] >= 0 or (count[a] == 1 and not allow_empty) or n[a] - w < lower[a] - slack:
            continue
        free = False
        for b in range(c):
            allowed = b == a or (blocked[u, b] == 0 and n[b] + w <= upper[b] + slack)
            extra[b] = pull[u, b] if allowed else -np.inf
            free = free or (allowed and b != a)
        if not free:
            continue
        block_gains(u, data, blocks, sums, g, mean_row)
        b = decide(a, w, own[u], g, S, n, x, count, A, T, near, neighbour, power, added, coef, penalty, has_loss,
                   threshold, row, scratch, extra)  # fmt: skip
        if b != a:
            moves += 1
            move_block(u, b, data, blocks, state)
    return moves


@njit(cache=True, nogil=True)
def form_value(S, n, form, x, absolute):
    """F for cluster sums S and sizes n."""
    A, T, _, _, power, added, coef, penalty, has_loss = form
    c = len(n)
    value = 0.0
    if not has_loss:
        for j in range(c):
            x[j] = inverse_norm(n[j] + added, power)
        for j in range(c):
            for k in range(c):
                value += A[j, k] * S[j, k] * x[j] * x[k]
        return coef * value
    loss_norms(n, T, power, x, absolute)
    half = S @ T
    for j in range(c):
        for k in range(c):
            inner = 0.0
            for a in range(c):
                inner += T[a, j] * half[a, k]
            value += coef * A[j, k] * inner * x[j] * x[k]
        value -= penalty * absolute[j] * x[j]
    return value


@njit(cache=True, nogil=True)
def allowed_together(ids, new, size, blocks, state, limits, n_new):
    """Whether blocks ids[:size] may all go to clusters new[:size] at once; n_new becomes the sizes then."""
    total, place, link_first, link = blocks[2], blocks[4], blocks[5], blocks[6]
    label, count, n = state[1], state[2], state[4]
    lower, upper, _, allow_empty, slack = limits
    n_new[:] = n
    for s in range(size):
        u = ids[s]
        if place[u] >= 0:
            return False
        for t in range(s):
            if ids[t] == u:
                return False
        n_new[label[u]] -= total[u]
        n_new[new[s]] += total[u]
    for s in range(size):
        for j in (label[ids[s]], new[s]):
            if (n_new[j] > upper[j] + slack and n_new[j] > n[j]) or (n_new[j] < lower[j] - slack and n_new[j] < n[j]):
                return False
        if not allow_empty:
            a, left = label[ids[s]], count[label[ids[s]]]
            for t in range(size):
                left += (new[t] == a) - (label[ids[t]] == a)
            if left < 1:
                return False
        for p in range(link_first[ids[s]], link_first[ids[s] + 1]):
            there = label[link[p]]
            for t in range(size):
                if ids[t] == link[p]:
                    there = new[t]
            if there == new[s]:
                return False
    return True


@njit(cache=True, nogil=True)
def attempt(ids, new, size, data, blocks, state, limits, form, S, value, threshold, work):
    """Move several blocks at once if that is allowed and F rises by more than `threshold`; returns F after.

    With D_u = e_new - e_old, S grows by sum_u w_u (D_u g_u' + g_u D_u') + sum_uv w_u w_v K_uv D_u D_v'.
    """
    total, own = blocks[2], blocks[3]
    label, count, sums, n = state[1], state[2], state[3], state[4]
    S_new, n_new, g, x, absolute, row, other = work
    if not allowed_together(ids, new, size, blocks, state, limits, n_new):
        return value
    c = len(n)
    S_new[:] = S
    raised = 0.0
    for s in range(size):
        u = ids[s]
        a, b, w = label[u], new[s], total[u]
        raised += limits[2][u, b] - limits[2][u, a]
        block_gains(u, data, blocks, sums, g, row)
        for j in range(c):
            S_new[b, j] += w * g[j]
            S_new[j, b] += w * g[j]
            S_new[a, j] -= w * g[j]
            S_new[j, a] -= w * g[j]
        for t in range(s + 1):
            v = ids[t]
            k = own[u] if v == u else between(u, v, data, blocks, row, other)
            k *= w * total[v]
            for i, sign in ((b, 1.0), (a, -1.0)):
                for j, other_sign in ((new[t], 1.0), (label[v], -1.0)):
                    S_new[i, j] += sign * other_sign * k
                    if v != u:
                        S_new[j, i] += sign * other_sign * k
    for j in range(c):
        n_new[j] = max(n_new[j], 0.0)
    result = form_value(S_new, n_new, form, x, absolute)
    before = form_value(S, n, form, x, absolute)
    if result - before + raised <= threshold:
        return value
    for s in range(size):
        count[label[ids[s]]] -= 1
        count[new[s]] += 1
    for s in range(size):
        move_block(ids[s], new[s], data, blocks, state)
    S[:] = S_new
    n[:] = n_new
    return value + result - before + raised


@njit(cache=True, nogil=True)
def exchange_chains(data, blocks, state, limits, form, S, threshold):
    """Move a block where a cannot-link forbids it, its partners there to where it was, theirs back, and so on.

    Returns the number of exchanges made; S and n follow.
    """
    place, link_first, link = blocks[4], blocks[5], blocks[6]
    label, n, blocked = state[1], state[4], state[5]
    c = len(n)
    width = data[0].shape[1]
    work = (np.empty((c, c)), np.empty(c), np.empty(c), np.empty(c), np.empty(c), np.empty(width), np.empty(width))
    ids, new = np.empty(LONGEST, dtype=np.intp), np.empty(LONGEST, dtype=np.intp)
    seen = np.full(len(label), -1)
    made, mark = 0, 0
    for u in range(len(label)):
        if place[u] >= 0 or link_first[u] == link_first[u + 1]:
            continue
        for b in range(c):
            a = label[u]
            if b == a or blocked[u, b] == 0:
                continue
            mark += 1
            ids[0], new[0], size, done, fits = u, b, 1, 0, True
            seen[u] = mark
            while done < size and fits:
                for p in range(link_first[ids[done]], link_first[ids[done] + 1]):
                    v = link[p]
                    if label[v] != new[done] or seen[v] == mark:
                        continue
                    if size == LONGEST or place[v] >= 0:
                        fits = False
                        break
                    seen[v] = mark
                    ids[size], new[size] = v, a if label[v] == b else b
                    size += 1
                done += 1
            if fits:
                value = attempt(ids, new, size, data, blocks, state, limits, form, S, 0.0, threshold, work)
                made += value > 0.0
    return made


@njit(cache=True, nogil=True)
def exchange_pairs(tops, gain, crossed, triples, least, data, blocks, state, limits, form, S, threshold):
    """Swap blocks between clusters, so that full clusters do not stop the search.

    tops[a, b] holds the blocks of cluster a that would gain most from b, and gain[a, b] about how much. First the
    best are swapped with the best; then the leading `crossed` of each with each, and the leading `triples` in rows
    a -> b -> d and rings, if they promise more than `least`. Returns the number of exchanges made; S and n follow.
    """
    n, label = state[4], state[1]
    c = len(n)
    width = data[0].shape[1]
    work = (np.empty((c, c)), np.empty(c), np.empty(c), np.empty(c), np.empty(c), np.empty(width), np.empty(width))
    ids, new = np.empty(3, dtype=np.intp), np.empty(3, dtype=np.intp)
    depth = tops.shape[2]
    made = 0
    for a in range(c):
        for b in range(a + 1, c):
            for t in range(depth):
                u, v = tops[a, b, t], tops[b, a, t]
                if u < 0 or v < 0 or gain[a, b, t] + gain[b, a, t] <= 0:
                    break
                if label[u] != a or label[v] != b:
                    continue
                ids[0], ids[1], new[0], new[1] = u, v, b, a
                made += attempt(ids, new, 2, data, blocks, state, limits, form, S, 0.0, threshold, work) > 0.0
    if made:
        return made
    for a in range(c):
        for b in range(a + 1, c):
            for t in range(min(crossed, depth)):
                for s in range(min(crossed, depth)):
                    u, v = tops[a, b, t], tops[b, a, s]
                    if gain[a, b, t] + gain[b, a, s] <= least:
                        break
                    if u < 0 or v < 0 or label[u] != a or label[v] != b:
                        continue
                    ids[0], ids[1], new[0], new[1] = u, v, b, a
                    made += attempt(ids, new, 2, data, blocks, state, limits, form, S, 0.0, threshold, work) > 0.0
    if made:
        return made
    for a in range(c):
        for b in range(c):
            for d in range(c):
                if b == a or d == b:
                    continue
                for t in range(min(triples, depth)):
                    for s in range(min(triples, depth)):
                        u, v = tops[a, b, t], tops[b, d, s]
                        if u < 0 or v < 0 or label[u] != a or label[v] != b or d == a:
                            continue
                        ids[0], ids[1], new[0], new[1] = u, v, b, d
                        pair = gain[a, b, t] + gain[b, d, s]
                        if pair > least:
                            made += (
                                attempt(ids, new, 2, data, blocks, state, limits, form, S, 0.0, threshold, work) > 0.0
                            )
                        for r in range(min(triples, depth)):
                            if label[u] != a or label[v] != b:
                                break
                            w = tops[d, a, r]
                            if a > b or a > d or w < 0 or label[w] != d or pair + gain[d, a, r] <= least:
                                continue
                            ids[2], new[2] = w, a
                            ids[0], ids[1], new[0], new[1] = u, v, b, d
                            made += (
                                attempt(ids, new, 3, data, blocks, state, limits, form, S, 0.0, threshold, work) > 0.0
                            )
    return made
