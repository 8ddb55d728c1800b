"""Compiled loops of a search with side information: blocks change places together, where they are allowed to.

An exchange p of a list is blocks ids[first[p]:first[p + 1]] that go from clusters `was` to clusters `new` at once.
"""

from __future__ import annotations

import numpy as np

from kernelclust._compiled import compiled
from kernelclust.solvers._loops import inverse_norm, loss_norms, relabel


@compiled
def form_value(S, n, form, loss, scratch):
    """F for cluster sums S and sizes n."""
    A, c = form.A, len(n)
    x, absolute, half = scratch[0], scratch[1], scratch[2]
    value = 0.0
    if loss is None:
        for j in range(c):
            x[j] = inverse_norm(n[j] + form.added, form.power)
        for j in range(c):
            for k in range(c):
                value += A[j, k] * S[j, k] * x[j] * x[k]
        return form.coef * value
    T = loss.T
    loss_norms(n, T, form.power, x, absolute)
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
        value -= loss.penalty * absolute[j] * x[j]
    return value


@compiled
def within(j, n_new, n, known):
    """Whether the size of cluster j becomes, or comes nearer to, what is allowed."""
    too_large = n_new[j] > known.upper[j] + known.slack and n_new[j] > n[j]
    too_small = n_new[j] < known.lower[j] - known.slack and n_new[j] < n[j]
    return not (too_large or too_small)


@compiled
def allowed_together(start, stop, ids, new, was, weight, allow_empty, known, state, n_new):
    """Whether blocks ids[start:stop] may all go from `was` to `new` at once; n_new becomes the sizes then."""
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
    """Cluster sums after blocks ids[start:stop] moved at once: with D_u = e_new - e_was,

    S grows by sum_u w_u (D_u g_u' + g_u D_u') + sum_uv w_u w_v C_uv D_u D_v'.
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
            rise += known.pull[ids[s], new[s]] - known.pull[ids[s], was[s]]
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
    """Moves of a block where a cannot-link forbids it, of its partners there to where it was, theirs back, and so on.

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
