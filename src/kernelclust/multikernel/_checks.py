"""What is refused before work starts: constant kernels, similarities of the wrong shape."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelclust._input import as_table
from kernelclust.kernels import KernelOperator
from kernelclust.multikernel._prepare import ROUNDING
from kernelclust.multikernel._views import is_many


def check_informative(kernels: Sequence[KernelOperator], views: Sequence[int | None]) -> None:
    """Refuse a constant kernel beside others: it has no residual, so weights would go to it."""
    constant = [float(np.mean(kernel.diagonal())) <= ROUNDING * kernel.raw_size() for kernel in kernels]
    if any(constant) and not all(constant):
        p = constant.index(True)
        raise ValueError(
            f"kernel {p} (view {views[p]}) is constant: all its samples are equal, so it says nothing about clusters; "
            "leave it out."
        )


def check_similarities(X, observed: np.ndarray) -> list[np.ndarray]:
    """Similarities (n_new, n) of new samples with the fitted ones, one matrix a kernel."""
    n, m = observed.shape
    parts = [np.asarray(as_table(part, f"kernel {p}", missing=True)) for p, part in enumerate(X if is_many(X) else [X])]
    if len(parts) != m:
        raise ValueError(f"X holds {len(parts)} kernels, but {m} were fitted.")
    for p, part in enumerate(parts):
        if part.ndim != 2 or part.shape[1] != n:
            raise ValueError(
                f"kernel {p} has shape {part.shape}; give similarities of new samples with the {n} fitted ones, "
                f"(n_new, {n})."
            )
    return parts
