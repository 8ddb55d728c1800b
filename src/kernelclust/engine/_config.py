"""Configuration of a fit, its samples, and the policy that decides what the configuration leaves open."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernelclust._solution import Solution
from kernelclust.constraints import Constraints
from kernelclust.kernels import FittedKernel, Spectrum
from kernelclust.objectives import Dependence
from kernelclust.solvers import Advice, Problem, Run, Solver
from kernelclust.solvers.greedy import Greedy
from kernelclust.structures import Structure


@dataclass(frozen=True)
class Samples:
    """The samples of a fit, all of positive weight.

    `X` is None where only a kernel is given. `known` holds labels, links and sizes; `copies` holds groups of equal
    samples, which move together, where no links or sizes are known.
    """

    X: Any
    weight: np.ndarray
    known: Constraints | None = None
    copies: Constraints | None = None


class Policy:
    """Decide what a configuration leaves open, in one fit.

    This class is the policy of a kernel that the user chose: it follows the configuration and the capabilities that the
    kernel declares. A policy that compares kernels and chooses overrides some of the methods; `fit` makes it before it
    computes the `kernel`, then calls all methods in the order in which they stand here.
    """

    kernel: FittedKernel

    def __init__(self, config: FitConfig, samples: Samples):
        self.config, self.samples = config, samples

    def under(self, config: FitConfig) -> Policy:
        """Return the policy of a fit of the same samples and number of clusters with other settings."""
        other = copy(self)
        other.config = config
        return other

    @staticmethod
    def arrangement_kernel(settings: dict[str, Any], structure: Structure) -> dict[str, Any]:
        """Return the settings of `fit_kernel` whose kernel assigns clusters to nodes of this structure."""
        return settings

    def size_prior(self) -> float:
        """Return the size prior of the objective; 0 for "auto"."""
        given = self.config.objective.size_prior
        return 0.0 if isinstance(given, str) else float(given)

    def tie_break(self) -> Advice | None:
        """Return labels that settle near ties of the search."""
        return None

    def refines(self, kernel: FittedKernel) -> bool:
        """Return whether clusters are improved with F on the structure after their assignment to nodes.

        Two-dimensional structures are refined under every kernel: commute times hold no order there, and F corrects
        some of it. The flat structure has no other F.
        """
        A = self.config.structure.kernel
        flat = np.array_equal(A, A[0, 0] * np.eye(len(A)))
        return kernel.supports_refinement or self.config.structure.is_multidimensional or flat

    def search(
        self, kernel: FittedKernel, problem: Problem, rng: np.random.RandomState
    ) -> tuple[FittedKernel, Problem, Solution]:
        """Return the solution, and the kernel and the problem that it solves."""
        return kernel, problem, self.solver(kernel).solve(problem, self.config.run, rng)

    def solver(self, kernel: FittedKernel) -> Solver:
        """Return the solver as it searches under a kernel."""
        solver = self.config.solver
        return solver if self.refines(kernel) else solver.without_refinement()

    def second_labels(self) -> np.ndarray | None:
        """Return other clusters of the samples, without structure, whose probabilities of structures count as well."""
        return None

    def diagnostics(self, labels: np.ndarray) -> dict[str, float]:
        """Return what the policy compared, for these final labels; warn where the user should know."""
        return {}


@dataclass(frozen=True)
class FitConfig:
    """Checked settings of a fit: the terms of the formula and the search."""

    structure: Structure
    kernel: dict[str, Any] = field(default_factory=dict)  # settings of fit_kernel
    policy: type[Policy] = Policy
    objective: Dependence = field(default_factory=Dependence)
    solver: Solver = field(default_factory=Greedy)
    run: Run = field(default_factory=Run)
    ridge: Callable[[Spectrum, float, float], float] | None = None  # of the discriminative kernel
    random_state: Any = None
    confidence: bool = True  # whether the order of the clusters is judged


def distance_exponent(kernel: FittedKernel, structure: Structure) -> float:
    """Return the exponent of the squared distances that assign clusters to the nodes of a structure."""
    return kernel.ring_distance_exponent if structure.is_cyclic else 1.0
