"""1 - Rand index: the fraction of pairs of samples that only one of two labelings puts together."""

from __future__ import annotations

import numpy as np

from kernelclust.margin.losses._base import PairLoss


class Rand(PairLoss):
    """1 - Rand index: the fraction of pairs of samples that only one of two labelings puts together.

    Examples
    --------
    >>> from kernelclust.margin.losses import Rand
    >>> Rand()
    Rand()
    """

    def affine(self, own, given, n: float):
        ordered = max(n * (n - 1), 1)
        return (own + given) / ordered, np.full(np.shape(own), 2 / ordered)


PART = Rand
