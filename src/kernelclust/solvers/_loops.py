"""Compiled loops over plain arrays: visit blocks one by one and move each to the cluster that raises F most.

A block is a sample, or samples that stay together. `visit_*` decides for one block, given its similarity sums g with
the clusters, and keeps S, n and x = 1 / N current. A block is moved only when F rises by more than `threshold`; on ties
it stays. What a fit may lack, a loss or constraints, is None then, so that its loops are not compiled.

With side information, blocks also change clusters together: exchange p of a list is blocks ids[first[p]:first[p + 1]]
that go from clusters `was` to clusters `new` at once, where they are allowed to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernelclust._compiled import compiled

FAST = {"reassoc", "contract"}
SCRATCH = 7
MAX_LOSS_EXCHANGES = 1000  # under a loss, of a few that are needed: rounding must not let them go on for ever


class Form(NamedTuple):
    """The objective as plain arrays and numbers; neighbour[near[j]:near[j + 1]] are the k != j with A_jk != 0."""

    A: np.ndarray
    near: np.ndarray
    neighbour: np.ndarray
    power: float
    added: float
    coef: float


class Loss(NamedTuple):
    """Terms that a loss adds: the penalty is penalty * sum_j (n' charges)_j / N_j^charge_power."""

    T: np.ndarray
    charges: np.ndarray
    charge_power: int
    penalty: float


class Blocks(NamedTuple):
    """Blocks that move: M blocks over m samples."""

    weight: np.ndarray  # (M,)
    own: np.ndarray  # (M,) similarity of the block's mean with itself
    allow_empty: bool


class Known(NamedTuple):
    """Side information about blocks of several samples, and the clusters where they may go."""

    first: np.ndarray  # (M + 1,) samples of block u: member[first[u]:first[u + 1]]
    member: np.ndarray
    share: np.ndarray  # of the block's weight, for each member
    place: np.ndarray  # (M,) known place, or -1
    link_first: np.ndarray  # cannot-links of block u: link[link_first[u]:link_first[u + 1]]
    link: np.ndarray
    soft_bonus: np.ndarray  # (M, c) what F gains with a block in a cluster
    lower: np.ndarray  # (c,) sizes
    upper: np.ndarray
    slack: float


class State(NamedTuple):
    """State that moves change."""

    label: np.ndarray  # (M,) of blocks
    counts: np.ndarray  # (c,) blocks in each cluster
    n: np.ndarray  # (c,) their weight
    x: np.ndarray  # (c,) 1 / N
    S: np.ndarray  # (c, c) cluster sums
    blocked: np.ndarray  # (M, c) how many blocks of a cluster may not be with this one
    scratch: np.ndarray  # (SCRATCH, c) of the loops' own, zeros at first


class Held(NamedTuple):
    """Rows by which running sums follow a move: features of the blocks from `start` on, or kernel rows of some."""

    features: bool
    start: int
    slot: np.ndarray  # (M,) where the kernel row of a block is, or -1; empty for features
    rows: np.ndarray
    row_mean: np.ndarray  # (m,) what centring takes from entry i of a row; empty where rows are centred
    shift: np.ndarray  # (M,) and what it takes from all entries of a row


@compiled
def inverse_norm(size, power):
    if power == 0.0:
        return 1.0
    if size <= 0.0:
        return 0.0
    if power == 0.5:
        return 1.0 / np.sqrt(size)
    return 1.0 / size


@compiled
def visit_plain(a, w, k, empties, commit, threshold, n, x, S, scratch, form):
    """Return the best cluster for a block of cluster a when there is no loss; S, n and x follow if `commit`.

    F = sum A_jk S_jk x_j x_k; a candidate costs as many steps as its node has neighbours. `added` is what the size
    prior adds to every size; `extra` what a candidate is worth beside F, minus infinity where it is not allowed.
    """
    A, near, neighbour, power, added, _ = form
    g, extra, row = scratch[0], scratch[1], scratch[2]
    c = len(n)
    n_a, x_a = n[a], x[a]
    for j in range(c):
        row[j] = S[a, j]
    n[a] = 0.0 if empties or n_a < w else n_a - w
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
        for p in range(near[b], near[b + 1]):
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


@compiled
def loss_sums(n, loss, power, skipped, norms, charged):
    """Compute the sums over clusters, but for one that is skipped, that norms and penalties of the columns are made
    of.
    """
    T, charges, c = loss.T, loss.charges, len(n)
    for j in range(c):
        norms[j], charged[j] = 0.0, 0.0
    for a in range(c):
        if a == skipped or n[a] == 0.0:
            continue
        for j in range(c):
            norms[j] += n[a] * column_share(T[a, j], power)
            charged[j] += n[a] * charges[a, j]


@compiled
def column_share(t, power):
    """Return what a sample adds to the norm of a column in which its cluster has the entry t."""
    return t * t if power == 0.5 else abs(t)


@compiled
def loss_norms(n, loss, power, x, penalties):
    """Compute x_j = 1 / N_j and the penalties of the columns for sizes n."""
    loss_sums(n, loss, power, -1, x, penalties)
    for j in range(len(n)):
        x[j] = inverse_norm(x[j], power)
        penalties[j] *= loss.penalty * (x[j] if loss.charge_power == 1 else x[j] * x[j])


@compiled
def visit_loss(a, w, k, empties, commit, threshold, n, x, S, scratch, form, loss):
    """Return the best cluster for a block of cluster a under a loss; S is T' Pi' K Pi T here.

    S follows, as n and x do, if `commit`. With u = T_b - T_a, S grows by w (g u' + u g') + w^2 k u u' and every norm
    changes: as many steps a candidate as A has entries.
    """
    A, near, neighbour, power, _, coef = form
    T, charges = loss.T, loss.charges
    g, extra, h, u, x_new, norms, charged = (
        scratch[0],
        scratch[1],
        scratch[2],
        scratch[3],
        scratch[4],
        scratch[5],
        scratch[6],
    )
    c = len(n)
    for j in range(c):
        h[j] = 0.0
    for y in range(c):
        for j in range(c):
            h[j] += g[y] * T[y, j]
    loss_sums(n, loss, power, a, norms, charged)
    left = 0.0 if empties and n[a] < w else n[a] - w
    best, best_value, stay = a, -np.inf, 0.0
    for b in range(c):
        own, other = (n[a], 0.0) if b == a else (left, w)
        value = extra[b]
        for j in range(c):
            u[j] = T[b, j] - T[a, j]
            size = norms[j] + own * column_share(T[a, j], power) + other * column_share(T[b, j], power)
            x_new[j] = inverse_norm(size, power)
            charge = charged[j] + own * charges[a, j] + other * charges[b, j]
            value -= loss.penalty * charge * (x_new[j] if loss.charge_power == 1 else x_new[j] * x_new[j])
        for j in range(c):
            if x_new[j] == 0.0:
                continue
            inner = A[j, j] * x_new[j] * (S[j, j] + 2 * w * h[j] * u[j] + w * w * k * u[j] * u[j])
            for p in range(near[j], near[j + 1]):
                i = neighbour[p]
                inner += A[j, i] * x_new[i] * (S[j, i] + 2 * w * h[j] * u[i] + w * w * k * u[j] * u[i])
            value += coef * inner * x_new[j]
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
    loss_norms(n, loss, power, x, charged)
    return best


@compiled(fastmath=FAST)
def gains(u, r, sums, features, rows, known, g):
    """Compute g, similarity sums of a block's mean with the clusters, from their feature sums or from (K D Pi)'."""
    for j in range(len(g)):
        total = 0.0
        if features:
            for f in range(rows.shape[1]):
                total += sums[j, f] * rows[r, f]
        elif known is None:
            total = sums[j, u]
        else:
            for p in range(known.first[u], known.first[u + 1]):
                total += known.share[p] * sums[j, known.member[p]]
        g[j] = total


@compiled(fastmath=FAST)
def move_row(r, w, shift, row_mean, rows, sums, a, b):
    """Take w times a row, centred where it is not, from the sums of cluster a and give it to those of b."""
    if len(row_mean):
        for i in range(rows.shape[1]):
            v = w * (rows[r, i] - row_mean[i] - shift)
            sums[a, i] -= v
            sums[b, i] += v
        return
    for i in range(rows.shape[1]):
        v = w * rows[r, i]
        sums[a, i] -= v
        sums[b, i] += v


@compiled
def may_move(u, w, known, state):
    """Return whether block u, by what is known, may go anywhere; extra[b] becomes what b is worth beside F, or
    -infinity.
    """
    a, n, extra = state.label[u], state.n, state.scratch[1]
    if known.place[u] >= 0 or n[a] - w < known.lower[a] - known.slack:
        return False
    free = False
    for b in range(len(n)):
        allowed = b == a or (state.blocked[u, b] == 0 and n[b] + w <= known.upper[b] + known.slack)
        extra[b] = known.soft_bonus[u, b] if allowed else -np.inf
        free = free or (allowed and b != a)
    return free


@compiled
def relabel(u, b, known, state):
    """Keep labels, counts and cannot-links current."""
    a = state.label[u]
    state.label[u] = b
    state.counts[a] -= 1
    state.counts[b] += 1
    for p in range(known.link_first[u], known.link_first[u + 1]):
        state.blocked[known.link[p], a] -= 1
        state.blocked[known.link[p], b] += 1


@compiled
def sweep(at, stop, sums, held, wanted, reach, blocks, known, state, form, loss, threshold):
    """Visit blocks from `at` on; S is T'ST under a loss. Returns the block to go on with, the moves, and how many rows
    are wanted.

    Running sums (c x d features, or c x m) follow each move by the block's row. Where that is not held, nothing moves
    any more: up to `reach` blocks further on, those that would move now are put into `wanted`, this one first.
    """
    features, start, slot, rows, row_mean, shift = held
    weight, own, allow_empty = blocks
    label, counts, n, x, S, _, scratch = state
    moves, found = 0, 0
    for u in range(at, stop):
        if found == len(wanted) or (found > 0 and u >= wanted[0] + reach):
            break
        a, w = label[u], weight[u]
        empties = counts[a] == 1
        if empties and not allow_empty:
            continue
        if known is not None:
            if not may_move(u, w, known, state):
                continue
        r = u - start if features else slot[u]
        gains(u, r, sums, features, rows, known, scratch[0])
        commit = found == 0 and r >= 0
        if loss is None:
            b = visit_plain(a, w, own[u], empties, commit, threshold, n, x, S, scratch, form)
        else:
            b = visit_loss(a, w, own[u], empties, commit, threshold, n, x, S, scratch, form, loss)
        if b == a:
            continue
        if commit:
            if known is None:
                label[u] = b
                counts[a] -= 1
                counts[b] += 1
            else:
                relabel(u, b, known, state)
            move_row(r, w, shift[u] if len(row_mean) else 0.0, row_mean, rows, sums, a, b)
            moves += 1
        else:
            wanted[found] = u
            found += 1
    return wanted[0] if found else stop, moves, found


# -- exchanges of several blocks ---------------------------------------------------------------------------------------


@compiled
def form_value(S, n, form, loss, scratch):
    """Return F for cluster sums S and sizes n."""
    A, c = form.A, len(n)
    x, penalties, half = scratch[0], scratch[1], scratch[2]
    value = 0.0
    if loss is None:
        for j in range(c):
            x[j] = inverse_norm(n[j] + form.added, form.power)
        for j in range(c):
            for k in range(c):
                value += A[j, k] * S[j, k] * x[j] * x[k]
        return form.coef * value
    T = loss.T
    loss_norms(n, loss, form.power, x, penalties)
    for j in range(c):
        for a in range(c):
            half[a] = 0.0
            for b in range(c):
                half[a] += T[b, j] * S[b, a]
        for k in range(c):
            inner = 0.0
            for a in range(c):
                inner += half[a] * T[a, k]
            value += form.coef * A[j, k] * inner * x[j] * x[k]
        value -= penalties[j]
    return value


@compiled
def within(j, n_new, n, known):
    """Return whether the size of cluster j becomes, or comes nearer to, what is allowed."""
    too_large = n_new[j] > known.upper[j] + known.slack and n_new[j] > n[j]
    too_small = n_new[j] < known.lower[j] - known.slack and n_new[j] < n[j]
    return not (too_large or too_small)


@compiled
def allowed_together(start, stop, ids, new, was, weight, allow_empty, known, state, n_new):
    """Return whether blocks ids[start:stop] may all go from `was` to `new` at once; n_new becomes the sizes then."""
    label, n = state.label, state.n
    for j in range(len(n)):
        n_new[j] = n[j]
    for s in range(start, stop):
        u = ids[s]
        if known.place[u] >= 0 or label[u] != was[s]:
            return False
        for t in range(start, s):
            if ids[t] == u:
                return False
        n_new[was[s]] -= weight[u]
        n_new[new[s]] += weight[u]
    for s in range(start, stop):
        if not (within(was[s], n_new, n, known) and within(new[s], n_new, n, known)):
            return False
        left = state.counts[was[s]]
        for t in range(start, stop):
            left += new[t] == was[s]
            left -= was[t] == was[s]
        if left < 1 and not allow_empty:
            return False
        for p in range(known.link_first[ids[s]], known.link_first[ids[s] + 1]):
            there = label[known.link[p]]
            for t in range(start, stop):
                if ids[t] == known.link[p]:
                    there = new[t]
            if there == new[s]:
                return False
    return True


@compiled
def sums_after(start, stop, ids, new, was, slot, C, gains, weight, S, S_new):
    """Compute cluster sums after blocks ids[start:stop] moved at once.

    With D_u = e_new - e_was, S grows by sum_u w_u (D_u g_u' + g_u D_u') + sum_uv w_u w_v C_uv D_u D_v'.
    """
    c = len(S)
    for i in range(c):
        for j in range(c):
            S_new[i, j] = S[i, j]
    for s in range(start, stop):
        u = slot[ids[s]]
        a, b, w = was[s], new[s], weight[ids[s]]
        for j in range(c):
            v = w * gains[u, j]
            S_new[b, j] += v
            S_new[j, b] += v
            S_new[a, j] -= v
            S_new[j, a] -= v
        for t in range(start, stop):
            k = w * weight[ids[t]] * C[u, slot[ids[t]]]
            S_new[b, new[t]] += k
            S_new[a, was[t]] += k
            S_new[b, was[t]] -= k
            S_new[a, new[t]] -= k


@compiled
def exchange(first, ids, new, was, slot, C, gains, blocks, known, state, form, loss, threshold):
    """Take the exchanges of a list that are allowed and raise F by more than `threshold`; returns how many.

    C (U x U) are similarities of the blocks in the list, gains (U x c) their similarity sums with the clusters, at
    slot[u]. These, labels, S and n follow; the running sums are the caller's.
    """
    weight, S, n, scratch = blocks.weight, state.S, state.n, state.scratch
    c, n_new = len(n), scratch[3]
    S_new = np.empty((c, c))
    made = 0
    before = form_value(S, n, form, loss, scratch)
    for p in range(len(first) - 1):
        start, stop = first[p], first[p + 1]
        if not allowed_together(start, stop, ids, new, was, weight, blocks.allow_empty, known, state, n_new):
            continue
        sums_after(start, stop, ids, new, was, slot, C, gains, weight, S, S_new)
        rise = -before
        for s in range(start, stop):
            rise += known.soft_bonus[ids[s], new[s]] - known.soft_bonus[ids[s], was[s]]
        for j in range(c):
            n_new[j] = n_new[j] if n_new[j] > 0.0 else 0.0
        after = form_value(S_new, n_new, form, loss, scratch)
        if after + rise <= threshold:
            continue
        for s in range(start, stop):
            relabel(ids[s], new[s], known, state)
            for v in range(len(C)):
                k = weight[ids[s]] * C[v, slot[ids[s]]]
                gains[v, was[s]] -= k
                gains[v, new[s]] += k
        for i in range(c):
            n[i] = n_new[i]
            for j in range(c):
                S[i, j] = S_new[i, j]
        before = after
        made += 1
    return made


@compiled
def list_chains(at, longest, known, state, seen, first, ids, new, was):
    """List moves of a block where a cannot-link forbids it, of its partners there to where it was, theirs back, and so
    on.

    From block `at` on, as long as the arrays have room; returns the block to go on with and the number of chains.
    `seen` (M,) is for this function alone and starts at -1.
    """
    label, c = state.label, len(state.n)
    number, used, mark = 0, 0, -1
    for u in range(at, len(label)):
        if known.place[u] >= 0 or known.link_first[u] == known.link_first[u + 1]:
            continue
        if number + c >= len(first) or used + c * longest > len(ids):
            return u, number
        a = label[u]
        for b in range(c):
            if b == a or state.blocked[u, b] == 0:
                continue
            mark = u * c + b
            size, done, fits = 1, 0, True
            ids[used], new[used], was[used] = u, b, a
            seen[u] = mark
            while done < size and fits:
                for p in range(known.link_first[ids[used + done]], known.link_first[ids[used + done] + 1]):
                    v = known.link[p]
                    if label[v] != new[used + done] or seen[v] == mark:
                        continue
                    if size == longest or known.place[v] >= 0:
                        fits = False
                        break
                    seen[v] = mark
                    ids[used + size], new[used + size], was[used + size] = v, a if label[v] == b else b, label[v]
                    size += 1
                done += 1
            if fits:
                used += size
                number += 1
                first[number] = used
    return len(label), number


# -- exchanges of the nodes of clusters --------------------------------------------------------------------------------


@compiled
def improve_under_loss(p, movable, S, n, linear, form, loss, noise, scratch):
    """Exchange the nodes of two clusters, each time those that raise F most, while F rises by more than `noise`: p (c,)
    has the node of each cluster, S and n their sums and sizes. `scratch` (4, c) is for it alone.

    With T_p the rows of T at the nodes of the clusters, F = coef x' (A * Q) x - penalty, Q = T_p' S T_p, x the inverse
    norms. An exchange of clusters i and j adds d to one row of T_p and takes it from another, so that Q becomes
    Q + g d' + d g' + s d d' with g = T_p' S e, s = e' S e for e = e_i - e_j: as many steps as A has entries.
    """
    T, charges, c = loss.T, loss.charges, len(p)
    norms, charged, x, sizes = scratch[0], scratch[1], scratch[2], scratch[3]
    R, Q = np.zeros((c, c)), np.zeros((c, c))
    for j in range(c):
        sizes[p[j]] = n[j]
        for i in range(c):
            for k in range(c):
                R[j, k] += S[j, i] * T[p[i], k]
    for j in range(c):
        for i in range(c):
            for k in range(c):
                Q[i, k] += T[p[j], i] * R[j, k]
    loss_sums(sizes, loss, form.power, -1, norms, charged)
    value = loss_value(norms, charged, x, Q, form, loss)
    for _ in range(MAX_LOSS_EXCHANGES):
        first, second, highest = -1, -1, noise
        for i in range(c):
            for j in range(i + 1, c):
                if not (movable[i] and movable[j]):
                    continue
                a, b, more = p[i], p[j], n[j] - n[i]
                s = S[i, i] - 2 * S[i, j] + S[j, j]
                rise = linear[i, b] - linear[i, a] + linear[j, a] - linear[j, b] - value
                for k in range(c):
                    share = column_share(T[a, k], form.power) - column_share(T[b, k], form.power)
                    x[k] = inverse_norm(norms[k] + more * share, form.power)
                    charge = charged[k] + more * (charges[a, k] - charges[b, k])
                    rise -= loss.penalty * charge * (x[k] if loss.charge_power == 1 else x[k] * x[k])
                for k in range(c):
                    d, g = T[b, k] - T[a, k], R[i, k] - R[j, k]
                    inner = form.A[k, k] * x[k] * (Q[k, k] + 2 * g * d + s * d * d)
                    for q in range(form.near[k], form.near[k + 1]):
                        h = form.neighbour[q]
                        e, f = T[b, h] - T[a, h], R[i, h] - R[j, h]
                        inner += form.A[k, h] * x[h] * (Q[k, h] + g * e + d * f + s * d * e)
                    rise += form.coef * x[k] * inner
                if rise > highest:
                    first, second, highest = i, j, rise
        if first < 0:
            return
        a, b, s = p[first], p[second], S[first, first] - 2 * S[first, second] + S[second, second]
        for k in range(c):
            x[k] = R[first, k] - R[second, k]
        for k in range(c):
            for h in range(c):
                d, e = T[b, k] - T[a, k], T[b, h] - T[a, h]
                Q[k, h] += x[k] * e + d * x[h] + s * d * e
                R[k, h] += (S[k, first] - S[k, second]) * e
        p[first], p[second] = b, a
        sizes[a], sizes[b] = n[second], n[first]
        loss_sums(sizes, loss, form.power, -1, norms, charged)
        value = loss_value(norms, charged, x, Q, form, loss)


@compiled
def loss_value(norms, charged, x, Q, form, loss):
    """Return F without soft labels, from the sums of `loss_sums` and Q = T' S T; x becomes the inverse norms."""
    value, c = 0.0, len(x)
    for k in range(c):
        x[k] = inverse_norm(norms[k], form.power)
        value -= loss.penalty * charged[k] * (x[k] if loss.charge_power == 1 else x[k] * x[k])
    for k in range(c):
        value += form.coef * form.A[k, k] * x[k] * x[k] * Q[k, k]
        for q in range(form.near[k], form.near[k + 1]):
            other = form.neighbour[q]
            value += form.coef * form.A[k, other] * x[k] * x[other] * Q[k, other]
    return value
