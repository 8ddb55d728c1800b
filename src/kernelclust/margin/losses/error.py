"""Error rate: the share of samples with another label. Names of clusters matter: y and -y are far apart."""

from __future__ import annotations

import numpy as np

PARAMETERS = ()
ONLY_DIAGONAL = True


def phi(counts) -> np.ndarray:
    return np.asarray(counts, dtype=float)


def affine(own, given, n: float):
    return np.ones(np.shape(own)), np.full(np.shape(own), 1 / n)
