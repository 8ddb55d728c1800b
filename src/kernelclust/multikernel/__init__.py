"""Many kernels over the same samples: one file per method, found by its name ("mkkm-mr" is mkkm_mr.py).

A method is `solve(task, **PARAMETERS) -> Relaxed`: kernel weights and an embedding whose rows are then clustered.
"""

from kernelclust.multikernel._correlation import CORRELATIONS, correlation_matrix
from kernelclust.multikernel._kernels import PreparedKernel, combine, prepare
from kernelclust.multikernel._refine import Refined, refine
from kernelclust.multikernel._simplex import minimize_on_simplex, optimality_gap
from kernelclust.multikernel._task import Relaxed, Task

__all__ = [
    "CORRELATIONS",
    "PreparedKernel",
    "Refined",
    "Relaxed",
    "Task",
    "combine",
    "correlation_matrix",
    "minimize_on_simplex",
    "optimality_gap",
    "prepare",
    "refine",
]
