"""Which kernels each view is to have."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

from kernelclust._names import check_name, check_number
from kernelclust.kernels import Kernel, as_kernel, kernel_class, kernel_names

ALSO = ", a function k(X, Y), a number (gamma of 'rbf'), or (kernel, {parameter: value})"


def kernels_of(kernels, n_views: int) -> list[list[Kernel]]:
    """Return the kernels of every view."""
    if not isinstance(kernels, list):
        return [[_one(kernels)] for _ in range(n_views)]
    if not kernels:
        raise ValueError("kernels is empty; give at least one kernel, or 'auto'.")
    if n_views == 1:
        return [[_one(kernel) for kernel in kernels]]
    if len(kernels) != n_views:
        raise ValueError(
            f"kernels lists {len(kernels)} for {n_views} views: give one for each view (or a list of several for it)."
        )
    return [[_one(k) for k in kernel] if isinstance(kernel, list) else [_one(kernel)] for kernel in kernels]


def is_auto(kernels) -> bool:
    """Return whether nothing was chosen."""
    return isinstance(kernels, str) and kernels == "auto"


def pairwise_kernel(kernels) -> Kernel | None:
    """Return the kernel where X holds similarities, as in "precomputed" or ("precomputed", {...})."""
    kernel, params = _split(kernels)
    return as_kernel(kernel, params) if kernel_class(kernel).pairwise else None


def _split(kernel) -> tuple[Any, dict[str, Any]]:
    """Return a kernel and its parameters."""
    if isinstance(kernel, tuple) and len(kernel) == 2 and isinstance(kernel[1], Mapping):
        return kernel[0], dict(kernel[1])
    return kernel, {}


def _one(kernel) -> Kernel:
    if isinstance(kernel, Real) and not isinstance(kernel, bool):
        check_number("gamma in kernels", kernel, above=True)
        return as_kernel("rbf", {"gamma": float(kernel)})
    kernel, params = _split(kernel)
    if isinstance(kernel, str):
        check_name("kernel", kernel, [name for name in kernel_names() if not kernel_class(name).pairwise], also=ALSO)
        if kernel == "rbf":
            params = {"gamma": "median"} | params
    made = as_kernel(kernel, params, also=ALSO)
    if made.pairwise:
        raise ValueError(f"kernels has {made!r} beside others: give it alone, and X as a stack of kernels.")
    return made
