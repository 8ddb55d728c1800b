"""Samples that are repeated in X, as blocks that move together."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from kernelclust.kernels import row_blocks
from kernelclust.solvers._constraints import Constraints


def equal_rows(X: Any, n_clusters: int, weight: np.ndarray) -> Constraints | None:
    """Blocks of samples that are copies of each other, or None where there are none, or no more than clusters.

    Told apart by one random projection. A search that moves copies together cannot be trapped between them.
    """
    largest = float(max(X.max(), -X.min()))
    if not largest > 0:
        return None
    direction = np.random.RandomState(0).uniform(0.5, 1.0, X.shape[1])
    if sparse.issparse(X):
        projected = (X / largest) @ direction
    else:  # float32 in blocks: a product in double precision is one of copies
        projected = np.concatenate([(X[rows] / largest) @ direction for rows in row_blocks(*X.shape)])
    size = np.abs(projected).max()
    distinct, block = np.unique(np.round(projected / max(size, 1e-300), 11), return_inverse=True)
    if len(distinct) == len(projected) or len(distinct) <= n_clusters:
        return None
    return _free(block, weight, n_clusters)


def _free(block: np.ndarray, weight: np.ndarray, c: int) -> Constraints:
    M = int(block.max()) + 1
    return Constraints(
        block,
        weight,
        np.full(M, -1),
        sparse.csr_array((M, M)),
        np.zeros(c),
        np.full(c, np.inf),
        np.zeros((M, c)),
    )
