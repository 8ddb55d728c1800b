"""Localised multiple kernel k-means (Goenen and Margolin, 2014): every sample weighs the kernels its own way.

    min over t >= 0 with sum_p t_ip = 1, H'H = I:  Tr(K_t (I - H H')),  K_t = sum_p diag(t_p) K_p diag(t_p)

For views that are good for some samples and bad for others. The weights solve a convex program of n m variables; here
by accelerated projected gradients with products of the kernels only, so nothing of size nm x nm is ever formed. Copies
of a sample have the same weights, so that sample weights count as copies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelclust._names import check_number
from kernelclust.kernels import weighted_product
from kernelclust.multikernel import Method, Relaxed, Task
from kernelclust.multikernel._spectral import start_block, sum_of
from reproduction.multikernel._eigen import leading_eigenvectors
from reproduction.multikernel._simplex import project_on_simplex


@dataclass(eq=False, repr=False)
class LMKKM(Method):
    """Weigh the kernels for every sample in its own way.

    `n_steps` gradient steps at most for the weights, between two sets of eigenvectors.

    The other parameters are those of all methods (see `kernelclust.multikernel.Method`).
    """

    n_steps: int = 100
    tol: float = 1e-6

    def check(self) -> None:
        super().check()
        check_number("n_steps", self.n_steps, whole=True, least=1)

    def solve(self, task: Task) -> Relaxed:
        kernels, k, w = task.kernels, task.n_clusters, task.weight[:, None]
        m, n = len(kernels), task.n_samples
        diagonals = np.column_stack([kernel.diagonal() for kernel in kernels])
        silent = (diagonals == 0) & (diagonals > 0).any(axis=1, keepdims=True)  # a view that does not hold the sample

        def project(t: np.ndarray) -> np.ndarray:
            return project_on_simplex(np.where(silent, -np.inf, t))

        t = project(np.full((n, m), 1 / m))
        # |K o (I - H H')| is at most the largest diagonal entry of K
        step = 1 / (2 * max(diagonals.max(), np.finfo(float).tiny))
        block = start_block(n, k, task.rng)
        history: list[float] = []
        converged = False
        while len(history) < task.max_iter and not converged:

            def product(V: np.ndarray, t=t) -> np.ndarray:
                return sum_of(
                    t[:, [p]] * weighted_product(kernel, task.root, t[:, [p]] * V) for p, kernel in enumerate(kernels)
                )

            block = leading_eigenvectors(product, block, k)[1]
            H = block[:, :k] if task.root is None else block[:, :k] / task.root

            def half_gradient(t: np.ndarray, H=H) -> np.ndarray:
                """(K_p o (I - H H')) t_p for every p, for one copy of each sample."""
                parts = [(H * (kernel @ (H * (w * t[:, [p]])))).sum(axis=1) for p, kernel in enumerate(kernels)]
                return diagonals * t - np.column_stack(parts)

            t, value = _descend(half_gradient, project, t, step, self.n_steps, self.tol, w)
            history.append(value)
            converged = len(history) > 1 and history[-2] - history[-1] <= self.tol * abs(history[-1])
        weights = (w * t).sum(axis=0) / w.sum()
        return Relaxed(weights, H, history[-1], history, converged, coefficients=np.ones(m), by_sample=t)


def _descend(
    half_gradient, project, t: np.ndarray, step: float, n_steps: int, tol: float, weight: np.ndarray | float = 1.0
) -> tuple[np.ndarray, float]:
    """Least <w t, half_gradient(t)> over rows in the simplex, by accelerated steps; never above the start.

    The gradient is linear, so that at the extrapolated point it follows from those at the last two.
    """
    slope = half_gradient(t)
    value = float((weight * t * slope).sum())
    lead, lead_slope, momentum = t, slope, 1.0
    for _ in range(n_steps):
        new = project(lead - 2 * step * lead_slope)
        new_slope = half_gradient(new)
        new_value = float((weight * new * new_slope).sum())
        if new_value > value:
            if momentum == 1.0:
                break
            lead, lead_slope, momentum = t, slope, 1.0  # overshot: start again without momentum
            continue
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = (momentum - 1) / following
        lead, lead_slope = new + ahead * (new - t), new_slope + ahead * (new_slope - slope)
        fall = value - new_value
        t, slope, value, momentum = new, new_slope, new_value, following
        if fall <= 0.1 * tol * abs(value):
            break
    return t, value


PART = LMKKM
