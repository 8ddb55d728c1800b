"""Multiple kernel k-means (Huang, Chuang and Chen, 2012): eq. (8) without its second term, mu_p ~ 1 / residual_p.

A kernel that c eigenvectors describe completely has no residual and takes all the weight, however little it knows:
`ridge` or mkkm-mr prevents it.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernelclust._names import check_number
from kernelclust.multikernel._base import Method, Relaxed, Task
from kernelclust.multikernel._spectral import alternate, check_power


@dataclass(eq=False, repr=False)
class MKKM(Method):
    """Learn weights of kernels by how well clusters describe them, without regularisation.

    Parameters
    ----------
    power : {1, 2}, default=2
        Kernels are combined as sum_p mu_p^power K_p. 2 falls in every step; 1 is the authors' program.
    ridge : float, default=0.0
        Added to every residual in units of its kernel's trace. With 0.01 or more, a kernel that c eigenvectors
        describe completely does not get all the weight.
    refine, center, unit_diagonal, n_init
        As in `Average`.
    tol : float, default=1e-6
        Relative fall of the objective at which the method stops.

    Examples
    --------
    >>> from kernelclust.multikernel import MKKM
    >>> MKKM(ridge=0.01)
    MKKM(ridge=0.01)
    """

    power: int = 2
    ridge: float = 0.0
    tol: float = 1e-6

    def check(self) -> None:
        super().check()
        check_power(self.power)
        check_number("ridge", self.ridge)

    def solve(self, task: Task) -> Relaxed:
        return alternate(task, 0.0, power=self.power, ridge=self.ridge, tol=self.tol)


PART = MKKM
