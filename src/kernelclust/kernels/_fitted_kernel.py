"""A kernel operator over the fitted samples, and what its users need beside it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kernelclust.kernels._new_samples import NewSamples, Regressed, Source
from kernelclust.kernels._spectrum import check_definite
from kernelclust.kernels.operators import KernelOperator, RidgeKernel

COMMUTE: dict[str, Any] = {"refines": False, "ring_power": 0.9}  # what commute kernels declare


@dataclass
class Member:
    """One of the graphs that a mean kernel is made of: its view, its size, and the smoothest functions on it,
    B (m x k), centred."""

    view: str
    size: float
    B: np.ndarray


@dataclass(frozen=True)
class FittedKernel:
    """A kernel operator over the fitted samples and the means to compare new ones.

    `members` and `pictures` (the samples as each view sees them) are what a mean kernel is made of, for those who ask
    its parts one by one. `seen` is the operator without what fitted samples have in common with themselves alone: what
    a new sample, which has no part in that, compares clusters by.

    `refines` says whether F with a structure sees the borders of clusters under this kernel. Commute kernels put nearly
    all weight on their first functions: there F merges crowded places and splits wide ones, so that clusters are placed
    and left as they are. `ring_power` is the power of squared distances that places on a ring are judged by: commute
    times in series add up, so that on a ring with wide gaps all tours that cross each gap twice tie; a power below one
    prefers many short steps and one long.
    """

    operator: KernelOperator
    source: Source
    gamma: float | None = None
    members: list[Member] = field(default_factory=list)
    pictures: list[Any] = field(default_factory=list)
    n_different: int = 0  # samples, equal ones counted once, where that is known
    base: FittedKernel | None = None  # that a discriminative kernel was made of
    seen: KernelOperator | None = None
    refines: bool = True
    ring_power: float = 1.0
    remedy: str | None = None  # for a user whose kernel is not positive semidefinite; None where it is known to be

    def combination(self, C: np.ndarray, image: np.ndarray | None = None) -> NewSamples:
        """Function from new samples x to sum_i k(x, x_i) C_i (n, c), k centred; `image` is operator @ C, if known."""
        return self.source.combination(self.operator, C, image)

    def check_definite(self) -> None:
        """Refuse a kernel that is far from positive semidefinite."""
        if self.remedy is not None:
            check_definite(self.operator, self.remedy)


def discriminative(fitted: FittedKernel, ridge: float) -> FittedKernel:
    """The same samples under K (K + ridge I)^-1, K centred."""
    operator = RidgeKernel(fitted.operator, ridge)
    source = Regressed(fitted.operator, fitted.source)
    return replace(fitted, operator=operator, source=source, base=fitted, seen=None, refines=True, ring_power=1.0)
