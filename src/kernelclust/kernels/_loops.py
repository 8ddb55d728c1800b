"""Compiled loops over plain arrays that kernels need."""

from __future__ import annotations

from numba import njit

TILE = 64


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def add_row(row, w, out):
    for i in range(len(row)):
        out[i] += w * row[i]


@njit(cache=True, nogil=True)
def sum_rows(rows, weight, labels, sums):
    """sums[j] += weighted sum of the rows in cluster j: Pi' D rows in one pass, with no product by zeros."""
    for i in range(len(labels)):
        add_row(rows[i], weight[i], sums[labels[i]])


@njit(cache=True, nogil=True)
def size_and_skew(K, own, typical):
    """Largest |K_ij|; and where |K_ij - K_ji| is largest beside |K_ij|, |K_ji|, own_i own_j and `typical`, whichever is
    larger: (size, ratio, i, j). Tile by tile, so that rows and columns are read once."""
    m = len(K)
    largest, worst, at, across = 0.0, 0.0, 0, 0
    for a in range(0, m, TILE):
        for b in range(0, a + 1, TILE):
            for i in range(a, min(a + TILE, m)):
                for j in range(b, min(b + TILE, m)):
                    size = max(abs(K[i, j]), abs(K[j, i]))
                    largest = max(largest, size)
                    skew = abs(K[i, j] - K[j, i])
                    if skew > worst * max(size, own[i] * own[j], typical):
                        worst, at, across = skew / max(size, own[i] * own[j], typical), i, j
    return largest, worst, at, across
