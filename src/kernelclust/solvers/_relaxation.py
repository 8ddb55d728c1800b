"""What the relaxations share: the weighted problem, the way back to labels, and the finish by greedy moves.

With sample weights w the relaxed labels are P = D^1/2 Pi N^-1, D = diag(w): orthonormal columns, and P P' sqrt(w) =
sqrt(w). Without weights these are the papers' P'P = I and P P' 1 = 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kernelclust._solution import Solution
from kernelclust.constraints import Constraints, repair, size_wishes
from kernelclust.solvers import _starts as starts
from kernelclust.solvers._climb import climb
from kernelclust.solvers._label_placement import place_known
from kernelclust.solvers._placement import best_placement, placement_problem
from kernelclust.solvers._problem import Options, Problem


@dataclass(frozen=True)
class Relaxed:
    """Relaxed labels P (m x c), the objective tr(K P A P') there and, where it is one, an upper bound on every F."""

    P: np.ndarray
    value: float
    bound: float = np.inf
    n_iter: int = 1
    stopped_because: str = "converged"
    history: list[float] = field(default_factory=list)


class WeightedKernel:
    """V -> D^1/2 K D^1/2 V."""

    def __init__(self, problem: Problem):
        self.kernel = problem.kernel
        self.root = np.sqrt(problem.kernel.weight)

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        return self.root[:, None] * (self.kernel @ (self.root[:, None] * V))


def require_l2(problem: Problem, solver: str, also: str = "") -> None:
    """The relaxations are of orthonormal P: l2, no loss and no size prior."""
    objective = problem.objective
    if objective.normalize != "l2" or objective.has_loss or objective.size_prior:
        raise ValueError(
            f"solver={solver!r} relaxes normalize='l2' without a loss or size prior{also}; use solver='greedy' for "
            "others."
        )


def trace_value(product: np.ndarray, P: np.ndarray, A: np.ndarray) -> float:
    """tr(K P A P') from product = K P."""
    return float(((product @ A) * P).sum())


def polar_factor(matrix: np.ndarray) -> np.ndarray:
    """Nearest matrix with orthonormal columns."""
    left, _, right = np.linalg.svd(matrix, full_matrices=False)
    return left @ right


def non_negative_orthonormal(P: np.ndarray, max_iter: int = 100) -> np.ndarray:
    """Alternate projections on orthonormal and on non-negative matrices (5.3 of the relaxations paper)."""
    P = -P if P.sum() < 0 else P
    for _ in range(max_iter):
        new = np.maximum(polar_factor(P), 0.0)
        if np.abs(new - P).max() < 1e-8:
            return new
        P = new
    return P


def labels_of(P: np.ndarray, problem: Problem) -> np.ndarray:
    """Each sample to the column with its largest entry; empty clusters filled."""
    return starts.fill_empty(np.argmax(P, axis=1), problem.spectrum.embedding, problem.objective.n_clusters)


def _numbered(labels: np.ndarray, problem: Problem, constraints: Constraints) -> np.ndarray:
    """Clusters renumbered: sizes of places kept, F large, and known labels right."""
    if not constraints.known:
        return labels
    objective = problem.objective
    S = problem.kernel.cluster_sums(labels, objective.n_clusters)
    linear = size_wishes(constraints, labels, S, objective.A)
    placing = placement_problem("F", objective, S, problem.sizes(labels), linear=linear)
    return place_known(placing, constraints, labels, problem.spectrum.embedding, problem.structure)[labels]


def finish(problem: Problem, options: Options, relaxed: Relaxed, labels: np.ndarray) -> Solution:
    """Labels as they are, or, with `polish`, improved by point moves and placement by F: the cascade of CLUHSIC 5.

    What is known about samples is kept either way: clusters are numbered by F and known labels together, and samples
    that break a constraint go to the nearest cluster that does not.
    """
    objective, kernel = problem.objective, problem.kernel
    constraints = problem.constraints_for(objective)
    if constraints is not None:
        labels = repair(constraints, _numbered(labels, problem, constraints), problem.spectrum.embedding)
    if options.polish:

        def by_value(S: np.ndarray, n: np.ndarray, **known: Any) -> np.ndarray:
            return best_placement(placement_problem("F", objective, S, n, **known))

        placing = None if options.placement is None else by_value
        climbed = climb(kernel, objective, labels, placement=placing, constraints=constraints, **options.climbing)
        stopped = relaxed.stopped_because if climbed.converged else climbed.stopped_because
        n_iter = relaxed.n_iter + climbed.n_iter
        return replace(
            climbed, n_iter=n_iter, stopped_because=stopped, bound=relaxed.bound, relaxed_value=relaxed.value
        )
    S = kernel.cluster_sums(labels, objective.n_clusters)
    value = objective.value(S, problem.sizes(labels))
    return Solution(
        labels,
        value,
        S,
        relaxed.n_iter,
        relaxed.stopped_because,
        [value],
        bound=relaxed.bound,
        relaxed_value=relaxed.value,
    )
