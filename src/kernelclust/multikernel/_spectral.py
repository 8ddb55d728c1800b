"""The two steps of multiple kernel k-means: eigenvectors for given weights, weights for given eigenvectors.

Both are taken inside a space of a few dozen dimensions that all kernels have been applied to, where they cost next to
nothing; the space is then widened by one block, one pass over every kernel, until the eigenvectors no longer leave it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np
from scipy.optimize import nnls

from kernelclust.kernels import weighted_product
from kernelclust.multikernel._base import Relaxed, Task

GUARD = 6  # vectors beyond those asked for: they carry the slow part of the convergence
EXACT = 300  # up to so many samples a full decomposition is cheap
WIDEST = 4  # blocks that the space holds before it is narrowed to the best two
TOLERANCE = 1e-4  # of eigenvectors beside the largest eigenvalue; eigenvalues are good to its square
FIRST_TOLERANCE = 1e-3  # of the eigenvectors of the mean kernel, before weights are first learned
FACTORS = (1 / 16, 1 / 4, 1.0, 4.0)  # of the balanced lambda, that are tried
PASSES = 200


def start_block(n: int, k: int, rng: np.random.RandomState) -> np.ndarray:
    return rng.standard_normal((n, min(k + GUARD, n)))


class Subspace:
    """Orthonormal Q (n x r) with K_p Q and Q' K_p Q for every kernel; U = Q Y are the leading eigenvectors in it.

    With sample weights D = root^2 kernels are D^1/2 K_p D^1/2. Arrays are replaced, never changed, so that a shallow
    copy can go its own way.
    """

    def __init__(
        self,
        kernels: Sequence[Any],
        k: int,
        rng: np.random.RandomState,
        *,
        traces: np.ndarray | None = None,
        root: np.ndarray | None = None,
        start: np.ndarray | None = None,
    ):
        n = kernels[0].n_samples
        self.kernels, self.k, self.root = kernels, k, root
        self.traces = np.zeros(len(kernels)) if traces is None else traces
        if n <= EXACT:
            start = np.eye(n)
        elif start is None:
            start = start_block(n, k, rng)
        self.block = min(k + GUARD, n)
        self.Q = np.empty((n, 0))
        self.images = [np.empty((n, 0)) for _ in kernels]
        self._add(start)
        self.solve(np.full(len(kernels), 1 / len(kernels)))

    def _add(self, directions: np.ndarray) -> None:
        for _ in range(2):
            directions = np.linalg.qr(directions - self.Q @ (self.Q.T @ directions))[0]
        self.Q = np.hstack([self.Q, directions])
        self.images = [
            np.hstack([image, weighted_product(kernel, self.root, directions)])
            for image, kernel in zip(self.images, self.kernels, strict=True)
        ]
        inner = [self.Q.T @ image for image in self.images]
        self.inner = np.array([(A + A.T) / 2 for A in inner])

    def solve(self, coefficients: np.ndarray, extra: np.ndarray | None = None) -> np.ndarray:
        """Residuals Tr(K_p) - Tr(U' K_p U) (m,) of the U that suits these coefficients best.

        `extra` (r x r) is added to the combined kernel within the space.
        """
        self.coefficients = coefficients
        combined = np.tensordot(coefficients, self.inner, 1)
        values, vectors = np.linalg.eigh(combined if extra is None else combined + extra)
        self.values, self.Y = values[::-1], vectors[:, ::-1]
        captured = (self.top * (self.inner @ self.top)).sum(axis=(1, 2))
        return np.maximum(self.traces - captured, 0.0)

    def rest(self, extra: Callable | None = None) -> np.ndarray:
        """Return the residual (n, block) of the leading vectors under the combined kernel and `extra`."""
        Y = self.Y[:, : self.block]
        image = sum_of(c * image for c, image in zip(self.coefficients, self.images, strict=True)) @ Y
        V = self.Q @ Y
        return image + (0.0 if extra is None else extra(V)) - V * self.values[: self.block]

    def error(self, rest: np.ndarray | None = None) -> float:
        """Return the residual of the eigenvectors relative to the largest eigenvalue."""
        if self.Q.shape[1] == len(self.Q):
            return 0.0
        rest = self.rest() if rest is None else rest
        size = max(abs(float(self.values[0])), np.finfo(float).tiny)
        return float(np.linalg.norm(rest[:, : self.k], axis=0).max()) / size

    def widen(self, rest: np.ndarray) -> None:
        """Add these directions to the space; a full one keeps its best half."""
        if self.Q.shape[1] + rest.shape[1] > WIDEST * self.block:
            best = self.Y[:, : 2 * self.block]
            self.Q = self.Q @ best
            self.images = [image @ best for image in self.images]
            self.Y = np.eye(len(self.Y))[:, : 2 * self.block]
        kept = self.Q.shape[1]
        self._add(rest)
        self.Y = np.vstack([self.Y[:kept], np.zeros((self.Q.shape[1] - kept, self.Y.shape[1]))])

    def converge(self, coefficients: np.ndarray, tolerance: float = TOLERANCE) -> np.ndarray:
        """Residuals of the leading eigenvectors for these coefficients."""
        self.solve(coefficients)
        for _ in range(PASSES):
            rest = self.rest()
            if self.error(rest) <= tolerance:
                break
            self.widen(rest)
            self.solve(coefficients)
        return self.solve(coefficients)

    @property
    def top(self) -> np.ndarray:
        """Leading vectors in coordinates of the space (r, k)."""
        return self.Y[:, : self.k]

    @property
    def U(self) -> np.ndarray:
        """Leading vectors (n, k), orthonormal."""
        return self.Q @ self.top

    @property
    def H(self) -> np.ndarray:
        """Return D^-1/2 U, which has one row per sample, equal for a sample and its copies."""
        return self.U if self.root is None else self.U / self.root


def mean_space(task: Task) -> Subspace:
    """The space for the prepared kernels of a task, from some of their rows: the first pass comes for nothing."""
    n, start = task.n_samples, None
    if n > EXACT:
        chosen = np.sort(task.rng.choice(n, min(task.n_clusters + GUARD, n), replace=False))
        start = sum_of(kernel.rows(chosen) for kernel in task.kernels).T
        start = start if task.root is None else task.root * start
    return Subspace(task.kernels, task.n_clusters, task.rng, traces=task.traces, root=task.root, start=start)


def sum_of(parts) -> np.ndarray:
    """Sum of arrays, in the memory of the first."""
    parts = iter(parts)
    total = next(parts)
    for part in parts:
        total += part
    return total


def balanced_lam(residuals: np.ndarray, M: np.ndarray) -> float:
    """Lambda at which both terms of eq. (8) count the same for a single kernel, on average: scale-free."""
    size = float(np.diag(M).mean())
    return 2 * float(residuals.mean()) / size if size > 0 else 0.0


def lam_path(task: Task) -> tuple[list[float], Subspace]:
    """Several lambda around the balanced one, and the space of the eigenvectors of the mean kernel."""
    space, m = mean_space(task), len(task.kernels)
    middle = balanced_lam(space.converge(np.full(m, 1 / m), FIRST_TOLERANCE), task.M)
    return [factor * middle for factor in FACTORS], space


def check_power(power: object) -> None:
    """Raise an error for a power that is neither the paper's nor its authors'."""
    if isinstance(power, bool) or power not in (1, 2):
        raise ValueError(f"power={power!r}: give 2 (the paper's formula) or 1 (its authors' program).")


def quadratic(residuals: np.ndarray, task: Task, lam: float, ridge: float) -> np.ndarray:
    """Q with mu'Q mu = eq. (8) for fixed labels or eigenvectors."""
    return np.diag(residuals + ridge * task.traces) + lam / 2 * task.M


def alternate(task: Task, lam: float | str, *, power: int = 2, ridge: float = 0.0, tol: float = 1e-6) -> Relaxed:
    """Algorithm 1 of Liu et al.: eigenvectors and weights in turn, until eq. (8) falls by less than tol."""
    m = len(task.kernels)
    space = copy(task.space) if task.space else mean_space(task)
    residuals = space.converge(np.full(m, 1 / m), FIRST_TOLERANCE)
    if isinstance(lam, str):
        lam = balanced_lam(residuals, task.M)
    history: list[float] = []
    while True:  # H is best for the last weights within the space, the weights are best for H
        Q = quadratic(residuals, task, lam, ridge)
        mu = minimize_on_simplex(Q)
        history.append(float(mu @ Q @ mu))
        settled = len(history) > 1 and history[-2] - history[-1] <= tol * abs(history[-1])
        rest = space.rest() if settled else None
        converged = rest is not None and space.error(rest) <= TOLERANCE
        if converged or len(history) >= task.max_iter:
            break
        if rest is not None:
            space.widen(rest)
        residuals = space.solve(mu**power)
    return Relaxed(
        weights=mu,
        embedding=space.H,
        objective=history[-1],
        history=history,
        converged=converged,
        coefficients=mu**power,
        learns=True,
        lam=float(lam),
        power=power,
        ridge=ridge,
        gap=optimality_gap(Q, mu),
    )


# -- weights on the simplex {x >= 0, sum x = 1} ------------------------------------------------------------------------


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
    """X with Q x constant on the support and zero elsewhere, if it lies in the simplex."""
    try:
        inner = np.linalg.solve(Q[np.ix_(support, support)], np.ones(len(support)))
    except np.linalg.LinAlgError:
        return None
    if not (np.isfinite(inner).all() and (inner >= 0).all() and inner.sum() > 0):
        return None
    x = np.zeros(len(Q))
    x[support] = inner / inner.sum()
    return x
