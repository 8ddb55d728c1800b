"""1 - NMI, NMI = I / sqrt(H H'): 0 for two labelings with one cluster each, 1 for one such and any other."""

from __future__ import annotations

import numpy as np

from kernelclust.margin.losses._entropy import entropy, phi

__all__ = ["PARAMETERS", "affine", "phi"]

PARAMETERS = ()


def affine(own, given, n: float):
    H, H_given = entropy(own, n), entropy(given, n)
    mean = np.sqrt(H * H_given)
    trivial = mean == 0
    safe = np.where(trivial, 1.0, mean)
    base = np.where(trivial, (H != H_given).astype(float), 1 - (H + H_given - np.log(n)) / safe)
    return base, np.where(trivial, 0.0, 1 / (n * safe))
