"""Error rate: the share of samples with another label. Names of clusters matter: y and -y are far apart."""

from __future__ import annotations

import numpy as np

from kernelclust.margin.losses._base import Loss


class Error(Loss):
    """Error rate: the fraction of samples with different labels.

    Examples
    --------
    >>> from kernelclust.margin.losses import Error
    >>> Error()
    Error()
    """

    only_diagonal = True

    def phi(self, counts) -> np.ndarray:
        return np.asarray(counts, dtype=float)

    def affine(self, own, given, n: float):
        return np.ones(np.shape(own)), np.full(np.shape(own), 1 / n)


PART = Error
