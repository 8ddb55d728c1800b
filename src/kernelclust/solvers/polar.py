"""solver="polar": the concave-convex procedure over orthonormal P (4.2 of the relaxations paper).

P <- polar factor of K P A, which maximises the linearised objective; tr(K P A P') never falls and reaches the
spectral value sum lambda_i mu_i.
"""

from __future__ import annotations

import numpy as np

from kernelclust.solvers._base import Problem
from kernelclust.solvers._relaxation import Relaxation, Relaxed, WeightedKernel, polar_factor, trace_value
from kernelclust.solvers.spectral import round_rotations


class Polar(Relaxation):
    """Concave-convex procedure over orthonormal labels.

    Parameters
    ----------
    max_steps : int, default=1000
    step_tol : float, default=1e-9
        Stops when a step raises the value by less than this share of it.
    polish : bool, default=True
        Whether labels are improved by point moves and placement; False is the paper's method.
    tol : float, default=1e-10
        A sample is moved when F rises by more than tol times the sum of F's absolute terms.
    allow_empty : bool, default=False
        Whether moves may leave a cluster empty.

    Examples
    --------
    >>> from kernelclust.solvers import Polar
    >>> Polar(max_steps=50)
    Polar(max_steps=50)
    """

    def __init__(
        self,
        max_steps: int = 1000,
        step_tol: float = 1e-9,
        polish: bool = True,
        tol: float = 1e-10,
        allow_empty: bool = False,
    ):
        self.max_steps = max_steps
        self.step_tol = step_tol
        self.polish = polish
        self.tol = tol
        self.allow_empty = allow_empty

    def relax(self, problem: Problem, rng: np.random.RandomState) -> Relaxed:
        """Climb from random orthonormal P."""
        A, K = problem.objective.A, WeightedKernel(problem)
        P = np.linalg.qr(rng.standard_normal((problem.kernel.n_samples, len(A))))[0]
        history: list[float] = []
        for step in range(1, self.max_steps + 1):
            image = K @ P
            history.append(trace_value(image, P, A))
            if step > 1 and history[-1] - history[-2] <= self.step_tol * abs(history[-1]):
                return Relaxed(P, history[-1], n_iter=step, history=history)
            P = polar_factor(image @ A)
        value = trace_value(K @ P, P, A)
        return Relaxed(P, value, n_iter=self.max_steps, stopped_because="max_steps", history=history)

    def round(self, relaxed: Relaxed, problem: Problem, rng: np.random.RandomState) -> np.ndarray:
        return round_rotations(relaxed.P, problem, rng)


PART = Polar
