"""New samples under a sum of prepared kernels, view by view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernelclust.kernels import FittedKernel, NewSamples, Source, UnitScaled
from kernelclust.multikernel._prepare import least_own, view_size
from kernelclust.multikernel._views import Views


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
