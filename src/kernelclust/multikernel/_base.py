"""The base class of all methods for many kernels, what a method is given and what it returns."""

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
    """Prepared kernels over the same samples, and how to search.

    `M` (m x m) compares kernels; `space` is a `Subspace` to go on in.
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
    """Weights and embedding, and how they were reached.

    `weights` (m,) add up to one; kernels are combined with `coefficients` (m,), or with `by_sample` (n, m) for every
    sample its own; neither where the embedding is all there is. The rows of `embedding` H belong to samples, the same
    for a sample and its copies, so that H' D H = I with sample weights D. `learns`: the weights are those of eq. (8)
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
    """Base class of the methods for many kernels: a file each, which ends in `PART = TheClass`.

    A method writes `solve`, and `check` where it has parameters of its own. Methods that go in steps also take `tol`,
    the relative fall of the objective at which they stop. All take these, because the frame around `solve` reads them:

    Parameters
    ----------
    refine : bool, default=True
        Whether labels are improved by discrete moves. False is the papers' methods; samples are then moved only where
        known labels, links and sizes demand it. A method whose labels are discrete already is refined only for a
        structure, a loss, or where something is known.
    center, unit_diagonal : bool, default=True
        Whether kernels are centred, then scaled to a unit diagonal. Graph kernels are always centred.
    n_init : int or "auto", default="auto"
        k-means starts on the rows of the embedding; the lowest inertia counts. "auto" is 10.
    """

    kind = "method"
    example = "MKKMMR(lam=0.5)"
    hyphens = True

    needs: ClassVar[tuple[str, ...]] = ()  # members of kernels beyond the common ones, such as "affinity"
    unweighted: ClassVar[str | None] = None  # why it takes no sample weights
    may_rise: ClassVar[bool] = False  # whether its history need not fall
    extra_matrices: ClassVar[tuple[int, int]] = (0, 0)  # (a, b): it holds a m + b matrices of n x n beside m kernels

    refine: bool = True
    center: bool = True
    unit_diagonal: bool = True
    n_init: int | str = "auto"
    tol = 0.0  # a parameter of methods that go in steps

    def solve(self, task: Task) -> Relaxed:
        """Find kernel weights, and an embedding whose rows are then clustered."""
        raise NotImplementedError

    def check(self) -> None:
        for name in ("refine", "center", "unit_diagonal"):
            check_flag(name, getattr(self, name))
        check_starts(self.n_init)
        check_number("tol", self.tol)

    def check_kernels(self, kernels: Sequence[KernelOperator]) -> None:
        """Raise an error that names what the method needs and a kernel does not have."""
        for need in self.needs:
            for p, kernel in enumerate(kernels):
                if getattr(kernel, need, None) is None:
                    raise ValueError(
                        f"method={self.name!r} needs kernels with `{need}`, which kernel {p} ({type(kernel).__name__}) "
                        "lacks; use another kernel or method."
                    )

    def check_weights(self, weight: np.ndarray) -> None:
        """Refuse sample weights that the method would have to ignore."""
        if self.unweighted is not None and not np.all(weight == 1):
            raise ValueError(
                f"method={self.name!r} takes no sample_weight other than 0 and 1: {self.unweighted} Repeat samples "
                "instead, or use another method, such as 'mkkm-mr'."
            )

    def compare(self, kernels: Sequence[KernelOperator]) -> np.ndarray:
        """Return M (m x m), which says how alike two kernels are."""
        return np.diag([kernel.trace() for kernel in kernels])

    def has_variants(self, task: Task) -> bool:
        """Return whether several variants of the method are tried, and the one whose labels align best is kept."""
        return False

    def variants(self, task: Task) -> list[tuple[Method, Task]]:
        """Return the variants, each with the task that it is given."""
        return [(self, task)]

    def products(self, task: Task) -> np.ndarray:
        """Return Tr(K_p K_q) (m x m), by which variants are judged."""
        return correlation_matrix(task.kernels)

    def unsupported_beyond_host(self) -> list[str]:
        """Return what of it is not there for views on devices and in partitions."""
        return [f"method={self.name!r}"]

    @property
    def default_kernel(self) -> str:
        """Return the kernel that kernel="auto" stands for; methods that walk along affinities need kernels that are
        affinities.
        """
        return "rbf" if "affinity" in self.needs else "auto"

    @property
    def starts(self) -> int:
        """The number of k-means starts."""
        return STARTS if isinstance(self.n_init, str) else int(self.n_init)


def make_task(method: Method, kernels: Sequence[KernelOperator], n_clusters: int, rng: Any, max_iter: int) -> Task:
    """Return what a method is asked, of prepared kernels."""
    return Task(kernels, n_clusters, rng, method.compare(kernels), max_iter)
