"""Weights of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from kernelclust.plots._base import FAINT, INK, Display


@dataclass
class KernelWeightsDisplay(Display):
    """Weights of the kernels of a MultiKernelClustering, and how much of each kernel the clusters explain."""

    weights: NDArray
    explained: NDArray | None = None
    names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        p = len(self.weights)
        if self.names is not None and len(self.names) != p:
            raise ValueError(f"names has {len(self.names)} entries, but there are {p} kernels; give one for each.")

    @classmethod
    def example(cls) -> Self:
        return cls(np.array([0.3, 0.7]), np.array([0.1, 0.5]), ["first", "second"])

    @classmethod
    def from_estimator(cls, model: Any, *, names: Any = None, ax: Any = None) -> Self:
        """Draw a fitted MultiKernelClustering; `names` are those of its kernels."""
        check_is_fitted(model)
        if not hasattr(model, "weights_"):
            raise TypeError(f"{type(model).__name__} has one kernel, so no weights; give a MultiKernelClustering.")
        return cls(np.asarray(model.weights_), getattr(model, "explained_", None), names).plot(ax)

    def _draw(self, ax):
        at = np.arange(len(self.weights))
        ax.barh(at - 0.2, self.weights, 0.38, color=INK, label="weight")
        if self.explained is not None:
            ax.barh(at + 0.2, self.explained, 0.38, color=FAINT, label="explained")
            ax.legend(frameon=False)
        ax.set_yticks(at, [f"kernel {k}" for k in at] if self.names is None else [*map(str, self.names)])
        ax.invert_yaxis()
        ax.spines[["top", "right"]].set_visible(False)
        ax.set(xlim=(0, None), title="kernels")


PART = KernelWeightsDisplay
