"""k(x, y) = (gamma <x, y> + coef0)^degree: products of features, e.g. XOR-like clusters with degree 2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from kernelclust._names import check_number
from kernelclust.kernels._base import GammaKernel


@dataclass(eq=False, repr=False)
class Polynomial(GammaKernel):
    """Compare two samples by k(x, y) = (gamma <x, y> + coef0)^degree.

    Choose it where clusters differ in products of columns, such as XOR with degree 2.

    Parameters
    ----------
    degree : int, default=3
    coef0 : float, default=1
        Zero or more; with a negative number this is not a kernel.
    gamma : float or "scale", default="scale"
        "scale" is 1 / mean squared distance between samples.
    """

    example = "Polynomial(degree=2)"
    cancels = True

    degree: int = 3
    coef0: float = 1
    gamma: float | str = "scale"

    def check(self) -> None:
        super().check()
        check_number("degree", self.degree, whole=True, least=1)
        check_number("coef0", self.coef0)

    def block(self, X, Y) -> np.ndarray:
        K = safe_sparse_dot(X, Y.T, dense_output=True)
        K *= self.gamma
        K += self.coef0
        np.power(K, self.degree, out=K)
        return K

    def array_block(self, xp, X, Y):
        return (float(self.gamma) * (X @ xp.matrix_transpose(Y)) + float(self.coef0)) ** int(self.degree)


PART = Polynomial
