"""Sum over all arrangements of clusters as a chain, a ring or a tree, exactly.

An arrangement has the weight exp(sum of s_jk over its links), s (c, c) symmetric scores of links. Every sum is taken in
logarithms and without subtraction, so that scores of any size are exact to rounding.
"""

from __future__ import annotations

from functools import cache
from math import log
from typing import NamedTuple

import numpy as np

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
    """Go from sets of clusters, numbered by their bits, to larger ones: log f(M, j), and the heaviest path with the
    cluster before its last one. A ring is a path that begins at cluster 0 and is closed.

    `shares` are the f(M, .) of a set in units of exp(`highest`), the largest of them, which needs few exponentials.
    Where units are too far apart for that, terms are added by their logarithms.
    """
    c, everyone = len(s), 2 ** len(s) - 1
    step = np.where(np.eye(c, dtype=bool), -np.inf, s)
    top = step.max()
    weight = np.exp(step - top)
    log_sums, heaviest = np.full((2, everyone + 1, c), -np.inf)
    shares, highest = np.zeros((everyone + 1, c)), np.zeros(everyone + 1)
    before = np.zeros((everyone + 1, c), dtype=np.intp)
    first = np.arange(1 if ring else c)
    log_sums[1 << first, first], heaviest[1 << first, first], shares[1 << first, first] = 0.0, 0.0, 1.0
    for sets, members, last in _larger_sets(c, ring):
        rest = members ^ (1 << last)
        total = np.einsum("ij,ij->i", shares[rest], weight[last])
        tiny = total < SAFE
        log_sums[members, last] = highest[rest] + top + np.log(np.where(tiny, 1.0, total))
        log_sums[members[tiny], last[tiny]] = _log_sum(log_sums[rest[tiny]] + step[last[tiny]])
        highest[sets] = log_sums[sets].max(axis=1)
        shares[sets] = np.exp(log_sums[sets] - highest[sets, None])
        paths = heaviest[rest] + step[last]
        before[members, last] = best = paths.argmax(axis=1)
        heaviest[members, last] = paths[np.arange(len(best)), best]
    closing = step[0] if ring else np.zeros(c)
    log_sum = float(_log_sum(log_sums[everyone] + closing)) - log(2)  # every arrangement has two directions
    order, members = [int(np.argmax(heaviest[everyone] + closing))], everyone
    while len(order) < c:
        previous = int(before[members, order[-1]])
        members ^= 1 << order[-1]
        order.append(previous)
    some = np.arange(1, everyone, 2 if ring else 1)
    others = (everyone ^ some) | (1 if ring else 0)
    unit = highest[some] + highest[others] + top - log_sum
    if unit.max() < -log(SAFE):
        links = weight * ((shares[some].T * np.exp(unit)) @ shares[others])
    else:
        links = np.exp(log_sums[some][:, :, None] + step + log_sums[others][:, None] - log_sum).sum(axis=0)
    if ring:
        links[:, 0] = links[0]
    return ArrangementSum(log_sum, np.array(order), links)


@cache
def _larger_sets(c: int, ring: bool) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return the sets of 2, 3, ..., c clusters, and each again with every cluster that a path through it can end at."""
    sets = np.arange(1, 2**c, 2 if ring else 1)
    inside = sets[:, None] >> np.arange(c) & 1
    inside[:, : 1 if ring else 0] = 0  # a ring ends elsewhere than it begins
    size = inside.sum(axis=1) + (1 if ring else 0)
    pairs = [np.nonzero((size == k)[:, None] & (inside > 0)) for k in range(2, c + 1)]
    return [(sets[size == k], sets[row], last) for k, (row, last) in enumerate(pairs, 2)]


def _log_sum(logs: np.ndarray) -> np.ndarray:
    """Return log sum exp over the last axis, which has a finite entry."""
    top = logs.max(axis=-1, keepdims=True)
    return np.asarray(np.log(np.exp(logs - top).sum(axis=-1)) + top[..., 0])


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
