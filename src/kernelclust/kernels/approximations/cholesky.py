"""Pivoted incomplete Cholesky: columns of the kernel, each of the sample that those before explain worst."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from kernelclust._warnings import warn
from kernelclust.kernels._new_samples import LandmarkFeatures
from kernelclust.kernels.approximations._base import Approximation, check_block

MOST_COLUMNS = 1000  # of a factor whose rank the eigengap decides
FIRST_COLUMNS = 64  # room for so many columns of a factor at first
Column = Callable[[np.ndarray], np.ndarray]  # indices (r,) -> K[:, indices] (m, r)


@dataclass(eq=False, repr=False)
class Cholesky(Approximation):
    """Approximate the kernel by some of its columns, chosen by pivoted incomplete Cholesky decomposition.

    Parameters
    ----------
    n_components : int, optional
        Number of columns; by default as many as bring the error below the eigengap of the clusters.
    """

    example = "Cholesky(n_components=300)"
    has_array_features = True
    depends_on_clusters = True
    in_partitions = False

    n_components: int | None = None

    def factor(self, function, X, Z, weight, n_clusters, rng):
        columns = function.own(Z), lambda index: function(Z, Z[index])
        B, pivots = guided_cholesky(*columns, self.n_components, n_clusters, weight)
        check_block(function.kernel, function(Z[pivots], Z[pivots]))
        return B, LandmarkFeatures(function, Z[pivots], cholesky_map(B[pivots]))

    def matrix_factor(self, K, weight, n_clusters, rng):
        columns = np.diagonal(K), lambda index: K[:, index]
        B, pivots = guided_cholesky(*columns, self.n_components, n_clusters, weight)
        return B, pivots, cholesky_map(B[pivots])


def incomplete_cholesky(
    diagonal: np.ndarray,
    column: Column,
    max_rank: int,
    *,
    tol: float = 1e-6,
    n_clusters: int | None = None,
    weight: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Pivoted Cholesky factor B (m x r) of a psd K and the pivots; stops when trace(K - B B') <= tol trace(K).

    Each step takes the sample that the factor so far explains worst, and one column of K. With `n_clusters` = c it
    also stops once the trace left, xi, is at most the eigengap l_(c-1) - l_c of the centred B B' (Song, Smola, Gretton
    and Borgwardt, 2007): the eigenvalues of the centred K are at most xi larger, so what is left out can hardly turn
    the eigenvectors that clusters are read from. Samples count by their `weight`.
    """
    residual = np.array(diagonal, dtype=np.float64)
    m, goal = len(residual), tol * residual.sum()
    share = np.ones(m) if weight is None else weight
    max_rank = min(max_rank, m)
    B = np.zeros((m, min(max_rank, FIRST_COLUMNS)))
    gram = np.zeros((0, 0))
    pivots: list[int] = []
    while len(pivots) < max_rank and residual.sum() > goal:
        pivot = int(np.argmax(residual))
        if residual[pivot] <= 0:
            break
        r = len(pivots)
        if r == B.shape[1]:
            B = np.pad(B, ((0, 0), (0, min(r, max_rank - r))))
        new = (column(np.array([pivot]))[:, 0] - B[:, :r] @ B[pivot, :r]) / np.sqrt(residual[pivot])
        new[pivots] = 0.0
        B[:, r] = new
        residual -= new**2
        residual[pivot] = 0.0
        np.maximum(residual, 0.0, out=residual)
        pivots.append(pivot)
        if n_clusters is not None and r + 1 >= len(gram) + max(1, len(gram) // 16):
            gram = _grown_gram(gram, B[:, : r + 1], share)
            if float(share @ residual) <= _eigengap(gram, n_clusters):
                break
    if not pivots:
        return np.zeros((m, 1)), np.zeros(1, dtype=int)
    return B[:, : len(pivots)], np.array(pivots)


def guided_cholesky(
    diagonal: np.ndarray, column: Column, n_components: int | None, n_clusters: int, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Incomplete Cholesky of a given rank or, without one, of the rank that the eigengap asks for."""
    if n_components is not None:
        return incomplete_cholesky(diagonal, column, n_components)
    B, pivots = incomplete_cholesky(diagonal, column, MOST_COLUMNS, n_clusters=n_clusters, weight=weight)
    if len(pivots) == MOST_COLUMNS < len(diagonal):
        warn(
            f"approximation='cholesky' stopped at {MOST_COLUMNS} columns before its error fell below the eigengap of "
            f"{n_clusters} clusters, which is small: clusters may differ from those of the exact kernel. Give "
            "n_components to choose the rank, or approximation=None for the exact kernel."
        )
    return B, pivots


def _grown_gram(gram: np.ndarray, B: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """B' D H B for the columns so far (r x r), from the same for the first of them."""
    old, r = len(gram), B.shape[1]
    grown = np.empty((r, r))
    grown[:old, :old] = gram
    new = weight[:, None] * (B[:, old:] - weight @ B[:, old:] / weight.sum())
    grown[:, old:] = B.T @ new
    grown[old:, :old] = grown[:old, old:].T
    return grown


def _eigengap(gram: np.ndarray, n_clusters: int) -> float:
    """l_(c-1) - l_c of a Gram matrix, eigenvalues that it does not have being zero."""
    if n_clusters < 2:
        return 0.0
    c = n_clusters
    values = np.zeros(max(c, len(gram)))
    values[: len(gram)] = np.linalg.eigvalsh(gram)[::-1]
    return float(values[c - 2] - values[c - 1])


def cholesky_map(B_pivots: np.ndarray) -> np.ndarray:
    """M (r x r) such that k(x, pivots) M are the rows of the incomplete Cholesky factor."""
    if not B_pivots.any():
        return np.zeros_like(B_pivots)
    return solve_triangular(B_pivots, np.eye(len(B_pivots)), lower=True).T


PART = Cholesky
