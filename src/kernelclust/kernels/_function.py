"""A kernel function of two samples: a named file of this package, or the user's own k(X, Y)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from scipy import sparse

import kernelclust.kernels as package
from kernelclust._names import load


@dataclass
class SimilarityFunction:
    """A kernel function with its parameters, and the units that samples are seen in: (x - shift) / scale."""

    kernel: str | Callable
    params: dict[str, Any] = field(default_factory=dict)
    shift: np.ndarray | None = None
    scale: float = 1.0
    dtype: Any = None  # of prepared samples: None leaves it

    @property
    def part(self) -> ModuleType | SimpleNamespace:
        return SimpleNamespace(block=self.kernel) if callable(self.kernel) else load(package, self.kernel)

    @property
    def in_threads(self) -> bool:
        """Whether it may be called by several threads at once: a user's own function is not asked to bear that."""
        return not callable(self.kernel)

    def prepare(self, X):
        """X in the units and the precision that the kernel is computed in."""
        with np.errstate(over="ignore"):
            if self.shift is not None:
                X = (X.toarray() if sparse.issparse(X) else X) - self.shift
            X = X if self.scale == 1.0 else X / self.scale
        return X if self.dtype is None else X.astype(self.dtype, copy=False)

    def __call__(self, X, Y) -> np.ndarray:  # prepared X (n, d), Y (m, d) -> (n, m)
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused by name later
            K = self.part.block(X, Y, **self.params)
        if not callable(self.kernel):
            return K
        try:
            K = np.asarray(K, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"the kernel function returned something that is no matrix of numbers: {error}") from None
        if K.shape != (X.shape[0], Y.shape[0]):
            raise ValueError(
                f"the kernel function returned shape {K.shape} for {X.shape[0]} and {Y.shape[0]} samples; it must "
                f"take two arrays (n, d), (m, d) and return the (n, m) matrix of similarities, as in sklearn.svm."
            )
        return K

    def own(self, Z) -> np.ndarray:
        """k(x, x) of prepared samples (n,)."""
        blocks = (Z[start : start + CLOSE] for start in range(0, Z.shape[0], CLOSE))
        return np.concatenate([np.diagonal(self(few, few)) for few in blocks] or [np.empty(0)]).astype(np.float64)


CLOSE = 128  # samples whose own similarity is computed at a time
