"""Weights of samples: a weight counts as that many copies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

MAX_COPIES, MAX_COPIES_EACH = 20_000, 20  # in all or per sample: up to which the search tells copies apart
MIN_TICKS, MIN_TICKS_EACH = 4096, 4  # in all or per sample: pieces that other weights are divided into


@dataclass(frozen=True)
class SampleWeights:
    """Weights of n samples, all above zero; None where all are one.

    A labeling y' may part a sample, as it may part copies of it: between copies where weights are integers and not
    too large, anywhere else. In the second case the search looks at `ticks` pieces of equal weight.
    """

    n: int
    weight: np.ndarray | None = None  # (n,)

    @cached_property
    def total(self) -> float:
        return self.n if self.weight is None else float(self.weight.sum())

    @cached_property
    def whole(self) -> bool:
        """Return whether a weight stands for separate copies of a sample."""
        if self.weight is None:
            return True
        few = self.total <= max(MAX_COPIES, MAX_COPIES_EACH * self.n)
        return few and bool(np.all(self.weight == np.round(self.weight)))

    @cached_property
    def factor(self) -> float:
        """Copies in a weight of one: weights below one are counted in the smallest of them, so that pairs exist."""
        return 1.0 if self.weight is None else 1 / min(1.0, float(self.weight.min()))

    @cached_property
    def ticks(self) -> int:
        return round(self.total) if self.whole else max(MIN_TICKS, MIN_TICKS_EACH * self.n)

    @property
    def each(self) -> np.ndarray:
        """The weights as an array."""
        return np.ones(self.n) if self.weight is None else self.weight

    def times(self, Y: np.ndarray) -> np.ndarray:  # (n,) or (n, k)
        """Return rows times their weights."""
        return Y if self.weight is None else (Y.T * self.weight).T

    def at(self, members: np.ndarray) -> SampleWeights:
        """Return the weights of some of the samples."""
        return SampleWeights(len(members), None if self.weight is None else self.weight[members])


def make_weights(weight: np.ndarray) -> SampleWeights:
    return SampleWeights(len(weight), None if np.all(weight == 1) else weight)
