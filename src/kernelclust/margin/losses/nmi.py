"""1 - NMI, NMI = I / sqrt(H H'): 0 for two labelings with one cluster each, 1 for one such and any other."""

from __future__ import annotations

import numpy as np

from kernelclust.margin.losses._base import InformationLoss


class NMI(InformationLoss):
    """1 - normalised mutual information, with the geometric mean of both entropies.

    Examples
    --------
    >>> from kernelclust.margin.losses import NMI
    >>> NMI()
    NMI()
    """

    def mean(self, H, H_given) -> np.ndarray:
        return np.sqrt(H * H_given)


PART = NMI
