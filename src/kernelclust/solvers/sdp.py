"""solver="sdp": the semidefinite relaxation itself (5.23 of the relaxations paper), by a conic solver through cvxpy.

    max  tr((A x K) Q)   s.t.  Q psd, Q >= 0, odiag(Q) = I, bdiag(Q) 1 = 1,   Q (mc x mc)

Its value bounds every F. The labels come from the nearest rank-one matrix, and are often poor, because the solver
returns the mean of a solution and its mirror images. For a few dozen samples.
"""

from __future__ import annotations

import importlib

import numpy as np

from kernelclust._solution import Solution
from kernelclust.solvers._problem import Options, Problem
from kernelclust.solvers._relaxation import (
    Relaxed,
    WeightedKernel,
    finish,
    labels_of,
    non_negative_orthonormal,
    require_l2,
)

RELAXES = True
LARGEST = 80  # rows of Q: (mc)^2 / 2 sign constraints, minutes beyond


def solve(
    problem: Problem, options: Options, rng: np.random.RandomState, *, conic_solver: str | None = None
) -> Solution:
    require_l2(problem, "sdp")
    relaxed = relax(problem, conic_solver)
    root = np.sqrt(problem.kernel.weight)[:, None]
    return finish(problem, options, relaxed, labels_of(non_negative_orthonormal(relaxed.P) / root, problem))


def relax(problem: Problem, conic_solver: str | None = None) -> Relaxed:
    """Rank-one part of Q and the optimal value, which is the bound."""
    m, c = problem.kernel.n_samples, problem.objective.n_clusters
    if m * c > LARGEST:
        raise ValueError(
            f"solver='sdp' would need a matrix with {m} x {c} = {m * c} rows and about {(m * c) ** 2 // 2} sign "
            f"constraints; it goes up to {LARGEST} rows. Use solver='low_rank_sdp' or 'greedy'."
        )
    try:
        cvxpy = importlib.import_module("cvxpy")
    except ImportError as error:
        raise ImportError("solver='sdp' needs cvxpy: pip install 'kernelclust[sdp]'.") from error
    A, kernel = problem.objective.A, WeightedKernel(problem)
    root = kernel.root / np.sqrt(problem.kernel.weight.mean())  # its unit is free; the solver wants numbers near one
    K = kernel @ np.eye(m)
    Q = cvxpy.Variable((m * c, m * c), PSD=True)  # blocks (i, j) of m x m, i, j < c

    def block(i: int, j: int):
        return Q[i * m : (i + 1) * m, j * m : (j + 1) * m]

    constraints = [Q >= 0, sum(block(i, i) for i in range(c)) @ root == root]
    constraints += [cvxpy.trace(block(i, j)) == float(i == j) for i in range(c) for j in range(i, c)]
    scale = max(float(problem.spectrum.values[0]), np.finfo(float).tiny)
    C = np.kron(A, K / scale)
    program = cvxpy.Problem(cvxpy.Maximize(cvxpy.trace(C @ Q)), constraints)
    try:
        program.solve(solver=conic_solver)
    except cvxpy.error.SolverError as error:
        raise ValueError(
            f"the conic solver failed ({error}); try another with conic_solver, or another solver."
        ) from error
    if Q.value is None:
        raise ValueError(f"the conic solver ended with status {program.status!r}; try another with conic_solver.")
    values, vectors = np.linalg.eigh(Q.value)
    P = (np.sqrt(max(values[-1], 0.0)) * vectors[:, -1]).reshape(c, m).T
    signs, rows, *columns = (constraint.dual_value for constraint in constraints)
    bound = min(dual_bound(C, root, turn * rows, turn * _symmetric(columns, c), np.abs(signs)) for turn in (1, -1))
    return Relaxed(P, scale * float(program.value), bound=scale * bound)


def _symmetric(entries: list, c: int) -> np.ndarray:
    """c x c matrix from its upper triangle, off-diagonal entries shared between both halves."""
    matrix = np.zeros((c, c))
    matrix[np.triu_indices(c)] = np.ravel(entries)
    return (matrix + matrix.T) / 2


def dual_bound(C: np.ndarray, root: np.ndarray, rows: np.ndarray, columns: np.ndarray, signs: np.ndarray) -> float:
    """Upper bound on tr(C Q) over the feasible Q, true for any prices of the constraints (signs >= 0).

    With Z = C - columns x I - I x sym(rows root') + signs, tr(C Q) <= tr(columns) + rows' root + c max(0, lambda_1(Z)),
    because tr(Q) = c: inexact prices only loosen it.
    """
    m, c = len(root), len(columns)
    spread = (np.outer(rows, root) + np.outer(root, rows)) / 2
    Z = C - np.kron(columns, np.eye(m)) - np.kron(np.eye(c), spread) + (signs + signs.T) / 2
    excess = max(float(np.linalg.eigvalsh((Z + Z.T) / 2)[-1]), 0.0)
    return float(np.trace(columns) + rows @ root + c * excess)
