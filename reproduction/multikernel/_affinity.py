"""Kernels read as affinities, for the spectral methods: as given, non-negative, with degrees."""

from __future__ import annotations

import numpy as np

from kernelclust.multikernel import Task


def degrees(task: Task, method: str) -> np.ndarray:
    """Weighted row sums (n, m) of the kernels as given; one for a sample that a view does not hold."""
    weight = task.weight[:, None]
    out = np.hstack([kernel.affinity(weight) for kernel in task.kernels])  # type: ignore[attr-defined]
    for p, kernel in enumerate(task.kernels):
        held = kernel.held
        wrong = np.flatnonzero(held & (out[:, p] <= 0))
        if len(wrong):
            raise ValueError(
                f"method={method!r} reads kernels as affinities, but in kernel {p} the similarities of sample "
                f"{wrong[0]} do not add up to a positive number. Use non-negative kernels such as 'rbf' or "
                "'laplacian', or another method."
            )
        out[~held, p] = 1.0
    return out
