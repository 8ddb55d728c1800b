"""Robust multiple kernel k-means (Du, Zhou, Shi, Wang, Fan, Wang and Shen, 2015): distances instead of their squares.

    min over labels y, centres z, w >= 0 with sum_p w_p^gamma = 1:  sum_i |phi_w(x_i) - z_{y_i}|,  K_w = sum_p w_p K_p

For samples that fit nowhere: each pulls with the same force however far away it is. Solved by reweighting: squares
divided by twice the last distance lie above the distance and touch it, so the sum falls in every step.
"""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans

from kernelclust._names import check_number
from kernelclust.multikernel._spectral import Subspace
from kernelclust.multikernel._task import Relaxed, Task

PARAMETERS = ("gamma", "n_init")


def solve(task: Task, gamma: float = 0.5, n_init: int = 10) -> Relaxed:
    """`gamma` in (0, 1): the larger, the fewer kernels are used. Starts from k-means of the mean kernel."""
    check_number("gamma", gamma, above=True)
    if gamma >= 1:
        raise ValueError(f"gamma={gamma!r} of method='rmkkm': give a number between 0 and 1.")
    kernels, c = task.kernels, task.n_clusters
    m, n = len(kernels), task.n_samples
    space = Subspace(kernels, c, task.rng)
    space.converge(np.full(m, 1 / m))
    labels = KMeans(c, n_init=n_init, random_state=task.rng).fit_predict(space.H)
    w = np.full(m, m ** (-1 / gamma))
    pull = np.ones(n)
    centres = np.zeros((n, c))
    history: list[float] = []
    converged = False
    while len(history) < task.max_iter and not converged:
        centres = _centres(labels, pull, centres)
        squared = np.stack([_squared_distances(kernel, centres) for kernel in kernels])  # (m, n, c)
        total = np.tensordot(w, squared, 1)
        labels = np.argmin(total, axis=1)
        own = squared[:, np.arange(n), labels]
        cost = np.maximum(own @ pull, np.finfo(float).eps * n)
        w = cost ** (1 / (gamma - 1)) / np.sum(cost ** (gamma / (gamma - 1))) ** (1 / gamma)
        distance = np.sqrt(np.maximum(w @ own, 0))
        history.append(float(distance.sum()))
        pull = 1 / (2 * np.maximum(distance, 1e-10 * max(distance.mean(), np.finfo(float).tiny)))
        converged = len(history) > 1 and history[-2] - history[-1] <= task.tol * abs(history[-1])
    space.converge(w / w.sum())
    return Relaxed(w / w.sum(), space.H, history[-1], history, converged, coefficients=w / w.sum(), labels=labels)


def _centres(labels: np.ndarray, pull: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Coefficients (n x c) of weighted means; an empty cluster keeps its last one."""
    centres = np.zeros_like(last)
    centres[np.arange(len(labels)), labels] = pull
    mass = centres.sum(axis=0)
    return np.where(mass > 0, centres / np.where(mass > 0, mass, 1), last)


def _squared_distances(kernel, centres: np.ndarray) -> np.ndarray:
    image = kernel @ centres
    return np.maximum(kernel.diagonal[:, None] - 2 * image + np.einsum("ij,ij->j", centres, image), 0)
