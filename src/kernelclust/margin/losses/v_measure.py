"""1 - V, V = (1 + beta) I / (beta H' + H): homogeneity and completeness, beta > 1 for more of completeness.

With beta = 1 this is NMI with the arithmetic mean. Two labelings with one cluster each agree (0).
"""

from __future__ import annotations

import numpy as np

from kernelclust.margin.losses._base import BetaLoss, InformationLoss


class VMeasure(BetaLoss, InformationLoss):
    """1 - V measure, homogeneity and completeness together.

    Parameters
    ----------
    beta : float, default=1.5
        Above 1, wrongly separated pairs cost more than wrongly joined ones.

    Examples
    --------
    >>> from kernelclust.margin.losses import VMeasure
    >>> VMeasure(beta=2.0)
    VMeasure(beta=2.0)
    """

    def mean(self, H, H_given) -> np.ndarray:
        beta = float(self.beta)
        return (beta * H + H_given) / (1 + beta)


PART = VMeasure
