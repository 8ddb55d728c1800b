"""Multiple kernel k-means with matrix-induced regularisation (Liu, Dou, Yin, Wang and Zhu, 2016).

    min over mu in the simplex, H'H = I:  sum_p mu_p^2 Tr(K_p (I - H H')) + lam / 2 mu' M mu                 (8)

M holds how alike two kernels are, so that kernels which repeat each other share one vote. The usual choice when views
differ in quality or overlap. Falls in every step for power=2; the authors' program combines kernels with mu instead of
mu^2 (power=1), is calmer for tiny lam, and may rise.
"""

from __future__ import annotations

from kernelclust.multikernel._spectral import alternate
from kernelclust.multikernel._task import Relaxed, Task


def solve(task: Task) -> Relaxed:
    return alternate(task, task.lam)
