"""Kernels as the methods see them: of unit diagonal, over all samples, whichever of them a view holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernelclust.kernels import FittedKernel, KernelOperator, NewSamples, ScaledKernel, Source, UnitScaled
from kernelclust.multikernel._views import Views

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


def check_informative(kernels: Sequence[KernelOperator], views: Sequence[int | None]) -> None:
    """Refuse a constant kernel beside others: it has no residual, so weights would go to it."""
    constant = [float(np.mean(kernel.diagonal())) <= ROUNDING * kernel.raw_size() for kernel in kernels]
    if any(constant) and not all(constant):
        p = constant.index(True)
        raise ValueError(
            f"kernel {p} (view {views[p]}) is constant: all its samples are equal, so it says nothing about clusters; "
            "leave it out."
        )


# -- new samples -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """One kernel of the sum: which view it looks at (None: all), and by what its similarities are multiplied."""

    view: int | None
    coefficient: float
    size: float
    similarities: NewSamples


@dataclass(frozen=True)
class SummedSamples(NewSamples):
    """sum_p c_p k_p(x, .) for new samples that come as `Views`; a view that does not hold a sample adds nothing."""

    parts: list[Part]
    n_clusters: int

    def both(self, X_new: Views) -> tuple[np.ndarray, np.ndarray]:
        sums, own = np.zeros((X_new.n_samples, self.n_clusters)), np.zeros(X_new.n_samples)
        for part in self.parts:
            held = X_new.observed.any(axis=1) if part.view is None else X_new.observed[:, part.view]
            if held.any():
                G, k = part.similarities.both(X_new if part.view is None else X_new.held(part.view))
                sums[held] += part.coefficient * part.size * G
                own[held] += part.coefficient * part.size**2 * k
        return sums, own


@dataclass(frozen=True)
class Summed(Source):
    """The means to compare new samples under sum_p c_p K~_p, K~_p prepared as `prepare` does it.

    `samples` are those that a kernel holds (None: all), `views` the view that each kernel looks at (None: all).
    """

    fitted: Sequence[FittedKernel]
    views: Sequence[int | None]
    samples: Sequence[np.ndarray | None]
    coefficients: np.ndarray
    weight: np.ndarray
    unit: bool

    def combination(self, operator, C, image=None) -> SummedSamples:
        parts = []
        for one, view, held, coefficient in zip(self.fitted, self.views, self.samples, self.coefficients, strict=True):
            if coefficient == 0:
                continue
            kernel = one.operator
            size = view_size(kernel, self.weight)
            Pi = size * (C if held is None else C[held])
            if self.unit:
                own = kernel.diagonal()
                least = least_own(kernel, own)
                Pi *= ((own > least) / np.sqrt(np.where(own > least, own, 1.0)))[:, None]
                similarities: NewSamples = UnitScaled(one.combination(Pi), 1.0, least)
            else:
                similarities = one.combination(Pi)
            parts.append(Part(view, float(coefficient), size, similarities))
        return SummedSamples(parts, C.shape[1])
