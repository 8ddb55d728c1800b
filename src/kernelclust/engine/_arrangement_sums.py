"""Sum over all arrangements of clusters as a chain, a ring or a tree, exactly.

An arrangement has the weight exp(sum of s_jk over its links), s (c, c) symmetric scores of links. Every sum is taken in
logarithms and without subtraction, so that scores of any size are exact to rounding.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernelclust._compiled import compiled, floats

SAFE = 1e-100  # sums of shares from which nothing that floating point leaves out counts


class ArrangementSum(NamedTuple):
    """The sum over all arrangements of one kind: log Z, the heaviest arrangement and the share of each link in Z."""

    log_sum: float
    best: np.ndarray  # order of the clusters (c,), or links of a tree (c - 1, 2)
    links: np.ndarray  # (c, c)


def chain_sum(s: np.ndarray) -> ArrangementSum:
    """Return the sum over the c! / 2 chains.

    With f(M, j) the sum over paths through the clusters M that end at j (Held and Karp, 1962),

        f(M, k) = sum over j in M - k of f(M - k, j) exp(s_jk),
        Z = 1/2 sum_j f(all, j),    P(link jk) = 1/Z sum over M with j, without k of f(M, j) exp(s_jk) f(all - M, k).
    """
    return _path_sum(s, ring=False)


def ring_sum(s: np.ndarray) -> ArrangementSum:
    """Return the sum over the (c - 1)! / 2 rings: that over paths from cluster 0 which return to it."""
    return _path_sum(s, ring=True)


def _path_sum(s: np.ndarray, ring: bool) -> ArrangementSum:
    c = len(s)
    before, links = np.full((2**c, c), -1, dtype=np.intp), np.zeros((c, c))
    log_sum, last = _fill_paths(floats(s), ring, before, links)
    order, members = [int(last)], 2**c - 1
    while len(order) < c:
        previous = int(before[members, order[-1]])
        members ^= 1 << order[-1]
        order.append(previous)
    return ArrangementSum(float(log_sum), np.array(order), links)


@compiled
def _fill_paths(s, ring, before, links):
    """Fill which cluster comes `before` the last one of the heaviest path, over sets of clusters, numbered by their
    bits, and last clusters; return log Z and the last cluster of the heaviest arrangement. A ring is a path that begins
    at cluster 0 and is closed.

    `shares` are the sums of the paths through one set in units of exp(`highest`), the largest of them: sums over a set
    need exponentials of its own alone. Where units are too far apart for that, terms are added by their logarithms.
    """
    c = len(s)
    everyone = (1 << c) - 1
    log_sums, heaviest = np.full((everyone + 1, c), -np.inf), np.full((everyone + 1, c), -np.inf)
    shares, highest = np.zeros((everyone + 1, c)), np.full(everyone + 1, -np.inf)
    top, weight = -np.inf, np.empty((c, c))
    for j in range(c):
        for k in range(j):
            top = max(top, s[j, k])
    for j in range(c):
        for k in range(c):
            weight[j, k] = np.exp(s[j, k] - top) if j != k else 0.0
    inside, outside = np.empty(c, dtype=np.intp), np.empty(c, dtype=np.intp)
    for members in range(1, everyone + 1):
        if ring and not members & 1:
            continue
        n_inside = _split(members, inside, outside)
        for at in range(n_inside):
            k = inside[at]
            rest = members ^ (1 << k)
            if n_inside == 1:
                log_sums[members, k] = heaviest[members, k] = 0.0
            if n_inside == 1 or (ring and k == 0):
                continue
            total, most, previous = 0.0, -np.inf, -1
            for other in range(n_inside):
                j = inside[other]
                if j != k:
                    total += shares[rest, j] * weight[j, k]
                    if heaviest[rest, j] + s[j, k] > most:
                        most, previous = heaviest[rest, j] + s[j, k], j
            heaviest[members, k], before[members, k] = most, previous
            if total > SAFE:
                log_sums[members, k] = highest[rest] + top + np.log(total)
                continue
            high, total = -np.inf, 0.0
            for other in range(n_inside):
                j = inside[other]
                if j != k:
                    high = max(high, log_sums[rest, j] + s[j, k])
            for other in range(n_inside):
                j = inside[other]
                if j != k:
                    total += np.exp(log_sums[rest, j] + s[j, k] - high)
            log_sums[members, k] = high + np.log(total)
        for at in range(n_inside):
            highest[members] = max(highest[members], log_sums[members, inside[at]])
        for at in range(n_inside):
            shares[members, inside[at]] = np.exp(log_sums[members, inside[at]] - highest[members])
    high, best, last, total = -np.inf, -np.inf, 0, 0.0
    for j in range(c):
        closing = s[j, 0] if ring else 0.0
        high = max(high, log_sums[everyone, j] + closing)
        if heaviest[everyone, j] + closing > best:
            best, last = heaviest[everyone, j] + closing, j
    for j in range(c):
        total += np.exp(log_sums[everyone, j] + (s[j, 0] if ring else 0.0) - high)
    log_sum = high + np.log(total / 2)  # every arrangement has two directions
    for members in range(1, everyone):
        if ring and not members & 1:
            continue
        others = (everyone ^ members) | (1 if ring else 0)
        n_inside = _split(members, inside, outside)
        factor = np.exp(highest[members] + top + highest[others] - log_sum)
        begin = 0
        for at in range(n_inside):
            j = inside[at]
            while begin < c - n_inside and outside[begin] < j:
                begin += 1
            for other in range(begin, c - n_inside):
                k = outside[other]
                if factor * SAFE < 1:
                    links[j, k] += shares[members, j] * weight[j, k] * shares[others, k] * factor
                else:
                    links[j, k] += np.exp(log_sums[members, j] + s[j, k] + log_sums[others, k] - log_sum)
    for j in range(c):
        for k in range(j):
            links[j, k] = links[k, j]
    return log_sum, last


@compiled
def _split(members, inside, outside):
    """Write the clusters inside and outside of a set, and return how many are inside."""
    n_inside = n_outside = 0
    for k in range(len(inside)):
        if members >> k & 1:
            inside[n_inside] = k
            n_inside += 1
        else:
            outside[n_outside] = k
            n_outside += 1
    return n_inside


def tree_sum(s: np.ndarray) -> ArrangementSum:
    """Return the sum over the c^(c - 2) spanning trees (Kirchhoff's matrix-tree theorem).

    Clusters are eliminated one after the other: without cluster v, w_jk = exp(s_jk) becomes
    w_jk + w_vj w_vk / sum_l w_vl, and Z is the product of these sums. For each pair jk all others are eliminated: the
    link's share is w_jk over the w_jk that is left. Unlike the determinant this loses nothing where weights differ by
    many orders of magnitude.
    """
    c = len(s)
    j, k = np.triu_indices(c, 1)
    rest = np.array([[v for v in range(c) if v not in pair] for pair in zip(j, k, strict=True)])
    order = np.column_stack([rest, j, k])
    left = s[order[:, :, None], order[:, None, :]]
    log_sum = 0.0
    while left.shape[1] > 2:
        gone, left = left[:, 0, 1:], left[:, 1:, 1:]
        total = np.logaddexp.reduce(gone, axis=1)
        log_sum += total[0]
        left = np.logaddexp(left, gone[:, :, None] + gone[:, None, :] - total[:, None, None])
    links = np.zeros((c, c))
    links[j, k] = links[k, j] = np.exp(s[j, k] - left[:, 0, 1])
    return ArrangementSum(float(log_sum + left[0, 0, 1]), heaviest_tree(s), links)


def heaviest_tree(s: np.ndarray) -> np.ndarray:
    """Return the links (c - 1, 2) of the spanning tree with the largest sum of scores (Prim)."""
    score, nearest, found = s[0].astype(float), np.zeros(len(s), dtype=np.intp), []
    score[0] = -np.inf
    outside = np.ones(len(s), dtype=bool)
    outside[0] = False
    while outside.any():
        k = int(np.argmax(np.where(outside, score, -np.inf)))
        found.append((int(nearest[k]), k))
        outside[k] = False
        closer = outside & (s[k] > score)
        score[closer], nearest[closer] = s[k][closer], k
    return np.array(found)
