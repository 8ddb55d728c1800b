"""solver="polar": the concave-convex procedure over orthonormal P (4.2 of the relaxations paper).

P <- polar factor of K P A, which maximises the linearised objective; tr(K P A P') never falls and reaches the
spectral value sum lambda_i mu_i.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelclust.solvers._base import Problem
from kernelclust.solvers._relaxation import Relaxation, Relaxed, WeightedKernel, polar_factor, trace_value
from kernelclust.solvers.spectral import round_rotations


@dataclass(eq=False, repr=False)
class Polar(Relaxation):
    """Relax labels to orthonormal P and maximise F over P by the concave-convex procedure.

    Parameters
    ----------
    max_steps : int, default=1000
    step_tol : float, default=1e-9
        Stop when a step raises the value by less than this fraction of it.
    polish, tol, allow_empty
        As in `Spectral`.

    Examples
    --------
    >>> from kernelclust.solvers import Polar
    >>> Polar(max_steps=50)
    Polar(max_steps=50)
    """

    max_steps: int = 1000
    step_tol: float = 1e-9

    def relax(self, problem: Problem, rng: np.random.RandomState) -> Relaxed:
        """Maximise tr(K P A P') from random orthonormal P."""
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
