"""What every solver is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelclust.kernels import DenseKernel, LowRankKernel, Spectrum
from kernelclust.objectives import Dependence


def _silent(line: str) -> None:
    pass


@dataclass(frozen=True)
class Problem:
    """The kernel and its spectrum, F, and F without structure."""

    kernel: DenseKernel | LowRankKernel
    spectrum: Spectrum
    objective: Dependence
    flat: Dependence

    def sizes(self, labels: np.ndarray) -> np.ndarray:
        return np.bincount(labels, self.kernel.weight, minlength=self.objective.n_clusters)


@dataclass(frozen=True)
class Options:
    """How to search, as the estimator's parameters of these names say."""

    search: str = "refine"
    placement: str = "distance"
    init: Any = "auto"
    n_init: int | str = "auto"
    max_iter: int = 100
    tol: float = 1e-10
    allow_empty: bool = False
    polish: bool = True
    n_jobs: int | None = None
    report: Callable[[str], None] = _silent

    @property
    def climbing(self) -> dict[str, Any]:
        return {"max_iter": self.max_iter, "tol": self.tol, "allow_empty": self.allow_empty}
