"""Compiled loops over plain arrays: visit blocks one by one and move each to the cluster that raises F most.

A block is a sample, or samples that stay together. `visit_*` decides for one block, given its similarity sums g with
the clusters, and keeps S, n and x = 1 / N current. A block is moved only when F rises by more than `threshold`; on ties
it stays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

FAST = {"reassoc", "contract"}


class Form(NamedTuple):
    """The objective as plain arrays and numbers; neighbour[first[j]:first[j + 1]] are the k != j with A_jk != 0."""

    A: np.ndarray
    T: np.ndarray
    first: np.ndarray
    neighbour: np.ndarray
    power: float
    added: float
    coef: float
    penalty: float
    has_loss: bool


class Blocks(NamedTuple):
    """What moves, and where it may go; M blocks over m samples. Arrays that say nothing are empty."""

    first: np.ndarray  # (M + 1,) samples of block u: member[first[u]:first[u + 1]]; empty where blocks are samples
    member: np.ndarray
    share: np.ndarray  # of the block's weight, for each member
    weight: np.ndarray  # (M,)
    own: np.ndarray  # (M,) similarity of the block's mean with itself
    known: bool  # whether anything below says something
    place: np.ndarray  # (M,) known place, or -1
    link_first: np.ndarray  # cannot-links of block u: link[link_first[u]:link_first[u + 1]]
    link: np.ndarray
    pull: np.ndarray  # (M, c) what F gains with a block in a cluster
    lower: np.ndarray  # (c,) sizes
    upper: np.ndarray
    slack: float
    allow_empty: bool


class State(NamedTuple):
    """What moves change."""

    label: np.ndarray  # (M,) of blocks
    counts: np.ndarray  # (c,) blocks in each cluster
    n: np.ndarray  # (c,) their weight
    x: np.ndarray  # (c,) 1 / N
    S: np.ndarray  # (c, c) cluster sums
    blocked: np.ndarray  # (M, c) how many blocks of a cluster may not be with this one


class Held(NamedTuple):
    """Rows by which running sums follow a move: features of the blocks from `start` on, or kernel rows of some."""

    features: bool
    start: int
    slot: np.ndarray  # (M,) where the kernel row of a block is, or -1; empty for features
    rows: np.ndarray
    row_mean: np.ndarray  # (m,) what centring takes from entry i of a row; empty where rows are centred
    shift: np.ndarray  # (M,) and what it takes from all entries of a row


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
def visit_plain(a, w, k, g, n, x, S, A, first, neighbour, power, added, empties, threshold, row, extra, commit):
    """Best cluster for a block of cluster a when there is no loss; S, n and x follow if `commit`.

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
    if best == a or not commit:
        for j in range(c):
            S[a, j] = row[j]
            S[j, a] = row[j]
        n[a], x[a] = n_a, x_a
        return best
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
def visit_loss(a, w, k, g, n, x, S, A, T, power, coef, penalty, empties, threshold, scratch, extra, commit):
    """Best cluster for a block of cluster a under a loss; S is T' Pi' K Pi T here and follows, as n and x, if `commit`.

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
        n_a, n_b = n[a], n[b]
        if b != a:
            n[a] = max(n_a - w, 0.0) if empties else n_a - w
            n[b] += w
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
        n[b] = n_b
        n[a] = n_a
        if b == a:
            stay = value
        if value > best_value:
            best, best_value = b, value
    if best == a or best_value - stay <= threshold:
        return a
    if not commit:
        return best
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
def gains(u, sums, blocks, held, g):
    """Similarity sums of a block's mean with the clusters, from the clusters' feature sums or from G = (K D Pi)'."""
    first, member, share = blocks.first, blocks.member, blocks.share
    if held.features:
        row = held.rows[u - held.start]
        for j in range(len(g)):
            total = 0.0
            for f in range(len(row)):
                total += sums[j, f] * row[f]
            g[j] = total
    elif len(first) == 0:
        for j in range(len(g)):
            g[j] = sums[j, u]
    else:
        for j in range(len(g)):
            total = 0.0
            for p in range(first[u], first[u + 1]):
                total += share[p] * sums[j, member[p]]
            g[j] = total


@njit(cache=True, nogil=True, fastmath=FAST)
def move_row(u, w, held, sums_from, sums_to):
    """Take w times the row of block u from one cluster's sums and give it to another's."""
    row = held.rows[u - held.start if held.features else held.slot[u]]
    row_mean = held.row_mean
    if len(row_mean):
        shift = held.shift[u]
        for i in range(len(row)):
            v = w * (row[i] - row_mean[i] - shift)
            sums_from[i] -= v
            sums_to[i] += v
        return
    for i in range(len(row)):
        v = w * row[i]
        sums_from[i] -= v
        sums_to[i] += v


@njit(cache=True, nogil=True)
def may_move(u, blocks, state, extra):
    """Whether block u, by what is known, may go anywhere; extra[b] becomes what b is worth beside F, or -infinity."""
    a, w, n = state.label[u], blocks.weight[u], state.n
    if blocks.place[u] >= 0 or n[a] - w < blocks.lower[a] - blocks.slack:
        return False
    free = False
    for b in range(len(n)):
        allowed = b == a or (state.blocked[u, b] == 0 and n[b] + w <= blocks.upper[b] + blocks.slack)
        extra[b] = blocks.pull[u, b] if allowed else -np.inf
        free = free or (allowed and b != a)
    return free


@njit(cache=True, nogil=True)
def relabel(u, b, blocks, state):
    """Keep labels and cannot-links current; n and counts are the caller's."""
    a = state.label[u]
    state.label[u] = b
    if blocks.known:
        for p in range(blocks.link_first[u], blocks.link_first[u + 1]):
            state.blocked[blocks.link[p], a] -= 1
            state.blocked[blocks.link[p], b] += 1


@njit(cache=True, nogil=True)
def sweep(at, stop, sums, held, wanted, reach, blocks, state, form, threshold):
    """Visit blocks from `at` on; S is T'ST under a loss. Returns the block to go on with, the moves, and how many rows
    are wanted.

    Running sums (c x d features, or c x m) follow each move by the block's row. Where that is not held, nothing moves
    any more: up to `reach` blocks further on, those that would move now are put into `wanted`, this one first.
    """
    A, T, near, neighbour, power, added, coef, penalty, has_loss = form
    label, counts, n, x, S, _ = state
    weight, own, slot, features = blocks.weight, blocks.own, held.slot, held.features
    plain, lonely = not blocks.known, blocks.allow_empty
    c = len(n)
    g, row, scratch, extra = np.empty(c), np.empty(c), np.empty((4, c)), np.zeros(c)
    moves, found = 0, 0
    for u in range(at, stop):
        if found == len(wanted) or (found > 0 and u >= wanted[0] + reach):
            break
        a, w = label[u], weight[u]
        empties = counts[a] == 1
        if (empties and not lonely) or not (plain or may_move(u, blocks, state, extra)):
            continue
        gains(u, sums, blocks, held, g)
        commit = found == 0 and (features or slot[u] >= 0)
        if has_loss:
            b = visit_loss(a, w, own[u], g, n, x, S, A, T, power, coef, penalty, empties, threshold, scratch, extra,
                           commit)  # fmt: skip
        else:
            b = visit_plain(a, w, own[u], g, n, x, S, A, near, neighbour, power, added, empties, threshold, row, extra,
                            commit)  # fmt: skip
        if b == a:
            continue
        if commit:
            counts[a] -= 1
            counts[b] += 1
            relabel(u, b, blocks, state)
            move_row(u, w, held, sums[a], sums[b])
            moves += 1
        else:
            wanted[found] = u
            found += 1
    return wanted[0] if found else stop, moves, found
