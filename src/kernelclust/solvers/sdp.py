"""solver="sdp": the semidefinite relaxations themselves, by a conic solver through cvxpy. For a few dozen samples.

With normalize="l2", 5.23 of the relaxations paper, for any structure:

    max  tr((A x K) Q)   s.t.  Q psd, Q >= 0, odiag(Q) = I, bdiag(Q) 1 = 1,   Q (mc x mc)

The labels come from the nearest rank-one matrix, and are often poor, because the solver returns the mean of a solution
and its mirror images. With normalize=None and no structure, DIFFRAC's own, over M = Pi Pi':

    max  tr(K M)   s.t.  M - 1 1' / c psd, M >= 0, diag(M) = 1,   M (m x m)

whose labels are the kernel k-means of M. Each value bounds every F.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelclust.kernels import LowRankKernel
from kernelclust.objectives import ClusterObjective
from kernelclust.solvers import _starts as starts
from kernelclust.solvers._base import Problem
from kernelclust.solvers._climb import climb
from kernelclust.solvers._relaxation import Relaxation, Relaxed, WeightedKernel, labels_of, non_negative_orthonormal

MAX_ROWS = 80  # of Q or M: rows^2 / 2 sign constraints, minutes beyond
CONIC_SOLVER, MAX_CONIC_STEPS = "SCS", 20_000  # a few seconds; most end within a thousand
ROUNDING_STARTS = 10  # of the k-means of M


@dataclass(eq=False, repr=False)
class SDP(Relaxation):
    """Solve the semidefinite relaxation with a conic solver, for a few dozen samples.

    Parameters
    ----------
    conic_solver : str, optional
        Name of a solver of cvxpy; SCS by default.
    polish, tol, allow_empty
        As in `Spectral`.

    Examples
    --------
    >>> from kernelclust.solvers import SDP
    >>> SDP(conic_solver="CLARABEL")
    SDP(conic_solver='CLARABEL')
    """

    also_relaxes = ", or normalize=None on a flat structure"

    conic_solver: str | None = None

    def check(self) -> None:
        super().check()
        if not (self.conic_solver is None or isinstance(self.conic_solver, str)):
            raise TypeError(f"conic_solver={self.conic_solver!r}: give a name that cvxpy knows, such as 'SCS'.")

    def check_problem(self, problem: Problem) -> None:
        if not _is_diffrac(problem.objective):
            super().check_problem(problem)

    def relax(self, problem: Problem, rng: np.random.RandomState | None = None) -> Relaxed:
        """Return the rank-one part of Q, or a factor of DIFFRAC's M, and the optimal value, which is the bound."""
        return (relax_diffrac if _is_diffrac(problem.objective) else relax_l2)(problem, self.conic_solver)

    def round(self, relaxed: Relaxed, problem: Problem, rng: np.random.RandomState) -> np.ndarray:
        if _is_diffrac(problem.objective):
            return _means_of(relaxed.P, problem, rng)
        root = np.sqrt(problem.kernel.weight)[:, None]
        return labels_of(non_negative_orthonormal(relaxed.P) / root, problem)


def relax_l2(problem: Problem, conic_solver: str | None = None) -> Relaxed:
    """Return the rank-one part of Q and the optimal value, which is the bound."""
    m, c = problem.kernel.n_samples, problem.objective.n_clusters
    A, kernel = problem.objective.A, WeightedKernel(problem)
    if c == 1:  # there is one Q
        P = (kernel.root / np.linalg.norm(kernel.root))[:, None]
        value = float(A[0, 0] * (P.T @ (kernel @ P)).item())
        return Relaxed(P, value, bound=value)
    cvxpy = _conic(m * c, f"{m} x {c} = {m * c}")
    root = kernel.root / np.sqrt(problem.kernel.weight.mean())  # its unit is free; the solver wants numbers near one
    K = kernel @ np.eye(m)
    Q = cvxpy.Variable((m * c, m * c), PSD=True)  # blocks (i, j) of m x m, i, j < c

    def block(i: int, j: int):
        return Q[i * m : (i + 1) * m, j * m : (j + 1) * m]

    constraints = [Q >= 0, sum(block(i, i) for i in range(c)) @ root == root]
    constraints += [cvxpy.trace(block(i, j)) == float(i == j) for i in range(c) for j in range(i, c)]
    scale = max(float(problem.spectrum.values[0]), np.finfo(float).tiny)
    C = np.kron(A, K / scale)
    value = _maximise(cvxpy, C, Q, constraints, conic_solver)
    values, vectors = np.linalg.eigh(Q.value)
    P = (np.sqrt(max(values[-1], 0.0)) * vectors[:, -1]).reshape(c, m).T
    signs, rows, *columns = (constraint.dual_value for constraint in constraints)
    bound = min(dual_bound(C, root, turn * rows, turn * _symmetric(columns, c), np.abs(signs)) for turn in (1, -1))
    return Relaxed(P, scale * value, bound=scale * bound)


def _conic(rows: int, said: str) -> Any:
    """Return cvxpy, for a matrix with so many rows."""
    if rows > MAX_ROWS:
        raise ValueError(
            f"solver='sdp' would need a matrix with {said} rows and about {rows**2 // 2} sign constraints; it goes up "
            f"to {MAX_ROWS} rows. Use solver='low_rank_sdp' or 'greedy'."
        )
    try:
        return importlib.import_module("cvxpy")
    except ImportError as error:
        raise ImportError("solver='sdp' needs cvxpy: pip install cvxpy.") from error


def _maximise(cvxpy: Any, C: np.ndarray, Q: Any, constraints: list, conic_solver: str | None) -> float:
    """Return the largest tr(C Q), with the values of Q and of the constraints' prices set."""
    program = cvxpy.Problem(cvxpy.Maximize(cvxpy.trace(C @ Q)), constraints)
    try:
        program.solve(solver=conic_solver or CONIC_SOLVER, **({} if conic_solver else {"max_iters": MAX_CONIC_STEPS}))
    except cvxpy.error.SolverError as error:
        raise ValueError(
            f"the conic solver failed ({error}); try another with conic_solver, or another solver."
        ) from error
    if Q.value is None:
        raise ValueError(f"the conic solver ended with status {program.status!r}; try another with conic_solver.")
    return float(program.value)


def _symmetric(entries: list, c: int) -> np.ndarray:
    """Return a c x c matrix from its upper triangle, off-diagonal entries shared between both halves."""
    matrix = np.zeros((c, c))
    matrix[np.triu_indices(c)] = np.ravel(entries)
    return (matrix + matrix.T) / 2


def dual_bound(C: np.ndarray, root: np.ndarray, rows: np.ndarray, columns: np.ndarray, signs: np.ndarray) -> float:
    """Return an upper bound on tr(C Q) over the feasible Q, true for any prices of the constraints (signs >= 0).

    With Z = C - columns x I - I x sym(rows root') + signs, tr(C Q) <= tr(columns) + rows' root + c max(0, lambda_1(Z)),
    because tr(Q) = c: inexact prices only loosen it.
    """
    m, c = len(root), len(columns)
    spread = (np.outer(rows, root) + np.outer(root, rows)) / 2
    Z = C - np.kron(columns, np.eye(m)) - np.kron(np.eye(c), spread) + (signs + signs.T) / 2
    excess = max(float(np.linalg.eigvalsh((Z + Z.T) / 2)[-1]), 0.0)
    return float(np.trace(columns) + rows @ root + c * excess)


# -- DIFFRAC ----------------------------------------------------------------------------------------------------------


def _is_diffrac(objective: ClusterObjective) -> bool:
    """Return whether F is a multiple of tr(K Pi Pi')."""
    A = objective.A
    plain = objective.normalize is None and not objective.has_loss
    return plain and np.array_equal(A, A[0, 0] * np.eye(len(A)))


def relax_diffrac(problem: Problem, conic_solver: str | None = None) -> Relaxed:
    """Return a factor B (m x c) of the nearest M of rank c, and the optimal value, which is the bound."""
    m, c = problem.kernel.n_samples, problem.objective.n_clusters
    cvxpy = _conic(m, str(m))
    weight = problem.kernel.weight / problem.kernel.weight.mean()
    C = weight[:, None] * (problem.kernel @ np.diag(weight))
    C = (C + C.T) / 2
    scale = max(float(np.linalg.eigvalsh(C)[-1]), np.finfo(float).tiny)
    M = cvxpy.Variable((m, m), symmetric=True)
    constraints = [M >= 0, cvxpy.diag(M) == 1, M - np.full((m, m), 1 / c) >> 0]
    value = _maximise(cvxpy, C / scale, M, constraints, conic_solver)
    values, vectors = np.linalg.eigh(M.value)
    signs, diagonal = (constraint.dual_value for constraint in constraints[:2])
    bound = min(diffrac_bound(C / scale, c, turn * diagonal, np.abs(signs)) for turn in (1, -1))
    unit = scale * float(problem.objective.A[0, 0]) * problem.kernel.weight.mean() ** 2
    return Relaxed(vectors[:, -c:] * np.sqrt(np.maximum(values[-c:], 0.0)), unit * value, bound=unit * bound)


def diffrac_bound(C: np.ndarray, n_clusters: int, diagonal: np.ndarray, signs: np.ndarray) -> float:
    """Return an upper bound on tr(C M) over the feasible M, true for any prices of the constraints (signs >= 0).

    With Z = C - diag(diagonal) + signs and M = X + 1 1' / c, X psd of trace m (1 - 1 / c),
    tr(C M) <= sum(diagonal) + 1'Z1 / c + m (1 - 1 / c) max(0, lambda_1(Z)).
    """
    Z = C - np.diag(diagonal) + (signs + signs.T) / 2
    excess = max(float(np.linalg.eigvalsh(Z)[-1]), 0.0)
    return float(diagonal.sum() + Z.sum() / n_clusters + len(C) * (1 - 1 / n_clusters) * excess)


def _means_of(B: np.ndarray, problem: Problem, rng: np.random.RandomState) -> np.ndarray:
    """Return labels of the best of several k-means of the rows of B."""
    c, weight = problem.objective.n_clusters, problem.kernel.weight
    kernel = LowRankKernel(B, weight)
    tried = (starts.fill_empty(starts.plus_plus_start(B, weight, c, rng), B, c) for _ in range(ROUNDING_STARTS))
    return max((climb(kernel, problem.flat, labels) for labels in tried), key=lambda found: found.value).labels


PART = SDP
