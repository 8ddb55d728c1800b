"""1 - V, V = (1 + beta) I / (beta H' + H): homogeneity and completeness, beta > 1 for more of completeness.

With beta = 1 this is NMI with the arithmetic mean. Two labelings with one cluster each agree (0).
"""

from __future__ import annotations

import numpy as np

from kernelclust.margin.losses._entropy import entropy, phi

__all__ = ["PARAMETERS", "SYMMETRIC", "affine", "phi"]

PARAMETERS = ("beta",)
SYMMETRIC = False  # unless beta = 1


def affine(own, given, n: float, *, beta: float):
    H, H_given = entropy(own, n), entropy(given, n)
    mean = (beta * H + H_given) / (1 + beta)
    trivial = mean == 0
    safe = np.where(trivial, 1.0, mean)
    base = np.where(trivial, (H != H_given).astype(float), 1 - (H + H_given - np.log(n)) / safe)
    return base, np.where(trivial, 0.0, 1 / (n * safe))
