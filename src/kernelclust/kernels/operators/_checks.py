"""Operators that users bring: what they must be, found out before any work starts."""

from __future__ import annotations

from typing import Any

import numpy as np

MEMBERS = ("n_samples", "weight", "__matmul__", "rows", "diagonal", "raw_size", "squared_norm")
TRIED = 3  # random vectors, and rows, that an operator is tried with
CLOSE = 1e-6  # relative error that is forgiven


def is_operator(X: Any) -> bool:
    """Return whether X is a kernel operator instead of an array."""
    return not hasattr(X, "__array__") and hasattr(X, "__matmul__") and (hasattr(X, "rows") or hasattr(X, "n_samples"))


def check_operator(kernel: Any) -> None:
    """Refuse an operator that lacks a member, or whose products, rows and diagonal are not those of one symmetric,
    centred matrix: tried on a few random vectors, one pass.
    """
    name = type(kernel).__name__
    missing = [member for member in MEMBERS if not hasattr(kernel, member)]
    if missing:
        raise ValueError(
            f"the kernel operator {name} lacks {', '.join(missing)}; see kernelclust.kernels.KernelOperator."
        )
    m, weight = kernel.n_samples, np.asarray(kernel.weight, dtype=float)
    if weight.shape != (m,) or not np.all(np.isfinite(weight) & (weight > 0)):
        raise ValueError(f"{name}.weight must hold a positive number for each of the {m} samples.")
    V = np.random.RandomState(0).standard_normal((m, TRIED))
    Y = _array(f"{name} @ V", kernel @ V, (m, TRIED))
    diagonal = _array(f"{name}.diagonal()", kernel.diagonal(), (m,))
    some = np.unique(np.linspace(0, m - 1, TRIED).astype(int))
    rows = _array(f"{name}.rows(index)", kernel.rows(some), (len(some), m))
    size = max(float(np.abs(Y).max()), float(np.abs(diagonal).max()), np.finfo(float).tiny)
    inner = V.T @ Y
    if np.abs(inner - inner.T).max() > CLOSE * size * m:
        raise ValueError(f"{name} is not symmetric: u'(K v) differs from v'(K u). A kernel compares both ways alike.")
    if np.abs(rows @ V - Y[some]).max() > CLOSE * size * np.sqrt(m):
        raise ValueError(f"rows of {name} and its products disagree: rows(index) @ V is not (K @ V)[index].")
    if np.abs(rows[np.arange(len(some)), some] - diagonal[some]).max() > CLOSE * size:
        raise ValueError(f"rows of {name} and its diagonal disagree.")
    if np.abs(weight @ Y).max() > CLOSE * size * weight.sum():
        raise ValueError(
            f"{name} is not centred: weights times its products should be zero. Subtract (weighted) means of rows and "
            "columns, as kernelclust.kernels.DenseKernel does."
        )


def _array(what: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    found = np.asarray(value)
    if found.shape != shape:
        raise ValueError(f"{what} has shape {found.shape}; it must be {shape}.")
    if found.dtype.kind not in "fiu" or not np.isfinite(found).all():
        raise ValueError(f"{what} holds values that are not finite numbers.")
    return found
