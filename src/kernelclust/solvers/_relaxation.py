"""Code shared by the relaxations: the weighted problem, rounding to labels, and the final greedy moves.

With sample weights w the relaxed labels are P = D^1/2 Pi N^-1, D = diag(w): orthonormal columns, and P P' sqrt(w) =
sqrt(w). Without weights these are the papers' P'P = I and P P' 1 = 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

import numpy as np

from kernelclust._names import check_flag, check_number
from kernelclust._solution import Solution
from kernelclust.constraints import Constraints, repair
from kernelclust.solvers import _starts as starts
from kernelclust.solvers._base import Problem, Run, Solver
from kernelclust.solvers._climb import climb
from kernelclust.solvers._placement import N_RESTARTS, number_by_structure, place_by_value


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


def trace_value(product: np.ndarray, P: np.ndarray, A: np.ndarray) -> float:
    """Return tr(K P A P') from product = K P."""
    return float(((product @ A) * P).sum())


def polar_factor(matrix: np.ndarray) -> np.ndarray:
    """Return the nearest matrix with orthonormal columns."""
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
    """Assign each sample to the column with its largest entry, and fill empty clusters."""
    return starts.fill_empty(np.argmax(P, axis=1), problem.spectrum.embedding, problem.objective.n_clusters)


@dataclass(eq=False, repr=False, kw_only=True)
class Relaxation(Solver):
    """Base class of solvers that relax labels to real P, round P to labels, and improve these by greedy moves.

    A relaxation writes `relax` and `round`.

    Parameters
    ----------
    polish : bool, default=True
        Whether labels are improved by point moves and assignment of clusters to nodes; False is the paper's method.
    tol, allow_empty
        As in every `Solver`.
    """

    is_relaxation = True
    also_relaxes: ClassVar[str] = ""  # beside normalize="l2", in words

    polish: bool = True

    def relax(self, problem: Problem, rng: np.random.RandomState) -> Relaxed:
        """Find relaxed labels."""
        raise NotImplementedError

    def round(self, relaxed: Relaxed, problem: Problem, rng: np.random.RandomState) -> np.ndarray:
        """Return labels (m,) near the relaxed ones: for each sample the column with its largest entry."""
        return labels_of(relaxed.P / np.sqrt(problem.kernel.weight)[:, None], problem)

    def check(self) -> None:
        super().check()
        check_flag("polish", self.polish)
        given = self.get_params(deep=False)
        if "max_steps" in given:
            check_number("max_steps", given["max_steps"], whole=True, least=1)
        if "step_tol" in given:
            check_number("step_tol", given["step_tol"])

    def check_problem(self, problem: Problem) -> None:
        """Raise an error for what has no orthonormal P: l2, no loss and no size prior is relaxed."""
        objective = problem.objective
        if objective.normalize != "l2" or objective.has_loss or objective.size_prior:
            raise ValueError(
                f"solver={self.name!r} relaxes normalize='l2' without a loss or size prior{self.also_relaxes}; use "
                "solver='greedy' for others."
            )

    def solve(self, problem: Problem, run: Run, rng: np.random.RandomState) -> Solution:
        """Relax, round, and polish.

        Constraints are satisfied in any case: clusters are assigned to nodes by F and known labels together, and
        samples that violate a constraint move to the nearest cluster that satisfies it.
        """
        self.check_problem(problem)
        relaxed = self.relax(problem, rng)
        run.report(f"{self.name}: value {relaxed.value:.6g} after {relaxed.n_iter} steps, {relaxed.stopped_because}")
        labels = self.round(relaxed, problem, rng)
        constraints = problem.constraints_for(problem.objective)
        if constraints is not None:
            E = problem.spectrum.embedding
            if constraints.known:
                about = problem.kernel, constraints, labels, E, problem.structure
                labels = number_by_structure("F", problem.objective, *about)
            labels = repair(constraints, labels, E)
        if self.polish:
            return self._polished(problem, run, relaxed, labels, constraints)
        S = problem.kernel.cluster_sums(labels, problem.objective.n_clusters)
        value = problem.objective.value(S, problem.sizes(labels))
        found = Solution(labels, value, S, relaxed.n_iter, relaxed.stopped_because, [value])
        return replace(found, bound=relaxed.bound, relaxed_value=relaxed.value)

    def _polished(
        self, problem: Problem, run: Run, relaxed: Relaxed, labels: np.ndarray, constraints: Constraints | None
    ) -> Solution:
        """Return labels improved by point moves and placement by F: the cascade of CLUHSIC 5."""
        objective = problem.objective

        climbed = climb(
            problem.kernel,
            objective,
            labels,
            placement=None if problem.placement is None else partial(place_by_value, objective, N_RESTARTS),
            constraints=constraints,
            **self.climbing(run),
        )
        stopped = relaxed.stopped_because if climbed.converged else climbed.stopped_because
        n_iter = relaxed.n_iter + climbed.n_iter
        return replace(
            climbed, n_iter=n_iter, stopped_because=stopped, bound=relaxed.bound, relaxed_value=relaxed.value
        )
