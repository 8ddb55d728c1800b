"""solver="polar": the concave-convex procedure over orthonormal P (4.2 of the relaxations paper).

P <- polar factor of K P A, which maximises the linearised objective; tr(K P A P') never falls and reaches the
spectral value sum lambda_i mu_i.
"""

from __future__ import annotations

import numpy as np

from kernelclust._solution import Solution
from kernelclust.solvers._problem import Options, Problem
from kernelclust.solvers._relaxation import Relaxed, WeightedKernel, finish, polar_factor, require_l2, trace_value
from kernelclust.solvers.spectral import round_rotations

RELAXES = True


def solve(
    problem: Problem,
    options: Options,
    rng: np.random.RandomState,
    *,
    max_steps: int = 1000,
    step_tol: float = 1e-9,
) -> Solution:
    require_l2(problem, "polar")
    relaxed = relax(problem, rng, max_steps=max_steps, step_tol=step_tol)
    return finish(problem, options, relaxed, round_rotations(relaxed.P, problem, rng))


def relax(problem: Problem, rng: np.random.RandomState, *, max_steps: int = 1000, step_tol: float = 1e-9) -> Relaxed:
    """Climb from random orthonormal P until a step raises the value by less than `step_tol` of it."""
    A, K = problem.objective.A, WeightedKernel(problem)
    P = np.linalg.qr(rng.standard_normal((problem.kernel.n_samples, len(A))))[0]
    history: list[float] = []
    for step in range(1, max_steps + 1):
        image = K @ P
        history.append(trace_value(image, P, A))
        if step > 1 and history[-1] - history[-2] <= step_tol * abs(history[-1]):
            return Relaxed(P, history[-1], n_iter=step, history=history)
        P = polar_factor(image @ A)
    return Relaxed(P, trace_value(K @ P, P, A), n_iter=max_steps, stopped_because="max_steps", history=history)
