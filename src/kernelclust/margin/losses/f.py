"""1 - F_beta of the decision to put two samples together; beta > 1 punishes separating what y joins (eq. 19)."""

from __future__ import annotations

import numpy as np

from kernelclust.margin.losses._pairs import pairs, phi

__all__ = ["PARAMETERS", "SYMMETRIC", "affine", "phi"]

PARAMETERS = ("beta",)
SYMMETRIC = False  # unless beta = 1


def affine(own, given, n: float, *, beta: float):
    weighted = (beta**2 * pairs(given, n) + pairs(own, n)) / (beta**2 + 1)
    nothing = weighted <= 0  # neither labeling joins any two samples: they agree
    safe = np.where(nothing, 1.0, weighted)
    return np.where(nothing, 0.0, 1 + n / (2 * safe)), np.where(nothing, 0.0, 0.5 / safe)
