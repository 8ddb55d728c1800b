"""The base class of all solvers, and what each of them is given."""

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
    """Labels that another kernel gives, without structure and on it (a function that returns them; None for none), and
    the share of F within which they settle ties.
    """

    flat: np.ndarray
    structured: Callable[[], np.ndarray] | None
    tie: float


@dataclass(frozen=True)
class Problem:
    """The kernel and its spectrum, F, F without structure, what is known about samples, and which are copies."""

    kernel: KernelOperator
    spectrum: Spectrum
    objective: ClusterObjective
    flat: ClusterObjective
    constraints: Constraints | None = None
    copies: Constraints | None = None
    advice: Advice | None = None
    structure: Structure | None = None  # that the objective has A of; found from A where it is not given
    placement: str | None = "distance"  # how clusters find their places; None: by point moves alone
    distance_exponent: float = 1.0  # of the squared distances that "distance" places by

    @property
    def rule(self) -> str:
        """Return what places are judged by: F where clusters were not placed."""
        return self.placement or "F"

    def unlabelled(self) -> Problem:
        """Return the same without a look at known labels."""
        return replace(self, constraints=None if self.constraints is None else self.constraints.unlabelled())

    def constraints_for(self, objective: ClusterObjective) -> Constraints | None:
        """Return the constraints, with soft labels in units of an objective: its bound for equal sizes, a sample."""
        if self.constraints is None:
            return None
        c, total = objective.n_clusters, float(self.kernel.weight.sum())
        bound = objective.size_bound(self.spectrum.bounds, np.full(c, total / c))
        return self.constraints.with_bonus_unit(bound / total if bound > 0 else 1.0)

    def placing(self, objective: ClusterObjective, labels: np.ndarray) -> dict[str, Any]:
        """Return what a placement of these clusters has to respect."""
        constraints = self.constraints_for(objective)
        return {} if constraints is None else constraints.placing(labels)

    def sizes(self, labels: np.ndarray) -> np.ndarray:
        return np.bincount(labels, self.kernel.weight, minlength=self.objective.n_clusters)


@dataclass(frozen=True)
class Run:
    """Settings of one run that any solver uses beside the problem."""

    max_iter: int = 100  # sweeps over the samples at most, for each start
    report: Callable[[str], None] = _silent
    quick: bool = False  # fewer starts, and only the best of them finished: for many fits


@dataclass(eq=False, repr=False, kw_only=True)
class Solver(Term):
    """Base class of the solvers: a file each, which ends in `PART = TheClass`.

    A solver writes `solve`, and `check` where it has parameters of its own.

    Parameters
    ----------
    tol : float, default=1e-10
        A sample is moved when F rises by more than tol times the sum of F's absolute terms.
    allow_empty : bool, default=False
        Whether moves may leave a cluster empty.
    """

    kind = "solver"
    example = "Greedy(search='global')"

    needs: ClassVar[tuple[str, ...]] = ()  # members of operators beyond the common ones
    is_relaxation: ClassVar[bool] = False  # whether it relaxes normalize="l2" without a loss or size prior

    tol: float = 1e-10
    allow_empty: bool = False

    def solve(self, problem: Problem, run: Run, rng: np.random.RandomState) -> Solution:
        """Find labels with a large F that keep what is known about samples."""
        raise NotImplementedError

    def check(self) -> None:
        check_number("tol", self.tol)
        check_flag("allow_empty", self.allow_empty)

    def check_kernel(self, kernel: KernelOperator) -> None:
        """Raise an error that names what the solver needs and this kernel does not have."""
        for need in self.needs:
            if getattr(kernel, need, None) is None:
                raise ValueError(
                    f"solver={self.name!r} needs a kernel with `{need}`, which {type(kernel).__name__} lacks."
                )

    def check_placement(self, placement: str | None) -> None:
        """Raise an error where the solver needs another rule by which clusters find their places."""

    @property
    def refines(self) -> bool:
        """Return whether clusters that were found without structure and placed are then improved with F."""
        return False

    def without_refinement(self) -> Solver:
        """Return the same solver, which keeps clusters as they are once they are placed."""
        return self

    def starting_from(self, labels: np.ndarray) -> Solver:
        """Return the same solver with these labels of the samples as its start, where it has one."""
        return self

    def for_samples(self, used: np.ndarray, n_samples: int, n_clusters: int) -> Solver:
        """Return the same solver for some of the samples, where a parameter is about samples."""
        return self

    def unsupported_beyond_host(self) -> list[str]:
        """Return what of it is not there for arrays on devices and in partitions."""
        return [f"solver={self.name!r}"]

    def climbing(self, run: Run) -> dict[str, Any]:
        """Return how far `climb` goes."""
        return {"max_iter": run.max_iter, "tol": self.tol, "allow_empty": self.allow_empty}
