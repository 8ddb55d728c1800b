"""1 - V, V = (1 + beta) I / (beta H' + H): homogeneity and completeness, beta > 1 for more of completeness.

With beta = 1 this is NMI with the arithmetic mean. Two labelings with one cluster each agree (0).
"""

from __future__ import annotations

import numpy as np

from kernelclust.margin.losses._base import BetaLoss
from kernelclust.margin.losses._entropy import entropy, information_loss, x_log_x


class VMeasure(BetaLoss):
    """1 - V measure, homogeneity and completeness together.

    Parameters
    ----------
    beta : float, default=1.5
        Above 1, separating what belongs together costs more than joining what does not.

    Examples
    --------
    >>> from kernelclust.margin.losses import VMeasure
    >>> VMeasure(beta=2.0)
    VMeasure(beta=2.0)
    """

    def phi(self, counts) -> np.ndarray:
        return x_log_x(counts)

    def affine(self, own, given, n: float):
        H, H_given, beta = entropy(own, n), entropy(given, n), float(self.beta)
        return information_loss(H, H_given, (beta * H + H_given) / (1 + beta), n)


PART = VMeasure
