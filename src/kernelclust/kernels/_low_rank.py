"""Factors B with K ~ B B': landmarks (Nystrom, pivoted incomplete Cholesky) and random features."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import solve_triangular

from kernelclust.kernels._operators import row_blocks

Column = Callable[[np.ndarray], np.ndarray]  # indices (r,) -> K[:, indices] (m, r)


def nystroem_map(K_landmarks: np.ndarray) -> np.ndarray:
    """M (l x r) such that k(x, landmarks) M are features whose products are exact on the landmarks."""
    values, vectors = np.linalg.eigh((K_landmarks + K_landmarks.T) / 2)
    keep = values > values[-1] * len(values) * np.finfo(values.dtype).eps
    if not keep.any():
        return np.zeros((len(values), 1))
    return vectors[:, keep] / np.sqrt(values[keep])


def incomplete_cholesky(
    diagonal: np.ndarray, column: Column, max_rank: int, *, tol: float = 1e-6
) -> tuple[np.ndarray, np.ndarray]:
    """Pivoted Cholesky factor B (m x r) of a psd K and the pivots; stops when trace(K - B B') <= tol trace(K).

    Each step takes the sample that the factor so far explains worst, and one column of K.
    """
    residual = np.array(diagonal, dtype=np.float64)
    m, goal = len(residual), tol * residual.sum()
    B = np.zeros((m, min(max_rank, m)))
    pivots: list[int] = []
    while len(pivots) < B.shape[1] and residual.sum() > goal:
        pivot = int(np.argmax(residual))
        if residual[pivot] <= 0:
            break
        r = len(pivots)
        new = (column(np.array([pivot]))[:, 0] - B[:, :r] @ B[pivot, :r]) / np.sqrt(residual[pivot])
        new[pivots] = 0.0
        B[:, r] = new
        residual -= new**2
        residual[pivot] = 0.0
        np.maximum(residual, 0.0, out=residual)
        pivots.append(pivot)
    if not pivots:
        return np.zeros((m, 1)), np.zeros(1, dtype=int)
    return B[:, : len(pivots)], np.array(pivots)


def cholesky_map(B_pivots: np.ndarray) -> np.ndarray:
    """M (r x r) such that k(x, pivots) M are the rows of the incomplete Cholesky factor."""
    if not B_pivots.any():
        return np.zeros_like(B_pivots)
    return solve_triangular(B_pivots, np.eye(len(B_pivots)), lower=True).T


def in_blocks(function: Callable[[slice], np.ndarray], n_rows: int, n_columns: int, dtype, width: int) -> np.ndarray:
    """Stack function(rows) for row blocks into one array without holding more than one block beside it."""
    out = np.empty((n_rows, n_columns), dtype=dtype)
    for rows in row_blocks(n_rows, max(width, n_columns)):
        out[rows] = function(rows)
    return out
