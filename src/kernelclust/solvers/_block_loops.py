"""Compiled loops of a search with side information: blocks change places together, where they are allowed to.

An exchange p of a list is blocks ids[first[p]:first[p + 1]] that go from clusters `was` to clusters `new` at once.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from kernelclust.solvers._loops import inverse_norm, loss_norms, relabel


@njit(cache=True, nogil=True)
def form_value(S, n, form, x, absolute):
    """F for cluster sums S and sizes n."""
    A, T, c = form.A, form.T, len(n)
    value = 0.0
    if not form.has_loss:
        for j in range(c):
            x[j] = inverse_norm(n[j] + form.added, form.power)
        for j in range(c):
            for k in range(c):
                value += A[j, k] * S[j, k] * x[j] * x[k]
        return form.coef * value
    loss_norms(n, T, form.power, x, absolute)
    half = np.zeros(c)
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
        value -= form.penalty * absolute[j] * x[j]
    return value


@njit(cache=True, nogil=True)
def allowed_together(ids, new, was, blocks, state, n_new):
    """Whether blocks may all go from `was` to `new` at once; n_new becomes the sizes then."""
    label, n, size = state.label, state.n, len(ids)
    n_new[:] = n
    for s in range(size):
        u = ids[s]
        if blocks.place[u] >= 0 or label[u] != was[s]:
            return False
        for t in range(s):
            if ids[t] == u:
                return False
        n_new[was[s]] -= blocks.weight[u]
        n_new[new[s]] += blocks.weight[u]
    for s in range(size):
        for j in (was[s], new[s]):
            too_large = n_new[j] > blocks.upper[j] + blocks.slack and n_new[j] > n[j]
            if too_large or (n_new[j] < blocks.lower[j] - blocks.slack and n_new[j] < n[j]):
                return False
        if not blocks.allow_empty:
            left = state.counts[was[s]]
            for t in range(size):
                left += int(new[t] == was[s]) - int(was[t] == was[s])
            if left < 1:
                return False
        for p in range(blocks.link_first[ids[s]], blocks.link_first[ids[s] + 1]):
            there = label[blocks.link[p]]
            for t in range(size):
                if ids[t] == blocks.link[p]:
                    there = new[t]
            if there == new[s]:
                return False
    return True


@njit(cache=True, nogil=True)
def sums_after(ids, new, was, slot, C, gains, weight, S, S_new):
    """Cluster sums after blocks moved at once: with D_u = e_new - e_was,

    S grows by sum_u w_u (D_u g_u' + g_u D_u') + sum_uv w_u w_v C_uv D_u D_v'.
    """
    S_new[:] = S
    for s in range(len(ids)):
        u = slot[ids[s]]
        a, b, w = was[s], new[s], weight[ids[s]]
        for j in range(len(S)):
            v = w * gains[u, j]
            S_new[b, j] += v
            S_new[j, b] += v
            S_new[a, j] -= v
            S_new[j, a] -= v
        for t in range(len(ids)):
            k = w * weight[ids[t]] * C[u, slot[ids[t]]]
            S_new[b, new[t]] += k
            S_new[a, was[t]] += k
            S_new[b, was[t]] -= k
            S_new[a, new[t]] -= k


@njit(cache=True, nogil=True)
def exchange(first, ids, new, was, slot, C, gains, blocks, state, form, threshold):
    """Take the exchanges of a list that are allowed and raise F by more than `threshold`; returns how many.

    C (U x U) are similarities of the blocks in the list, gains (U x c) their similarity sums with the clusters, at
    slot[u]. These, labels, S and n follow; the running sums are the caller's.
    """
    c = len(state.n)
    S_new, n_new, x, absolute = np.empty((c, c)), np.empty(c), np.empty(c), np.empty(c)
    made = 0
    before = form_value(state.S, state.n, form, x, absolute)
    for p in range(len(first) - 1):
        u, b, a = ids[first[p] : first[p + 1]], new[first[p] : first[p + 1]], was[first[p] : first[p + 1]]
        if not allowed_together(u, b, a, blocks, state, n_new):
            continue
        sums_after(u, b, a, slot, C, gains, blocks.weight, state.S, S_new)
        rise = -before
        for s in range(len(u)):
            rise += blocks.pull[u[s], b[s]] - blocks.pull[u[s], a[s]]
        for j in range(c):
            n_new[j] = max(n_new[j], 0.0)
        after = form_value(S_new, n_new, form, x, absolute)
        if after + rise <= threshold:
            continue
        for s in range(len(u)):
            state.counts[a[s]] -= 1
            state.counts[b[s]] += 1
            relabel(u[s], b[s], blocks, state)
            for v in range(len(C)):
                k = blocks.weight[u[s]] * C[v, slot[u[s]]]
                gains[v, a[s]] -= k
                gains[v, b[s]] += k
        state.S[:] = S_new
        state.n[:] = n_new
        before = after
        made += 1
    return made


@njit(cache=True, nogil=True)
def list_chains(at, longest, blocks, state, seen, first, ids, new, was):
    """Moves of a block where a cannot-link forbids it, of its partners there to where it was, theirs back, and so on.

    From block `at` on, as long as the arrays have room; returns the block to go on with and the number of chains.
    `seen` (M,) is for this function alone and starts at -1.
    """
    label, c = state.label, len(state.n)
    number, used, mark = 0, 0, -1
    for u in range(at, len(label)):
        if blocks.place[u] >= 0 or blocks.link_first[u] == blocks.link_first[u + 1]:
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
                for p in range(blocks.link_first[ids[used + done]], blocks.link_first[ids[used + done] + 1]):
                    v = blocks.link[p]
                    if label[v] != new[used + done] or seen[v] == mark:
                        continue
                    if size == longest or blocks.place[v] >= 0:
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
