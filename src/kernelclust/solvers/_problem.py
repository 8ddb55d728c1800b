"""What every solver is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelclust.constraints import Constraints
from kernelclust.kernels import KernelOperator, Spectrum
from kernelclust.objectives import ClusterObjective
from kernelclust.structures import Structure


def _silent(line: str) -> None:
    pass


@dataclass(frozen=True)
class Problem:
    """The kernel and its spectrum, F, F without structure, what is known about samples, and which are copies.

    `advice` are labels without structure that another kernel gives, and the share of F within which they settle ties.
    """

    kernel: KernelOperator
    spectrum: Spectrum
    objective: ClusterObjective
    flat: ClusterObjective
    constraints: Constraints | None = None
    copies: Constraints | None = None
    advice: tuple[np.ndarray, float] | None = None
    structure: Structure | None = None  # that the objective has A of; found from A where it is not given
    placement: str | None = "distance"  # how clusters find their places; None: by point moves alone
    distance_exponent: float = 1.0  # of the squared distances that "distance" places by

    @property
    def rule(self) -> str:
        """What places are judged by: F where clusters were not placed."""
        return self.placement or "F"

    def unlabelled(self) -> Problem:
        """The same without a look at known labels."""
        return replace(self, constraints=None if self.constraints is None else self.constraints.unlabelled())

    def constraints_for(self, objective: ClusterObjective) -> Constraints | None:
        """The constraints, with soft labels in units of an objective: its bound for equal sizes, a sample."""
        if self.constraints is None:
            return None
        c, total = objective.n_clusters, float(self.kernel.weight.sum())
        bound = objective.size_bound(self.spectrum.bounds, np.full(c, total / c))
        return self.constraints.with_bonus_unit(bound / total if bound > 0 else 1.0)

    def placing(self, objective: ClusterObjective, labels: np.ndarray) -> dict[str, Any]:
        """What a placement of these clusters has to respect."""
        constraints = self.constraints_for(objective)
        return {} if constraints is None else constraints.placing(labels)

    def sizes(self, labels: np.ndarray) -> np.ndarray:
        return np.bincount(labels, self.kernel.weight, minlength=self.objective.n_clusters)


@dataclass(frozen=True)
class Run:
    """What one run brings to any solver beside the problem."""

    max_iter: int = 100  # sweeps over the samples at most, for each start
    n_jobs: int | None = None
    report: Callable[[str], None] = _silent
    quick: bool = False  # fewer starts, and only the best of them finished: for many fits
