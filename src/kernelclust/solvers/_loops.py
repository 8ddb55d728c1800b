"""Compiled loops over plain arrays: visit samples one by one and move each to the cluster that raises F most.

`visit_*` decides for one sample, given its similarity sums g with the clusters, and keeps S, n and x = 1 / N current.
A sample is moved only when F rises by more than `threshold`; on ties it stays.
"""

from __future__ import annotations

import numpy as np
from numba import njit

FAST = {"reassoc", "contract"}


@njit(cache=True, nogil=True)
def inverse_norm(size, power):
    if power == 0.0:
        return 1.0
    if size <= 0.0:
        return 0.0
    if power == 0.5:
        return 1.0 / np.sqrt(size)
    return 1.0 / size


@njit(cache=True, nogil=True)
def visit_plain(a, w, k, g, S, n, x, A, first, neighbour, power, added, empties, threshold, row, extra):
    """Best cluster for a sample of cluster a when there is no loss; neighbour[first[b]:first[b+1]]: A_b. != 0.

    F = sum A_jk S_jk x_j x_k; a candidate costs as many steps as its node has neighbours. `added` is what the size
    prior adds to every size; `extra` what a candidate is worth beside F, minus infinity where it is not allowed.
    """
    c = len(n)
    n_a, x_a = n[a], x[a]
    for j in range(c):
        row[j] = S[a, j]
    n[a] = max(n_a - w, 0.0) if not empties else 0.0
    x[a] = inverse_norm(n[a] + added, power)
    g[a] -= w * k
    for j in range(c):
        S[a, j] -= w * g[j]
        S[j, a] = S[a, j]
    S[a, a] = row[a] - 2 * w * g[a] - w * w * k
    best, best_rise, stay = a, -np.inf, 0.0
    for b in range(c):
        x_b = x[b]
        x_new = inverse_norm(n[b] + w + added, power)
        rise = A[b, b] * ((S[b, b] + 2 * w * g[b] + w * w * k) * x_new * x_new - S[b, b] * x_b * x_b)
        for p in range(first[b], first[b + 1]):
            j = neighbour[p]
            rise += 2 * A[b, j] * x[j] * ((S[b, j] + w * g[j]) * x_new - S[b, j] * x_b)
        rise += extra[b]
        if b == a:
            stay = rise
        if rise > best_rise:
            best, best_rise = b, rise
    if best_rise - stay <= threshold:
        best = a
    if best == a:
        for j in range(c):
            S[a, j] = row[j]
            S[j, a] = row[j]
        n[a], x[a] = n_a, x_a
        return a
    old = S[best, best]
    for j in range(c):
        S[best, j] += w * g[j]
        S[j, best] = S[best, j]
    S[best, best] = old + 2 * w * g[best] + w * w * k
    n[best] += w
    x[best] = inverse_norm(n[best] + added, power)
    return best


@njit(cache=True, nogil=True)
def loss_norms(n, T, power, x, absolute):
    """x_j = 1 / N_j and the absolute column sums sum_a n_a |T_aj| for sizes n."""
    c = len(n)
    for j in range(c):
        total, square = 0.0, 0.0
        for a in range(c):
            total += n[a] * abs(T[a, j])
            square += n[a] * T[a, j] * T[a, j]
        absolute[j] = total
        x[j] = inverse_norm(square if power == 0.5 else total, power)


@njit(cache=True, nogil=True)
def visit_loss(a, w, k, g, S, n, x, A, T, power, coef, penalty, empties, threshold, scratch, extra):
    """Best cluster for a sample of cluster a under a loss; S is T' Pi' K Pi T here.

    With u = T_b - T_a, S grows by w (g u' + u g') + w^2 k u u' and every norm changes: c^2 steps a candidate.
    """
    c = len(n)
    h, u, x_new, absolute = scratch[0], scratch[1], scratch[2], scratch[3]
    for j in range(c):
        h[j] = 0.0
        for y in range(c):
            h[j] += g[y] * T[y, j]
    best, best_value, stay = a, -np.inf, 0.0
    for b in range(c):
        if b != a:
            n[a] -= w
            n[b] += w
        if empties and b != a:
            n[a] = 0.0 if n[a] < 0.0 else n[a]
        loss_norms(n, T, power, x_new, absolute)
        value = 0.0
        for j in range(c):
            u[j] = T[b, j] - T[a, j]
        for j in range(c):
            if x_new[j] == 0.0:
                continue
            inner = 0.0
            for i in range(c):
                inner += A[j, i] * x_new[i] * (S[j, i] + 2 * w * h[j] * u[i] + w * w * k * u[j] * u[i])
            value += coef * inner * x_new[j] - penalty * absolute[j] * x_new[j]
        value += extra[b]
        if b != a:
            n[a] += w
            n[b] -= w
        if b == a:
            stay = value
        if value > best_value:
            best, best_value = b, value
    if best == a or best_value - stay <= threshold:
        return a
    for j in range(c):
        u[j] = T[best, j] - T[a, j]
    for j in range(c):
        for i in range(c):
            S[j, i] += w * (h[j] * u[i] + u[j] * h[i]) + w * w * k * u[j] * u[i]
    n[a] -= w
    n[best] += w
    loss_norms(n, T, power, x, absolute)
    return best


@njit(cache=True, nogil=True, fastmath=FAST)
def low_rank_gains(sums, b, g):
    for j in range(len(g)):
        total = 0.0
        for f in range(len(b)):
            total += sums[j, f] * b[f]
        g[j] = total


@njit(cache=True, nogil=True, fastmath=FAST)
def move_row(K_row, row_mean, shift, w, G_from, G_to):
    """Take w times a centred kernel row from one cluster's sums and give it to another's."""
    for i in range(len(K_row)):
        v = w * (K_row[i] - row_mean[i] - shift)
        G_from[i] -= v
        G_to[i] += v


@njit(cache=True, nogil=True)
def decide(a, w, k, g, S, n, x, count, A, T, first, neighbour, power, added, coef, penalty, has_loss, threshold,
           row, scratch, extra):  # fmt: skip
    empties = count[a] == 1
    if has_loss:
        b = visit_loss(a, w, k, g, S, n, x, A, T, power, coef, penalty, empties, threshold, scratch, extra)
    else:
        b = visit_plain(a, w, k, g, S, n, x, A, first, neighbour, power, added, empties, threshold, row, extra)
    if b != a:
        count[a] -= 1
        count[b] += 1
    return b


@njit(cache=True, nogil=True)
def next_move(start, weight, diagonal, labels, count, G, S, n, x,
              A, T, first, neighbour, power, added, coef, penalty, has_loss, allow_empty, threshold):  # fmt: skip
    """Visit samples from `start` on until one moves; returns its number and the cluster it left, or (m, 0).

    The caller updates G = (K Pi)' (c x m) by the moved sample's kernel row.
    """
    c = len(n)
    g, row, scratch, extra = np.empty(c), np.empty(c), np.empty((4, c)), np.zeros(c)
    for i in range(start, len(labels)):
        a = labels[i]
        if count[a] == 1 and not allow_empty:
            continue
        for j in range(c):
            g[j] = G[j, i]
        b = decide(a, weight[i], diagonal[i], g, S, n, x, count, A, T, first, neighbour, power, added, coef, penalty,
                   has_loss, threshold, row, scratch, extra)  # fmt: skip
        if b != a:
            labels[i] = b
            return i, a
    return len(labels), 0


@njit(cache=True, nogil=True)
def sweep_dense(K, row_mean, mean, weight, diagonal, labels, count, G, S, n, x,
                A, T, first, neighbour, power, added, coef, penalty, has_loss, allow_empty, threshold):  # fmt: skip
    """One visit to every sample; G (c x m) = (K Pi)' is updated by one kernel row for each move. Returns the moves."""
    moves, i = 0, -1
    while True:
        i, a = next_move(i + 1, weight, diagonal, labels, count, G, S, n, x, A, T, first, neighbour, power, added, coef,
                         penalty, has_loss, allow_empty, threshold)  # fmt: skip
        if i == len(labels):
            return moves
        move_row(K[i], row_mean, row_mean[i] - mean, weight[i], G[a], G[labels[i]])
        moves += 1


@njit(cache=True, nogil=True)
def sweep_low_rank(B, weight, diagonal, labels, count, sums, S, n, x,
                   A, T, first, neighbour, power, added, coef, penalty, has_loss, allow_empty, threshold):  # fmt: skip
    """The same for K = B B', with the clusters' feature sums (c x d) in place of G."""
    c = len(n)
    g, row, scratch, extra = np.empty(c), np.empty(c), np.empty((4, c)), np.zeros(c)
    moves = 0
    for i in range(len(labels)):
        a = labels[i]
        if count[a] == 1 and not allow_empty:
            continue
        low_rank_gains(sums, B[i], g)
        b = decide(a, weight[i], diagonal[i], g, S, n, x, count, A, T, first, neighbour, power, added, coef, penalty,
                   has_loss, threshold, row, scratch, extra)  # fmt: skip
        if b != a:
            labels[i] = b
            moves += 1
            w = weight[i]
            for f in range(B.shape[1]):
                sums[a, f] -= w * B[i, f]
                sums[b, f] += w * B[i, f]
    return moves
