"""Kernel k-means of the mean of all kernels: the baseline that is hard to beat.

min over H'H = I:  Tr(K (I - H H')),  K = sum_p K_p / m
"""

from __future__ import annotations

import numpy as np

from kernelclust.multikernel._base import Method, Relaxed, Task
from kernelclust.multikernel._spectral import mean_space


class Average(Method):
    """Cluster by the mean of all kernels: every kernel has the same weight.

    Parameters
    ----------
    refine, center, unit_diagonal : bool, default=True
        Whether labels are improved by discrete moves; whether kernels are centred, then scaled to a unit diagonal.
    n_init : int or "auto", default="auto"
        Number of initializations of k-means on the rows of the embedding; "auto" is 10.

    Examples
    --------
    >>> from kernelclust.multikernel import Average
    >>> Average(refine=False)
    Average(refine=False)
    """

    def solve(self, task: Task) -> Relaxed:
        m = len(task.kernels)
        share = np.full(m, 1 / m)
        space = mean_space(task)
        value = float(share @ space.converge(share))
        return Relaxed(share, space.H, value, [value], True, coefficients=share)

    def unsupported_beyond_host(self) -> list[str]:
        return [] if self.refine else ["refine=False"]


PART = Average
