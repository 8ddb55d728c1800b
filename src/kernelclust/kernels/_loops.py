"""The compiled loop that kernels need."""

from __future__ import annotations

import numpy as np

from kernelclust._compiled import compiled, floats, integers

CAST = 2**15  # entries in single precision, or scattered, that are made double at a time


@compiled(fastmath={"contract"})
def add_rows(rows, weight, labels, sums):
    for i in range(len(labels)):
        w, j = weight[i], labels[i]
        for k in range(rows.shape[1]):
            sums[j, k] += w * rows[i, k]


def sum_rows(rows: np.ndarray, weight: np.ndarray, labels: np.ndarray, sums: np.ndarray) -> None:
    """sums[j] += weighted sum of the rows in cluster j: Pi' D rows in one pass, with no product by zeros."""
    whole = rows.dtype == np.float64 and rows.flags.c_contiguous and rows.flags.aligned
    step = max(1, len(rows) if whole else CAST // max(1, rows.shape[1]))
    weight, labels = floats(weight), integers(labels)
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        add_rows(floats(rows[part]), weight[part], labels[part], sums)


@compiled
def less_itself_plus(indptr, indices, data, loop, V, U):
    """U <- (W + loop I) V - U (m x k) for a sparse W by its rows; without Python's lock, which scipy's holds."""
    for i in range(len(U)):
        row, own = U[i], V[i]
        for f in range(len(row)):
            row[f] = loop * own[f] - row[f]
        for at in range(indptr[i], indptr[i + 1]):
            weight, other = data[at], V[indices[at]]
            for f in range(len(row)):
                row[f] += weight * other[f]
