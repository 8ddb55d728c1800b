"""Which kernels each view is to have."""

from __future__ import annotations

from numbers import Real
from typing import Any

from kernelclust._names import check_name, check_number
from kernelclust.kernels import RBF, Kernel, as_kernel, kernel_class, kernel_names

ALSO = ", a function k(X, Y), or a number (gamma of 'rbf')"


def kernels_of(kernel: Any, n_views: int) -> list[list[Kernel]]:
    """Return the kernels of every view."""
    if not isinstance(kernel, list):
        return [[_one(kernel)] for _ in range(n_views)]
    if not kernel:
        raise ValueError("kernel is an empty list; give at least one kernel, or 'auto'.")
    if n_views == 1:
        return [[_one(one) for one in kernel]]
    if len(kernel) != n_views:
        raise ValueError(
            f"kernel lists {len(kernel)} for {n_views} views: give one for each view (or a list of several for it)."
        )
    return [[_one(k) for k in one] if isinstance(one, list) else [_one(one)] for one in kernel]


def is_auto(kernel: Any) -> bool:
    """Return whether nothing was chosen."""
    return isinstance(kernel, str) and kernel == "auto"


def pairwise_kernel(kernel: Any) -> Kernel | None:
    """Return the kernel where X holds similarities, as in "precomputed"."""
    return as_kernel(kernel) if kernel_class(kernel).pairwise else None


def one_kernel(kernel: Any) -> Kernel:
    """Return the kernel that a user gave as an object, a name, a function or a number."""
    if isinstance(kernel, Real) and not isinstance(kernel, bool):
        check_number("gamma in kernel", kernel, above=True)
        return RBF(gamma=float(kernel))
    if isinstance(kernel, str) and kernel == "rbf":
        return RBF(gamma="median")
    return as_kernel(kernel, also=ALSO)


def _one(kernel: Any) -> Kernel:
    if isinstance(kernel, str):
        check_name("kernel", kernel, [name for name in kernel_names() if not kernel_class(name).pairwise], also=ALSO)
    made = one_kernel(kernel)
    if made.pairwise:
        raise ValueError(f"kernel has {made!r} beside others: give it alone, and X as a stack of kernels.")
    return made
