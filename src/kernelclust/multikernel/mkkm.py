"""Multiple kernel k-means (Huang, Chuang and Chen, 2012): eq. (8) without its second term, mu_p ~ 1 / residual_p.

A kernel that c eigenvectors describe completely has no residual and takes all the weight, however little it knows:
`ridge` or mkkm-mr prevents it.
"""

from __future__ import annotations

from kernelclust.multikernel._spectral import alternate
from kernelclust.multikernel._task import Relaxed, Task


def solve(task: Task) -> Relaxed:
    return alternate(task, 0.0)
