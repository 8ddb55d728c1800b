"""Kernel matrices: what they must be."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
from sklearn.utils import check_array

from kernelclust.kernels._base import Kernel
from kernelclust.kernels._spectrum import check_definite
from kernelclust.kernels.operators import DenseKernel

OF_A_FUNCTION = ", or pass its matrix k(X, X) as X with kernel=Precomputed(indefinite='clip')"
TRIED = 1000  # rows and columns of a matrix whose entries say what is typical
LARGEST = 1e100  # entries of a kernel beyond would overflow in its sums of squares
TILE = 256  # rows and columns of a kernel that are looked at together


def check_block(kernel: Kernel, K: np.ndarray) -> np.ndarray:
    """Return a part of a kernel, which must be finite, and of a user's own one symmetric and positive semidefinite."""
    if not np.isfinite(K).all():
        raise ValueError(f"kernel={kernel.name!r} gives values that are not finite; rescale X or gamma.")
    if kernel.is_trusted:
        return K
    K = check_precomputed(K, "the matrix of the kernel function")
    check_definite(DenseKernel(K), OF_A_FUNCTION)
    if K.diagonal().min() < 0:
        raise ValueError("the kernel is far from positive semidefinite: k(x, x) is negative for some samples.")
    return K


def size_and_skew(K: np.ndarray, own: np.ndarray, typical: float) -> tuple[float, float, int, int]:
    """Largest |K_ij|; and where |K_ij - K_ji| is largest beside |K_ij|, |K_ji|, own_i own_j and `typical`, whichever is
    larger: (size, ratio, i, j). Tile by tile, so that rows and columns are read once.
    """
    largest, worst, at = 0.0, 0.0, (0, 0)
    for a, b in combinations_with_replacement(range(0, len(K), TILE), 2):
        rows, columns = slice(a, a + TILE), slice(b, b + TILE)
        X, Y = K[rows, columns], K[columns, rows].T
        size = np.maximum(np.abs(X), np.abs(Y))
        largest = max(largest, float(size.max()))
        skew = np.abs(X - Y)
        if not skew.any():
            continue
        ratio = skew / np.maximum(np.maximum(size, typical), np.outer(own[rows], own[columns]))
        i, j = np.unravel_index(int(ratio.argmax()), ratio.shape)
        if ratio[i, j] > worst:
            worst, at = float(ratio[i, j]), (a + int(i), b + int(j))
    return largest, worst, *at


def check_precomputed(K, name: str = "the kernel matrix") -> np.ndarray:
    """A square, finite, symmetric float matrix; a view of the user's where it is one already."""
    K = check_array(K, dtype=[np.float64, np.float32], input_name=name)
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"a precomputed kernel must be square, one row and one column a sample; this is {K.shape}.")
    own = np.sqrt(np.abs(np.diagonal(K)).astype(np.float64))  # |k(x, y)| is at most own(x) own(y), and so is rounding
    step = -(-len(K) // TRIED)
    typical = float(np.median(np.abs(K[::step, ::step])))
    size, skew, i, j = size_and_skew(K, own, typical)
    if size > LARGEST:
        raise ValueError(f"{name} has entries of size {size:.3g}, too large for sums of squares; rescale it.")
    if skew > (1e-8 if K.dtype == np.float64 else 1e-4):
        raise ValueError(
            f"the kernel matrix is not symmetric: K[{i}, {j}] = {K[i, j]:.6g} but K[{j}, {i}] = {K[j, i]:.6g}. If that "
            "is meant, pass (K + K.T) / 2."
        )
    return K
