"""The base class of all solvers."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from kernelclust._names import check_flag, check_number
from kernelclust._solution import Solution
from kernelclust._terms import Term
from kernelclust.kernels import KernelOperator
from kernelclust.solvers._problem import Problem, Run


class Solver(Term):
    """Base class of the solvers: a file each, which ends in `PART = TheClass`.

    A solver writes `solve`, and `check` where it has parameters of its own. All take `tol` (a sample is moved when F
    rises by more than `tol` times the sum of F's absolute terms) and `allow_empty` (whether moves may leave a cluster
    empty).
    """

    kind = "solver"
    example = "Greedy(search='global')"

    needs: ClassVar[tuple[str, ...]] = ()  # members of operators beyond the common ones
    is_relaxation: ClassVar[bool] = False  # whether it relaxes normalize="l2" without a loss or size prior

    tol: float
    allow_empty: bool

    def solve(self, problem: Problem, run: Run, rng: np.random.RandomState) -> Solution:
        """Find labels with a large F that keep what is known about samples."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise an error for a parameter that no data could make right."""
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
    def name(self) -> str:
        """The name that users write."""
        return type(self).__module__.rpartition(".")[2]

    @property
    def refines(self) -> bool:
        """Whether clusters that were found without structure and placed are then improved with F."""
        return False

    def without_refinement(self) -> Solver:
        """The same solver, which keeps clusters as they are once they are placed."""
        return self

    def starting_from(self, labels: np.ndarray) -> Solver:
        """The same solver with these labels of the samples as its start, where it has one."""
        return self

    def for_samples(self, used: np.ndarray, n_samples: int, n_clusters: int) -> Solver:
        """The same solver for some of the samples, where a parameter is about samples."""
        return self

    def unsupported_beyond_host(self) -> list[str]:
        """What of it is not there for arrays on devices and in partitions."""
        return [f"solver={self.name!r}"]

    def climbing(self, run: Run) -> dict[str, Any]:
        """How far `climb` goes."""
        return {"max_iter": run.max_iter, "tol": self.tol, "allow_empty": self.allow_empty}
