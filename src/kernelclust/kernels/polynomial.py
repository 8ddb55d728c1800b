"""k(x, y) = (gamma <x, y> + coef0)^degree: products of features, e.g. XOR-like clusters with degree 2."""

from __future__ import annotations

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from kernelclust._names import check_number


def check_params(*, degree: float = 3, coef0: float = 1, **_) -> None:
    """Whole degrees and coef0 >= 0 make it a kernel; others would be none, or not a number."""
    check_number("degree", degree, whole=True, least=1)
    check_number("coef0", coef0)


def block(X, Y, *, gamma: float, degree: float = 3, coef0: float = 1) -> np.ndarray:
    K = safe_sparse_dot(X, Y.T, dense_output=True)
    K *= gamma
    K += coef0
    np.power(K, degree, out=K)
    return K


def array_block(xp, X, Y, *, gamma: float, degree: float = 3, coef0: float = 1):
    """The same for arrays of any namespace of the array API."""
    return (gamma * (X @ xp.matrix_transpose(Y)) + coef0) ** int(degree)
