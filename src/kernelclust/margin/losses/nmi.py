"""1 - NMI, NMI = I / sqrt(H H'): 0 for two labelings with one cluster each, 1 for one such and any other."""

from __future__ import annotations

import numpy as np

from kernelclust.margin.losses._base import Loss
from kernelclust.margin.losses._entropy import entropy, information_loss, x_log_x


class NMI(Loss):
    """1 - normalised mutual information, with the geometric mean of both entropies.

    Examples
    --------
    >>> from kernelclust.margin.losses import NMI
    >>> NMI()
    NMI()
    """

    def phi(self, counts) -> np.ndarray:
        return x_log_x(counts)

    def affine(self, own, given, n: float):
        H, H_given = entropy(own, n), entropy(given, n)
        return information_loss(H, H_given, np.sqrt(H * H_given), n)


PART = NMI
