"""Kernels read as affinities, for the spectral methods: as given, non-negative, with degrees."""

from __future__ import annotations

import numpy as np

from kernelclust.multikernel._task import Task


def degrees(task: Task, method: str) -> np.ndarray:
    """Row sums (n, m) of the kernels as given; one for a sample that a view does not hold."""
    ones = np.ones((task.n_samples, 1))
    out = np.hstack([kernel.affinity(ones) for kernel in task.kernels])
    for p, kernel in enumerate(task.kernels):
        missing = np.ones(task.n_samples, dtype=bool)
        missing[slice(None) if kernel.samples is None else kernel.samples] = False
        if (out[~missing, p] <= 0).any():
            raise ValueError(
                f"method={method!r} reads kernels as affinities, but in kernel {p} the similarities of sample "
                f"{int(np.flatnonzero(~missing & (out[:, p] <= 0))[0])} do not add up to a positive number. Use "
                "non-negative kernels such as 'rbf' or 'laplacian', or another method."
            )
        out[missing, p] = 1.0
    return out
