"""Robust multiple kernel k-means (Du, Zhou, Shi, Wang, Fan, Wang and Shen, 2015): distances instead of their squares.

    min over labels y, centres z, w >= 0 with sum_p w_p^gamma = 1:  sum_i |phi_w(x_i) - z_{y_i}|,  K_w = sum_p w_p K_p

For samples that fit nowhere: each pulls with the same force however far away it is. Solved by reweighting: squares
divided by twice the last distance lie above the distance and touch it, so the sum falls in every step. An empty cluster
takes the sample farthest from its centre, which then is its own centre: the sum falls again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from kernelclust._names import check_number
from kernelclust.multikernel import Method, Relaxed, Task
from kernelclust.multikernel._refine import k_means
from kernelclust.multikernel._spectral import mean_space

ROUNDING = 16 * np.finfo(float).eps  # squared distances of so much of the kernel's mean diagonal entry are zero


@dataclass(eq=False, repr=False)
class RMKKM(Method):
    """Cluster by distances instead of their squares, so that outliers pull no harder than others.

    `gamma` in (0, 1): the larger, the fewer kernels are used. Starts from k-means of the mean kernel.

    The other parameters are those of all methods (see `kernelclust.multikernel.Method`).
    """

    gamma: float = 0.5
    tol: float = 1e-6

    def check(self) -> None:
        super().check()
        check_number("gamma", self.gamma, above=True)
        if self.gamma >= 1:
            raise ValueError(f"gamma={self.gamma!r} of method='rmkkm': give a number between 0 and 1.")

    def solve(self, task: Task) -> Relaxed:
        kernels, c, m, n = task.kernels, task.n_clusters, len(task.kernels), task.n_samples
        diagonals = [kernel.diagonal() for kernel in kernels]
        space = mean_space(task)
        space.converge(np.full(m, 1 / m))
        labels = k_means(space.H, task, self.starts)
        w = np.full(m, m ** (-1 / self.gamma))
        pull = task.weight.copy()
        centres = np.zeros((n, c))
        history: list[float] = []
        converged = False
        while len(history) < task.max_iter and not converged:
            centres = _centres(labels, pull, centres)
            squared = np.stack([_squared_distances(*one, centres) for one in zip(kernels, diagonals, strict=True)])
            total = np.tensordot(w, squared, 1)
            before = labels, w
            labels = np.argmin(total, axis=1)
            _fill(labels, total, squared)
            own = squared[:, np.arange(n), labels]
            w = _kernel_weights(own @ pull, self.gamma)
            distance = np.sqrt(w @ own)
            history.append(float(task.weight @ distance))
            if len(history) > 1 and history[-1] > history[-2]:  # roots of rounding: distances have come down to it
                (labels, w), converged = before, bool(history.pop())
                break
            pull = task.weight / (2 * np.maximum(distance, 1e-10 * (distance.mean() or 1.0)))
            converged = len(history) > 1 and history[-2] - history[-1] <= self.tol * abs(history[-1])
        share = w / w.sum()
        space.converge(share)
        return Relaxed(share, space.H, history[-1], history, converged, coefficients=share, labels=labels)


def _centres(labels: np.ndarray, pull: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Coefficients (n x c) of weighted means; an empty cluster keeps its last one."""
    centres = np.zeros_like(last)
    centres[np.arange(len(labels)), labels] = pull
    mass = centres.sum(axis=0)
    return np.where(mass > 0, centres / np.where(mass > 0, mass, 1), last)


def _squared_distances(kernel, diagonal: np.ndarray, centres: np.ndarray) -> np.ndarray:
    image = kernel @ centres
    squared = diagonal[:, None] - 2 * image + np.einsum("ij,ij->j", centres, image)
    return np.where(squared > ROUNDING * np.abs(diagonal).mean(), squared, 0.0)


def _fill(labels: np.ndarray, total: np.ndarray, squared: np.ndarray) -> None:
    """Give every empty cluster the farthest sample of those with company, in place; it is its own centre there."""
    count = np.bincount(labels, minlength=total.shape[1])
    own = total[np.arange(len(labels)), labels]
    for empty in np.flatnonzero(count == 0):
        chosen = int(np.argmax(np.where(count[labels] > 1, own, -1.0)))
        count[labels[chosen]] -= 1
        count[empty] += 1
        labels[chosen], own[chosen] = empty, 0.0
        squared[:, chosen, empty] = 0.0


def _kernel_weights(cost: np.ndarray, gamma: float) -> np.ndarray:
    """Least w'cost with sum_p w_p^gamma = 1; in logarithms, because costs may be tiny."""
    largest = float(cost.max())
    log_cost = np.log(np.maximum(cost / largest, np.finfo(float).eps)) if largest > 0 else np.zeros(len(cost))
    return np.exp(log_cost / (gamma - 1) - logsumexp(gamma * log_cost / (gamma - 1)) / gamma)


PART = RMKKM
