"""Quadratic programs on the simplex {x >= 0, sum x = 1}, solved exactly."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls


def minimize_on_simplex(Q: np.ndarray) -> np.ndarray:
    """The x in the simplex with the least x'Qx, Q (m x m) positive semidefinite.

    With Q = R'R the point x is nearest to the origin among the convex combinations of R's columns. It is y / sum y for
    the y >= 0 that minimises |R y|^2 + (sum y - 1)^2, a non-negative least squares problem that an active set solves in
    finitely many steps; the equations on its support are then solved once more, free of the detour over R.
    """
    m = len(Q)
    size = np.abs(Q).max()
    if m == 1 or size == 0:
        return np.full(m, 1 / m)
    unit = (Q + Q.T) / (2 * size)
    values, vectors = np.linalg.eigh(unit)
    if values[0] < -1e-9 * m:
        raise ValueError(
            f"the matrix of the quadratic program is not positive semidefinite (lowest eigenvalue "
            f"{values[0] * size:.3g} beside entries of size {size:.3g}): the correlation between kernels must be one."
        )
    R = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T
    y = nnls(np.vstack([R, np.ones(m)]), np.concatenate([np.zeros(m), [1.0]]))[0]
    x = y / y.sum()
    sharp = _on_support(unit, np.flatnonzero(x))
    return sharp if sharp is not None and optimality_gap(unit, sharp) <= optimality_gap(unit, x) else x


def optimality_gap(Q: np.ndarray, x: np.ndarray) -> float:
    """(x'g - min g) / x'g with g = Qx: zero exactly at the minimiser, and never below the relative excess of x'Qx."""
    g = Q @ x
    value = float(x @ g)
    gap = max(value - float(g.min()), 0.0)
    return gap / value if value > 0 else gap / max(float(np.abs(Q).max()), np.finfo(float).tiny)


def _on_support(Q: np.ndarray, support: np.ndarray) -> np.ndarray | None:
    """x with Q x constant on the support and zero elsewhere, if it lies in the simplex."""
    try:
        inner = np.linalg.solve(Q[np.ix_(support, support)], np.ones(len(support)))
    except np.linalg.LinAlgError:
        return None
    if not (np.isfinite(inner).all() and (inner >= 0).all() and inner.sum() > 0):
        return None
    x = np.zeros(len(Q))
    x[support] = inner / inner.sum()
    return x
