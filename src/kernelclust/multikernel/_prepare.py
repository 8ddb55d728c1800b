"""Kernels as the methods see them: of unit diagonal, over all samples, whichever of them a view holds."""

from __future__ import annotations

import numpy as np

from kernelclust.kernels import KernelOperator, ScaledKernel

SMALL = 1e-12  # a diagonal entry of so much of the mean one is rounding: the sample lies on the mean
ROUNDING = 1e-12  # share of the entries before centring that may be left of a constant kernel


def prepare(
    kernel: KernelOperator,
    weight: np.ndarray | None = None,
    samples: np.ndarray | None = None,
    *,
    unit: bool = True,
    seen: KernelOperator | None = None,
) -> ScaledKernel:
    """size^2 D K D with D_ii = 1 / sqrt(K_ii) if `unit`, else the identity, for a kernel over some of the samples.

    `weight` (n,) are the weights of all samples, and `samples` the numbers of those that K holds (all by default); the
    others have rows of zeros. A kernel of unit diagonal has the total weight for a trace, however few it holds. `seen`
    is scaled in the kernel's place, where it is given.
    """
    weight = kernel.weight if weight is None else weight
    scale = np.full(kernel.n_samples, view_size(kernel, weight))
    if unit:
        own = kernel.diagonal()
        some = own > least_own(kernel, own)
        scale *= some / np.sqrt(np.where(some, own, 1.0))
    return ScaledKernel(kernel if seen is None else seen, scale, weight, samples)


def view_size(kernel: KernelOperator, weight: np.ndarray) -> float:
    """sqrt(weight of all samples / weight of those that the kernel holds)."""
    return float(np.sqrt(weight.sum() / kernel.weight.sum()))


def least_own(kernel: KernelOperator, own: np.ndarray) -> float:
    """Diagonal entries up to here are rounding."""
    mean = float(kernel.weight @ np.abs(own)) / float(kernel.weight.sum())
    return max(SMALL * mean, ROUNDING * kernel.raw_size())
