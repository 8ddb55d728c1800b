"""Compiled loops over plain arrays that kernels need."""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def add_row(row, w, out):
    for i in range(len(row)):
        out[i] += w * row[i]


@njit(cache=True, nogil=True)
def sum_rows(rows, weight, labels, sums):
    """sums[j] += weighted sum of the rows in cluster j: Pi' D rows in one pass, with no product by zeros."""
    for i in range(len(labels)):
        add_row(rows[i], weight[i], sums[labels[i]])
