"""A kernel function of two samples, ready to be computed, and the class for functions of the user's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from kernelclust.kernels._base import Kernel

CLOSE = 128  # samples whose own similarity is computed at a time


@dataclass(eq=False, repr=False)
class FunctionKernel(Kernel):
    """A function k(X, Y) of the user's own: arrays (n, d), (m, d) -> (n, m), as in sklearn.svm.

    Parameters
    ----------
    function : callable
    parameters : dict, optional
        Keywords that the function is called with.
    """

    example = "FunctionKernel(my_function)"
    is_trusted = False

    function: Callable
    parameters: dict[str, Any] | None = None

    @property
    def name(self) -> str:
        return repr(self.function)

    def block(self, X, Y) -> np.ndarray:
        K = self.array_block(np, X, Y)
        try:
            K = np.asarray(K, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"the kernel function returned something that is not a matrix of numbers: {error}"
            ) from None
        if K.shape != (X.shape[0], Y.shape[0]):
            raise ValueError(
                f"the kernel function returned shape {K.shape} for {X.shape[0]} and {Y.shape[0]} samples; it must "
                f"take two arrays (n, d), (m, d) and return the (n, m) matrix of similarities, as in sklearn.svm."
            )
        return K

    def array_block(self, xp, X, Y):
        return self.function(X, Y, **(self.parameters or {}))


@dataclass
class SimilarityFunction:
    """A kernel whose parameters are numbers, and the units that samples are seen in: (x - shift) / scale."""

    kernel: Kernel
    shift: np.ndarray | None = None
    scale: float = 1.0
    dtype: Any = None  # of prepared samples: None leaves it

    @property
    def in_threads(self) -> bool:
        """Return whether several threads may call it at once."""
        return self.kernel.is_trusted

    def prepare(self, X):
        """Return X in the units and the precision that the kernel is computed in."""
        with np.errstate(over="ignore"):
            if self.shift is not None:
                X = (X.toarray() if sparse.issparse(X) else X) - self.shift
            X = X if self.scale == 1.0 else X / self.scale
        return X if self.dtype is None else X.astype(self.dtype, copy=False)

    def __call__(self, X, Y) -> np.ndarray:  # prepared X (n, d), Y (m, d) -> (n, m)
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused by name later
            return self.kernel.block(X, Y)

    def own(self, Z) -> np.ndarray:
        """Return k(x, x) of prepared samples (n,)."""
        blocks = (Z[start : start + CLOSE] for start in range(0, Z.shape[0], CLOSE))
        return np.concatenate([np.diagonal(self(few, few)) for few in blocks] or [np.empty(0)]).astype(np.float64)
