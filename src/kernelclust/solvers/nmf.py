"""solver="nmf": non-negative P by multiplicative updates, as Song (2008) describes them.

K is shifted to be non-negative, and P <- P o sqrt(K P A / (P P' K P A)). The shift means that the value maximised is
no longer the centred one: kept for comparison; the other solvers do better.
"""

from __future__ import annotations

import numpy as np

from kernelclust._solution import Solution
from kernelclust.kernels import row_blocks
from kernelclust.solvers._problem import Options, Problem
from kernelclust.solvers._relaxation import Relaxed, WeightedKernel, finish, labels_of, require_l2, trace_value

RELAXES = True


def solve(
    problem: Problem,
    options: Options,
    rng: np.random.RandomState,
    *,
    max_steps: int = 500,
    step_tol: float = 1e-6,
) -> Solution:
    require_l2(problem, "nmf")
    relaxed = relax(problem, rng, max_steps=max_steps, step_tol=step_tol)
    root = np.sqrt(problem.kernel.weight)[:, None]
    return finish(problem, options, relaxed, labels_of(relaxed.P / root, problem))


def relax(problem: Problem, rng: np.random.RandomState, *, max_steps: int = 500, step_tol: float = 1e-6) -> Relaxed:
    """Updates from random non-negative P until none changes by more than `step_tol` relative to the largest entry."""
    A, K = problem.objective.A, WeightedKernel(problem)
    shift = -min(lowest_entry(problem.kernel), 0.0)
    root = K.root
    P = rng.uniform(0.1, 1.0, (problem.kernel.n_samples, len(A))) / np.sqrt(problem.kernel.n_samples)
    tiny = np.finfo(float).tiny
    history: list[float] = []
    while len(history) < max_steps:
        image = K @ P + shift * np.outer(root, root @ P)  # (K + shift 11') P
        slope = np.maximum(image @ A, 0.0)
        new = P * np.sqrt(slope / np.maximum(P @ (P.T @ slope), tiny))
        change = np.abs(new - P).max()
        P = new
        history.append(trace_value(K @ P, P, A))
        if change <= step_tol * P.max():
            return Relaxed(P, history[-1], n_iter=len(history), history=history)
    return Relaxed(P, history[-1], n_iter=max_steps, stopped_because="max_steps", history=history)


def lowest_entry(kernel) -> float:
    """Smallest entry of the centred kernel, in blocks."""
    lowest = np.inf
    for rows in row_blocks(kernel.n_samples, kernel.n_samples):
        lowest = min(lowest, float(kernel.rows(rows).min()))
    return lowest
