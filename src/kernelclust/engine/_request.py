"""What a fit is asked for, its samples, and the policy that decides what the request leaves open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kernelclust._solution import Solution
from kernelclust.constraints import Constraints
from kernelclust.kernels import FittedKernel, Spectrum
from kernelclust.solvers import Options, Problem
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
    """Decide what a request leaves open, in one fit.

    This class is the policy of a kernel that the user chose: it follows the request and the capabilities that the
    kernel declares. A policy that compares kernels and chooses overrides some of the methods; `fit` calls all of them
    in the order in which they stand here.
    """

    def __init__(self, request: Request, samples: Samples, kernel: FittedKernel):
        self.request, self.samples, self.kernel = request, samples, kernel

    @staticmethod
    def arrangement_kernel(settings: dict[str, Any], structure: Structure) -> dict[str, Any]:
        """Return the settings of `fit_kernel` whose kernel assigns clusters to nodes of this structure."""
        return settings

    def size_prior(self) -> float:
        """Return the size prior of the objective; 0 for "auto"."""
        return 0.0 if isinstance(self.request.size_prior, str) else float(self.request.size_prior)

    def tie_break(self) -> tuple[np.ndarray, float] | None:
        """Return labels that settle near ties of the search, and the fraction of F that is a near tie."""
        return None

    def refines(self, kernel: FittedKernel) -> bool:
        """Return whether clusters are improved with F on the structure after their assignment to nodes.

        Two-dimensional structures are refined under every kernel: commute times hold no order there, and F corrects
        some of it. The flat structure has no other F.
        """
        A = self.request.structure.kernel
        flat = np.array_equal(A, A[0, 0] * np.eye(len(A)))
        return kernel.supports_refinement or self.request.structure.is_map or flat

    def search(
        self, solve: Callable[..., Solution], kernel: FittedKernel, problem: Problem, rng: np.random.RandomState
    ) -> tuple[FittedKernel, Problem, Solution]:
        """Return the solution, and the kernel and the problem that it solves."""
        return kernel, problem, solve(problem, self.options(kernel), rng, **self.request.solver_params)

    def options(self, kernel: FittedKernel) -> Options:
        """Return how to search under a kernel."""
        options = self.request.options
        search = "place" if options.search == "refine" and not self.refines(kernel) else options.search
        return replace(options, search=search, power=distance_exponent(kernel, self.request.structure))

    def diagnostics(self, labels: np.ndarray) -> dict[str, float]:
        """Return what the policy compared, for these final labels; warn where the user should know."""
        return {}


@dataclass(frozen=True)
class Request:
    """What to fit, every part checked: the terms of the formula and how to search."""

    structure: Structure
    kernel: dict[str, Any] = field(default_factory=dict)  # settings of fit_kernel
    policy: type[Policy] = Policy
    loss: Any = None
    normalize: str | None = "l2"
    rho: float = 0.0
    size_prior: float | str = 0.0
    solver: str = "greedy"
    solver_params: dict[str, Any] = field(default_factory=dict)
    options: Options = field(default_factory=Options)
    ridge: Callable[[Spectrum, float, float], float] | None = None  # of the discriminative kernel
    random_state: Any = None
    confidence: bool = True  # whether the order of the clusters is judged


def distance_exponent(kernel: FittedKernel, structure: Structure) -> float:
    """Return the exponent of the squared distances that assign clusters to the nodes of a structure."""
    return kernel.ring_distance_exponent if structure.is_closed else 1.0
