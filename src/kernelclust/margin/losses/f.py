"""1 - F_beta of the decision to put two samples together; beta > 1 punishes separating what y joins (eq. 19)."""

from __future__ import annotations

import numpy as np

from kernelclust.margin.losses._base import BetaLoss, PairLoss


class F(BetaLoss, PairLoss):
    """1 - F_beta of the decision to put two samples together.

    Parameters
    ----------
    beta : float, default=1.5
        Above 1, wrongly separated pairs cost more than wrongly joined ones.

    Examples
    --------
    >>> from kernelclust.margin.losses import F
    >>> F(beta=2.0)
    F(beta=2.0)
    """

    def affine(self, own, given, n: float):
        beta = float(self.beta)
        weighted = (beta**2 * self.pairs(given, n) + self.pairs(own, n)) / (beta**2 + 1)
        nothing = weighted <= 0  # neither labeling joins any two samples: they agree
        safe = np.where(nothing, 1.0, weighted)
        return np.where(nothing, 0.0, 1 + n / (2 * safe)), np.where(nothing, 0.0, 0.5 / safe)


PART = F
