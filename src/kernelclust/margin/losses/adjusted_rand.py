"""1 - adjusted Rand index (Hubert and Arabie): 0 for equal labelings, 1 in the mean over random ones."""

from __future__ import annotations

import numpy as np

from kernelclust.margin.losses._base import PairLoss


class AdjustedRand(PairLoss):
    """1 - adjusted Rand index.

    Examples
    --------
    >>> from kernelclust.margin.losses import AdjustedRand
    >>> AdjustedRand()
    AdjustedRand()
    """

    def affine(self, own, given, n: float):
        together, given_together = self.pairs(own, n), self.pairs(given, n)
        expected = together * given_together / max(n * (n - 1) / 2, 1)
        room = (together + given_together) / 2 - expected
        trivial = room <= 0
        safe = np.where(trivial, 1.0, room)
        return np.where(trivial, 0.0, 1 + (expected + n / 2) / safe), np.where(trivial, 0.0, 0.5 / safe)


PART = AdjustedRand
