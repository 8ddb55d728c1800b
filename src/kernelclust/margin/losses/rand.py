"""1 - Rand index: the share of pairs of samples that one labeling puts together and the other apart."""

from __future__ import annotations

import numpy as np

from kernelclust.margin.losses._pairs import phi

__all__ = ["PARAMETERS", "affine", "phi"]

PARAMETERS = ()


def affine(own, given, n: float):
    ordered = max(n * (n - 1), 1)
    return (own + given) / ordered, np.full(np.shape(own), 2 / ordered)
