"""A kernel operator over the fitted samples, and what its users need beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelclust.kernels._new_samples import NewSamples, Regressed, Source
from kernelclust.kernels._spectrum import check_definite
from kernelclust.kernels.operators import KernelOperator, RidgeKernel

COMMUTE: dict[str, Any] = {"supports_refinement": False, "ring_distance_exponent": 0.9}  # what commute kernels declare


@dataclass(frozen=True)
class FittedKernel:
    """A kernel operator over the fitted samples and the means to compare new ones.

    `unshifted_operator` is the operator without what fitted samples have in common with themselves alone: new samples,
    which have no part in that, are compared by it.

    `supports_refinement` says whether F with a structure sees the borders of clusters under this kernel. Commute
    kernels put nearly all weight on their first functions: there F merges crowded nodes and splits wide ones, so that
    clusters are assigned to nodes and left as they are. `ring_distance_exponent` is the exponent of the squared
    distances that nodes of a ring are judged by: commute times in series add up, so that on a ring with wide gaps all
    tours that cross each gap twice tie; an exponent below one prefers many short steps and one long.
    """

    operator: KernelOperator
    source: Source
    gamma: float | None = None
    base: FittedKernel | None = None  # that a discriminative kernel was made of
    unshifted_operator: KernelOperator | None = None
    supports_refinement: bool = True
    ring_distance_exponent: float = 1.0
    remedy: str | None = None  # for a user whose kernel is not positive semidefinite; None where it is known to be

    def combination(self, C: np.ndarray, image: np.ndarray | None = None) -> NewSamples:
        """Function from new samples x to sum_i k(x, x_i) C_i (n, c), k centred; `image` is operator @ C, if known."""
        return self.source.combination(self.operator, C, image)

    def companion_sums(self, labels: np.ndarray, n_clusters: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return cluster sums (c x c) and sizes (c,) by other kernels of the samples, which judge the order too."""
        return [] if self.base is None else self.base.companion_sums(labels, n_clusters)

    def check_definite(self) -> None:
        """Refuse a kernel that is far from positive semidefinite."""
        if self.remedy is not None:
            check_definite(self.operator, self.remedy)


def discriminative(fitted: FittedKernel, ridge: float) -> FittedKernel:
    """Return the kernel K (K + ridge I)^-1 of the same samples, K centred."""
    source = Regressed(fitted.operator, fitted.source)
    return FittedKernel(RidgeKernel(fitted.operator, ridge), source, fitted.gamma, base=fitted)
