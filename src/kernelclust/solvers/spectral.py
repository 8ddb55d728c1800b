"""solver="spectral": P* = U V', the best orthonormal P (proposition 2 of the relaxations paper).

U are leading eigenvectors of K, V of A, and tr(K P* A P*') = sum lambda_i mu_i. Each eigenvector's sign is free and
decides the places, so the rounding tries them: that is what keeps what A says.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from kernelclust._solution import Solution
from kernelclust.kernels import LowRankKernel
from kernelclust.solvers._problem import Options, Problem
from kernelclust.solvers._relaxation import Relaxed, finish, labels_of, require_l2

PARAMETERS = ()
SIGNS = 128  # sign patterns tried at most
ROUNDS = 3  # of rounding, each with the sizes that the last one found


def solve(problem: Problem, options: Options, rng: np.random.RandomState) -> Solution:
    require_l2(problem, "spectral")
    relaxed = relax(problem)
    return finish(problem, options, relaxed, round_signs(relaxed.P, problem, rng))


def relax(problem: Problem) -> Relaxed:
    """P* and its value; the value bounds every F where the leading eigenvalues are exact."""
    c = problem.objective.n_clusters
    values, vectors = np.linalg.eigh(problem.objective.A)
    k = min(c, problem.spectrum.functions.shape[1])
    U = np.sqrt(problem.kernel.weight)[:, None] * problem.spectrum.functions[:, :k]
    eigenvalues = np.maximum(problem.spectrum.values[:k], 0)
    return Relaxed(U @ vectors[:, ::-1][:, :k].T, float(eigenvalues @ values[::-1][:k]))


def round_signs(P: np.ndarray, problem: Problem, rng: np.random.RandomState) -> np.ndarray:
    """Labels of the best rounding of P = U V' over signs of U, by F in the leading eigenvectors.

    K is centred, so its constant direction is free: it is set to 1 w'/sqrt(m) with w = sqrt(n / m) for the sizes at
    hand, equal ones first, and U V' to what is left beside it.
    """
    objective, c = problem.objective, problem.objective.n_clusters
    root = np.sqrt(problem.kernel.weight)
    total = problem.kernel.weight.sum()
    E = LowRankKernel(problem.spectrum.embedding, problem.kernel.weight)
    U = P @ np.linalg.eigh(objective.A)[1][:, ::-1][:, : c - 1]  # back to the eigenvectors of K
    n = np.full(c, total / c)
    best: tuple[float, np.ndarray] = (-np.inf, labels_of(P / root[:, None], problem))
    for _ in range(ROUNDS if c > 1 else 0):
        w = np.sqrt(n / total)
        W = np.linalg.svd(w[None, :])[2][1:].T  # basis of the complement of w
        V = W @ np.linalg.eigh(W.T @ objective.A @ W)[1][:, ::-1]
        constant = np.outer(root, w) / np.sqrt(total)
        for signs in _sign_patterns(c - 1, rng):
            labels = labels_of((constant + (U * signs) @ V.T) / root[:, None], problem)
            value = objective.value(E.cluster_sums(labels, c), problem.sizes(labels))
            if value > best[0]:
                best = (value, labels)
        n = problem.sizes(best[1])
    return best[1]


def _sign_patterns(k: int, rng: np.random.RandomState) -> list[np.ndarray]:
    if 2**k <= SIGNS:
        return [np.array(signs) for signs in product([1.0, -1.0], repeat=k)]
    return [rng.choice([-1.0, 1.0], k) for _ in range(SIGNS)]
