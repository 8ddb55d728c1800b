"""solver="low_rank_sdp": the semidefinite relaxation with Q = Y Y', Y >= 0 (5.30 of the relaxations paper).

    max  sum_r tr(K Y_r A Y_r') + pull sum_r (1'Y_r 1)^2
    s.t. sum_r Y_r'Y_r = I,  sum_r Y_r Y_r'1 = 1,  Y >= 0,

Y_r (m x c), r = 1..rank, by an augmented Lagrangian. `pull` favours a rank-one solution, and is in units of the
kernel's entries. Rows of samples whose label is known have zeros in all other columns. Memory O(m c rank) beside the
kernel.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from kernelclust._names import check_number
from kernelclust.solvers._base import Problem
from kernelclust.solvers._relaxation import Relaxation, Relaxed, WeightedKernel, labels_of, non_negative_orthonormal
from kernelclust.solvers._starts import projected_labels

MAX_INNER_STEPS = 400
MAX_IDLE_STEPS = 8  # steps in a row that do not lower violations by a tenth: they stay
TOP_TOL = 1e-12  # of the kernel's size: a smaller leading eigenvalue is rounding
TINY = np.finfo(float).tiny
MAX_SINGLE_THREAD = 100_000  # entries of Y below which threads cost more than they bring

N_PAIRS = 10
MIN_DECREASE = 1e-4  # share of the predicted decrease that a step must bring
MIN_STEP = 1e-10

Function = Callable[[np.ndarray], tuple[float, np.ndarray]]  # x -> value, gradient


@dataclass(eq=False, repr=False)
class LowRankSDP(Relaxation):
    """Solve the semidefinite relaxation with a factor of low rank, Q = Y Y' with Y >= 0.

    Parameters
    ----------
    rank : int, default=10
        Number of columns of Y for each cluster.
    pull : float, default=0.1
        Weight of the term that favours a rank-one solution, in units of the kernel's entries.
    violation : float, default=1e-5
        Stop when no constraint is violated by more.
    max_steps : int, default=60
        Maximum number of steps of the augmented Lagrangian.
    polish, tol, allow_empty
        As in `Spectral`.

    Examples
    --------
    >>> from kernelclust.solvers import LowRankSDP
    >>> LowRankSDP(rank=4)
    LowRankSDP(rank=4)
    """

    rank: int = 10
    pull: float = 0.1
    violation: float = 1e-5
    max_steps: int = 60

    def check(self) -> None:
        super().check()
        check_number("rank", self.rank, whole=True, least=1)
        check_number("pull", self.pull)
        check_number("violation", self.violation)

    def relax(self, problem: Problem, rng: np.random.RandomState) -> Relaxed:
        """Return the P nearest to the factor."""
        return self.relax_factor(problem, rng)[1]

    def round(self, relaxed: Relaxed, problem: Problem, rng: np.random.RandomState) -> np.ndarray:
        root = np.sqrt(problem.kernel.weight)[:, None]
        return labels_of(non_negative_orthonormal(relaxed.P) / root, problem)

    def relax_factor(self, problem: Problem, rng: np.random.RandomState) -> tuple[np.ndarray, Relaxed]:
        """Return Y (m x rank x c) and the nearest rank-one P."""
        rank, lagrangian = int(self.rank), _Lagrangian(problem, int(self.rank), self.pull)
        m, c = problem.kernel.n_samples, problem.objective.n_clusters
        Y = self.initial_labels(problem, rng)
        Y = lagrangian.root[:, None, None] * (Y + rng.uniform(0.0, 1.0, Y.shape))
        Y.ravel()[lagrangian.closed] = 0.0
        Y /= np.sqrt(np.einsum("mrc,mrc->c", Y, Y))
        largest, stopped, steps, idle = np.inf, "max_steps", 0, 0
        with threadpool_limits(limits=1 if Y.size < MAX_SINGLE_THREAD else None, user_api="blas"):
            for step in range(1, self.max_steps + 1):
                tol = max(1e-7, 1e-2 * 0.3**step)
                y, taken = minimise(lagrangian, Y.ravel(), max_steps=MAX_INNER_STEPS, tol=tol)
                Y, steps = y.reshape(m, rank, c), steps + taken
                columns, rows = lagrangian.violations(Y)
                worst = max(np.abs(columns).max(), np.abs(rows).max())
                if worst <= self.violation:
                    stopped = "converged"
                    break
                idle = 0 if worst < 0.9 * largest else idle + 1
                if idle == MAX_IDLE_STEPS:
                    break
                lagrangian.update(columns, rows, stiffer=worst > 0.25 * largest)
                largest = min(worst, largest)
        return Y, Relaxed(rank_one(Y), lagrangian.dependence(Y), n_iter=steps, stopped_because=stopped)

    def initial_labels(self, problem: Problem, rng: np.random.RandomState) -> np.ndarray:
        """Return relaxed labels (m x rank x c) that, with noise added, initialize Y.

        Projected spectral labels with as many random signs as Y has columns: this initialization uses A, and ends in
        the correct order more often than noise alone.
        """
        A, spectrum = problem.objective.A, problem.spectrum
        return np.stack([np.maximum(projected_labels(spectrum, A, rng), 0.0) for _ in range(int(self.rank))], axis=1)


def rank_one(Y: np.ndarray) -> np.ndarray:
    """Return P (m x c) with vec(P) vec(P)' nearest to Y Y'."""
    m, rank, c = Y.shape
    stacked = Y.transpose(0, 2, 1).reshape(m * c, rank)
    left, sizes, _ = np.linalg.svd(stacked, full_matrices=False)
    return (left[:, 0] * sizes[0]).reshape(m, c)


class _Lagrangian:
    """Augmented Lagrangian, to be minimised, and its gradient; scaled so that the largest eigenvalues are one."""

    def __init__(self, problem: Problem, rank: int, pull: float):
        self.K, self.A = WeightedKernel(problem), problem.objective.A
        size, unit = problem.kernel.raw_size(), float(problem.kernel.weight.mean())
        self.root = self.K.root / np.sqrt(unit)  # the unit of weights is as good as any other: 1 on average
        self.rank, self.pull = rank, pull * size * unit
        top, total = float(problem.spectrum.values[0]), size * float(problem.kernel.weight.sum())
        top = (top if top > TOP_TOL * total else total) * float(np.linalg.eigvalsh(self.A)[-1])
        self.scale = 1.0 / top if top > TINY else 1.0  # rounding of constant data is not blown up
        c = len(self.A)
        self.stiffness = 1.0
        self.column_price = np.zeros((c, c))
        self.row_price = np.zeros(len(self.root))
        self.closed = np.empty(0, dtype=np.intp)  # entries of Y that stay zero
        if problem.constraints is not None:
            place = problem.constraints.place[problem.constraints.block][:, None, None]
            shape = len(self.root), rank, c
            self.closed = np.flatnonzero(np.broadcast_to((place >= 0) & (place != np.arange(c)), shape))

    def dependence(self, Y: np.ndarray) -> float:
        return float((self._image(Y) * Y).sum())

    def violations(self, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        flat = Y.reshape(-1, Y.shape[2])
        sums = np.tensordot(self.root, Y, axes=1)  # (rank, c)
        return flat.T @ flat - np.eye(Y.shape[2]), np.tensordot(Y, sums, axes=2) - self.root

    def update(self, columns: np.ndarray, rows: np.ndarray, *, stiffer: bool) -> None:
        self.column_price = self.column_price + self.stiffness * columns
        self.row_price = self.row_price + self.stiffness * rows
        if stiffer:
            self.stiffness *= 3.0

    def _image(self, Y: np.ndarray) -> np.ndarray:
        """Return K Y_r A for every r."""
        m = len(self.root)
        return (self.K @ Y.reshape(m, -1)).reshape(Y.shape) @ self.A

    def __call__(self, y: np.ndarray) -> tuple[float, np.ndarray]:
        m, c, root = len(self.root), len(self.A), self.root
        Y = y.reshape(m, self.rank, c)
        image = self._image(Y)
        sums = np.tensordot(root, Y, axes=1)  # (rank, c)
        totals = sums.sum(axis=1, keepdims=True)  # (rank, 1)
        flat = Y.reshape(-1, c)
        columns = flat.T @ flat - np.eye(c)
        rows = np.tensordot(Y, sums, axes=2) - root
        column_slope = self.column_price + self.stiffness * columns
        row_slope = self.row_price + self.stiffness * rows
        value = -self.scale * (float((image * Y).sum()) + self.pull * float((totals**2).sum()))
        value += float((self.column_price * columns).sum() + self.row_price @ rows)
        value += 0.5 * self.stiffness * float((columns**2).sum() + (rows**2).sum())
        gradient = image
        gradient *= -2 * self.scale
        gradient += 2 * (flat @ column_slope).reshape(Y.shape)
        gradient += row_slope[:, None, None] * sums
        pulled = np.tensordot(row_slope, Y, axes=1) - 2 * self.scale * self.pull * totals  # (rank, c)
        gradient += root[:, None, None] * pulled
        slope = gradient.ravel()
        slope[self.closed] = 1.0  # uphill from zero: held there
        return value, slope


def minimise(function: Function, x: np.ndarray, *, max_steps: int, tol: float) -> tuple[np.ndarray, int]:
    """Minimise a smooth function over x >= 0; return the point, and the steps that led there.

    Limited-memory BFGS on the free variables, with projected steps, until no entry of the projected gradient exceeds
    `tol`. scipy's L-BFGS-B does the same; on a few thousand variables and cheap functions its own bookkeeping costs
    several times the function, which is why this exists.
    """
    value, gradient = function(x)
    pairs: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=N_PAIRS)
    for step in range(max_steps):
        held = (x <= 0) & (gradient > 0)
        free_gradient = np.where(held, 0.0, gradient)
        if np.abs(np.maximum(x - gradient, 0) - x).max() <= tol:
            return x, step
        direction = -_inverse_hessian_product(pairs, free_gradient)
        direction[held] = 0.0
        if not pairs or direction @ free_gradient >= 0:
            pairs.clear()
            direction = -free_gradient * (0.01 / np.abs(free_gradient).max())
        length = 1.0
        while True:
            new = np.maximum(x + length * direction, 0.0)
            new_value, new_gradient = function(new)
            if new_value <= value + MIN_DECREASE * float(gradient @ (new - x)):
                break
            length *= 0.5
            if length < MIN_STEP:
                return x, step
        moved, turned = new - x, new_gradient - gradient
        curvature = float(moved @ turned)
        if curvature > 1e-10 * np.sqrt(float(moved @ moved) * float(turned @ turned)):
            pairs.append((moved, turned, 1.0 / curvature))
        x, value, gradient = new, new_value, new_gradient
    return x, max_steps


def _inverse_hessian_product(pairs: deque, vector: np.ndarray) -> np.ndarray:
    """Run the two loops of L-BFGS."""
    q = vector.copy()
    if not pairs:
        return q
    shares = []
    for moved, turned, inverse in reversed(pairs):
        share = inverse * float(moved @ q)
        shares.append(share)
        q -= share * turned
    moved, turned, inverse = pairs[-1]
    q /= inverse * float(turned @ turned)
    for (moved, turned, inverse), share in zip(pairs, reversed(shares), strict=True):
        q += (share - inverse * float(turned @ q)) * moved
    return q


PART = LowRankSDP
