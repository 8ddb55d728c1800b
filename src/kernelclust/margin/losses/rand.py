"""1 - Rand index: the share of pairs of samples that one labeling puts together and the other apart."""

from __future__ import annotations

import numpy as np

from kernelclust.margin.losses._base import PairLoss


class Rand(PairLoss):
    """Share of pairs of samples that one labeling puts together and the other apart.

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
