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
def size_and_skew(K):
    """Largest |K_ij| and largest |K_ij - K_ji|, tile by tile so that rows and columns are read once."""
    m = len(K)
    largest, skew = 0.0, 0.0
    for a in range(0, m, TILE):
        for b in range(0, a + 1, TILE):
            for i in range(a, min(a + TILE, m)):
                for j in range(b, min(b + TILE, m)):
                    largest = max(largest, abs(K[i, j]), abs(K[j, i]))
                    skew = max(skew, abs(K[i, j] - K[j, i]))
    return largest, skew
