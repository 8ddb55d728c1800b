"""solver="nmf": non-negative P by multiplicative updates, as Song (2008) describes them.

K is shifted to be non-negative, and P <- P o sqrt(K P A / (P P' K P A)). The shift means that the value maximised is
no longer the centred one: kept for comparison; the other solvers do better.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelclust.kernels import row_blocks
from kernelclust.solvers._base import Problem
from kernelclust.solvers._relaxation import Relaxation, Relaxed, WeightedKernel, trace_value


@dataclass(eq=False, repr=False)
class NMF(Relaxation):
    """Relax labels to non-negative P and maximise F over P by multiplicative updates.

    Parameters
    ----------
    max_steps : int, default=500
    step_tol : float, default=1e-6
        Stop when no entry of P changes by more than this fraction of the largest.
    polish, tol, allow_empty
        As in `Spectral`.

    Examples
    --------
    >>> from kernelclust.solvers import NMF
    >>> NMF(polish=False)
    NMF(polish=False)
    """

    max_steps: int = 500
    step_tol: float = 1e-6

    def relax(self, problem: Problem, rng: np.random.RandomState) -> Relaxed:
        """Update P from a random non-negative initialization."""
        A, K = problem.objective.A, WeightedKernel(problem)
        shift = -min(lowest_entry(problem.kernel), 0.0)
        root = K.root
        P = rng.uniform(0.1, 1.0, (problem.kernel.n_samples, len(A))) / np.sqrt(problem.kernel.n_samples)
        tiny = np.finfo(float).tiny
        history: list[float] = []
        while len(history) < self.max_steps:
            image = K @ P + shift * np.outer(root, root @ P)  # (K + shift 11') P
            slope = np.maximum(image @ A, 0.0)
            new = P * np.sqrt(slope / np.maximum(P @ (P.T @ slope), tiny))
            change = np.abs(new - P).max()
            P = new
            history.append(trace_value(K @ P, P, A))
            if change <= self.step_tol * P.max():
                return Relaxed(P, history[-1], n_iter=len(history), history=history)
        return Relaxed(P, history[-1], n_iter=self.max_steps, stopped_because="max_steps", history=history)


def lowest_entry(kernel) -> float:
    """Return the smallest entry of the centred kernel, in blocks."""
    lowest = np.inf
    for rows in row_blocks(kernel.n_samples, kernel.n_samples):
        lowest = min(lowest, float(kernel.rows(rows).min()))
    return lowest


PART = NMF
