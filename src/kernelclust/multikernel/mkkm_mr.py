"""Multiple kernel k-means with matrix-induced regularisation (Liu, Dou, Yin, Wang and Zhu, 2016).

    min over mu in the simplex, H'H = I:  sum_p mu_p^2 Tr(K_p (I - H H')) + lam / 2 mu' M mu                 (8)

M holds how alike two kernels are, so that kernels which repeat each other share one vote. The usual choice when views
differ in quality or overlap. Falls in every step for power=2; the authors' program combines kernels with mu instead of
mu^2 (power=1), is calmer for tiny lam, and may rise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kernelclust._names import check_name, check_number
from kernelclust.kernels import KernelOperator
from kernelclust.multikernel._base import Method, Relaxed, Task
from kernelclust.multikernel._correlation import CORRELATIONS, correlation_matrix
from kernelclust.multikernel._spectral import alternate, check_power, lam_path

FROM_SUMS = ("trace", "mmd")  # correlations that follow from the Gram matrix of features


@dataclass(eq=False, repr=False)
class MKKMMR(Method):
    """Learn weights of kernels by how well clusters describe them, with matrix-induced regularisation.

    The regularisation lets similar kernels share one vote.

    Parameters
    ----------
    lam : float or "auto", default="auto"
        Regularisation, in the paper's units: on prepared kernels, M undivided. 0 is `MKKM`. "auto" tries 1/16, 1/4, 1
        and 4 times the value at which both terms are equal for the mean kernel, and returns the fit whose labels align
        best with its combined kernel, <K, P P'> / |K| |P P'| with P the normalised labels (eq. 10 of the paper). Small
        values give weight to kernels that few eigenvectors describe, large ones to kernels that are unlike all others,
        including noise.
    correlation : {"trace", "hsic", "mmd", "kl"} or callable, default="trace"
        M: Tr(K_p K_q) as in the paper, or others (see `kernelclust.multikernel.correlation_matrix`).
    power : {1, 2}, default=2
        Kernels are combined as sum_p mu_p^power K_p. 2 is eq. (8) and falls in every step; 1 is the authors' program.
    ridge : float, default=0.0
        Added to every residual in units of its kernel's trace.
    refine, center, unit_diagonal, n_init
        As in `Average`.
    tol : float, default=1e-6
        Relative fall of the objective at which the method stops.

    Examples
    --------
    >>> from kernelclust.multikernel import MKKMMR
    >>> MKKMMR(lam=0.5, refine=False)
    MKKMMR(lam=0.5, refine=False)
    """

    lam: float | str = "auto"
    correlation: str | Callable = "trace"
    power: int = 2
    ridge: float = 0.0
    tol: float = 1e-6

    def check(self) -> None:
        super().check()
        if isinstance(self.lam, str):
            check_name("lam", self.lam, ["auto"], also=", or a number of 0 or more")
        else:
            check_number("lam", self.lam)
        if not callable(self.correlation):
            check_name("correlation", self.correlation, CORRELATIONS, also=", or a function of two kernel matrices")
        check_power(self.power)
        check_number("ridge", self.ridge)

    def check_weights(self, weight: np.ndarray) -> None:
        if callable(self.correlation) and not np.all(weight == 1):
            raise ValueError(
                "a correlation function sees kernel matrices without the sample_weight; use a correlation by name, "
                "such as 'trace', or repeat samples instead."
            )

    def compare(self, kernels: Sequence[KernelOperator]) -> np.ndarray:
        return correlation_matrix(kernels, self.correlation) if len(kernels) > 1 else super().compare(kernels)

    def has_variants(self, task: Task) -> bool:
        return isinstance(self.lam, str) and len(task.kernels) > 1

    def variants(self, task: Task) -> list[tuple[Method, Task]]:
        if not self.has_variants(task):
            return [(self, task)]
        path, space = lam_path(task)  # all start from the eigenvectors of the mean kernel
        return [(self.with_params(lam=lam), replace(task, space=space)) for lam in path]

    def products(self, task: Task) -> np.ndarray:
        return task.M if self.correlation == "trace" else super().products(task)

    def solve(self, task: Task) -> Relaxed:
        return alternate(task, self.lam, power=self.power, ridge=self.ridge, tol=self.tol)

    def unsupported_beyond_host(self) -> list[str]:
        known = not callable(self.correlation) and self.correlation in FROM_SUMS
        found = [] if known else [f"correlation={self.correlation!r}"]
        return found if self.refine else [*found, "refine=False"]


PART = MKKMMR
