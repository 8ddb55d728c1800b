"""solver="spectral": P* = U V', the best orthonormal P (proposition 2 of the relaxations paper).

U are leading eigenvectors of K, V of A, and tr(K P* A P*') = sum lambda_i mu_i. Signs of eigenvectors, and rotations
where eigenvalues of A are equal, are free and decide the places, so the rounding tries them: that is what keeps what A
says.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product

import numpy as np

from kernelclust.kernels import LowRankKernel
from kernelclust.solvers._base import Problem
from kernelclust.solvers._relaxation import Relaxation, Relaxed, WeightedKernel, labels_of, polar_factor

MAX_ROTATIONS = 64  # signs or rotations tried at most
ROUNDING_ROUNDS = 3  # each with the sizes that the last one found
MAX_ALTERNATIONS = 10  # between labels and the rotation nearest to them


class Spectral(Relaxation):
    """Relax labels to orthonormal P and round the exact optimum P* = U V' (spectral relaxation).

    Parameters
    ----------
    polish : bool, default=True
        Whether labels are improved by point moves and assignment of clusters to nodes; False is the paper's method.
    tol : float, default=1e-10
        A sample is moved when F rises by more than tol times the sum of F's absolute terms.
    allow_empty : bool, default=False
        Whether moves may leave a cluster empty.

    Examples
    --------
    >>> from kernelclust.solvers import Spectral
    >>> Spectral(polish=False)
    Spectral(polish=False)
    """

    def relax(self, problem: Problem, rng: np.random.RandomState | None = None) -> Relaxed:
        """Return P* and its value, which bounds every F where the leading eigenvalues are exact."""
        c = problem.objective.n_clusters
        values, vectors = np.linalg.eigh(problem.objective.A)
        k = min(c, problem.spectrum.functions.shape[1])
        U = np.sqrt(problem.kernel.weight)[:, None] * problem.spectrum.functions[:, :k]
        eigenvalues = np.maximum(problem.spectrum.values[:k], 0)
        return Relaxed(U @ vectors[:, ::-1][:, :k].T, float(eigenvalues @ values[::-1][:k]))

    def round(self, relaxed: Relaxed, problem: Problem, rng: np.random.RandomState) -> np.ndarray:
        return round_rotations(relaxed.P, problem, rng)


def round_rotations(P: np.ndarray, problem: Problem, rng: np.random.RandomState) -> np.ndarray:
    """Return labels of the best rounding of P = U V', by F in the leading eigenvectors.

    K is centred, so its constant direction is free: it is set to 1 w'/sqrt(m) with w = sqrt(n / m) for the sizes at
    hand, equal ones first, and U R V' to what is left beside it. R is free too: a sign for each eigenvalue of A, a
    rotation where several are equal. From many R, labels and the R nearest to them are found in turn.
    """
    objective, c = problem.objective, problem.objective.n_clusters
    root = np.sqrt(problem.kernel.weight)
    total = problem.kernel.weight.sum()
    E = LowRankKernel(problem.spectrum.embedding, problem.kernel.weight)
    U = _directions(P, problem)
    n = np.full(c, total / c)
    best: tuple[float, np.ndarray] = (-np.inf, labels_of(P / root[:, None], problem))
    for _ in range(ROUNDING_ROUNDS if c > 1 else 0):
        w = np.sqrt(n / total)
        W = np.linalg.svd(w[None, :])[2][1:].T  # basis of the complement of w
        values, vectors = np.linalg.eigh(W.T @ objective.A @ W)
        V = W @ vectors[:, ::-1]
        groups = _equal_groups(values[::-1])
        constant = np.outer(root, w) / np.sqrt(total)
        for R in _rotations(groups, rng):
            labels = _settle(U, R, V, groups, constant, root, problem)
            value = objective.value(E.cluster_sums(labels, c), problem.sizes(labels))
            if value > best[0]:
                best = (value, labels)
        n = problem.sizes(best[1])
    return best[1]


def _directions(P: np.ndarray, problem: Problem) -> np.ndarray:
    """Return the c - 1 leading eigenvectors of K in the span of P, each shortened by the share that is no more than
    the c-th eigenvalue, which c clusters do not need.
    """
    values, vectors = np.linalg.eigh(P.T @ (WeightedKernel(problem) @ P))
    values, vectors = values[::-1], vectors[:, ::-1]
    leading = np.maximum(values[:-1], np.finfo(float).tiny)
    unneeded = max([0.0, *problem.spectrum.values[len(leading) : len(leading) + 1].tolist()])
    return (P @ vectors[:, :-1]) * (1 - np.minimum(unneeded, leading) / leading)


def _settle(U, R, V, groups: list[slice], constant, root, problem: Problem) -> np.ndarray:
    """Return labels of U R V', the R nearest to them, their labels, and so on until they stay."""
    labels = labels_of((constant + U @ R @ V.T) / root[:, None], problem)
    for _ in range(MAX_ALTERNATIONS):
        n = problem.sizes(labels)
        Z = np.zeros((len(labels), len(n)))
        Z[np.arange(len(labels)), labels] = root / np.sqrt(n[labels])
        pull = U.T @ Z @ V
        for group in groups:
            R[group, group] = polar_factor(pull[group, group])
        new = labels_of((constant + U @ R @ V.T) / root[:, None], problem)
        if np.array_equal(new, labels):
            break
        labels = new
    return labels


def _equal_groups(values: np.ndarray) -> list[slice]:
    """Return stretches of equal values in a descending array."""
    edges = np.flatnonzero(values[:-1] - values[1:] > 1e-9 * max(abs(values[0]), 1e-300)) + 1
    bounds = [0, *edges.tolist(), len(values)]
    return [slice(start, stop) for start, stop in pairwise(bounds)]


def _rotations(groups: list[slice], rng: np.random.RandomState) -> Iterator[np.ndarray]:
    """Yield every pattern of signs, or random orthogonal blocks where there are too many."""
    k = groups[-1].stop
    if len(groups) == k and 2**k <= MAX_ROTATIONS:
        for signs in product([1.0, -1.0], repeat=k):
            yield np.diag(signs)
        return
    for _ in range(MAX_ROTATIONS):
        R = np.zeros((k, k))
        for group in groups:
            size = group.stop - group.start
            R[group, group] = polar_factor(rng.standard_normal((size, size)))
        yield R


PART = Spectral
