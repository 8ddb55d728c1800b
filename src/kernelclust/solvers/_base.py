"""The base class of all solvers, and the problem and settings that are passed to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from kernelclust._names import check_flag, check_number
from kernelclust._solution import Solution
from kernelclust._terms import Term
from kernelclust.constraints import Constraints
from kernelclust.kernels import KernelOperator, Spectrum
from kernelclust.objectives import ClusterObjective
from kernelclust.structures import Structure


def _silent(line: str) -> None:
    pass


@dataclass(frozen=True)
class Advice:
    """Labels from another kernel, which decide between labelings whose F is nearly equal.

    `flat` are labels without structure, `structured` is a function that returns labels on the structure (None if there
    are none), and `tie` is the fraction of F up to which two labelings count as nearly equal.
    """

    flat: np.ndarray
    structured: Callable[[], np.ndarray] | None
    tie: float


@dataclass(frozen=True)
class Problem:
    """One clustering problem: kernel, spectrum, F with and without structure, side information, and equal samples."""

    kernel: KernelOperator
    spectrum: Spectrum
    objective: ClusterObjective
    flat: ClusterObjective
    constraints: Constraints | None = None
    copies: Constraints | None = None
    advice: Advice | None = None
    structure: Structure | None = None  # the structure with kernel A; inferred from A if None
    placement: str | None = "distance"  # rule for assigning clusters to nodes; None: point moves alone
    distance_exponent: float = 1.0  # of the squared distances, for placement="distance"

    @property
    def rule(self) -> str:
        """Return the rule for assigning clusters to nodes; F where there is no such step."""
        return self.placement or "F"

    def unlabelled(self) -> Problem:
        """Return a copy of the problem that ignores known labels."""
        return replace(self, constraints=None if self.constraints is None else self.constraints.unlabelled())

    def constraints_for(self, objective: ClusterObjective) -> Constraints | None:
        """Return the constraints, with soft labels in units of an objective: its bound for equal sizes, per sample."""
        if self.constraints is None:
            return None
        c, total = objective.n_clusters, float(self.kernel.weight.sum())
        bound = objective.size_bound(self.spectrum.bounds, np.full(c, total / c))
        return self.constraints.with_bonus_unit(bound / total if bound > 0 else 1.0)

    def placing(self, objective: ClusterObjective, labels: np.ndarray) -> dict[str, Any]:
        """Return the constraints on assigning these clusters to nodes."""
        constraints = self.constraints_for(objective)
        return {} if constraints is None else constraints.placing(labels)

    def sizes(self, labels: np.ndarray) -> np.ndarray:
        return np.bincount(labels, self.kernel.weight, minlength=self.objective.n_clusters)


@dataclass(frozen=True)
class Run:
    """Settings of one run that all solvers share."""

    max_iter: int = 100  # maximum number of passes over the samples, for each initialization
    report: Callable[[str], None] = _silent
    quick: bool = False  # fewer initializations, and only the best is finished: for many fits


@dataclass(eq=False, repr=False, kw_only=True)
class Solver(Term):
    """Base class of all solvers. Each has a file of its own, which ends in `PART = TheClass`.

    A solver implements `solve`, and `check` if it has parameters of its own.

    Parameters
    ----------
    tol : float, default=1e-10
        A sample is moved when F rises by more than tol times the sum of F's absolute terms.
    allow_empty : bool, default=False
        Whether moves may leave a cluster empty.
    """

    kind = "solver"
    example = "Greedy(search='global')"

    needs: ClassVar[tuple[str, ...]] = ()  # members of the operator beyond those of `KernelOperator`
    is_relaxation: ClassVar[bool] = False  # whether it relaxes normalize="l2" without a loss or size prior

    tol: float = 1e-10
    allow_empty: bool = False

    def solve(self, problem: Problem, run: Run, rng: np.random.RandomState) -> Solution:
        """Return labels with a large F that satisfy the constraints."""
        raise NotImplementedError

    def check(self) -> None:
        check_number("tol", self.tol)
        check_flag("allow_empty", self.allow_empty)

    def check_kernel(self, kernel: KernelOperator) -> None:
        """Raise an error if the kernel operator lacks a member that the solver needs."""
        for need in self.needs:
            if getattr(kernel, need, None) is None:
                raise ValueError(
                    f"solver={self.name!r} needs a kernel with `{need}`, which {type(kernel).__name__} lacks."
                )

    def check_placement(self, placement: str | None) -> None:
        """Raise an error if the solver cannot be used with this rule for assigning clusters to nodes."""

    @property
    def refines(self) -> bool:
        """Return True if clusters without structure are assigned to nodes and then improved with F."""
        return False

    def without_refinement(self) -> Solver:
        """Return a copy that leaves clusters unchanged after they were assigned to nodes."""
        return self

    def starting_from(self, labels: np.ndarray) -> Solver:
        """Return a copy that is initialized with these labels, if the solver has an initialization."""
        return self

    def for_samples(self, used: np.ndarray, n_samples: int, n_clusters: int) -> Solver:
        """Return a copy for the samples `used`; parameters with an entry per sample are restricted to these."""
        return self

    def unsupported_beyond_host(self) -> list[str]:
        """Return the names of what is not supported for arrays on devices and in partitions."""
        return [f"solver={self.name!r}"]

    def climbing(self, run: Run) -> dict[str, Any]:
        """Return the arguments of `climb` that limit the search."""
        return {"max_iter": run.max_iter, "tol": self.tol, "allow_empty": self.allow_empty}
