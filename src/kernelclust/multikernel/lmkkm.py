"""Localised multiple kernel k-means (Goenen and Margolin, 2014): every sample weighs the kernels its own way.

    min over t >= 0 with sum_p t_ip = 1, H'H = I:  Tr(K_t (I - H H')),  K_t = sum_p diag(t_p) K_p diag(t_p)

For views that are good for some samples and bad for others. The weights solve a convex program of n m variables; here
by accelerated projected gradients with products of the kernels only, so nothing of size nm x nm is ever formed.
"""

from __future__ import annotations

import numpy as np

from kernelclust.multikernel._eigen import leading_eigenvectors, start_block
from kernelclust.multikernel._simplex import project_on_simplex
from kernelclust.multikernel._spectral import sum_of
from kernelclust.multikernel._task import Relaxed, Task

PARAMETERS = ("n_steps",)


def solve(task: Task, n_steps: int = 50) -> Relaxed:
    """`n_steps` gradient steps at most for the weights, between two sets of eigenvectors."""
    kernels, k = task.kernels, task.n_clusters
    m, n = len(kernels), task.n_samples
    t = np.full((n, m), 1 / m)
    diagonals = np.column_stack([kernel.diagonal for kernel in kernels])
    step = 1 / (2 * diagonals.max())  # |K o (I - H H')| is at most the largest diagonal entry of K
    block = start_block(n, k, task.rng)
    history: list[float] = []
    converged = False
    while len(history) < task.max_iter and not converged:

        def product(V: np.ndarray, t=t) -> np.ndarray:
            return sum_of(t[:, [p]] * (kernel @ (t[:, [p]] * V)) for p, kernel in enumerate(kernels))

        block = leading_eigenvectors(product, block, k)[1]
        H = block[:, :k]

        def half_gradient(t: np.ndarray, H=H) -> np.ndarray:
            """(K_p o (I - H H')) t_p for every p."""
            parts = [(H * (kernel @ (H * t[:, [p]]))).sum(axis=1) for p, kernel in enumerate(kernels)]
            return diagonals * t - np.column_stack(parts)

        t, value = _descend(half_gradient, t, step, n_steps, task.tol)
        history.append(value)
        converged = len(history) > 1 and history[-2] - history[-1] <= task.tol * abs(history[-1])
    weights = np.mean(t, axis=0)
    return Relaxed(weights, H, history[-1], history, converged, coefficients=np.ones(m), by_sample=t)


def _descend(half_gradient, t: np.ndarray, step: float, n_steps: int, tol: float) -> tuple[np.ndarray, float]:
    """Least <t, half_gradient(t)> over rows in the simplex; never above the start."""
    slope = half_gradient(t)
    best, value = t, float((t * slope).sum())
    lead, momentum = t, 1.0
    for _ in range(n_steps):
        new = project_on_simplex(lead - 2 * step * slope)
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        new_value = float((new * half_gradient(new)).sum())
        if new_value > value:  # the momentum overshot: start again from the best
            lead, momentum = best, 1.0
            if np.array_equal(lead, t):
                break
        else:
            lead = new + (momentum - 1) / following * (new - best)
            momentum, small = following, value - new_value <= 0.1 * tol * abs(value)
            best, value = new, new_value
            if small:
                break
        slope = half_gradient(lead)
        t = lead
    return best, value
