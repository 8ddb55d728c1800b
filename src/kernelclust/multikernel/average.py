"""Kernel k-means of the mean of all kernels: the baseline that is hard to beat.

min over H'H = I:  Tr(K (I - H H')),  K = sum_p K_p / m
"""

from __future__ import annotations

import numpy as np

from kernelclust.multikernel._spectral import mean_space
from kernelclust.multikernel._task import Relaxed, Task


def solve(task: Task) -> Relaxed:
    m = len(task.kernels)
    share = np.full(m, 1 / m)
    space = mean_space(task)
    value = float(share @ space.converge(share))
    return Relaxed(share, space.H, value, [value], True, coefficients=share)
