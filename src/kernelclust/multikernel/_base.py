"""The base class of all methods for many kernels, their task and their result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from kernelclust._names import check_flag, check_number, check_starts
from kernelclust._terms import Term
from kernelclust.kernels import KernelOperator
from kernelclust.multikernel._correlation import correlation_matrix

STARTS = 10  # that n_init="auto" stands for


@dataclass(frozen=True)
class Task:
    """Prepared kernels over the same samples, and settings of the search.

    `M` (m x m) holds similarities of kernels; `space` is a `Subspace` to continue in.
    """

    kernels: Sequence[KernelOperator]
    n_clusters: int
    rng: np.random.RandomState
    M: np.ndarray
    max_iter: int = 100
    space: Any = None

    @property
    def n_samples(self) -> int:
        return self.kernels[0].n_samples

    @property
    def weight(self) -> np.ndarray:
        """(n,) weights of the samples."""
        return self.kernels[0].weight

    @cached_property
    def root(self) -> np.ndarray | None:
        """(n, 1) square roots of the weights; None where all are one."""
        return None if np.all(self.weight == 1) else np.sqrt(self.weight)[:, None]

    @cached_property
    def traces(self) -> np.ndarray:
        return np.array([kernel.trace() for kernel in self.kernels])


@dataclass(frozen=True)
class Relaxed:
    """Result of a method: weights, embedding, and information about the search.

    `weights` (m,) add up to one; kernels are combined with `coefficients` (m,), or with `by_sample` (n, m), one row
    for each sample; both are None if the method does not combine kernels. The rows of `embedding` H are samples, with
    H' D H = I for sample weights D. `learns`: the weights are those of eq. (8)
    with `lam`, and with `ridge` added to every residual in units of its kernel's trace, and discrete moves may learn
    them further; kernels are combined as sum_p mu_p^power K_p. `gap` is the optimality gap of the weights.
    """

    weights: np.ndarray
    embedding: np.ndarray
    objective: float
    history: list[float]
    converged: bool
    coefficients: np.ndarray | None = None
    by_sample: np.ndarray | None = None
    labels: np.ndarray | None = None
    learns: bool = False
    lam: float = 0.0
    power: int = 1
    ridge: float = 0.0
    gap: float = 0.0


@dataclass(eq=False, repr=False, kw_only=True)
class Method(Term):
    """Base class of the methods for many kernels. Each has a file of its own, which ends in `PART = TheClass`.

    A method implements `solve`, and `check` if it has parameters of its own. Iterative methods also have `tol`, the
    relative fall of the objective at which they stop. All methods have the following parameters:

    Parameters
    ----------
    refine : bool, default=True
        Whether labels are improved by discrete moves. False is the method of the papers; samples are then moved only to
        satisfy known labels, links and sizes. A method whose labels are discrete already is refined only for a
        structure, a loss, or with side information.
    center, unit_diagonal : bool, default=True
        Whether kernels are centred, then scaled to a unit diagonal. Graph kernels are always centred.
    n_init : int or "auto", default="auto"
        Number of initializations of k-means on the rows of the embedding; the lowest inertia wins. "auto" is 10.
    """

    kind = "method"
    example = "MKKMMR(lam=0.5)"
    hyphens = True

    needs: ClassVar[tuple[str, ...]] = ()  # members of operators beyond those of `KernelOperator`, such as "affinity"
    unweighted: ClassVar[str | None] = None  # why it takes no sample weights
    may_rise: ClassVar[bool] = False  # whether its history need not fall
    extra_matrices: ClassVar[tuple[int, int]] = (0, 0)  # (a, b): it holds a m + b matrices of n x n beside m kernels

    refine: bool = True
    center: bool = True
    unit_diagonal: bool = True
    n_init: int | str = "auto"
    tol = 0.0  # a parameter of methods that go in steps

    def solve(self, task: Task) -> Relaxed:
        """Return kernel weights, and an embedding whose rows are then clustered."""
        raise NotImplementedError

    def check(self) -> None:
        for name in ("refine", "center", "unit_diagonal"):
            check_flag(name, getattr(self, name))
        check_starts(self.n_init)
        check_number("tol", self.tol)

    def check_kernels(self, kernels: Sequence[KernelOperator]) -> None:
        """Raise an error if a kernel operator lacks a member that the method needs."""
        for need in self.needs:
            for p, kernel in enumerate(kernels):
                if getattr(kernel, need, None) is None:
                    raise ValueError(
                        f"method={self.name!r} needs kernels with `{need}`, which kernel {p} ({type(kernel).__name__}) "
                        "lacks; use another kernel or method."
                    )

    def check_weights(self, weight: np.ndarray) -> None:
        """Raise an error for sample weights that the method would have to ignore."""
        if self.unweighted is not None and not np.all(weight == 1):
            raise ValueError(
                f"method={self.name!r} takes no sample_weight other than 0 and 1: {self.unweighted} Repeat samples "
                "instead, or use another method, such as 'mkkm-mr'."
            )

    def compare(self, kernels: Sequence[KernelOperator]) -> np.ndarray:
        """Return M (m x m), the similarities of the kernels."""
        return np.diag([kernel.trace() for kernel in kernels])

    def has_variants(self, task: Task) -> bool:
        """Return True if several variants are tried, and the one whose labels align best is used."""
        return False

    def variants(self, task: Task) -> list[tuple[Method, Task]]:
        """Return the variants, each with its task."""
        return [(self, task)]

    def products(self, task: Task) -> np.ndarray:
        """Return Tr(K_p K_q) (m x m), which variants are compared by."""
        return correlation_matrix(task.kernels)

    def unsupported_beyond_host(self) -> list[str]:
        """Return the names of what is not supported for views on devices and in partitions."""
        return [f"method={self.name!r}"]

    @property
    def default_kernel(self) -> str:
        """Return the kernel for kernel="auto": "rbf" for methods that need affinities."""
        return "rbf" if "affinity" in self.needs else "auto"

    @property
    def starts(self) -> int:
        """Number of initializations of k-means."""
        return STARTS if isinstance(self.n_init, str) else int(self.n_init)


def make_task(method: Method, kernels: Sequence[KernelOperator], n_clusters: int, rng: Any, max_iter: int) -> Task:
    """Return the task of a method, for prepared kernels."""
    return Task(kernels, n_clusters, rng, method.compare(kernels), max_iter)
